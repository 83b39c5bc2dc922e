//! What people read about a worker that has ended.

use engine::worker::{WorkerEnd, WorkerReport};

use crate::output::one_line;

pub(super) fn report(report: &WorkerReport) -> String {
    let mut text = String::new();
    for task in &report.tasks {
        let evidence = task.evidence.map(|evidence| format!(", {}", evidence.as_str())).unwrap_or_default();
        let code = task.code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
        text.push_str(&format!(
            "{:<8}  {}{evidence}{code}  {}\n",
            task.task_id,
            task.status,
            one_line(&task.reason)
        ));
    }
    match report.end {
        WorkerEnd::Enough => {}
        WorkerEnd::NothingReady => text.push_str("no task is ready\n"),
        WorkerEnd::Interrupted => text.push_str("interrupted\n"),
    }
    text
}
