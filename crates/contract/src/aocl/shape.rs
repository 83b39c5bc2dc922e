//! The shapes of the control payloads. What the binding only recommends is optional here.

use crate::aee::shape::CONFIDENCE;
use crate::aocl::bundle;
use crate::shape::{
    Form, List, Map, NON_BLANK, NOT_NEGATIVE, Object, Shape, TEXT, TEXTS, Text, UNBOUNDED, Unknown, optional,
    required,
};

const fn object(name: &'static str, fields: &'static [crate::shape::Field]) -> Object {
    Object { name, about: "", fields, unknown: Unknown::Kept }
}

const RUN_ID: crate::shape::Field = optional("run_id", TEXT, "The run on its way through the layers.");
const STACK_ID: crate::shape::Field = optional("stack_id", TEXT, "The stack it walks.");
const LAYER: crate::shape::Field = required("layer", Shape::Object(&LAYER_REF), "The layer that speaks.");
const DELTA_ABOUT: &str = "What the layer changed: C-paths and their new values; null removes.";
const REFS: crate::shape::Field = optional("refs", TEXTS, "Pointers to what is too large to be here.");

static LAYER_REF: Object =
    object("aocl_layer_ref", &[required("id", NON_BLANK, ""), optional("version", TEXT, "")]);

static DECISION: Object =
    object("aocl_decision", &[required("code", NON_BLANK, ""), required("reason", TEXT, "")]);

static DECISIONS: List = List { item: Shape::Object(&DECISION), min: 0, max: UNBOUNDED };

pub static CONTEXT_PATH: Form = Form {
    name: "a context path such as C4.Policy.allowed_tools",
    pattern: "^(C0\\.Event|C1\\.Identity|C2\\.Task|C3\\.Memory|C4\\.Policy|C5\\.Execution|C6\\.Audit)(\\.[^.]+)+$",
    accepts: bundle::is_context_path,
};

static DELTA: Map =
    Map { value: Shape::Anything, key: Text { min: 1, max: UNBOUNDED, form: Some(&CONTEXT_PATH) } };

/// Names of digests to digests; `context_in` and `context_out` are the ones that chain.
static DIGESTS: Map = Map { value: TEXT, key: Text { min: 0, max: UNBOUNDED, form: None } };

static CONTROL: Object = object(
    "aocl_control",
    &[
        optional("halt_pipeline", Shape::Bool, ""),
        optional("branch_to", Shape::Nullable(&TEXT), ""),
        optional("bypass_layers", TEXTS, ""),
        optional("require_hitl", Shape::Bool, ""),
        optional("severity", Shape::Nullable(&TEXT), ""),
    ],
);

pub static STACK_SELECT: Object =
    object("aocl_stack_select", &[RUN_ID, required("stack_id", NON_BLANK, ""), required("reason", TEXT, "")]);

pub static LAYER_EVENT: Object = object(
    "aocl_layer_event",
    &[
        RUN_ID,
        STACK_ID,
        LAYER,
        optional("timing_ms", NOT_NEGATIVE, "How long the layer took."),
        optional("decisions", Shape::List(&DECISIONS), "What was decided and why, in a few words."),
        optional("delta", Shape::Map(&DELTA), DELTA_ABOUT),
        REFS,
        optional("digests", Shape::Map(&DIGESTS), "Of the context before and after."),
        optional("control", Shape::Object(&CONTROL), "What the layer asks of the runner."),
    ],
);

pub static CONTEXT_PATCH: Object = object(
    "aocl_context_patch",
    &[
        RUN_ID,
        STACK_ID,
        LAYER,
        required("delta", Shape::Map(&DELTA), DELTA_ABOUT),
        REFS,
        optional("digests", Shape::Map(&DIGESTS), ""),
    ],
);

pub static BYPASS: Object = object(
    "aocl_bypass",
    &[
        RUN_ID,
        required("requested_by", NON_BLANK, "Who asked."),
        required("layers", TEXTS, "Which layers would be skipped."),
        required("allowed", Shape::Bool, ""),
        required("reason", TEXT, "Why it was allowed or denied."),
        optional("policy", Shape::Nullable(&TEXT), "What permitted it."),
    ],
);

pub static BRANCH: Object = object(
    "aocl_branch",
    &[
        RUN_ID,
        required("from", NON_BLANK, ""),
        required("to", Shape::Nullable(&NON_BLANK), ""),
        required("reason", TEXT, ""),
    ],
);

static VERIFICATION: Object = object(
    "aocl_verification",
    &[
        required("status", NON_BLANK, ""),
        optional("reason", TEXT, ""),
        optional("confidence", Shape::Nullable(&CONFIDENCE), ""),
    ],
);

pub static VERIFY_RESULT: Object =
    object("aocl_verify_result", &[RUN_ID, required("verification", Shape::Object(&VERIFICATION), "")]);

static DELEGATION: Object = object(
    "aocl_delegation",
    &[required("to", NON_BLANK, ""), required("intent", NON_BLANK, ""), required("status", NON_BLANK, "")],
);

static DELEGATIONS: List = List { item: Shape::Object(&DELEGATION), min: 0, max: UNBOUNDED };

pub static RUN_SUMMARY: Object = object(
    "aocl_run_summary",
    &[
        required("run_id", NON_BLANK, ""),
        STACK_ID,
        required("layers_executed", TEXTS, ""),
        optional("layers_bypassed", TEXTS, ""),
        optional("branch_taken", Shape::Nullable(&TEXT), ""),
        optional("timing_ms_total", NOT_NEGATIVE, ""),
        optional("delegations", Shape::List(&DELEGATIONS), ""),
        optional("verification", Shape::Nullable(&Shape::Object(&VERIFICATION)), ""),
        REFS,
        optional("notes", Shape::Nullable(&TEXT), ""),
    ],
);
