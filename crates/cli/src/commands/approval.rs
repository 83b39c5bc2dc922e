//! `writ approval`

use std::process::ExitCode;

use contract::domain::crew::approval::Filed;
use ops::Result;
use ops::approval::{decide, list, request};
use ops::verb::Surface;

use super::crew::CrewSelector;
use crate::app::Globals;
use crate::host;
use crate::local::LocalCommand;
use crate::output::{Output, one_line};
use crate::person::PersonArgs;

/// A verb has one command, and granting is that of `approval.decide`.
pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::changes("approval deny", Surface::Crew)];

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Request an approval; from then on the task cannot be assigned without it
    ///
    /// A task with several approvals needs all of them. Requesting the same action again shows the open approval.
    #[command(after_help = "Examples:
  writ approval request --run RUN --task T-4
  writ approval request --run RUN --task T-4 --action \"drop the old table\" --deadline 3600")]
    Request {
        #[command(flatten)]
        which: CrewSelector,
        /// What is to be approved, for the person who decides
        #[arg(long, value_name = "TEXT")]
        action: Option<String>,
        /// After this time without a decision, the request is denied [default: one hour]
        #[arg(long, value_name = "SECONDS")]
        deadline: Option<u64>,
    },
    /// Grant an approval, for one use
    #[command(after_help = "Examples:
  writ approval grant APPROVAL --reason \"reviewed the migration\"")]
    Grant {
        /// The approval
        id: String,
        /// Why, for the log
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        decider: PersonArgs,
    },
    /// Deny an approval, or take back one that was granted and not used
    #[command(after_help = "Examples:
  writ approval deny APPROVAL --reason \"not before the release\"")]
    Deny {
        /// The approval
        id: String,
        /// Why, for the log
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        decider: PersonArgs,
    },
    /// List pending approvals, or all approvals of a run
    #[command(after_help = "Examples:
  writ approval list
  writ approval list --run RUN")]
    List {
        /// All approvals of this run
        #[arg(long)]
        run: Option<String>,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let decided = |id: &str, granted, reason: &Option<String>, decider| {
        let request = decide::Request { id: id.to_owned(), granted, reason: reason.clone() };
        host::answer_decided::<decide::Decide>(globals, decider, output, &request, line)
    };
    match command {
        Command::Request { which, action, deadline } => {
            let request = request::Request {
                run: which.run.clone(),
                task: which.reference(globals)?,
                action: action.clone(),
                deadline_seconds: *deadline,
            };
            host::answer::<request::RequestApproval>(globals, output, &request, line)
        }
        Command::Grant { id, reason, decider } => decided(id, true, reason, decider),
        Command::Deny { id, reason, decider } => decided(id, false, reason, decider),
        Command::List { run } => {
            let request = list::Request { run: run.clone() };
            host::answer::<list::List>(globals, output, &request, |answer| {
                match answer.approvals.as_slice() {
                    [] => "no approvals".to_owned(),
                    approvals => approvals.iter().map(line).collect(),
                }
            })
        }
    }
}

fn line(filed: &Filed) -> String {
    let asked = &filed.asked;
    let action = one_line(&asked.action);
    format!("{}  {:<8}  until {}  {action}\n", asked.id, filed.state.as_str(), asked.deadline)
}
