//! Tasks that wait for each other in a circle.

use std::collections::BTreeMap;

use super::books::Entry;

/// The circles of the dependencies, each once, beginning with the row that was reached first.
pub(super) fn cycles(rows: &[Entry]) -> Vec<Vec<usize>> {
    let index: BTreeMap<&str, usize> = rows.iter().enumerate().map(|(at, row)| (row.task_id, at)).collect();
    let next: Vec<Vec<usize>> = rows
        .iter()
        .map(|row| row.dependencies.iter().filter_map(|d| index.get(d).copied()).collect())
        .collect();
    let mut state = vec![State::New; rows.len()];
    let mut found = Vec::new();
    // A walk by hand: a chain of dependencies may be longer than the stack is deep.
    for start in 0..rows.len() {
        let mut way: Vec<(usize, usize)> = Vec::new();
        if state[start] == State::New {
            state[start] = State::Open;
            way.push((start, 0));
        }
        while let Some((at, edge)) = way.last_mut() {
            let Some(target) = next[*at].get(*edge).copied() else {
                state[*at] = State::Closed;
                way.pop();
                continue;
            };
            *edge += 1;
            match state[target] {
                State::New => {
                    state[target] = State::Open;
                    way.push((target, 0));
                }
                State::Open => {
                    let from = way.iter().position(|(at, _)| *at == target).unwrap_or(0);
                    found.push(way[from..].iter().map(|(at, _)| *at).collect());
                }
                State::Closed => {}
            }
        }
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// On the way that is being walked.
    Open,
    Closed,
}
