//! `writ runs list` and `writ runs show`

pub(crate) mod claims;
mod confinement;
mod rollback;
mod summary;

use std::process::ExitCode;

use contract::domain::attempt::{Attempt, AttemptOutcome};
use contract::domain::code::ErrorCode;
use contract::domain::outside::Outside;
use contract::domain::run::{RunState, ShownState};
use contract::domain::status::Status;
use contract::domain::time::human_duration;
use contract::json::Value;
use ops::names::LAST;
use ops::run::list::{self, List, RunBrief};
use ops::run::show::{self, Show, TaskOfRun};
use ops::run::work::RunAnswer;
use ops::{Context, Error, Result, Session, verb};

use super::run::next_step;
use crate::app::Globals;
use crate::output::{Format, Output, one_line};
use crate::{failed_check, host};
use summary::summary;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List runs, newest first
    #[command(after_help = "Examples:\n  writ runs list\n  writ runs list --state failed")]
    List {
        /// submitted, running, interrupted, stopped, done, failed or canceled
        #[arg(long)]
        state: Option<String>,
        /// At most this many
        #[arg(long, default_value_t = 20)]
        limit: u64,
    },
    /// Show a run with its tasks and attempts
    #[command(after_help = "Examples:\n  writ runs show\n  writ runs show run_3f56 --output json")]
    Show {
        /// The run's id, a unique prefix of it, or its correlation id [default: @last, the newest run]
        #[arg(default_value = LAST, hide_default_value = true)]
        run: String,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::List { state, limit } => {
            let state = state.as_deref().map(parse_state).transpose()?;
            let request = list::Request { state, limit: Some(*limit) };
            host::answer::<List>(globals, output, &request, |answer| {
                if answer.runs.is_empty() {
                    return "no runs\n".to_owned();
                }
                let line = |run: &RunBrief| {
                    let (state, objective) = (run.state.as_str(), one_line(&run.objective));
                    let parent = run.parent_run.as_ref().map(|parent| format!("  (started by {parent})"));
                    let parent = parent.unwrap_or_default();
                    format!("{}  {state:<11}  {}  {objective}{parent}\n", run.id, run.created_at)
                };
                let mut text: String = answer.runs.iter().map(line).collect();
                let is_interrupted = |run: &&RunBrief| run.state == ShownState::Interrupted;
                if let Some(run) = answer.runs.iter().find(is_interrupted) {
                    text.push_str(&format!(
                        "hint: continue an interrupted run: writ run --continue {}\n",
                        run.id
                    ));
                }
                text
            })
        }
        Command::Show { run } => {
            host::answer::<Show>(globals, output, &show::Request { run: run.clone() }, text)
        }
    }
}

fn parse_state(word: &str) -> Result<ShownState> {
    ShownState::parse(word).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, format!("invalid state '{word}'"))
            .hint("one of submitted, running, interrupted, stopped, done, failed, canceled")
    })
}

/// Ids made by writ have a prefix for their kind.
fn corr(corr: &str) -> String {
    if corr.starts_with("corr_") { corr.to_owned() } else { format!("corr {corr}") }
}

fn text(shown: &show::Answer) -> String {
    let run = &shown.brief;
    let objective = one_line(&run.objective);
    let mut text = format!("{}  {}  {objective}\n", run.id, run.state.as_str());
    text.push_str(&format!(
        "  {}  by {}  in {}\n",
        one_line(&corr(&run.corr)),
        one_line(&run.requested_by),
        one_line(&shown.workspace)
    ));
    if let Some(reason) = shown.result.get("reason").and_then(Value::as_str) {
        text.push_str(&format!("  {}\n", one_line(reason)));
    }
    for task in &shown.tasks {
        let name = task.name.as_deref().unwrap_or_default();
        let evidence = task.evidence.map(|evidence| format!(" ({})", evidence.as_str())).unwrap_or_default();
        text.push_str(&format!("\n  {name}  {}{evidence}  {}\n", task.status, task.id));
        if let Some(reason) = &task.reason {
            text.push_str(&format!("    because {}\n", one_line(reason)));
        }
        if let Some(awaited) = &task.waits_for {
            text.push_str(&format!("    waits for {}\n", one_line(&awaited.told)));
        }
        for attempt in &task.attempts {
            let took = attempt.ended_at.map(|end| human_duration(end.since(attempt.started_at)));
            let exit = attempt.outcome.as_ref().and_then(|outcome| outcome.exit_code);
            let exit = exit.map(|code| format!(", exit {code}")).unwrap_or_default();
            text.push_str(&format!(
                "    attempt {}: {}{exit}, {}\n",
                attempt.begun.number,
                attempt.state.as_str(),
                took.unwrap_or_else(|| "not ended".to_owned())
            ));
            for said in confinement::unconfined(attempt) {
                text.push_str(&format!("      {}\n", one_line(&said)));
            }
            if let Some(told) = took_over(attempt) {
                text.push_str(&format!("      {}\n", one_line(told)));
            }
            text.push_str(&rollback::text(attempt, "      "));
            text.push_str(&unattributed(attempt.outcome.as_ref(), "      "));
            text.push_str(&claims::text(attempt, "      "));
            for check in attempt.outcome.iter().flat_map(|outcome| &outcome.checks) {
                if check.passed {
                    let command = check.command.join(" ");
                    text.push_str(&format!("      check passed: {}\n", one_line(&command)));
                } else {
                    text.push_str(&failed_check::text(check, 4));
                }
            }
        }
    }
    let is_blocked = shown.tasks.iter().any(|task| task.status == Status::Blocked);
    if run.state == ShownState::Interrupted || run.state == ShownState::Stopped && !is_blocked {
        text.push_str(&format!("\nnext:\n  writ run --continue {}\n", run.id));
    } else if run.state == ShownState::Stopped {
        text.push_str(&format!("\nnext:\n  {}\n", next_step::of_shown(run.id.as_str(), &shown.tasks)));
    } else if let Some(task) = shown.tasks.iter().find(|task| task.status == Status::Failed) {
        // Another run may have a task of the same name by now, so the task's own id is named.
        text.push_str(&format!("\nnext:\n{}", failed_check::next(task.id.as_str())));
    }
    text
}

/// From whom its locks were taken before the attempt got them.
fn took_over(attempt: &Attempt) -> Option<&str> {
    attempt.outcome.as_ref()?.took_over.as_deref()
}

/// Prints the answer of a run that was worked, and gives its exit code.
pub(crate) fn print_result(cx: &mut Context, answer: &RunAnswer, output: &Output) -> Result<ExitCode> {
    print_result_as(answer, output, || {
        let request = show::Request { run: answer.run_id().to_owned() };
        Ok(summary(&verb::call::<Show>(cx, &Session::reader(), &request)?.answer))
    })
}

/// The same with another text for people.
pub(crate) fn print_result_as(
    answer: &RunAnswer,
    output: &Output,
    text: impl FnOnce() -> Result<String>,
) -> Result<ExitCode> {
    let failed = answer.state() != Some(RunState::Done);
    let printed = match output.format {
        Format::Json | Format::Ndjson => output.envelope(!failed, answer),
        Format::Text => output.text(&text()?),
    };
    if failed { Ok(ExitCode::from(ErrorCode::RunFailed.exit())) } else { Ok(printed) }
}

/// A line about changes without a known author.
fn unattributed(outcome: Option<&AttemptOutcome>, indent: &str) -> String {
    let told = outcome.and_then(|outcome| outcome.outside.as_ref()).and_then(Outside::unattributed);
    told.map(|told| format!("{indent}unattributed: {}\n", one_line(&told))).unwrap_or_default()
}

fn name(task: &TaskOfRun) -> &str {
    task.name.as_deref().unwrap_or_default()
}
