//! Finds cycles in the dependencies.

use std::collections::BTreeMap;

use super::records::LedgerRecord;

/// How many tasks of one cycle are named.
const NAMED_MAX: usize = 20;

/// The cycles of the dependencies, each as the rows on it, beginning with the one that was reached first. Of
/// cycles that begin with the same row, one is enough.
pub(super) fn cycles(rows: &[LedgerRecord]) -> Vec<Vec<usize>> {
    let index: BTreeMap<&str, usize> = rows.iter().enumerate().map(|(at, row)| (row.task_id, at)).collect();
    let next: Vec<Vec<usize>> = rows
        .iter()
        .map(|row| row.dependencies.iter().filter_map(|name| index.get(name).copied()).collect())
        .collect();
    let mut walk =
        CycleWalk { next, state: vec![VisitState::New; rows.len()], way: Vec::new(), found: BTreeMap::new() };
    for start in 0..rows.len() {
        walk.from(start);
    }
    walk.found.into_values().collect()
}

/// An iterative walk: a chain of dependencies may be too long for recursion.
struct CycleWalk {
    next: Vec<Vec<usize>>,
    state: Vec<VisitState>,
    /// The rows on the current path, each with the index of its next dependency.
    way: Vec<(usize, usize)>,
    found: BTreeMap<usize, Vec<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VisitState {
    New,
    /// On the current path, at this position.
    Open(usize),
    Closed,
}

impl CycleWalk {
    fn from(&mut self, start: usize) {
        self.enter(start);
        while let Some((at, edge)) = self.way.last_mut() {
            let Some(target) = self.next[*at].get(*edge).copied() else {
                self.state[*at] = VisitState::Closed;
                self.way.pop();
                continue;
            };
            *edge += 1;
            match self.state[target] {
                VisitState::New => self.enter(target),
                VisitState::Open(place) => {
                    let way = self.way[place..].iter().map(|(at, _)| *at).take(NAMED_MAX);
                    self.found.entry(target).or_insert_with(|| way.collect());
                }
                VisitState::Closed => {}
            }
        }
    }

    fn enter(&mut self, at: usize) {
        if self.state[at] == VisitState::New {
            self.state[at] = VisitState::Open(self.way.len());
            self.way.push((at, 0));
        }
    }
}
