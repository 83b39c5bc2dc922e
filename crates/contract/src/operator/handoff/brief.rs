//! A bundle as text for a model, inside a budget of tokens. What agents and users wrote is fenced.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Handoff, HandoffRow};
use crate::continuity::brief::TOKEN_BYTES;
use crate::continuity::brief::fit::{BriefGroup, choose, clip, one_line};
use crate::domain::crew::task_ref::TaskRef;
use crate::domain::limits;
use crate::domain::status::Status;
use crate::fence;

const RECORDED_BY: &str = "agents and users";
/// Task names in the line about what comes next.
const NEXT_MAX: usize = 8;

/// The summary of a bundle, and what had to be left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffBrief {
    pub text: String,
    pub approx_tokens: usize,
    pub budget_tokens: usize,
    /// How many items did not fit.
    pub omitted: usize,
}

struct HandoffSection {
    title: &'static str,
    weight: usize,
    lines: Vec<String>,
}

/// Summarizes a run in no more than `budget` tokens. The bundle must be valid.
pub fn brief(handoff: &Handoff, program: &str, budget: usize) -> HandoffBrief {
    let budget = budget.clamp(limits::BRIEF_TOKENS_MIN, limits::BRIEF_TOKENS_MAX);
    let room = budget * TOKEN_BYTES;
    // The longest item.
    let most = room / 12;
    let (head, commands) = (head(handoff, program), commands(handoff, program));
    let about = format!(
        "OBJECTIVE {}\nCONSTRAINTS {}\n",
        clip(&one_line(&handoff.objective), most),
        clip(&one_line(&handoff.constraints.to_string()), most)
    );
    let sections = sections(handoff, most);
    let fixed = head.len() + about.len() + commands.len() + fence::room(RECORDED_BY);
    let group = |section: &HandoffSection| BriefGroup {
        weight: section.weight,
        title: section.title.len() + 1,
        sizes: section.lines.iter().map(|line| line.len() + 1).collect(),
    };
    let groups: Vec<BriefGroup> = sections.iter().map(group).collect();
    let chosen = choose(&groups, room.saturating_sub(fixed));
    let mut data = about;
    for (section, taken) in sections.iter().zip(&chosen).filter(|(_, taken)| taken.contains(&true)) {
        data.push_str(section.title);
        data.push('\n');
        for (line, _) in section.lines.iter().zip(taken).filter(|(_, taken)| **taken) {
            data.push_str(line);
            data.push('\n');
        }
    }
    let text = format!("{head}{}{commands}", fence::fenced(RECORDED_BY, &data));
    HandoffBrief {
        approx_tokens: text.len().div_ceil(TOKEN_BYTES),
        budget_tokens: budget,
        omitted: chosen.iter().flatten().filter(|taken| !**taken).count(),
        text,
    }
}

/// Contains only validated names and numbers, and no free text.
fn head(handoff: &Handoff, program: &str) -> String {
    let count = |status: Status| handoff.ledger.iter().filter(|row| row.status == status).count();
    let counts: Vec<String> =
        Status::ALL.iter().map(|status| format!("{} {status}", count(*status))).collect();
    let names = |keep: &dyn Fn(&HandoffRow) -> bool| -> String {
        let mut names = handoff.ledger.iter().filter(|row| keep(row)).map(|row| row.task_id.as_str());
        let some: Vec<&str> = names.by_ref().take(NEXT_MAX).collect();
        let rest = names.count();
        match (some.is_empty(), rest) {
            (true, _) => "none".to_owned(),
            (false, 0) => some.join(", "),
            (false, rest) => format!("{} and {rest} more", some.join(", ")),
        }
    };
    let ready = names(&|row| row.status == Status::Todo && waits_for(handoff, row).is_empty());
    let at_work = names(&|row| row.status == Status::InProgress);
    let blocked = names(&|row| row.status == Status::Blocked);
    format!(
        "== {program}: a run is handed over ==\nrun {} · {}\nNEXT give out {ready}; wait for {at_work}; unblock \
         {blocked}\nWhat is done stays done. A task in progress belongs to the bearer of its token until the watchdog \
         takes it back.\n",
        handoff.run_id.as_str(),
        counts.join(", "),
    )
}

fn commands(handoff: &Handoff, program: &str) -> String {
    let run = handoff.run_id.as_str();
    format!(
        "== COMMANDS ==\n{program} handoff import FILE --workspace DIR\n{program} ledger show {run}\n{program} watchdog \
         sweep --run {run}\n{program} assignment issue --run {run} --task T-n --owner NAME\n{program} result submit \
         FILE\n"
    )
}

/// The open dependencies of a task.
fn waits_for<'h>(handoff: &'h Handoff, row: &'h HandoffRow) -> Vec<&'h TaskRef> {
    let listed = handoff.dependencies.iter().filter(|pair| pair.task_id == row.task_id);
    let needed = listed.map(|pair| &pair.depends_on_task_id).chain(row.dependencies.iter().flatten());
    let status: BTreeMap<&TaskRef, Status> =
        handoff.ledger.iter().map(|row| (&row.task_id, row.status)).collect();
    let mut open: Vec<&TaskRef> = needed.filter(|name| status.get(name) != Some(&Status::Done)).collect();
    open.sort();
    open.dedup();
    open
}

fn sections(handoff: &Handoff, most: usize) -> Vec<HandoffSection> {
    let in_state = |status: Status| handoff.ledger.iter().filter(move |row| row.status == status);
    let (free, waiting): (Vec<&HandoffRow>, Vec<&HandoffRow>) =
        in_state(Status::Todo).partition(|row| waits_for(handoff, row).is_empty());
    let section = |weight, title, lines: Vec<String>| {
        let line = |text: &String| format!("- {}", clip(&one_line(text), most));
        HandoffSection { title, weight, lines: lines.iter().map(line).collect() }
    };
    let given_up = [Status::Failed, Status::Canceled].into_iter().flat_map(in_state);
    vec![
        section(4, "IN PROGRESS", in_state(Status::InProgress).map(|row| at_work(handoff, row)).collect()),
        section(4, "BLOCKED", in_state(Status::Blocked).map(|row| blocked(handoff, row)).collect()),
        section(3, "READY", free.into_iter().map(ready).collect()),
        section(4, "WORKLOGS OF OPEN TASKS, newest first", worklogs(handoff)),
        section(3, "MUST BE SHOWN", targets(handoff)),
        section(2, "WAITING", waiting.into_iter().map(|row| waiting_line(handoff, row)).collect()),
        section(2, "DONE", in_state(Status::Done).map(|row| done(handoff, row)).collect()),
        section(
            1,
            "GIVEN UP",
            given_up.map(|row| format!("{} {}: {}", row.task_id, row.status, row.title)).collect(),
        ),
    ]
}

fn at_work(handoff: &Handoff, row: &HandoffRow) -> String {
    let mut locks = handoff.active_locks.iter().filter(|lock| lock.active && lock.task_id == row.task_id);
    let token = locks.clone().find_map(|lock| lock.x_fencing_token);
    let token = token.map_or_else(|| "no token".to_owned(), |token| format!("token {token}"));
    let places: Vec<&str> = locks.by_ref().map(|lock| lock.resource.as_str()).collect();
    let heard = row.last_heartbeat_at.as_deref().unwrap_or("never");
    format!(
        "{} by {}, {token}, holds {}, heard {heard}: {}",
        row.task_id,
        row.owner,
        places.join(" "),
        row.title
    )
}

fn blocked(handoff: &Handoff, row: &HandoffRow) -> String {
    let blocker = handoff.open_blockers.iter().find(|blocker| blocker.task_id == row.task_id);
    let why = blocker.map_or_else(String::new, |blocker| format!(" {} {}", blocker.code, blocker.reason));
    format!("{}{why}: {}", row.task_id, row.title)
}

fn ready(row: &HandoffRow) -> String {
    format!(
        "{} [{}] may change {}: {}",
        row.task_id,
        row.priority.as_str(),
        row.lock_scope.join(" "),
        row.title
    )
}

fn waiting_line(handoff: &Handoff, row: &HandoffRow) -> String {
    let names: Vec<&str> = waits_for(handoff, row).into_iter().map(TaskRef::as_str).collect();
    format!("{} for {}: {}", row.task_id, names.join(", "), row.title)
}

fn done(handoff: &Handoff, row: &HandoffRow) -> String {
    let evidence = row.extra.get("x_evidence").and_then(Value::as_str).unwrap_or("claimed");
    let mut results = handoff.extra.get("x_results").and_then(Value::as_array).into_iter().flatten();
    let own = results.rfind(|result| result["task_id"] == row.task_id.as_str());
    let notes = own.and_then(|own| own["result"]["notes_for_orchestrator"].as_array());
    let notes: Vec<&str> = notes.into_iter().flatten().filter_map(Value::as_str).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    format!("{} {evidence}: {}{notes}", row.task_id, row.title)
}

fn is_open(handoff: &Handoff, name: &str) -> bool {
    handoff.ledger.iter().any(|row| row.task_id.as_str() == name && !row.status.is_terminal())
}

fn worklogs(handoff: &Handoff) -> Vec<String> {
    let logs = handoff.extra.get("x_worklogs").and_then(Value::as_array).into_iter().flatten();
    let mut lines = Vec::new();
    for log in logs {
        let name = log["task_id"].as_str().unwrap_or_default();
        if !is_open(handoff, name) {
            continue;
        }
        for line in log["lines"].as_array().into_iter().flatten().rev() {
            let text = line["text"].as_str().unwrap_or_default();
            let entry: Value = serde_json::from_str(text).unwrap_or_default();
            let word = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let (action, result, next) = (word("action"), word("result"), word("next_step"));
            lines.push((word("timestamp"), format!("{name} {action}: {result}; next {next}")));
        }
    }
    lines.sort_by(|a, b| b.0.cmp(&a.0));
    lines.into_iter().map(|(at, text)| format!("{at} {text}")).collect()
}

fn targets(handoff: &Handoff) -> Vec<String> {
    let open = handoff.acceptance_targets.iter().filter(|target| is_open(handoff, target.task_id.as_str()));
    let lines =
        open.flat_map(|target| target.criteria.iter().map(move |text| format!("{} {text}", target.task_id)));
    lines.collect()
}

#[cfg(test)]
mod tests;
