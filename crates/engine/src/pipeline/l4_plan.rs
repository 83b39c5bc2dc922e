//! L4: decides the order in which tasks are offered to the scheduler.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use contract::aocl::{Bundle, Layer};
use contract::digest;
use contract::domain::limits;
use contract::domain::plan::Plan;
use contract::json::Value;

use super::Outcome;
use super::layer::{LayerInput, LayerSpec, Stage};

/// Where the order is in the context, as names of tasks.
const ORDER: &str = "C2.Task.order";
/// Where its digest is, if there are too many names.
const ORDER_DIGEST: &str = "C2.Task.order_digest";

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Plan, Stage::Enter, run);

/// The most urgent tasks first, then as the plan lists them.
fn run(input: &LayerInput<'_>) -> Outcome {
    let facts = input.enter();
    let plan = &facts.run.plan;
    let names: Vec<&str> = decided(plan).into_iter().map(|i| plan.tasks[i].id.as_str()).collect();
    let reason = format!("{} tasks, at most {} at once", plan.tasks.len(), plan.max_parallel);
    let outcome = Outcome::decided("PLANNED", reason).set("C2.Task.max_parallel", plan.max_parallel);
    if names.len() <= limits::ORDER_NAMED_MAX {
        return outcome.set(ORDER, names);
    }
    outcome.set(ORDER_DIGEST, digest::of_bytes(names.join("\n").as_bytes()))
}

fn decided(plan: &Plan) -> Vec<usize> {
    let mut order: Vec<usize> = (0..plan.tasks.len()).collect();
    order.sort_by_key(|&i| (Reverse(plan.tasks[i].priority), i));
    order
}

/// The recorded order, as indexes of the plan's tasks. A walk that is continued reads it from its records. Tasks that
/// the context does not name come last, so that none is lost.
pub(crate) fn order(plan: &Plan, bundle: &Bundle) -> Vec<usize> {
    let Some(names) = bundle.get(ORDER).and_then(Value::as_array) else { return decided(plan) };
    let positions: BTreeMap<&str, usize> =
        plan.tasks.iter().enumerate().map(|(i, task)| (task.id.as_str(), i)).collect();
    let named = names.iter().filter_map(|name| positions.get(name.as_str()?).copied());
    let mut placed = vec![false; plan.tasks.len()];
    named.chain(0..plan.tasks.len()).filter(|&task| !std::mem::replace(&mut placed[task], true)).collect()
}

#[cfg(test)]
mod tests;
