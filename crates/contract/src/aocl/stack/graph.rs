//! Graph algorithms for a dag: roots, reachability, cycles.

use std::collections::{BTreeMap, BTreeSet};

/// Nodes and their successors, by name.
pub(super) struct StackGraph<'s> {
    next: BTreeMap<&'s str, Vec<&'s str>>,
}

impl<'s> StackGraph<'s> {
    /// Edges to or from unknown nodes are left out.
    pub(super) fn new(nodes: &[&'s str], edges: impl Iterator<Item = (&'s str, &'s str)>) -> Self {
        let mut next: BTreeMap<&str, Vec<&str>> = nodes.iter().map(|node| (*node, Vec::new())).collect();
        for (from, to) in edges {
            if next.contains_key(to)
                && let Some(list) = next.get_mut(from)
            {
                list.push(to);
            }
        }
        Self { next }
    }

    /// The nodes without an incoming edge.
    pub(super) fn roots(&self) -> BTreeSet<&'s str> {
        let targets: BTreeSet<&str> = self.next.values().flatten().copied().collect();
        self.next.keys().copied().filter(|node| !targets.contains(node)).collect()
    }

    /// What can be reached from `start` without going through `around`.
    pub(super) fn reachable(&self, start: &'s str, around: Option<&str>) -> BTreeSet<&'s str> {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(node) = open.pop() {
            if Some(node) != around && seen.insert(node) {
                open.extend(self.next.get(node).into_iter().flatten());
            }
        }
        seen
    }

    /// One cycle, in walking order, if there is any.
    pub(super) fn cycle(&self) -> Option<Vec<&'s str>> {
        let mut left: BTreeSet<&str> = self.next.keys().copied().collect();
        // A node without predecessors is on no cycle. All remaining nodes have one, so walking back must repeat a node.
        while let Some(node) = left.iter().copied().find(|node| self.before(node, &left).is_none()) {
            left.remove(node);
        }
        let mut path = vec![left.first().copied()?];
        loop {
            let last = path.last().expect("BUG: the path starts with one node");
            let before = self.before(last, &left).expect("BUG: every node left has a predecessor");
            if let Some(at) = path.iter().position(|node| *node == before) {
                path.drain(..at);
                path.reverse();
                path.rotate_right(1);
                return Some(path);
            }
            path.push(before);
        }
    }

    fn before(&self, node: &str, among: &BTreeSet<&'s str>) -> Option<&'s str> {
        among.iter().copied().find(|other| self.next[other].contains(&node))
    }
}
