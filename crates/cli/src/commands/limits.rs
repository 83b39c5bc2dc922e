//! `writ limits`

use std::process::ExitCode;
use std::time::Duration;

use contract::domain::limit_window::{ResetBasis, waiting};
use contract::domain::text::counted;
use contract::domain::time::human_duration;
use ops::Result;
use ops::limit_window::list::Limit;
use ops::limit_window::{clear, list};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List the rate limits and usage windows that tasks wait for
    #[command(after_help = "Examples:
  writ limits list
  writ limits list --output json")]
    List,
    /// Let tasks use a limited resource again before its reset time
    #[command(after_help = "If the provider still refuses, the next attempt finds out and the limit is back.

Examples:
  writ limits clear claude
  writ limits clear claude/opus")]
    Clear {
        /// The executor, or EXECUTOR/MODEL, as `writ limits list` names it
        resource: String,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::List => {
            host::answer::<list::List>(globals, output, &list::Request {}, |answer| {
                match answer.limits.as_slice() {
                    [] => "no limits\n".to_owned(),
                    limits => limits.iter().map(line).collect(),
                }
            })
        }
        Command::Clear { resource } => {
            let request = clear::Request { resource: resource.clone() };
            host::answer::<clear::Clear>(globals, output, &request, |cleared| {
                let waiting = usize::try_from(cleared.waiting).unwrap_or(usize::MAX);
                let resource = one_line(&cleared.resource);
                format!("{resource} is used again; {} waited for it\n", counted(waiting, "task"))
            })
        }
    }
}

/// One limit in a line.
pub(crate) fn line(limit: &Limit) -> String {
    let left = match limit.seconds_left {
        0 => "expired; tasks resume one at a time".to_owned(),
        seconds => format!("in {}", human_duration(Duration::from_secs(seconds))),
    };
    let basis = match limit.basis {
        ResetBasis::Provider => "",
        ResetBasis::Estimate => "about ",
    };
    let waiting = waiting(limit.waiting);
    let (resource, until) = (one_line(&limit.resource), limit.until);
    let reason = limit.reason.strip_prefix("rate limit: ").unwrap_or(&limit.reason);
    let (kind, reason) = (&limit.kind, one_line(reason));
    format!("{resource}  until {basis}{until} ({left})  {waiting}  {kind}: {reason}\n")
}
