//! Asks the person at the terminal. An agent that calls writ cannot answer for them.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;

use contract::domain::code::ErrorCode;
use engine::supervisor::marked_ancestor;
use ops::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::output::harmless;

/// How long a person may think.
const ANSWER_WAIT_SECONDS: i64 = 600;
/// An answer is a word.
const ANSWER_BYTES_MAX: u64 = 1000;
/// Programs whose commands are an agent's and not a person's.
const AGENT_PROGRAMS: &[&str] = &[
    "claude",
    "codex",
    "gemini",
    "opencode",
    "goose",
    "copilot",
    "qwen",
    "aider",
    "cursor-agent",
    "amp",
    "droid",
    "cline",
    "crush",
];

/// Shows the question and reads yes or no from the terminal, whatever standard input is.
pub(crate) fn ask(question: &str) -> Result<bool> {
    refuse_agents()?;
    let mut terminal = terminal()?;
    let asked = write!(terminal, "{} [y/N] ", harmless(question)).and_then(|()| terminal.flush());
    asked.map_err(|error| no_terminal(&error))?;
    let mut watched = [PollFd::new(&terminal, PollFlags::IN)];
    let wait = Timespec { tv_sec: ANSWER_WAIT_SECONDS, tv_nsec: 0 };
    if poll(&mut watched, Some(&wait)).map_err(|error| no_terminal(&error.into()))? == 0 {
        return Err(Error::new(ErrorCode::Timeout, "nobody answered in time"));
    }
    let mut answer = String::new();
    let read = BufReader::new(terminal.take(ANSWER_BYTES_MAX)).read_line(&mut answer);
    read.map_err(|error| no_terminal(&error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The terminal of this process, if it is one.
fn terminal() -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let file = file.map_err(|error| no_terminal(&error))?;
    if rustix::termios::isatty(file.as_fd()) {
        return Ok(file);
    }
    Err(no_terminal(&std::io::Error::other("/dev/tty is not a terminal")))
}

fn no_terminal(error: &std::io::Error) -> Error {
    Error::new(ErrorCode::Denied, format!("a person has to decide this at a terminal: {error}"))
        .hint("run the command yourself in a terminal")
}

/// A terminal that an agent opened proves nothing: what it types is not a person's decision.
fn refuse_agents() -> Result<()> {
    let refused = |message: String| {
        Err(Error::new(ErrorCode::Denied, message).hint("run the command yourself in a terminal"))
    };
    if let Some(agent) = engine::ancestor::find(AGENT_PROGRAMS) {
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
