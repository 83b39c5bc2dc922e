//! What the policy decides about runs, checks and the commands of projects.

use contract::domain::check::Check;
use contract::domain::plan::PlanTask;
use contract::domain::policy::{Authorization, Policy, PolicyAction, PolicyResource, authorize};
use contract::domain::run::NewRun;

/// The first denial of a task of the run.
pub fn of_run(run: &NewRun, policy: &Policy) -> Authorization {
    let decide = |task| authorize(&run.requested_by, PolicyAction::Run, &resource(task), policy);
    first_denial(run.plan.tasks.iter().map(decide))
}

/// The first denial of checks that belong to no run.
pub(crate) fn of_checks(author: &str, checks: &[Check], policy: &Policy) -> Authorization {
    first_denial(checks.iter().map(|check| {
        let line = check.line();
        let resource = PolicyResource::Check { line: &line, uses_shell: check.shell };
        authorize(author, PolicyAction::Run, &resource, policy)
    }))
}

fn first_denial(mut decisions: impl Iterator<Item = Authorization>) -> Authorization {
    decisions.find(|decision| *decision != Authorization::Allow).unwrap_or(Authorization::Allow)
}

fn resource(task: &PlanTask) -> PolicyResource<'_> {
    let others = task.alternatives.iter().map(|other| other.executor.as_str());
    PolicyResource::Task {
        name: &task.id,
        executors: std::iter::once(task.executor.as_str()).chain(others).collect(),
        uses_shell: task.shell || task.checks.iter().any(|check| check.shell) || names_shell(task),
    }
}

/// Whether the author of a TASK names a shell for its checks.
fn names_shell(task: &PlanTask) -> bool {
    let shell = task.aop.as_ref().and_then(|aop| aop.pointer("/task/environment/shell"));
    !task.checks.is_empty() && shell.is_some_and(|shell| !shell.is_null())
}
