//! Tasks by what they write, so that those near a scope are found without looking at all of them.

use std::collections::{BTreeMap, BTreeSet};

use contract::domain::scope::Scope;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Writers(BTreeMap<String, BTreeSet<usize>>);

impl Writers {
    pub(super) fn insert(&mut self, task: usize, writes: &[Scope]) {
        for scope in writes {
            self.0.entry(scope.as_str().to_owned()).or_default().insert(task);
        }
    }

    pub(super) fn remove(&mut self, task: usize, writes: &[Scope]) {
        for scope in writes {
            if let Some(tasks) = self.0.get_mut(scope.as_str()) {
                tasks.remove(&task);
                if tasks.is_empty() {
                    self.0.remove(scope.as_str());
                }
            }
        }
    }

    /// Every task that overlaps this scope, and possibly others.
    pub(super) fn near(&self, scope: &Scope) -> BTreeSet<usize> {
        let text = scope.as_str();
        if text == "." || text.ends_with('/') {
            return self.0.values().flatten().copied().collect();
        }
        // A root ends with a slash, or is the workspace itself; paths with a drive are below `/` too.
        let ends = text.match_indices('/').flat_map(|(at, _)| [at, at + 1]).chain([text.len()]);
        let around =
            ends.filter_map(|end| self.0.get(&text[..end])).chain(self.0.get(".")).chain(self.0.get("/"));
        let inside = format!("{text}/");
        let below = self.0.range(inside.clone()..).take_while(|(other, _)| other.starts_with(&inside));
        around.chain(below.map(|(_, tasks)| tasks)).flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> Scope {
        Scope::parse(text, None).unwrap()
    }

    #[test]
    fn every_overlapping_scope_is_near_and_a_removed_one_is_not() {
        let all = [".", "a", "a-b", "a/b", "a/b/c", "a/bc", "b", "/", "/a", "/a/b", "/ab", "C:/", "C:/a"];
        let scopes: Vec<Scope> = all.iter().map(|text| scope(text)).collect();
        let mut writers = Writers::default();
        scopes.iter().enumerate().for_each(|(task, place)| writers.insert(task, std::slice::from_ref(place)));
        for place in &scopes {
            let near = writers.near(place);
            for (task, other) in scopes.iter().enumerate() {
                assert!(near.contains(&task) || !place.overlaps(other), "{place} and {other}");
            }
        }
        assert_eq!(writers.near(&scope("b")), BTreeSet::from([0, 6, 7]), "and nothing far away");
        scopes.iter().enumerate().for_each(|(task, place)| writers.remove(task, std::slice::from_ref(place)));
        assert_eq!(writers, Writers::default());
    }
}
