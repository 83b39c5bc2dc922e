//! L4: decides the order in which tasks are offered to the scheduler.

use std::cmp::Reverse;

use contract::aocl::Bundle;
use contract::json::Value;
use contract::plan::Plan;

use super::{Outcome, RunFacts};

/// Where the order is in the context, as names of tasks.
const ORDER: &str = "C2.Task.order";

/// The most urgent tasks first, then as the plan lists them.
pub(crate) fn run(facts: &RunFacts<'_>) -> Outcome {
    let plan = &facts.run.plan;
    let mut order: Vec<usize> = (0..plan.tasks.len()).collect();
    order.sort_by_key(|&i| (Reverse(plan.tasks[i].priority), i));
    let names: Vec<&str> = order.iter().map(|&i| plan.tasks[i].id.as_str()).collect();
    let reason = format!("{} tasks, at most {} at once", plan.tasks.len(), plan.max_parallel);
    Outcome::decided("PLANNED", reason).set(ORDER, names).set("C2.Task.max_parallel", plan.max_parallel)
}

/// The recorded order, as indexes of the plan's tasks. A walk that is continued reads it from its records. Tasks that
/// the context does not name come last, so that none is lost.
pub(crate) fn order(plan: &Plan, bundle: &Bundle) -> Vec<usize> {
    let names = bundle.get(ORDER).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let index = |name: &Value| plan.tasks.iter().position(|task| name.as_str() == Some(&task.id));
    let mut order: Vec<usize> = Vec::with_capacity(plan.tasks.len());
    for task in names.iter().filter_map(index).chain(0..plan.tasks.len()) {
        if !order.contains(&task) {
            order.push(task);
        }
    }
    order
}

#[cfg(test)]
mod tests;
