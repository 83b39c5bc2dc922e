use contract::aocl::Bundle;
use contract::domain::attempt::Attempt;
use contract::domain::plan::PlanTask;
use contract::domain::task::Task;
use serde_json::json;

use super::*;
use crate::pipeline::Executed;
use crate::pipeline::l9_assemble::WalkEnd;
use crate::pipeline::layer::{ContextView, Fetched, LeaveFacts};
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{decisions, delta, run_of, task};

fn audit(tasks: &[(Task, Vec<Attempt>)], executed: &[&str], branch: Option<&str>) -> Outcome {
    let run = run_of(Vec::new());
    let executed: Vec<Executed> =
        executed.iter().map(|id| Executed { id: (*id).to_owned(), halted: false }).collect();
    let fetched = Fetched::Leave(LeaveFacts {
        run: &run,
        tasks,
        end: &WalkEnd::Worked,
        stack_id: "default",
        branch: branch.map(str::to_owned),
        total_ms: 7,
    });
    let view = ContextView { bundle: &Bundle::new(), handed: &[], executed: &executed, delegations: &[] };
    super::run(&LayerInput { id: "L10", view, fetched: &fetched })
}

fn summary(outcome: Outcome) -> RunSummary {
    let Next::Continue(Handed::Summary(summary)) = outcome.next else { panic!("no summary") };
    *summary
}

#[test]
fn the_summary_names_each_layer_once_and_the_branch() {
    let outcome = audit(&[], &["L3", "L9", "L10", "L3"], Some("L3 -> L9"));
    assert_eq!(decisions(&outcome), ["AUDITED: 0 delegations, 0 lessons"]);
    assert_eq!(delta(&outcome), json!({"C6.Audit.layers": 3}));
    let summary = summary(outcome);
    assert_eq!(summary.layers_executed, ["L3", "L9", "L10"]);
    assert_eq!((summary.branch_taken.as_deref(), summary.timing_ms_total), (Some("L3 -> L9"), 7));
    assert_eq!((summary.stack_id.as_str(), summary.notes), ("default", None));
    assert_eq!(summary.verification.unwrap().status, "passed");
}

#[test]
fn a_failed_task_leaves_a_lesson() {
    let reason = Some("exit code 3".into());
    let failed = Task { status: Status::Failed, blocked_reason: reason, ..task(2, PlanTask::minimal("b")) };
    let done =
        Task { status: Status::Done, evidence: Some(Evidence::Verified), ..task(1, PlanTask::minimal("a")) };
    let outcome = audit(&[(done, Vec::new()), (failed, Vec::new())], &[], None);
    assert_eq!(decisions(&outcome), ["AUDITED: 0 delegations, 1 lessons"]);
    assert_eq!(outcome.delta["C6.Audit.lessons.t2"], "failed before: exit code 3");
    let summary = summary(outcome);
    let verification = summary.verification.unwrap();
    assert_eq!((&*verification.status, &*verification.reason), ("incomplete", "1 of 2 tasks verified"));
    assert_eq!(summary.notes.as_deref(), Some("1 lessons kept for the next attempt"));
}
