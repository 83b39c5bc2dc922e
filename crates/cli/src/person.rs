//! Asks the person at the terminal. An agent that calls writ cannot answer for them.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::domain::principal::Action;
use engine::agent_program::PROGRAMS;
use engine::supervisor::marked_ancestor;
use ops::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::app::Globals;
use crate::env;
use crate::output::harmless;

/// How long a person may think.
const ANSWER_WAIT_SECONDS: i64 = 600;
/// How else a decision can be made.
const HINT: &str =
    "run the command yourself in a terminal, or give it a token of `writ token create` by WRIT_TOKEN";
/// An answer is a word.
const ANSWER_BYTES_MAX: u64 = 1000;
/// A token has fewer than 100.
const TOKEN_BYTES_MAX: u64 = 1000;
/// Agent programs that are not executors of writ.
const OTHER_AGENTS: &[&str] =
    &["goose", "copilot", "qwen", "aider", "cursor-agent", "amp", "droid", "cline", "crush"];

// How a person's decision is given. The parser would show a doc comment here as what each
// command does.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct PersonArgs {
    /// A file with a token of `writ token create`, where no person is at a terminal [default: WRIT_TOKEN]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl PersonArgs {
    pub(crate) fn globals(&self, globals: &Globals) -> Globals {
        Globals { token_file: self.token_file.clone(), ..globals.clone() }
    }
}

/// Shows an action with the digits that confirm it, and reads what is typed at the terminal, whatever standard input is.
pub(crate) fn ask(action: &Action) -> Result<String> {
    refuse_agents()?;
    let mut terminal = terminal()?;
    let (question, digits) = (harmless(action.question()), action.digits());
    let asked = write!(terminal, "{question}\n\nType {digits} to confirm: ").and_then(|()| terminal.flush());
    asked.map_err(|error| no_terminal(&error))?;
    let mut watched = [PollFd::new(&terminal, PollFlags::IN)];
    let wait = Timespec { tv_sec: ANSWER_WAIT_SECONDS, tv_nsec: 0 };
    if poll(&mut watched, Some(&wait)).map_err(|error| no_terminal(&error))? == 0 {
        return Err(Error::new(ErrorCode::Timeout, "nobody answered in time"));
    }
    let mut answer = String::new();
    let read = BufReader::new(terminal.take(ANSWER_BYTES_MAX)).read_line(&mut answer);
    read.map_err(|error| no_terminal(&error))?;
    Ok(answer)
}

/// The access token that was given by a file or by `WRIT_TOKEN`. Arguments are visible to every process, so none is one.
pub(crate) fn access_token(file: Option<&Path>) -> Result<Option<String>> {
    let Some(path) = file else { return Ok(env::get("WRIT_TOKEN")) };
    let unreadable = |error: std::io::Error| {
        Error::new(ErrorCode::Io, format!("could not read the token in {}: {error}", path.display()))
    };
    let mut text = String::new();
    File::open(path)
        .map_err(unreadable)?
        .take(TOKEN_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    Ok(Some(text))
}

/// The terminal of this process, if it is one.
fn terminal() -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/tty");
    // Without a terminal, the system's error is only "no such device".
    let file = file.map_err(|_| no_terminal(&"there is none"))?;
    if rustix::termios::isatty(file.as_fd()) {
        return Ok(file);
    }
    Err(no_terminal(&"/dev/tty is not one"))
}

fn no_terminal(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorCode::Denied, format!("a person has to decide this at a terminal: {error}")).hint(HINT)
}

/// A terminal that an agent opened proves nothing: what it types is not a person's decision.
fn refuse_agents() -> Result<()> {
    let refused = |message: String| Err(Error::new(ErrorCode::Denied, message).hint(HINT));
    let agents: Vec<&str> =
        PROGRAMS.iter().map(|program| program.name).chain(OTHER_AGENTS.iter().copied()).collect();
    if let Some(agent) = engine::ancestor::find(&agents) {
        let (program, pid) = (&agent.program, agent.process.pid);
        return refused(format!(
            "a person has to decide this, but `{program}` (process {pid}) runs this command"
        ));
    }
    let Some(marked) = marked_ancestor() else { return Ok(()) };
    let message = format!(
        "a person has to decide this, but process {} was started by writ for an agent",
        marked.process.pid
    );
    refused(message)
}
