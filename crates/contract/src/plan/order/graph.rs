//! The tasks of a plan and what each waits for, without recursion: a plan may be one long chain.

use std::cell::OnceCell;

/// Tasks by their index, and an order in which each comes after everything it waits for.
pub(super) struct TaskGraph {
    needs: Vec<Vec<usize>>,
    order: Vec<usize>,
    places: Vec<usize>,
    /// For each task, all tasks that must be done before it. Only plans with shared paths need it.
    ancestors: OnceCell<Vec<Tasks>>,
}

impl TaskGraph {
    /// The graph, or one cycle as indexes with the first one repeated at the end.
    pub(super) fn new(needs: Vec<Vec<usize>>) -> Result<Self, Vec<usize>> {
        if let Some(cycle) = cycle(&needs) {
            return Err(cycle);
        }
        let order = sorted(&needs);
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &task)| places[task] = place);
        Ok(Self { needs, order, places, ancestors: OnceCell::new() })
    }

    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Where the task is in the order.
    pub(super) fn place(&self, task: usize) -> usize {
        self.places[task]
    }

    /// Whether one of two tasks waits for the other, directly or not.
    pub(super) fn are_ordered(&self, a: usize, b: usize) -> bool {
        if self.needs[a].contains(&b) || self.needs[b].contains(&a) {
            return true;
        }
        let ancestors = self.ancestors.get_or_init(|| ancestors(&self.needs, &self.order));
        ancestors[a].contains(b) || ancestors[b].contains(a)
    }
}

/// The tasks in the order of the plan, again and again, each time those that can be placed. Without cycles.
fn sorted(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut waits: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (task, needs) in needs.iter().enumerate() {
        needs.iter().for_each(|&needed| dependents[needed].push(task));
    }
    let mut rounds = vec![0usize; needs.len()];
    let mut next: Vec<usize> = (0..needs.len()).filter(|&task| waits[task] == 0).collect();
    let mut order = Vec::with_capacity(needs.len());
    while let Some(task) = next.pop() {
        order.push(task);
        for &dependent in &dependents[task] {
            // What is listed before its dependency waits for the next round.
            let round = rounds[task] + usize::from(dependent < task);
            rounds[dependent] = rounds[dependent].max(round);
            waits[dependent] -= 1;
            if waits[dependent] == 0 {
                next.push(dependent);
            }
        }
    }
    assert_eq!(order.len(), needs.len(), "BUG: a checked plan has an order");
    order.sort_unstable_by_key(|&task| (rounds[task], task));
    order
}

fn cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const CLOSED: u8 = 2;
    let mut state = vec![NEW; edges.len()];
    for start in 0..edges.len() {
        if state[start] != NEW {
            continue;
        }
        // A stack of (task, next edge) instead of recursion.
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
#[derive(Clone)]
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

fn ancestors(needs: &[Vec<usize>], order: &[usize]) -> Vec<Tasks> {
    let mut all = vec![Tasks(Vec::new()); needs.len()];
    for &task in order {
        let mut before = Tasks(vec![0; needs.len().div_ceil(64)]);
        for &needed in &needs[task] {
            before.insert(needed);
            before.extend(&all[needed]);
        }
        all[task] = before;
    }
    all
}

#[cfg(test)]
mod tests;
