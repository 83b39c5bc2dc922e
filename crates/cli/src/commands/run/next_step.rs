//! What to do about a run that stopped.

use ops::run::work::RunAnswer;

/// One line with the command that goes on.
pub(super) fn after(answer: &RunAnswer) -> String {
    let (id, tasks) = (answer.run_id(), answer.0["tasks"].as_array());
    let is_conflict = |task: &serde_json::Value| {
        task["reason"].as_str().is_some_and(|it| it.starts_with("merge conflict with"))
    };
    // Without a result it was interrupted, and nobody has to decide anything.
    if !answer.has_result() {
        return format!("hint: continue with `writ run --continue {id}`\n");
    }
    if tasks.is_some_and(|tasks| tasks.iter().any(is_conflict)) {
        return format!(
            "hint: resolve with `git merge refs/writ/{id}/TASK`, then `writ run --continue {id}`\n"
        );
    }
    let is_unstarted = |task: &serde_json::Value| {
        task["status"] == "blocked" && task["attempts"].as_u64().is_none_or(|attempts| attempts == 0)
    };
    if tasks.is_some_and(|tasks| tasks.iter().any(is_unstarted)) {
        return format!("hint: remove what hinders the blocked tasks, then `writ retry {id}`\n");
    }
    format!(
        "hint: decide with `writ retry TASK`, or run interrupted tasks again with `writ run --continue {id} --rerun-parked`\n"
    )
}
