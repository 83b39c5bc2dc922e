//! What a run would do, without doing it.

use std::fmt::Write;

use contract::json::Value;
use contract::plan::PlanTask;
use contract::plan::order::sorted;
use serde_json::json;

use super::Document;
use crate::output::one_line;

pub(super) fn document(document: &Document) -> Value {
    let plan = &document.intake.plan;
    let line = |task: &PlanTask| {
        json!({
            "id": task.id, "command": task.command, "depends_on": task.depends_on,
            "checks": task.checks.len(),
        })
    };
    json!({
        "objective": document.intake.objective,
        "workspace": document.workspace,
        "max_parallel": plan.max_parallel,
        "tasks": sorted(plan).into_iter().map(|index| line(&plan.tasks[index])).collect::<Vec<_>>(),
    })
}

pub(super) fn text(document: &Document) -> String {
    let plan = &document.intake.plan;
    let mut text = format!(
        "would run `{}` in {}: {} tasks, at most {} at once\n",
        one_line(&document.intake.objective),
        document.workspace.display(),
        plan.tasks.len(),
        plan.max_parallel
    );
    for index in sorted(plan) {
        let PlanTask { id, command, checks, depends_on, .. } = &plan.tasks[index];
        let after =
            if depends_on.is_empty() { String::new() } else { format!(" after {}", depends_on.join(", ")) };
        let line = format!("  {id}: {} [{} checks]{after}", command.join(" "), checks.len());
        writeln!(text, "{}", one_line(&line)).expect("BUG: writing to memory cannot fail");
    }
    text
}
