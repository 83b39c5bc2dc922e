//! `writ worklog`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::json::{Value, json};
use contract::validate::{Kind, could_not_work};
use contract::verdict::Verdict;
use engine::worklog::{Followed, follow, read};
use ops::worklog::{append, kept, show, verify};
use ops::{Context, Error, Result};

use super::crew::{Which, print_verdict, read_document};
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Write down one step of the work, in the store and then in the task's file
    Append {
        #[command(flatten)]
        which: Which,
        /// The entry; - for standard input. Its time, run, task and actor may be left out
        #[arg(default_value = "-")]
        file: PathBuf,
        /// The token of the assignment; needed while the task is in progress
        #[arg(long)]
        token: Option<i64>,
    },
    /// Show what was written down
    Show {
        #[command(flatten)]
        which: Which,
    },
    /// Say whether the file is what was written down, and whether the contract is kept to
    #[command(after_help = "Exit codes: 0 allowed, 1 denied, 2 could not work.")]
    Verify {
        #[command(flatten)]
        which: Which,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Append { which, file, token } => {
            let request = append::Request {
                run: which.run.clone(),
                task: which.task.clone(),
                token: *token,
                entry: read_document(file)?,
            };
            let key = host::any_key(globals)?;
            let mut cx = host::open(globals)?;
            let answer = append::append(&mut cx, &key, &request)?.answer;
            let mut shown = json!(answer);
            // A file in which others had written is news; that a file grew is not, and a repeated call says the same.
            if let Followed::Renewed { set_aside } = bring(&mut cx, which)? {
                shown["x_set_aside"] = json!(set_aside);
            }
            Ok(output
                .answer(&shown, || format!("{} line {} in {}", answer.task_id, answer.number, answer.path)))
        }
        Command::Show { which } => {
            let request = show::Request { run: which.run.clone(), task: which.task.clone() };
            let shown = show::show(&mut host::open(globals)?, &request)?;
            Ok(output.answer(&shown, || text(&shown)))
        }
        Command::Verify { which } => {
            let judged = verified(globals, which)
                .unwrap_or_else(|error| could_not_work(Some(Kind::Worklog), "unreadable", error.to_string()));
            Ok(print_verdict(&judged, output))
        }
    }
}

/// Lets the file follow the store.
pub(crate) fn bring(cx: &mut Context, which: &Which) -> Result<Followed> {
    let place = kept(cx, &which.run, &which.task)?;
    let wanted = || kept(cx, &which.run, &which.task).map(|kept| kept.bytes).map_err(Fault::Ops);
    follow(Path::new(&place.workspace), &place.path, wanted).map_err(|fault| match fault {
        Fault::Ops(error) => error,
        Fault::Io(error) => unwritten(&place.path, &error),
    })
}

enum Fault {
    Ops(Error),
    Io(std::io::Error),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Fault::Io(error)
    }
}

fn unwritten(path: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorCode::Io, format!("could not write {path}: {error}"))
        .hint("the store has the entry; the same call with the same request id brings the file up to it")
}

fn verified(globals: &Globals, which: &Which) -> Result<Verdict> {
    let mut cx = host::open(globals)?;
    let place = kept(&mut cx, &which.run, &which.task)?;
    let file = read(Path::new(&place.workspace), &place.path)
        .map_err(|error| Error::new(ErrorCode::Io, format!("could not read {}: {error}", place.path)))?;
    verify::verify(&mut cx, &which.run, &which.task, file.as_deref())
}

fn text(shown: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").escape_debug().to_string();
    let mut text = String::new();
    for entry in shown["entries"].as_array().into_iter().flatten() {
        text.push_str(&format!(
            "{}  {}  {}: {}\n",
            word(&entry["timestamp"]),
            word(&entry["actor"]),
            word(&entry["action"]),
            word(&entry["result"]),
        ));
    }
    if text.is_empty() { "nothing is written down".to_owned() } else { text }
}
