//! The shape of a stack file.

use crate::aocl::stack::{EDGES_MAX, NODES_MAX, Reference};
use crate::finding::Findings;
use crate::json::Value;
use crate::shape::{
    Form, List, NON_BLANK, Object, Shape, TEXT, TEXTS, Text, UNBOUNDED, Unknown, optional, required,
};

/// The largest count that every JSON reader keeps exactly.
const COUNT: Shape = Shape::Integer { min: 0, max: 1 << 53 };

static KNOWN_REF: Form = Form {
    name: "a built-in ref such as builtin:l3.policy or builtin:branch.restricted",
    pattern: "^builtin:(l([0-9]|10)|branch)\\.[a-z_]+$",
    accepts: |text| Reference::parse(text).is_some(),
};

const REF: Shape = Shape::Text(Text { min: 1, max: UNBOUNDED, form: Some(&KNOWN_REF) });

pub static STACK: Object = Object {
    name: "aocl_stack",
    about: "Which layers a request meets, in a row or along conditions.",
    fields: &[
        required("stack_id", NON_BLANK, ""),
        required("version", NON_BLANK, ""),
        required("mode", Shape::Word(&["pipeline", "dag"]), ""),
        optional(
            "layers",
            Shape::List(&List { item: Shape::Object(&STEP), min: 1, max: NODES_MAX }),
            "In a pipeline.",
        ),
        optional(
            "nodes",
            Shape::List(&List { item: Shape::Object(&NODE), min: 1, max: NODES_MAX }),
            "In a dag.",
        ),
        optional(
            "edges",
            Shape::List(&List { item: Shape::Object(&EDGE), min: 0, max: EDGES_MAX }),
            "In a dag.",
        ),
        optional("defaults", Shape::Object(&DEFAULTS), ""),
        optional("bypass_policy", Shape::Object(&BYPASS_POLICY), "Who may skip layers, and which never."),
        optional("policy_overrides", Shape::Object(&POLICY_OVERRIDES), ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

const fn object(name: &'static str, fields: &'static [crate::shape::Field]) -> Object {
    Object { name, about: "", fields, unknown: Unknown::KeptUnlessStrict }
}

static STEP: Object = object(
    "aocl_stack_layer",
    &[required("id", NON_BLANK, ""), required("ref", REF, ""), optional("enabled", Shape::Bool, "")],
);

static NODE: Object = object("aocl_stack_node", &[required("id", NON_BLANK, ""), required("ref", REF, "")]);

static EDGE: Object = object(
    "aocl_stack_edge",
    &[
        required("from", NON_BLANK, ""),
        required("to", NON_BLANK, ""),
        optional("when", Shape::Nullable(&NON_BLANK), "A condition over `context` and `control`."),
    ],
);

static DEFAULTS: Object = object(
    "aocl_stack_defaults",
    &[
        optional("timeout_ms", COUNT, ""),
        optional("max_parallel_actions", COUNT, ""),
        optional("bypass_allowed_for_roles", TEXTS, ""),
    ],
);

static BYPASS_POLICY: Object = object(
    "aocl_bypass_policy",
    &[
        optional("allowed_roles", TEXTS, ""),
        optional("never_bypass", TEXTS, ""),
        optional("audit_required", Shape::Bool, ""),
    ],
);

static POLICY_OVERRIDES: Object = object(
    "aocl_policy_overrides",
    &[optional("tool_execution", TEXT, ""), optional("network_access", TEXT, "")],
);

/// Each mode has fields of its own and not the other's.
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
