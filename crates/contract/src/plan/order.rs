//! Checks the order of a plan's tasks: names resolve, there is no cycle, and tasks that write the same path are ordered.

mod graph;
mod overlap;

use std::collections::BTreeMap;

use crate::domain::plan::{Plan, PlanTask};
use crate::finding::Findings;
use graph::TaskGraph;

/// Tasks of a cycle that a message names.
const CYCLE_NAMED_MAX: usize = 20;

/// Reports every fault in the order of the plan.
pub fn check(plan: &Plan, findings: &mut Findings) {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, task) in plan.tasks.iter().enumerate() {
        if let Some(first) = index.insert(&task.id, i) {
            let message = format!("`{}` is already the id of $.task[{first}]", task.id);
            findings.push(format!("$.task[{i}].id"), "duplicate", message);
        }
    }
    let mut edges: Vec<Vec<usize>> = Vec::new();
    for (i, task) in plan.tasks.iter().enumerate() {
        let mut needs = Vec::new();
        for (d, name) in task.depends_on.iter().enumerate() {
            match index.get(name.as_str()) {
                Some(&needed) if needed == i => {
                    let path = format!("$.task[{i}].depends_on[{d}]");
                    findings.push(path, "cycle", "a task cannot depend on itself");
                }
                Some(&needed) => needs.push(needed),
                // All names would be compared for a message that is not kept.
                None if findings.is_full() => findings.omit(),
                None => {
                    let known = crate::shape::check::nearest(name, index.keys().copied());
                    let hint = known.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
                    let path = format!("$.task[{i}].depends_on[{d}]");
                    findings.push(path, "unknown_dependency", format!("unknown task `{name}`{hint}"));
                }
            }
        }
        edges.push(needs);
    }
    match TaskGraph::new(edges) {
        Ok(graph) => {
            check_writes(plan, &graph, findings);
            check_isolation(plan, &index, findings);
        }
        Err(cycle) => {
            let message = format!("the dependencies form a cycle: {}", named(plan, &cycle));
            findings.push(format!("$.task[{}].depends_on", cycle[0]), "cycle", message);
        }
    }
}

/// The tasks of a cycle; of a long one the beginning and the end.
fn named(plan: &Plan, cycle: &[usize]) -> String {
    let name = |&task: &usize| plan.tasks[task].id.clone();
    let left_out = cycle.len().saturating_sub(CYCLE_NAMED_MAX);
    if left_out == 0 {
        return cycle.iter().map(name).collect::<Vec<_>>().join(" -> ");
    }
    let (first, last) = (&cycle[..CYCLE_NAMED_MAX - 1], &cycle[cycle.len() - 1..]);
    let rest = format!("({left_out} more tasks)");
    let names: Vec<String> = first.iter().map(name).chain([rest]).chain(last.iter().map(name)).collect();
    names.join(" -> ")
}

/// The indexes of the tasks in topological order. The plan must be valid.
pub fn sorted(plan: &Plan) -> Vec<usize> {
    let index: BTreeMap<&str, usize> =
        plan.tasks.iter().enumerate().map(|(i, task)| (task.id.as_str(), i)).collect();
    let needs = |task: &PlanTask| {
        task.depends_on.iter().filter_map(|name| index.get(name.as_str()).copied()).collect()
    };
    let graph = TaskGraph::new(plan.tasks.iter().map(needs).collect());
    graph.map(|graph| graph.order().to_vec()).expect("BUG: a checked plan has no cycle")
}

/// A clone begins with what is committed, and a task in the workspace commits nothing.
fn check_isolation(plan: &Plan, index: &BTreeMap<&str, usize>, findings: &mut Findings) {
    for (i, task) in plan.tasks.iter().enumerate().filter(|(_, task)| task.worktree.is_some()) {
        for (d, name) in task.depends_on.iter().enumerate() {
            let needed = index.get(name.as_str()).map(|&needed| &plan.tasks[needed]);
            if needed.is_some_and(|needed| needed.worktree.is_none() && !needed.writes.is_empty()) {
                let message = format!(
                    "`{}` works in a clone, which would not have what `{name}` writes into the workspace; give \
                     `{name}` `isolation = \"worktree\"` too",
                    task.id
                );
                findings.push(format!("$.task[{i}].depends_on[{d}]"), "dependency_in_workspace", message);
            }
        }
    }
}

fn check_writes(plan: &Plan, graph: &TaskGraph, findings: &mut Findings) {
    for ((i, j), (a, b)) in overlap::overlaps(plan, graph) {
        let message = format!(
            "`{}` writes `{a}` and `{}` writes `{b}`, and neither waits for the other; add a depends_on",
            plan.tasks[i].id, plan.tasks[j].id
        );
        findings.push(format!("$.task[{j}].writes"), "overlapping_writes", message);
    }
}
