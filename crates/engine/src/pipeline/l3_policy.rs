//! L3: refuses what the user's policy forbids. A repository's rules can only add to it.

use std::time::Duration;

use contract::domain::check::Check;
use contract::domain::confinement::{NetworkUse, SandboxMode};
use contract::domain::run::NewRun;
use contract::domain::time::human_duration;
use contract::plan::PlanTask;

use super::{Outcome, RunFacts};

/// Tasks that are named in one line.
const NAMES_MAX: usize = 5;

/// The user's rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Executors that may not be used.
    pub deny_executors: Vec<String>,
    /// Whether commands may be given to a shell.
    pub deny_shell: bool,
    /// No attempt may take longer than this.
    pub timeout_max: Option<Duration>,
    /// How strictly tasks are confined at least.
    pub sandbox: Option<SandboxMode>,
}

/// Why the policy forbids the run, if it does.
pub fn denial(run: &NewRun, policy: &Policy) -> Option<String> {
    broken_rule(run, policy).map(|broken| broken.reason())
}

/// Why the policy forbids checks that belong to no run; `None` where they are allowed.
pub fn checks_denial(checks: &[Check], policy: &Policy) -> Option<String> {
    let script = checks.iter().find(|check| check.shell).filter(|_| policy.deny_shell)?;
    Some(format!("check `{}` is denied: policy.deny_shell is set", script.line()))
}

/// A task and the rule that forbids it.
struct BrokenRule<'r> {
    task: &'r str,
    rule: String,
}

impl BrokenRule<'_> {
    fn reason(&self) -> String {
        format!("task `{}` is denied: {}", self.task, self.rule)
    }
}

pub(crate) fn run(facts: &RunFacts<'_>) -> Outcome {
    if let Some(broken) = broken_rule(facts.run, facts.policy) {
        let reason = broken.reason();
        return Outcome::decided("POLICY_DENY", &reason)
            .set("C4.Policy.denied_by", &broken.rule)
            .refuse(reason);
    }
    let asked = facts.run.plan.tasks.iter().map(|task| task.sandbox).max().flatten();
    let sandbox = match SandboxMode::effective(facts.policy.sandbox, asked) {
        SandboxMode::Off => "none",
        mode => mode.as_str(),
    };
    let allowed = Outcome::decided("POLICY_ALLOW", "no rule forbids it").set("C4.Policy.sandbox", sandbox);
    let allowed = match unlimited(facts, |task| task.network != NetworkUse::Full) {
        Some(names) => allowed
            .and("NETWORK_NOT_LIMITED", format!("no sandbox is on, so `network` has no effect for {names}")),
        None => allowed,
    };
    let allowed = match unlimited(facts, |task| task.files.reads.is_some()) {
        Some(names) => {
            let reason = format!("no sandbox is on, so read paths have no effect for {names}");
            allowed.and("READS_NOT_LIMITED", reason)
        }
        None => allowed,
    };
    match facts.policy.timeout_max {
        Some(max) => allowed
            .and("TIMEOUT_CAPPED", format!("no attempt may take longer than {}", human_duration(max)))
            .set("C4.Policy.timeout_max_ms", u64::try_from(max.as_millis()).unwrap_or(u64::MAX)),
        None => allowed,
    }
}

/// Whether the author of a TASK names a shell for its checks.
fn names_shell(task: &PlanTask) -> bool {
    let shell = task.aop.as_ref().and_then(|aop| aop.pointer("/task/environment/shell"));
    !task.checks.is_empty() && shell.is_some_and(|shell| !shell.is_null())
}

/// Which tasks ask for a limit and have no sandbox that would see to it.
fn unlimited(facts: &RunFacts<'_>, asks: impl Fn(&PlanTask) -> bool) -> Option<String> {
    let is_off = |task: &&PlanTask| {
        SandboxMode::effective(facts.policy.sandbox, task.sandbox) == SandboxMode::Off && asks(task)
    };
    let names: Vec<&str> = facts.run.plan.tasks.iter().filter(is_off).map(|task| task.id.as_str()).collect();
    let more = match names.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = names[..names.len().min(NAMES_MAX)].join(", ");
    (!names.is_empty()).then(|| format!("{named}{more}"))
}

fn broken_rule<'r>(run: &'r NewRun, policy: &Policy) -> Option<BrokenRule<'r>> {
    run.plan.tasks.iter().find_map(|task| {
        let others = task.alternatives.iter().map(|other| other.executor.as_str());
        let mut executors = std::iter::once(task.executor.as_str()).chain(others);
        let uses_shell = task.shell || task.checks.iter().any(|check| check.shell) || names_shell(task);
        let denied = executors.find(|name| policy.deny_executors.iter().any(|denied| denied == name));
        let rule = if let Some(executor) = denied {
            format!("policy.deny_executors has `{executor}`")
        } else if policy.deny_shell && uses_shell {
            "policy.deny_shell is set".to_owned()
        } else {
            return None;
        };
        Some(BrokenRule { task: &task.id, rule })
    })
}

#[cfg(test)]
mod tests;
