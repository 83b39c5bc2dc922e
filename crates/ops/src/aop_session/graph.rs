//! The delegation graph of a session.

use std::collections::BTreeMap;

use contract::aop::event::{DelegationEdge, DelegationGraph, DelegationNode, EdgeKind};
use contract::domain::limits;
use contract::domain::task::TaskId;

use super::final_report::{Node, signal, state};

/// Who delegated what to whom, and what waits for what.
pub(super) fn graph(nodes: &[Node<'_>]) -> DelegationGraph {
    let names: BTreeMap<&TaskId, &str> =
        nodes.iter().map(|node| (&node.task.id, node.message.task.task_id.as_str())).collect();
    let listed = nodes.iter().take(limits::RUN_TASKS_LISTED_MAX);
    let mut edges = Vec::new();
    let mut shown = Vec::new();
    for node in listed {
        let (work, target) = (&node.message.task, &node.message.target);
        let depends_on: Vec<String> = node
            .task
            .depends_on
            .iter()
            .filter_map(|id| names.get(id))
            .map(|name| (*name).to_owned())
            .collect();
        let edge = |from: &str, kind: EdgeKind| DelegationEdge {
            from: from.to_owned(),
            to: work.task_id.clone(),
            kind,
            extensions: None,
        };
        edges.extend(work.parent_task_id.as_deref().map(|parent| edge(parent, EdgeKind::Delegation)));
        edges.extend(depends_on.iter().map(|name| edge(name, EdgeKind::Dependency)));
        shown.push(DelegationNode {
            task_id: work.task_id.clone(),
            parent_task_id: work.parent_task_id.clone(),
            agent: Some(target.agent_name.clone()),
            provider: Some(target.provider),
            model: Some(target.model.clone()),
            depth: depth(nodes, node),
            state: state(node.task),
            final_signal: signal(node.task),
            depends_on,
            extensions: None,
        });
    }
    let max_depth = Some(u64::from(limits::DELEGATION_DEPTH_MAX));
    DelegationGraph { nodes: shown, edges, max_depth, extensions: None }
}

/// How many TASKs are above it, counted from 1, or how deep its run is.
fn depth(nodes: &[Node<'_>], node: &Node<'_>) -> u64 {
    let (mut at, mut depth) = (node, 1);
    while let Some(parent) = at.message.task.parent_task_id.as_ref()
        && let Some(up) = nodes.iter().find(|known| known.message.task.task_id == *parent)
        && depth <= u64::from(limits::DELEGATION_DEPTH_MAX)
    {
        (at, depth) = (up, depth + 1);
    }
    depth.max(u64::from(node.run_depth))
}
