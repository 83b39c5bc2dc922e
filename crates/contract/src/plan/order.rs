//! Checks the order of a plan's tasks: names resolve, there is no cycle, and tasks that write the same path are ordered.

mod overlap;

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use crate::finding::Findings;

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
            let path = format!("$.task[{i}].depends_on[{d}]");
            match index.get(name.as_str()) {
                Some(&needed) if needed == i => {
                    findings.push(path, "cycle", "a task cannot depend on itself");
                }
                Some(&needed) => needs.push(needed),
                None => {
                    let known = crate::shape::check::nearest(name, index.keys().copied());
                    let hint = known.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
                    findings.push(path, "unknown_dependency", format!("unknown task `{name}`{hint}"));
                }
            }
        }
        edges.push(needs);
    }
    if let Some(cycle) = cycle(&edges) {
        let names: Vec<&str> = cycle.iter().map(|&i| plan.tasks[i].id.as_str()).collect();
        let message = format!("the dependencies form a cycle: {}", names.join(" -> "));
        findings.push(format!("$.task[{}].depends_on", cycle[0]), "cycle", message);
        return;
    }
    check_writes(plan, &ancestors(&edges), findings);
}

/// The indexes of the tasks in topological order. The plan must be valid.
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

/// One cycle, as indexes with the first one repeated at the end.
fn cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const CLOSED: u8 = 2;
    let mut state = vec![NEW; edges.len()];
    for start in 0..edges.len() {
        if state[start] != NEW {
            continue;
        }
        // A stack of (task, next edge) instead of recursion: a plan may be a long chain.
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

/// A set of tasks, as bits.
#[derive(Clone, Default)]
struct Tasks(Vec<u64>);

impl Tasks {
    fn contains(&self, task: usize) -> bool {
        self.0[task / 64] & (1 << (task % 64)) != 0
    }

    fn insert(&mut self, task: usize) {
        self.0[task / 64] |= 1 << (task % 64);
    }

    fn extend(&mut self, more: &Tasks) {
        self.0.iter_mut().zip(&more.0).for_each(|(ours, theirs)| *ours |= theirs);
    }
}

/// For each task, all tasks that must be done before it. The edges must have no cycle.
fn ancestors(edges: &[Vec<usize>]) -> Vec<Tasks> {
    let mut known: Vec<Option<Tasks>> = vec![None; edges.len()];
    for start in 0..edges.len() {
        let mut stack = vec![start];
        while let Some(&task) = stack.last() {
            let height = stack.len();
            if known[task].is_none() {
                stack.extend(edges[task].iter().copied().filter(|&needed| known[needed].is_none()));
            }
            if stack.len() > height {
                continue;
            }
            stack.pop();
            if known[task].is_none() {
                known[task] = Some(before(&edges[task], &known));
            }
        }
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}

/// The direct and indirect dependencies of a task; those of its dependencies are already known.
fn before(needs: &[usize], known: &[Option<Tasks>]) -> Tasks {
    let mut all = Tasks(vec![0; known.len().div_ceil(64)]);
    for &needed in needs {
        all.insert(needed);
        known[needed].iter().for_each(|theirs| all.extend(theirs));
    }
    all
}

fn check_writes(plan: &Plan, ancestors: &[Tasks], findings: &mut Findings) {
    let may_meet = |i: usize, j: usize| !ancestors[i].contains(j) && !ancestors[j].contains(i);
    for ((i, j), (a, b)) in overlap::overlaps(plan, may_meet) {
        let message = format!(
            "`{}` writes `{a}` and `{}` writes `{b}`, and neither waits for the other; add a depends_on",
            plan.tasks[i].id, plan.tasks[j].id
        );
        findings.push(format!("$.task[{j}].writes"), "overlapping_writes", message);
    }
}
