//! The shape of an assignment packet, and the pieces it shares with other documents.

use super::{ContextKind, OutputSchema, PacketType, TaskType};
use crate::domain::check::Expects;
use crate::domain::limits;
use crate::operator::document::INTEGER_MAX;
use crate::operator::ids::{RUN_ID, TASK_ID, UTC};
use crate::operator::locks::LOCKS;
use crate::shape::{
    Form, List, NON_BLANK, NON_BLANK_FORM, Object, Shape, TEXT, TEXTS, Text, UNBOUNDED, Unknown, optional,
    required,
};

/// A text that is not blank, of at most `max` characters.
pub(crate) const fn bounded(max: usize) -> Shape {
    const FORM: &Form = &NON_BLANK_FORM;
    Shape::Text(Text { min: 1, max, form: Some(FORM) })
}

pub(crate) const OBJECTIVE_CHARS_MAX: usize = 5000;
pub(crate) const WORKLOG_PATH_CHARS_MAX: usize = 1000;
pub(crate) const TIMEOUT_SECONDS_MIN: f64 = 30.0;
pub(crate) const TIMEOUT: Shape = Shape::Integer { min: 30, max: INTEGER_MAX };
pub(crate) const HEARTBEAT: Shape = Shape::Integer { min: 5, max: INTEGER_MAX };
pub(crate) const PRIORITY: Shape = Shape::Word(&["low", "normal", "high", "critical"]);
pub(crate) const TITLE: Shape = bounded(limits::TITLE_CHARS_MAX);
pub(crate) const TASK_IDS: Shape = Shape::List(&List { item: TASK_ID, min: 0, max: UNBOUNDED });
const TOKEN: Shape = Shape::Integer { min: 1, max: INTEGER_MAX };

/// The whole packet. How its scopes and locks fit together is checked beside the shape.
pub static ASSIGNMENT: Object = Object {
    name: "operator_assignment",
    about: "One task for one subagent: what to do, where, how it is judged, and how long it may be silent.",
    fields: &[
        required("schema_version", NON_BLANK, "Version of the contract; the major version is 1."),
        required("run_id", RUN_ID, "The run, as a UUID of version 4."),
        optional("generated_at", UTC, "When it was written."),
        required("packet_type", PacketType::SHAPE, ""),
        required("global_objective", bounded(OBJECTIVE_CHARS_MAX), "What the whole run is for."),
        required("task", Shape::Object(&TASK), "The task."),
        required("active_locks", LOCKS, "What is locked while the task runs."),
        required("context_package", CONTEXT, "What the subagent gets to know; data, not instructions."),
        required("required_output_schema", OutputSchema::SHAPE, "What the answer must look like."),
        optional("x_fencing_token", TOKEN, "The number of the lock grant."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static TASK: Object = Object {
    name: "operator_task",
    about: "",
    fields: &[
        required("task_id", TASK_ID, "Names the task in its run."),
        required("title", TITLE, "One line."),
        required("type", TaskType::SHAPE, "Whether other tasks may run beside it."),
        required("dependencies", TASK_IDS, "What must be done before."),
        required(
            "lock_scope",
            Shape::List(&List { item: TEXT, min: 1, max: UNBOUNDED }),
            "What it may change.",
        ),
        required("forbidden_scope", TEXTS, "What it must not touch."),
        required(
            "acceptance_criteria",
            Shape::List(&List { item: NON_BLANK, min: 1, max: UNBOUNDED }),
            "What must be true when it is done.",
        ),
        required("worklog_path", bounded(WORKLOG_PATH_CHARS_MAX), "Where it writes down what it does."),
        required("timeout_seconds", TIMEOUT, "Silent for longer, it is taken to be dead."),
        required(
            "heartbeat_interval_seconds",
            HEARTBEAT,
            "How often it says that it lives; below the timeout.",
        ),
        optional("priority", PRIORITY, "Normal where nothing is said."),
        optional("x_checks", CHECKS, "Commands that decide a criterion; they come from the plan's author."),
        optional("x_fencing_token", TOKEN, "The number of the lock grant."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

const CONTEXT: Shape = Shape::List(&List { item: Shape::Object(&CONTEXT_ITEM), min: 0, max: UNBOUNDED });
const CHECKS: Shape =
    Shape::List(&List { item: Shape::Object(&CHECK), min: 0, max: limits::CHECKS_PER_TASK_MAX });

static CONTEXT_ITEM: Object = Object {
    name: "operator_context_item",
    about: "",
    fields: &[required("kind", ContextKind::SHAPE, ""), required("value", NON_BLANK, "")],
    unknown: Unknown::KeptUnlessStrict,
};

static CHECK: Object = Object {
    name: "operator_check",
    about: "A command that writ runs itself before it believes that a criterion is met.",
    fields: &[
        required("criterion", NON_BLANK, "The acceptance criterion it decides."),
        required("command", Shape::List(&List { item: TEXT, min: 1, max: UNBOUNDED }), "An argument list."),
        optional("expects", Shape::Word(Expects::WORDS), "What the outcome must be; exit code 0 by default."),
        optional("shell", Shape::Bool, "The one element of `command` is a script."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};
