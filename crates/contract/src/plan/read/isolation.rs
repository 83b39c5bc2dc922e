//! Where tasks work: in the workspace, or each in a clone of it.

use crate::domain::worktree::{Isolation, WorktreeSpec};
use crate::finding::Findings;
use crate::plan::shapes::{RawPlan, RawTask};

/// What the plan says for tasks that do not say it.
pub(super) struct IsolationDefaults {
    isolation: Option<Isolation>,
    setup: Option<Vec<Vec<String>>>,
    ports: Option<u32>,
}

impl IsolationDefaults {
    pub(super) fn of(plan: &RawPlan, findings: &mut Findings) -> Self {
        let is_isolated = |task: &RawTask| task.isolation.or(plan.isolation) == Some(Isolation::Worktree);
        if !plan.task.iter().any(is_isolated) {
            refuse_extras((plan.setup.is_some(), plan.ports.is_some()), "$", findings);
        }
        Self { isolation: plan.isolation, setup: plan.setup.clone(), ports: plan.ports }
    }

    pub(super) fn fill(&self, task: RawTask) -> RawTask {
        let isolation = task.isolation.or(self.isolation);
        // Only a task that asks for it itself is at fault if it works in the workspace.
        let is_isolated = isolation == Some(Isolation::Worktree);
        let default_setup = || self.setup.clone().filter(|_| is_isolated);
        let setup = task.setup.clone().or_else(default_setup);
        let ports = task.ports.or(self.ports.filter(|_| is_isolated));
        RawTask { isolation, setup, ports, ..task }
    }
}

/// The clone of a task. `None` if it works in the workspace.
pub(super) fn spec(
    isolation: Option<Isolation>,
    (setup, ports): (Option<Vec<Vec<String>>>, Option<u32>),
    at: &str,
    findings: &mut Findings,
) -> Option<WorktreeSpec> {
    match isolation.unwrap_or_default() {
        Isolation::InPlace => {
            refuse_extras((setup.is_some(), ports.is_some()), at, findings);
            None
        }
        Isolation::Worktree => {
            let setup = setup.unwrap_or_default();
            for (index, command) in setup.iter().enumerate() {
                let path = format!("{at}.setup[{index}]");
                if command[0].trim().is_empty() {
                    findings.push(format!("{path}[0]"), "min_length", "the program must not be empty");
                }
                if command.iter().any(|argument| argument.contains('\0')) {
                    findings.push(path, "form", "an argument must not contain NUL");
                }
            }
            let ports = ports.unwrap_or_default();
            let ports = u16::try_from(ports).expect("BUG: the shape limits the number of ports");
            Some(WorktreeSpec { setup, ports })
        }
    }
}

fn refuse_extras((has_setup, has_ports): (bool, bool), at: &str, findings: &mut Findings) {
    for (is_there, field) in [(has_setup, "setup"), (has_ports, "ports")] {
        if is_there {
            let message = "has no effect without `isolation = \"worktree\"`";
            findings.push(format!("{at}.{field}"), "no_worktree", message);
        }
    }
}
