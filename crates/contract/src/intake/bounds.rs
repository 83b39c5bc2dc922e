//! Values of a TASK that are above what writ allows: which one holds instead. And defaults that limit more than an author may
//! expect.

use std::time::Duration;

use crate::aop::task::Task;
use crate::domain::limits::{RETRIES_MAX, TASK_TIMEOUT_MAX};
use crate::domain::money::MicroUsd;
use crate::domain::run::RunWarning;
use crate::domain::time::human_duration;

/// A warning for each such value.
pub(super) fn warnings(task: &Task) -> Vec<RunWarning> {
    let policy = task.execution_policy.as_ref();
    let retries = policy.and_then(|policy| policy.max_retries).filter(|max| *max > u64::from(RETRIES_MAX));
    let retries = retries.map(|max| {
        limited(
            "$.execution_policy.max_retries",
            &format!("{max} retries"),
            &format!("{RETRIES_MAX} retries"),
        )
    });
    let timeouts = [
        ("$.execution_policy.timeout_seconds", policy.and_then(|policy| policy.timeout_seconds)),
        ("$.guard_rails.timeout_seconds", task.guard_rails.as_ref().and_then(|guard| guard.timeout_seconds)),
    ];
    let timeouts = timeouts.into_iter().filter_map(|(path, seconds)| {
        let seconds = seconds.filter(|seconds| Duration::from_secs(*seconds) > TASK_TIMEOUT_MAX)?;
        Some(limited(path, &format!("{seconds} seconds"), &human_duration(TASK_TIMEOUT_MAX)))
    });
    let constraints = task.task.constraints.as_ref();
    let budgets = task.task.budgets.as_ref();
    let costs = [
        ("$.task.constraints.max_cost_usd", constraints.and_then(|constraints| constraints.max_cost_usd)),
        ("$.task.budgets.max_cost_usd", budgets.and_then(|budgets| budgets.max_cost_usd)),
    ];
    let costs = costs.into_iter().filter_map(|(path, dollars)| {
        let dollars = dollars.filter(|dollars| *dollars > MicroUsd::DOLLARS_MAX)?;
        Some(limited(path, &format!("{dollars} USD"), &format!("{} USD", MicroUsd::DOLLARS_MAX)))
    });
    retries.into_iter().chain(timeouts).chain(costs).chain(network(task)).collect()
}

fn limited(path: &str, asked: &str, holds: &str) -> RunWarning {
    let message = format!("{asked} are more than the limit; {holds} are in force");
    RunWarning { code: "LIMITED".to_owned(), path: path.to_owned(), message }
}

/// A target whose capabilities do not name the network has a restricted one.
fn network(task: &Task) -> Option<RunWarning> {
    let capabilities = task.target.capabilities.as_ref()?;
    let asked = task.task.access.as_ref().and_then(|access| access.network);
    let allowed = task.task.constraints.as_ref().and_then(|constraints| constraints.network_access);
    let is_default = [capabilities.network_access, asked, allowed].iter().all(Option::is_none);
    is_default.then(|| RunWarning {
        code: "NETWORK_DEFAULT".to_owned(),
        path: "$.target.capabilities.network_access".to_owned(),
        message: "is absent, so the network is RESTRICTED".to_owned(),
    })
}
