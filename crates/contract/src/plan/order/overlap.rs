//! Finds tasks that write to the same path without an order between them.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::TaskGraph;
use crate::domain::plan::Plan;
use crate::domain::scope::Scope;

/// Pairs that are looked for. A plan with more of them is not read to its end.
const PAIRS_MAX: usize = 1000;

/// Two tasks, the earlier first, and their overlapping paths.
pub(super) type Overlaps<'p> = BTreeMap<(usize, usize), (&'p Scope, &'p Scope)>;

/// The pairs of tasks that write to overlapping paths while neither waits for the other.
///
/// Sorted by path, a path that contains another precedes it with only its own descendants between, so one pass with a
/// stack finds every pair without comparing them all.
pub(super) fn overlaps<'p>(plan: &'p Plan, graph: &TaskGraph) -> Overlaps<'p> {
    let tasks = plan.tasks.iter().enumerate();
    let mut writes: Vec<Write<'_>> =
        tasks.flat_map(|(i, task)| task.writes.iter().map(move |scope| Write::new(i, scope))).collect();
    writes.sort_unstable_by(|a, b| (&a.path, a.task).cmp(&(&b.path, b.task)));
    let mut found = Overlaps::new();
    let mut open = OpenWrites { graph, stack: Vec::new(), tasks: BTreeSet::new(), line: BTreeMap::new() };
    for write in &writes {
        open.close_all_but_those_around(write);
        // Of nested paths of one task only the outer one is kept, so the stack is never longer than the plan.
        if open.tasks.contains(&write.task) {
            continue;
        }
        // Two tasks that work in clones of their own do not meet; their work is merged.
        let is_apart =
            |other: usize| plan.tasks[write.task].worktree.is_some() && plan.tasks[other].worktree.is_some();
        for outer in open.unordered_with(write.task).into_iter().filter(|outer| !is_apart(outer.task)) {
            let (a, b) = if outer.task < write.task { (outer, write) } else { (write, outer) };
            found.entry((a.task, b.task)).or_insert((a.scope, b.scope));
        }
        if found.len() >= PAIRS_MAX {
            return found;
        }
        open.push(write);
    }
    found
}

/// The writes that contain the one that is looked at.
struct OpenWrites<'w, 'p> {
    graph: &'w TaskGraph,
    stack: Vec<&'w Write<'p>>,
    tasks: BTreeSet<usize>,
    /// Those whose tasks wait for each other, one after the other, by the place of the task in the order of the plan. In
    /// it a task is compared only with its neighbors.
    line: BTreeMap<usize, usize>,
}

impl<'w, 'p> OpenWrites<'w, 'p> {
    fn close_all_but_those_around(&mut self, write: &Write<'_>) {
        while let Some(outer) = self.stack.pop_if(|outer| !outer.covers(write)) {
            self.tasks.remove(&outer.task);
            self.line.remove(&self.graph.place(outer.task));
        }
    }

    /// The open writes whose tasks may run at the same time as this one.
    fn unordered_with(&self, task: usize) -> Vec<&'w Write<'p>> {
        let fits = self.fits_into_line(task);
        let may_meet = |outer: &&&Write<'_>| {
            let is_in_line = self.line.contains_key(&self.graph.place(outer.task));
            !(fits && is_in_line || self.graph.are_ordered(outer.task, task))
        };
        if fits && self.line.len() == self.stack.len() {
            return Vec::new();
        }
        self.stack.iter().filter(may_meet).copied().collect()
    }

    /// Whether it waits for everything before it in the line, and everything after it waits for it.
    fn fits_into_line(&self, task: usize) -> bool {
        let place = self.graph.place(task);
        let before = self.line.range(..place).next_back();
        let after = self.line.range(place..).next();
        before.is_none_or(|(_, &earlier)| self.graph.are_ordered(earlier, task))
            && after.is_none_or(|(_, &later)| self.graph.are_ordered(later, task))
    }

    fn push(&mut self, write: &'w Write<'p>) {
        if self.fits_into_line(write.task) {
            self.line.insert(self.graph.place(write.task), write.task);
        }
        self.tasks.insert(write.task);
        self.stack.push(write);
    }
}

struct Write<'p> {
    task: usize,
    scope: &'p Scope,
    /// Whether it is absolute, and its components.
    path: (bool, Vec<&'p str>),
}

impl<'p> Write<'p> {
    fn new(task: usize, scope: &'p Scope) -> Self {
        Self { task, scope, path: (scope.is_absolute(), scope.steps().collect()) }
    }

    fn covers(&self, inner: &Self) -> bool {
        self.path.0 == inner.path.0 && inner.path.1.starts_with(&self.path.1)
    }
}
