//! The shape of a RESPONSE message. What the guard rails of its TASK ask for comes on top.

use super::{ArtifactStatus, FinalSignal, ResponseMessage, State};
use crate::aop::header::{Family, NAME, TIME, VERSION, extensions, maybe};
use crate::aop::task::{CheckpointStatus, Provider};
use crate::shape::{
    List, NATURAL, NOT_NEGATIVE, Object, PERCENT, Shape, TEXT, TEXTS, UNBOUNDED, Unknown, optional, required,
};

pub(crate) static RESPONSE: Object = Object {
    name: "response_message",
    about: "an AOP RESPONSE: how a task ended, as its executor tells it",
    fields: &[
        required("aop_version", VERSION, "the protocol revision"),
        required("schema_version", NAME, "the schema revision"),
        required("protocol_family", Family::SHAPE, "always AOP"),
        required("message_type", ResponseMessage::SHAPE, "always RESPONSE"),
        required("session_id", NAME, ""),
        required("task_id", NAME, ""),
        required("agent", Shape::Object(&AGENT), "who did it"),
        required("task_status", Shape::Object(&TASK_STATUS), "how it ended"),
        maybe(
            "execution_summary",
            &Shape::Object(&EXECUTION_SUMMARY),
            "required unless guard_rails.require_minimal_report is false",
        ),
        optional(
            "checkpoint_results",
            Shape::List(&List { item: Shape::Object(&CHECKPOINT_RESULT), min: 0, max: UNBOUNDED }),
            "",
        ),
        maybe("error_details", &Shape::Object(&ERROR_DETAILS), ""),
        maybe("timing", &Shape::Object(&TIMING), ""),
        maybe("cost_tracking", &Shape::Object(&COST_TRACKING), ""),
        maybe("progress_log", &Shape::Object(&PROGRESS_LOG), ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static AGENT: Object = Object {
    name: "agent",
    about: "",
    fields: &[
        required("name", NAME, ""),
        required("provider", Provider::SHAPE, ""),
        required("model", TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static TASK_STATUS: Object = Object {
    name: "task_status",
    about: "",
    fields: &[
        required("state", State::SHAPE, ""),
        maybe(
            "final_signal",
            &FinalSignal::SHAPE,
            "required unless guard_rails.require_final_signal is false",
        ),
        maybe("message", &TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static EXECUTION_SUMMARY: Object = Object {
    name: "execution_summary",
    about: "",
    fields: &[
        maybe("summary", &TEXT, "must not be blank where a report is required"),
        optional(
            "actions",
            TEXTS,
            "must not be empty where a report is required; at most 200 without a warning",
        ),
        optional(
            "output_artifacts",
            Shape::List(&List { item: Shape::Object(&OUTPUT_ARTIFACT), min: 0, max: UNBOUNDED }),
            "",
        ),
        optional("warnings", TEXTS, ""),
        optional("errors", TEXTS, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static OUTPUT_ARTIFACT: Object = Object {
    name: "output_artifact",
    about: "",
    fields: &[
        required("type", TEXT, ""),
        required("path", TEXT, ""),
        required("status", ArtifactStatus::SHAPE, ""),
        maybe("hash", &TEXT, ""),
        maybe("size_bytes", &NATURAL, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static CHECKPOINT_RESULT: Object = Object {
    name: "checkpoint_result",
    about: "",
    fields: &[
        required("checkpoint_id", NAME, ""),
        required("status", CheckpointStatus::SHAPE, ""),
        maybe("validation_output", &TEXT, ""),
        optional("evidence", TEXTS, ""),
        maybe("notes", &TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static ERROR_DETAILS: Object = Object {
    name: "error_details",
    about: "",
    fields: &[
        required("error_code", NAME, "a code of the taxonomy; others count as E_UNKNOWN"),
        required("message", TEXT, ""),
        maybe("stack_trace", &TEXT, ""),
        optional("recovery_suggestions", TEXTS, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static TIMING: Object = Object {
    name: "timing",
    about: "",
    fields: &[
        required("started_at", TIME, ""),
        required("completed_at", TIME, ""),
        required("duration_seconds", NATURAL, ""),
        maybe("retries_attempted", &NATURAL, "0 if absent"),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static COST_TRACKING: Object = Object {
    name: "cost_tracking",
    about: "",
    fields: &[
        maybe("estimated_cost_usd", &NOT_NEGATIVE, ""),
        maybe("actual_cost_usd", &NOT_NEGATIVE, ""),
        maybe("tokens_input", &NATURAL, ""),
        maybe("tokens_output", &NATURAL, ""),
        maybe("model_pricing_tier", &TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static PROGRESS_LOG: Object = Object {
    name: "progress_log",
    about: "",
    fields: &[
        maybe("last_progress_event_at", &TIME, ""),
        maybe("progress_percentage", &PERCENT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};
