//! `writ approval`

use std::process::ExitCode;

use contract::domain::crew::approval::Filed;
use contract::json::json;
use ops::Result;
use ops::approval::{Decision, Request, decide, list, request};

use super::crew::Which;
use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Ask for a person's word; from then on the task is not given out without it
    Request {
        #[command(flatten)]
        which: Which,
        /// What would be done, for the person who decides
        #[arg(long, value_name = "TEXT")]
        action: Option<String>,
        /// Unanswered for this long, it is a no
        #[arg(long, value_name = "SECONDS")]
        deadline: Option<u64>,
    },
    /// Say yes, for one use
    Grant {
        /// The approval
        id: String,
        /// Why, for the record
        #[arg(long)]
        reason: Option<String>,
    },
    /// Say no
    Deny {
        /// The approval
        id: String,
        /// Why, for the record
        #[arg(long)]
        reason: Option<String>,
    },
    /// List what waits for a word, or all that was asked in a run
    List {
        /// Only this run
        #[arg(long)]
        run: Option<String>,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    let given = match command {
        Command::List { run } => {
            let found = list(&mut cx, run.as_deref())?;
            return Ok(output.answer(&json!({"count": found.len(), "approvals": found}), || {
                if found.is_empty() { "nothing waits".to_owned() } else { found.iter().map(line).collect() }
            }));
        }
        Command::Request { which, action, deadline } => {
            let asked = Request {
                run: which.run.clone(),
                task: which.task.clone(),
                action: action.clone(),
                deadline_seconds: *deadline,
            };
            request(&mut cx, &host::any_key(globals)?, &asked)?
        }
        Command::Grant { id, reason } => {
            let decision = Decision { id: id.clone(), granted: true, reason: reason.clone() };
            decide(&mut cx, &host::any_key(globals)?, &decision)?
        }
        Command::Deny { id, reason } => {
            let decision = Decision { id: id.clone(), granted: false, reason: reason.clone() };
            decide(&mut cx, &host::any_key(globals)?, &decision)?
        }
    };
    Ok(output.answer(&given.answer, || line(&given.answer)))
}

fn line(filed: &Filed) -> String {
    let asked = &filed.asked;
    let action = one_line(&asked.action);
    format!("{}  {:<8}  until {}  {action}\n", asked.id, filed.state.as_str(), asked.deadline)
}
