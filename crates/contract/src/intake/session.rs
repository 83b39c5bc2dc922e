//! TASKs of one session as a graph: the shape of its pattern, and who delegated what to whom.

use std::collections::BTreeMap;

use super::one_task::Submitted;
use super::{Refused, from_aop};
use crate::aop::effective;
use crate::aop::task::WorkflowPattern;
use crate::domain::failure_code::FailureCode;
use crate::domain::limits;
use crate::domain::plan::Plan;
use crate::finding::Findings;
use crate::plan::order;

/// The extension with which a TASK names others that have to be done before it.
const DEPENDS_EXTENSION: &str = "x_depends_on";

/// Orders the tasks of a plan as the session of their TASKs says.
pub(super) fn arrange(submitted: &[Submitted], plan: &mut Plan) -> Result<(), Refused> {
    let places = TaskLocations { several: submitted.len() > 1 };
    refuse_strangers(submitted, &places)?;
    let pattern = submitted[0].task.session.workflow_pattern;
    let mut findings = Findings::default();
    if pattern == Some(WorkflowPattern::Single) && submitted.len() > 1 {
        let message = format!("a SINGLE session has one TASK; this document has {}", submitted.len());
        findings.push(places.of(1, ""), "pattern", message);
        return Err(Refused::aop(Some(FailureCode::SchemaValidation), findings));
    }
    let index: BTreeMap<&str, usize> =
        submitted.iter().enumerate().map(|(i, one)| (one.task.task.task_id.as_str(), i)).collect();
    for (i, one) in submitted.iter().enumerate() {
        let mut needs = of_pattern(pattern, i, submitted.len());
        let parent = one.task.task.parent_task_id.as_deref().and_then(|parent| index.get(parent)).copied();
        needs.extend(parent.filter(|_| pattern == Some(WorkflowPattern::Hierarchical)));
        needs.extend(named(one, i, &index, &places, &mut findings));
        needs.sort_unstable();
        needs.dedup();
        plan.tasks[i].depends_on = needs.into_iter().map(|need| plan.tasks[need].id.clone()).collect();
    }
    if !findings.is_empty() {
        return Err(Refused::aop(Some(FailureCode::DependencyFailed), findings));
    }
    delegation(submitted, &index, &places)?;
    order::check(plan, &mut findings);
    // TASKs that write the same place wait for each other's locks, in whatever order.
    let cycles =
        findings.sorted().into_iter().filter(|finding| finding.rule == "cycle").map(|mut finding| {
            // Where the task is in the document.
            finding.path = finding.path.replacen("$.task", "$", 1);
            finding
        });
    let cycles: Findings = cycles.collect();
    if !cycles.is_empty() {
        return Err(Refused::aop(Some(FailureCode::SchemaValidation), cycles));
    }
    plan.max_parallel = if submitted.len() == 1 { 1 } else { limits::PARALLEL_DEFAULT };
    Ok(())
}

/// Where something of a TASK is in the document.
struct TaskLocations {
    several: bool,
}

impl TaskLocations {
    fn of(&self, index: usize, rest: &str) -> String {
        if self.several { format!("$[{index}]{rest}") } else { format!("${rest}") }
    }
}

/// All TASKs of a document are of one session, and each has an id of its own.
fn refuse_strangers(submitted: &[Submitted], places: &TaskLocations) -> Result<(), Refused> {
    let mut findings = Findings::default();
    let first = &submitted[0].task.session;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (i, one) in submitted.iter().enumerate() {
        let session = &one.task.session;
        if session.session_id != first.session_id {
            let message = format!("the first TASK is of the session `{}`", first.session_id);
            findings.push(places.of(i, ".session.session_id"), "session", message);
        }
        if session.workflow_pattern != first.workflow_pattern {
            findings.push(
                places.of(i, ".session.workflow_pattern"),
                "pattern",
                "differs from the first TASK",
            );
        }
        // Names in the plan allow fewer characters, so two ids may have the same one.
        if let Some(other) = seen.insert(from_aop::name_of(&one.task.task.task_id), i) {
            let message = format!("`{}` is already the id of $[{other}]", one.task.task.task_id);
            findings.push(places.of(i, ".task.task_id"), "duplicate", message);
        }
        if one.task.task.environment.workspace_root != submitted[0].task.task.environment.workspace_root {
            let message = "differs from the first TASK; the TASKs of a run share a workspace";
            findings.push(places.of(i, ".task.environment.workspace_root"), "workspace", message);
        }
    }
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Refused::aop(Some(FailureCode::SchemaValidation), findings))
    }
}

/// What the pattern puts before TASK number `i` of `count`.
fn of_pattern(pattern: Option<WorkflowPattern>, i: usize, count: usize) -> Vec<usize> {
    match pattern {
        Some(WorkflowPattern::Chain) => i.checked_sub(1).into_iter().collect(),
        Some(WorkflowPattern::MapReduce) if i + 1 == count => (0..i).collect(),
        // Children wait for their parents, wherever they are.
        Some(WorkflowPattern::Hierarchical | WorkflowPattern::MapReduce) => Vec::new(),
        Some(WorkflowPattern::Single | WorkflowPattern::Parallel) | None => Vec::new(),
    }
}

/// The TASKs that one names itself.
fn named(
    one: &Submitted,
    i: usize,
    index: &BTreeMap<&str, usize>,
    places: &TaskLocations,
    findings: &mut Findings,
) -> Vec<usize> {
    let Some(value) = one.task.task.extensions.as_ref().and_then(|all| all.get(DEPENDS_EXTENSION)) else {
        return Vec::new();
    };
    let at = places.of(i, ".task.extensions.x_depends_on");
    let Ok(names) = serde_json::from_value::<Vec<String>>(value.clone()) else {
        findings.push(at, "type", "must be a list of task ids such as [\"TASK-001\"]");
        return Vec::new();
    };
    let mut needs = Vec::new();
    for (place, name) in names.iter().enumerate() {
        match index.get(name.as_str()) {
            Some(&need) => needs.push(need),
            None => {
                let message = format!("E_DEPENDENCY_FAILED: the document has no TASK `{name}`");
                findings.push(format!("{at}[{place}]"), "unknown_dependency", message);
            }
        }
    }
    needs
}

/// A parent in the document allows to delegate, and nobody is deeper than the limit. Other parents are looked up where
/// the document is submitted.
fn delegation(
    submitted: &[Submitted],
    index: &BTreeMap<&str, usize>,
    places: &TaskLocations,
) -> Result<(), Refused> {
    for (i, one) in submitted.iter().enumerate() {
        let mut findings = Findings::default();
        let Some(&parent) = one.task.task.parent_task_id.as_deref().and_then(|name| index.get(name)) else {
            continue;
        };
        let at = places.of(i, ".task.parent_task_id");
        if !effective::may_delegate(&submitted[parent].task) {
            let name = &submitted[parent].task.task.task_id;
            let message =
                format!("E_PERMISSION_DENIED: `{name}` does not set constraints.delegation_allowed");
            findings.push(at, "delegation", message);
            return Err(Refused::aop(Some(FailureCode::PermissionDenied), findings));
        }
        let Some(depth) = depth(submitted, index, i) else {
            findings.push(at, "cycle", "the TASK is its own ancestor");
            return Err(Refused::aop(Some(FailureCode::SchemaValidation), findings));
        };
        if depth > limits::DELEGATION_DEPTH_MAX {
            let most = limits::DELEGATION_DEPTH_MAX;
            let message = format!("E_MAX_DEPTH_EXCEEDED: this TASK is at depth {depth}; the limit is {most}");
            findings.push(at, "depth", message);
            return Err(Refused::aop(Some(FailureCode::MaxDepthExceeded), findings));
        }
    }
    Ok(())
}

/// How deep a TASK is below the first of its ancestors in the document, counted from 1. `None` in a cycle.
fn depth(submitted: &[Submitted], index: &BTreeMap<&str, usize>, of: usize) -> Option<u32> {
    let (mut at, mut depth) = (of, 1);
    while let Some(&parent) =
        submitted[at].task.task.parent_task_id.as_deref().and_then(|name| index.get(name))
    {
        at = parent;
        depth += 1;
        if at == of || depth as usize > submitted.len() {
            return None;
        }
    }
    Some(depth)
}

#[cfg(test)]
mod tests;
