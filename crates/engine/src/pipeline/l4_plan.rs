//! L4: the order in which tasks are offered to the scheduler.

use std::cmp::Reverse;

use contract::domain::run::NewRun;

use super::Outcome;

/// Indexes of the plan's tasks: the most urgent first, then as the plan lists them.
pub(crate) fn run(run: &NewRun) -> (Outcome, Vec<usize>) {
    let tasks = &run.plan.tasks;
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&i| (Reverse(tasks[i].priority), i));
    let names: Vec<&str> = order.iter().map(|&i| tasks[i].id.as_str()).collect();
    let reason = format!("{} tasks, at most {} at once", tasks.len(), run.plan.max_parallel);
    let outcome = Outcome::decided("PLANNED", reason)
        .set("C2.Task.order", names)
        .set("C2.Task.max_parallel", run.plan.max_parallel);
    (outcome, order)
}
