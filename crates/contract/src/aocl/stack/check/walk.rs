//! Whether a request can walk a stack, and whether it can bypass the layers that must not be skipped.

use std::collections::BTreeSet;

use crate::aocl::Layer;
use crate::aocl::stack::graph::StackGraph;
use crate::aocl::stack::{Edge, Node, Stack, StackReference, StackWalk};
use crate::finding::Findings;

pub(super) fn check(stack: &Stack, findings: &mut Findings, warnings: &mut Findings) {
    let (field, members): (&str, Vec<(&str, StackReference)>) = match &stack.walk {
        StackWalk::Pipeline(steps) => {
            ("layers", steps.iter().map(|s| (s.id.as_str(), s.reference)).collect())
        }
        StackWalk::Dag { nodes, .. } => {
            ("nodes", nodes.iter().map(|n| (n.id.as_str(), n.reference)).collect())
        }
    };
    check_names(field, &members, findings, warnings);
    if !findings.is_empty() {
        return;
    }
    match &stack.walk {
        StackWalk::Pipeline(_) => check_pipeline(stack, findings),
        StackWalk::Dag { nodes, edges } => check_dag(nodes, edges, findings, warnings),
    }
    check_bypass(stack, &members, warnings);
    let delegates =
        stack.members().iter().any(|(_, reference)| *reference == StackReference::Layer(Layer::Delegate));
    if delegates && !stack.can_verify() {
        let message = format!("work cannot be verified without {}", Layer::Verify);
        warnings.push(format!("$.{field}"), "unverified", message);
    }
}

/// A canonical name must mean its own layer: traces and bypass rules use the name.
fn check_names(
    field: &str,
    members: &[(&str, StackReference)],
    findings: &mut Findings,
    warnings: &mut Findings,
) {
    let mut seen = BTreeSet::new();
    for (index, (id, reference)) in members.iter().enumerate() {
        let place = format!("$.{field}[{index}]");
        if !seen.insert(*id) {
            findings.push(format!("{place}.id"), "duplicate", format!("`{id}` is in the stack already"));
        }
        let is_branch_name = id.starts_with("BR.");
        match Layer::from_id(id) {
            Some(layer) if *reference != StackReference::Layer(layer) => {
                let message = format!("`{id}` must have the ref {}", layer.reference());
                findings.push(format!("{place}.ref"), "ref_mismatch", message);
            }
            Some(_) => {}
            None if is_branch_name != reference.is_branch() => {
                findings.push(
                    format!("{place}.ref"),
                    "ref_mismatch",
                    "branches, and only branches, are named `BR.*`",
                );
            }
            None if is_branch_name => {}
            None => {
                warnings.push(
                    format!("{place}.id"),
                    "unknown_layer",
                    format!("`{id}` is not a canonical layer"),
                );
            }
        }
    }
}

fn check_pipeline(stack: &Stack, findings: &mut Findings) {
    let members = stack.members();
    if members.is_empty() {
        return findings.push("$.layers", "empty", "no layer is enabled");
    }
    let place =
        |layer: Layer| members.iter().position(|(_, reference)| *reference == StackReference::Layer(layer));
    let Some(work) = place(Layer::Delegate) else { return };
    for guard in Layer::NEVER_BYPASSED.into_iter().filter(|guard| place(*guard).is_none_or(|at| at > work)) {
        findings.push("$.layers", "guard_skipped", unguarded(guard));
    }
}

fn check_dag(nodes: &[Node], edges: &[Edge], findings: &mut Findings, warnings: &mut Findings) {
    let names: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).collect();
    check_edges(&names, edges, findings, warnings);
    let graph = StackGraph::new(&names, edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str())));
    if let Some(cycle) = graph.cycle() {
        let message = format!("the edges form a cycle: {} -> {}", cycle.join(" -> "), cycle[0]);
        return findings.push("$.edges", "cycle", message);
    }
    let is_branch = |id: &str| nodes.iter().any(|node| node.id == id && node.reference.is_branch());
    let roots: Vec<&str> = graph.roots().into_iter().filter(|id| !is_branch(id)).collect();
    let [root] = roots.as_slice() else {
        let message = match roots.as_slice() {
            [] => "one layer must come first, but every layer has a predecessor".to_owned(),
            several => format!("exactly one layer may come first, not {}", several.join(", ")),
        };
        return findings.push("$.nodes", "single_root", message);
    };
    let reachable = graph.reachable(root, None);
    for (index, id) in names.iter().enumerate().filter(|(_, id)| !reachable.contains(*id)) {
        let list = if is_branch(id) { &mut *warnings } else { &mut *findings };
        list.push(format!("$.nodes[{index}]"), "unreachable", format!("`{id}` cannot be reached"));
    }
    let node_of = |layer: Layer| nodes.iter().find(|node| node.reference == StackReference::Layer(layer));
    let Some(work) = node_of(Layer::Delegate) else { return };
    for guard in Layer::NEVER_BYPASSED {
        let around = node_of(guard).map(|node| node.id.as_str());
        if graph.reachable(root, around).contains(work.id.as_str()) {
            findings.push("$.edges", "guard_skipped", unguarded(guard));
        }
    }
}

fn check_edges(names: &[&str], edges: &[Edge], findings: &mut Findings, warnings: &mut Findings) {
    for (index, edge) in edges.iter().enumerate() {
        for (end, id) in [("from", &edge.from), ("to", &edge.to)] {
            if !names.contains(&id.as_str()) {
                findings.push(
                    format!("$.edges[{index}].{end}"),
                    "unknown_node",
                    format!("`{id}` is not a node"),
                );
            }
        }
        let shadow = edges[..index].iter().position(|other| other.from == edge.from && other.when.is_none());
        if let Some(earlier) = shadow {
            let message = format!("never taken: $.edges[{earlier}] has no condition and comes first");
            warnings.push(format!("$.edges[{index}]"), "shadowed", message);
        }
    }
}

fn check_bypass(stack: &Stack, members: &[(&str, StackReference)], warnings: &mut Findings) {
    let listed = &stack.bypass_policy.never_bypass;
    for (index, id) in listed.iter().enumerate() {
        let known = Layer::from_id(id).is_some() || members.iter().any(|(member, _)| member == id);
        if !known {
            let place = format!("$.bypass_policy.never_bypass[{index}]");
            warnings.push(place, "unknown_layer", format!("`{id}` is not in this stack"));
        }
    }
}

fn unguarded(guard: Layer) -> String {
    format!("{} can be reached without passing {guard}", Layer::Delegate)
}
