//! The delegation graph of a session.

use std::collections::BTreeMap;

use contract::aop::event::{DelegationEdge, DelegationGraph, DelegationNode, EdgeKind};
use contract::domain::limits;
use contract::domain::task::TaskId;

use super::node::SessionTask;

/// Who delegated what to whom, and what waits for what.
pub(super) fn graph(nodes: &[SessionTask<'_>]) -> DelegationGraph {
    let names: BTreeMap<&TaskId, &str> =
        nodes.iter().map(|node| (&node.newest.task.id, node.task_id())).collect();
    let listed = nodes.iter().take(limits::RUN_TASKS_LISTED_MAX);
    let mut edges = Vec::new();
    let mut shown = Vec::new();
    for node in listed {
        let needs = node.newest.task.depends_on.iter().filter_map(|id| names.get(id));
        let depends_on: Vec<String> = needs.map(|name| (*name).to_owned()).collect();
        let edge = |from: &str, kind: EdgeKind| DelegationEdge {
            from: from.to_owned(),
            to: node.task_id().to_owned(),
            kind,
            extensions: None,
        };
        edges.extend(node.parent.as_deref().map(|parent| edge(parent, EdgeKind::Delegation)));
        edges.extend(depends_on.iter().map(|name| edge(name, EdgeKind::Dependency)));
        let (provider, model) = node.newest.last_used();
        shown.push(DelegationNode {
            task_id: node.task_id().to_owned(),
            parent_task_id: node.parent.clone(),
            agent: Some(node.newest.message.target.agent_name.clone()),
            provider: Some(provider),
            model: Some(model),
            depth: depth(nodes, node),
            state: node.state(),
            final_signal: node.signal(),
            depends_on,
            extensions: None,
        });
    }
    let max_depth = Some(u64::from(limits::DELEGATION_DEPTH_MAX));
    DelegationGraph { nodes: shown, edges, max_depth, extensions: None }
}

/// How many TASKs are above it, counted from 1, or how deep its run is.
fn depth(nodes: &[SessionTask<'_>], node: &SessionTask<'_>) -> u64 {
    let (mut at, mut depth) = (node, 1);
    while let Some(parent) = at.parent.as_ref()
        && let Some(up) = nodes.iter().find(|known| known.task_id() == parent)
        && depth <= u64::from(limits::DELEGATION_DEPTH_MAX)
    {
        (at, depth) = (up, depth + 1);
    }
    depth.max(u64::from(node.newest.run.asked.depth))
}
