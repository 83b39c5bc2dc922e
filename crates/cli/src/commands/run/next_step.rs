//! What to do about a run that stopped.

use contract::domain::reason::ReasonRule;
use contract::domain::status::Status;
use ops::run::show::TaskOfRun;
use ops::run::work::RunAnswer;

/// One line with the command that goes on.
pub(super) fn after(answer: &RunAnswer) -> String {
    let id = answer.run_id();
    // Without a result it was interrupted: no decision is needed.
    if !answer.has_result() {
        return format!("hint: continue with `writ run --continue {id}`\n");
    }
    let tasks = answer.0["tasks"].as_array().into_iter().flatten().map(|task| Stuck {
        rule: task["reason_rule"].as_str().and_then(ReasonRule::parse),
        is_blocked: task["status"] == "blocked",
        attempts: task["attempts"].as_u64().unwrap_or(0),
    });
    format!("hint: {}\n", advice(id, tasks))
}

/// The same for a run that is shown.
pub(in crate::commands) fn of_shown(id: &str, tasks: &[TaskOfRun]) -> String {
    let stuck = tasks.iter().map(|task| Stuck {
        rule: task.reason_rule,
        is_blocked: task.status == Status::Blocked,
        attempts: task.attempts.len() as u64,
    });
    advice(id, stuck)
}

struct Stuck {
    rule: Option<ReasonRule>,
    is_blocked: bool,
    attempts: u64,
}

fn advice(id: &str, tasks: impl Iterator<Item = Stuck>) -> String {
    let (mut has_conflict, mut is_unstarted) = (false, false);
    for task in tasks {
        has_conflict |= task.rule == Some(ReasonRule::MergeConflict);
        is_unstarted |= task.is_blocked && task.attempts == 0;
    }
    if has_conflict {
        format!("resolve with `git merge refs/writ/{id}/TASK`, then `writ run --continue {id}`")
    } else if is_unstarted {
        format!("fix what blocks these tasks, then `writ retry {id}`")
    } else {
        format!(
            "decide with `writ retry TASK`, or run interrupted tasks again with `writ run --continue {id} --rerun-parked`"
        )
    }
}
