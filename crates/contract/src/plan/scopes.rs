//! Scopes of a plan, once its workspace is known.

use crate::domain::plan::Plan;
use crate::domain::scope::Scope;
use crate::finding::Findings;

/// Makes absolute scopes relative to the workspace: writes, scratch and pins. Those outside are findings, as `../x` is.
/// `root` is the path of the plan in its document.
pub fn settle(plan: &mut Plan, root: &str, workspace: &str) -> Findings {
    let mut findings = Findings::default();
    for (index, task) in plan.tasks.iter_mut().enumerate() {
        let fields = [("writes", &mut task.writes), ("scratch", &mut task.scratch), ("pins", &mut task.pins)];
        for (field, scopes) in fields {
            for (place, scope) in scopes.iter_mut().enumerate() {
                match Scope::parse(scope.as_str(), Some(workspace)) {
                    Ok(inside) => *scope = inside,
                    Err(fault) => {
                        let path = format!("{root}.task[{index}].{field}[{place}]");
                        findings.push(path, fault.rule(), fault.to_string());
                    }
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests;
