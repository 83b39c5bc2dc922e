//! `writ escalate`

use std::process::ExitCode;

use contract::domain::priority::Priority;
use ops::Result;
use ops::run::escalate::{Answer, Escalate, Request};

use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Args)]
#[command(
    long_about = "Change the priority of a task in a run\n\n\
                  An engine that works the run orders its waiting tasks by it at once. An attempt that runs is not \
                  interrupted. A task that is more urgent than its plan says uses the model that the user's \
                  configuration names for its executor under [escalation.PRIORITY], from its next attempt on. Budgets \
                  stay as they are.",
    after_help = "Examples:
  writ escalate parser
  writ escalate T-2 --to high --reason \"the release waits for it\"
  writ escalate run_3f56/parser --to normal"
)]
pub(crate) struct Args {
    /// The task: an id, a unique prefix of it, its id in a plan, its T-n, or RUN/TASK
    task: String,
    /// The new priority: low, normal, high or critical
    #[arg(long, value_name = "PRIORITY", default_value = "critical", value_parser = priority)]
    to: Priority,
    /// Why, for the log
    #[arg(long)]
    reason: Option<String>,
}

fn priority(word: &str) -> std::result::Result<Priority, String> {
    Priority::parse(word).ok_or_else(|| "expected low, normal, high or critical".to_owned())
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { task: args.task.clone(), to: args.to, reason: args.reason.clone() };
    let answer = host::call_existing::<Escalate>(globals, &request)?;
    Ok(output.answer(&answer, || text(&answer)))
}

fn text(answer: &Answer) -> String {
    let name = one_line(&answer.name);
    let mut lines = vec![format!("{name} is {}, was {}", answer.new_priority, answer.old_priority)];
    lines.extend(answer.warnings.iter().map(|warning| format!("warning: {warning}")));
    if answer.event_id.is_some() {
        lines.push(answer.counts_from.told().to_owned());
    }
    if !answer.waits_for.is_empty() {
        lines.push(format!("it waits for {}, whose priority stays", one_line(&answer.waits_for.join(", "))));
    }
    lines.push(one_line(&answer.model.told).into_owned());
    lines.join("\n")
}
