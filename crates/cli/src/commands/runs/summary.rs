//! How each task of a run ended, for people.

use contract::domain::check::{CheckSeen, first_failed};
use contract::domain::money::MicroUsd;
use contract::domain::status::Status;
use contract::domain::time::human_duration;
use contract::json::Value;
use ops::run::show::{self, TaskOfRun};

use super::{claims, confinement, name, rollback, took_over, unattributed};
use crate::failed_check;
use crate::output::one_line;
use crate::screen::columns;

/// For how many failed tasks the next commands are shown.
const NEXT_TASKS_MAX: usize = 3;

/// A line for each task, the failed checks, and the next commands.
pub(super) fn summary(shown: &show::Answer) -> String {
    let mut text = String::new();
    if let Some(answer) = shown.result.get("answer").filter(|answer| !answer.is_null()) {
        text.push_str(&format!("{answer}\n"));
    }
    let width = shown.tasks.iter().map(|task| columns(name(task))).max().unwrap_or(0);
    let has_cost = shown.tasks.iter().any(|task| cost(task).is_some());
    for task in &shown.tasks {
        let last = task.attempts.last();
        let took = last.and_then(|last| Some(human_duration(last.ended_at?.since(last.started_at))));
        let evidence = task.evidence.map(|evidence| format!(", {}", evidence.as_str())).unwrap_or_default();
        let reason = task.reason.as_deref().map(|reason| format!(": {}", one_line(reason)));
        let state = format!("{}{evidence}", task.status);
        let cost = cost(task).filter(|_| has_cost).map(|cost| cost.to_string()).unwrap_or_default();
        let cost = if has_cost { format!(" {cost:>9}") } else { String::new() };
        let line = format!(
            "{}{}  {state:<15} {:>7}{cost}{}",
            name(task),
            " ".repeat(width.saturating_sub(columns(name(task)))),
            took.unwrap_or_default(),
            reason.unwrap_or_default()
        );
        text.push_str(&format!("{}\n", line.trim_end()));
        if let Some(told) = last.and_then(took_over) {
            text.push_str(&format!("  {}\n", one_line(told)));
        }
        text.push_str(&last.map(|last| rollback::text(last, "  ")).unwrap_or_default());
        if let Some(check) = failed(task) {
            text.push_str(&failed_check::text(check, 0));
        }
        let outcome = task.attempts.last().and_then(|last| last.outcome.as_ref());
        text.push_str(&unattributed(outcome, "  "));
        text.push_str(&last.map(|last| claims::summary(last, "  ")).unwrap_or_default());
    }
    text.push_str(&confinement::summary(&shown.tasks));
    let reason = shown.result.get("reason").and_then(Value::as_str).unwrap_or("");
    let reason = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason)) };
    text.push_str(&format!("run {}{reason}\n", shown.brief.state.as_str()));
    // What never ran has no output.
    let has_failed = |task: &&TaskOfRun| task.status == Status::Failed && !task.attempts.is_empty();
    let failed: Vec<&TaskOfRun> = shown.tasks.iter().filter(has_failed).collect();
    let next: String =
        failed.iter().take(NEXT_TASKS_MAX).map(|task| failed_check::next(name(task))).collect();
    if !next.is_empty() {
        let more = match failed.len().saturating_sub(NEXT_TASKS_MAX) {
            0 => String::new(),
            more => format!("  and the same for {more} more failed tasks\n"),
        };
        text.push_str(&format!("next:\n{next}{more}"));
    }
    text.push_str(&format!("inspect it with `writ trace {}`\n", shown.brief.id));
    text
}

/// The check that failed in the last attempt of a task that is not done.
fn failed(task: &TaskOfRun) -> Option<&CheckSeen> {
    let outcome = task.attempts.last().filter(|_| task.status != Status::Done)?.outcome.as_ref()?;
    first_failed(&outcome.checks)
}

/// What its attempts reported as their cost.
fn cost(task: &TaskOfRun) -> Option<MicroUsd> {
    let outcomes = task.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref());
    outcomes.filter_map(|outcome| outcome.cost).reduce(|sum, cost| MicroUsd(sum.0.saturating_add(cost.0)))
}
