//! The shape of a stack file.

use crate::aocl::stack::{
    BypassPolicy, Defaults, EDGES_MAX, Edge, NODES_MAX, Node, PolicyOverrides, StackReference, StackStep,
};
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::{
    Described, NON_BLANK, Object, Shape, Text, TextForm, UNBOUNDED, Unknown, list, optional, required,
};

/// The largest count that every JSON reader keeps exactly.
pub(crate) const COUNT: Shape = Shape::Integer { min: 0, max: 1 << 53 };

static KNOWN_REF: TextForm = TextForm {
    name: "a built-in ref such as builtin:l3.policy or builtin:branch.restricted",
    pattern: "^builtin:(l([0-9]|10)|branch)\\.[a-z_]+$",
    accepts: |text| StackReference::parse(text).is_some(),
};

impl Described for StackReference {
    const SHAPE: Shape = Shape::Text(Text { min: 1, max: UNBOUNDED, form: Some(&KNOWN_REF) });
}

pub static STACK: Object = Object {
    name: "aocl_stack",
    about: "The layers a request passes, in sequence or along conditions.",
    fields: &[
        required("stack_id", NON_BLANK, ""),
        required("version", NON_BLANK, ""),
        required("mode", Shape::Word(&["pipeline", "dag"]), ""),
        optional("layers", list!(StackStep::SHAPE, 1, NODES_MAX), "In a pipeline."),
        optional("nodes", list!(Node::SHAPE, 1, NODES_MAX), "In a dag."),
        optional("edges", list!(Edge::SHAPE, 0, EDGES_MAX), "In a dag."),
        optional("defaults", Defaults::SHAPE, ""),
        optional(
            "bypass_policy",
            BypassPolicy::SHAPE,
            "Which roles may skip layers, and which layers are never skipped.",
        ),
        optional("policy_overrides", PolicyOverrides::SHAPE, ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

/// Each mode has its own fields and refuses those of the other mode.
pub(super) fn check_mode(findings: &mut Findings, document: &Value) {
    let (own, other): (&[&str], &[&str]) = match document.get("mode").and_then(Value::as_str) {
        Some("pipeline") => (&["layers"], &["nodes", "edges"]),
        Some("dag") => (&["nodes", "edges"], &["layers"]),
        _ => return,
    };
    for name in own.iter().filter(|name| document.get(**name).is_none()) {
        findings.push(format!("$.{name}"), "missing", format!("`{name}` is required in this mode"));
    }
    for name in other.iter().filter(|name| document.get(**name).is_some()) {
        findings.push(format!("$.{name}"), "mode", format!("`{name}` belongs to the other mode"));
    }
}
