//! The order of a plan's tasks: names resolve, nothing waits for itself, and writers of one path stand in line.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use crate::finding::Findings;

/// Reports everything that keeps the plan from having an order.
pub fn check(plan: &Plan, findings: &mut Findings) {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, task) in plan.tasks.iter().enumerate() {
        if let Some(first) = index.insert(&task.id, i) {
            let message = format!("`{}` is the id of $.task[{first}] already", task.id);
            findings.push(format!("$.task[{i}].id"), "duplicate", message);
        }
    }
    let mut edges: Vec<Vec<usize>> = Vec::new();
    for (i, task) in plan.tasks.iter().enumerate() {
        let mut needs = Vec::new();
        for (d, name) in task.depends_on.iter().enumerate() {
            let path = format!("$.task[{i}].depends_on[{d}]");
            match index.get(name.as_str()) {
                Some(&needed) if needed == i => {
                    findings.push(path, "cycle", "a task cannot depend on itself");
                }
                Some(&needed) => needs.push(needed),
                None => {
                    let known = crate::shape::check::nearest(name, index.keys().copied());
                    let hint = known.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
                    findings.push(path, "unknown_dependency", format!("there is no task `{name}`{hint}"));
                }
            }
        }
        edges.push(needs);
    }
    if let Some(cycle) = cycle(&edges) {
        let names: Vec<&str> = cycle.iter().map(|&i| plan.tasks[i].id.as_str()).collect();
        let message = format!("the tasks wait for each other: {}", names.join(" -> "));
        findings.push(format!("$.task[{}].depends_on", cycle[0]), "cycle", message);
        return;
    }
    overlaps(plan, &ancestors(&edges), findings);
}

/// The tasks' indexes with every task behind what it depends on. The plan was checked.
pub fn sorted(plan: &Plan) -> Vec<usize> {
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    let mut order = Vec::new();
    while order.len() < plan.tasks.len() {
        let before = order.len();
        for (i, task) in plan.tasks.iter().enumerate() {
            let ready = task.depends_on.iter().all(|name| placed.contains(name.as_str()));
            if ready && placed.insert(&task.id) {
                order.push(i);
            }
        }
        assert!(order.len() > before, "BUG: a checked plan has an order");
    }
    order
}

/// One cycle, as the indexes along it with the first repeated at the end.
fn cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const CLOSED: u8 = 2;
    let mut state = vec![NEW; edges.len()];
    for start in 0..edges.len() {
        if state[start] != NEW {
            continue;
        }
        // A stack of (task, next edge to look at) instead of recursion: plans may be long chains.
        let mut stack = vec![(start, 0)];
        state[start] = OPEN;
        while let Some((task, next)) = stack.last_mut() {
            let Some(&needed) = edges[*task].get(*next) else {
                state[*task] = CLOSED;
                stack.pop();
                continue;
            };
            *next += 1;
            match state[needed] {
                NEW => {
                    state[needed] = OPEN;
                    stack.push((needed, 0));
                }
                OPEN => {
                    let from = stack.iter().position(|(task, _)| *task == needed)?;
                    let mut path: Vec<usize> = stack[from..].iter().map(|(task, _)| *task).collect();
                    path.push(needed);
                    return Some(path);
                }
                _ => {}
            }
        }
    }
    None
}

/// For each task everything that must be done before it. The edges have no cycle.
fn ancestors(edges: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
    let mut known: Vec<Option<BTreeSet<usize>>> = vec![None; edges.len()];
    for start in 0..edges.len() {
        let mut stack = vec![start];
        while let Some(&task) = stack.last() {
            let missing: Vec<usize> = edges[task].iter().copied().filter(|&n| known[n].is_none()).collect();
            if !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            let mut before: BTreeSet<usize> = edges[task].iter().copied().collect();
            for &needed in &edges[task] {
                before.extend(known[needed].iter().flatten());
            }
            known[task] = Some(before);
            stack.pop();
        }
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}

fn overlaps(plan: &Plan, ancestors: &[BTreeSet<usize>], findings: &mut Findings) {
    for (i, task) in plan.tasks.iter().enumerate() {
        for (j, other) in plan.tasks.iter().enumerate().skip(i + 1) {
            if ancestors[i].contains(&j) || ancestors[j].contains(&i) {
                continue;
            }
            let pair =
                task.writes.iter().find_map(|a| other.writes.iter().find(|b| a.overlaps(b)).map(|b| (a, b)));
            if let Some((a, b)) = pair {
                let message = format!(
                    "`{}` writes `{a}` and `{}` writes `{b}`, and neither waits for the other; add a depends_on",
                    task.id, other.id
                );
                findings.push(format!("$.task[{j}].writes"), "overlapping_writes", message);
            }
        }
    }
}
