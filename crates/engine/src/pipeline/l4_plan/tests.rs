use contract::domain::plan::PlanTask;
use contract::domain::policy::Policy;
use contract::domain::priority::Priority;
use serde_json::json;

use super::*;
use crate::pipeline::layer::Handed;
use crate::pipeline::outcome::Next;
use crate::pipeline::samples::{decisions, delta, enter, facts, run_of};

fn tasks() -> Vec<PlanTask> {
    let task = |id: &str, priority| PlanTask { priority, ..PlanTask::minimal(id) };
    vec![task("a", Priority::Normal), task("b", Priority::Critical), task("c", Priority::Normal)]
}

#[test]
fn urgent_tasks_come_first_and_the_rest_as_planned() {
    let run = run_of(tasks());
    let outcome = enter(super::run, facts(&run, &Policy::default()));
    assert_eq!(decisions(&outcome), ["PLANNED: 3 tasks, at most 2 at once"]);
    assert_eq!(delta(&outcome), json!({"C2.Task.order": ["b", "a", "c"], "C2.Task.max_parallel": 2}));
    assert_eq!(outcome.next, Next::Continue(Handed::Nothing));
    let mut bundle = Bundle::new();
    bundle.apply(&outcome.delta).unwrap();
    assert_eq!(order(&run.plan, &bundle), [1, 0, 2]);
}

#[test]
fn no_task_is_lost_or_doubled_whatever_the_context_says() {
    let plan = run_of(tasks()).plan;
    // An order with too many names is not recorded: it is decided again.
    assert_eq!(order(&plan, &Bundle::new()), [1, 0, 2]);
    let mut bundle = Bundle::new();
    let odd = json!({"C2.Task.order": ["c", "c", "unknown", 7]});
    bundle.apply(odd.as_object().unwrap()).unwrap();
    assert_eq!(order(&plan, &bundle), [2, 0, 1]);
}
