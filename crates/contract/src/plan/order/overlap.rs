//! Finds tasks that write to the same path.

use std::collections::BTreeMap;

use crate::domain::scope::Scope;
use crate::plan::Plan;

/// Two tasks, the earlier first, and their overlapping paths.
pub(super) type Overlaps<'p> = BTreeMap<(usize, usize), (&'p Scope, &'p Scope)>;

/// The pairs of tasks that `may_meet` and write to overlapping paths.
///
/// Sorted by path, a path that contains another precedes it with only its own descendants between, so one pass with a
/// stack finds every pair without comparing them all.
pub(super) fn overlaps(plan: &Plan, may_meet: impl Fn(usize, usize) -> bool) -> Overlaps<'_> {
    let tasks = plan.tasks.iter().enumerate();
    let mut writes: Vec<Write<'_>> =
        tasks.flat_map(|(i, task)| task.writes.iter().map(move |scope| Write::new(i, scope))).collect();
    writes.sort_unstable_by(|a, b| (&a.path, a.task).cmp(&(&b.path, b.task)));
    let mut found = Overlaps::new();
    let mut open: Vec<&Write<'_>> = Vec::new();
    for write in &writes {
        while open.pop_if(|outer| !outer.covers(write)).is_some() {}
        // Of nested paths of one task only the outer one is kept, so the stack is never longer than the plan.
        if open.iter().any(|outer| outer.task == write.task) {
            continue;
        }
        for outer in &open {
            let (a, b) = if outer.task < write.task { (*outer, write) } else { (write, *outer) };
            if may_meet(a.task, b.task) {
                found.entry((a.task, b.task)).or_insert((a.scope, b.scope));
            }
        }
        open.push(write);
    }
    found
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
