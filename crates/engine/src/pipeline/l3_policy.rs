//! L3: what may run. The rules are the user's; a repository can only add to them.

use std::time::Duration;

use contract::domain::run::NewRun;
use contract::domain::time::human_duration;

use super::Outcome;

/// The user's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Executors that may not be used.
    pub deny_executors: Vec<String>,
    /// Whether commands may be given to a shell.
    pub deny_shell: bool,
    /// No attempt may take longer than this.
    pub timeout_max: Option<Duration>,
}

/// Why the policy forbids the run, if it does.
pub fn denial(asked: &NewRun, policy: &Policy) -> Option<String> {
    let outcome = run(asked, policy);
    outcome.halts().then(|| outcome.decisions.into_iter().map(|decision| decision.reason).collect())
}

pub(crate) fn run(run: &NewRun, policy: &Policy) -> Outcome {
    for task in &run.plan.tasks {
        if policy.deny_executors.iter().any(|denied| denied == task.executor.as_str()) {
            let rule = format!("policy.deny_executors has `{}`", task.executor.as_str());
            return deny(&task.id, &rule);
        }
        let uses_shell = task.shell || task.checks.iter().any(|check| check.shell);
        if policy.deny_shell && uses_shell {
            return deny(&task.id, "policy.deny_shell is set");
        }
    }
    let allowed = Outcome::decided("POLICY_ALLOW", "no rule forbids it").set("C4.Policy.sandbox", "none");
    match policy.timeout_max {
        Some(max) => allowed
            .and("TIMEOUT_CAPPED", format!("no attempt may take longer than {}", human_duration(max)))
            .set("C4.Policy.timeout_max_ms", u64::try_from(max.as_millis()).unwrap_or(u64::MAX)),
        None => allowed,
    }
}

fn deny(task: &str, rule: &str) -> Outcome {
    let reason = format!("task `{task}` is denied: {rule}");
    Outcome::decided("POLICY_DENY", &reason)
        .set("C4.Policy.denied_by", rule)
        .set("C6.Audit.refused", reason)
        .halt()
}
