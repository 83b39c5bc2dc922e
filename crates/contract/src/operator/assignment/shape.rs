//! The shapes that an assignment shares with other documents.

use crate::domain::check::Expects;
use crate::domain::limits;
use crate::shape::{
    INTEGER_MAX, NON_BLANK, Object, Shape, TEXT, UNBOUNDED, Unknown, list, optional, required,
};

pub(crate) const OBJECTIVE_CHARS_MAX: usize = 5000;
pub(crate) const WORKLOG_PATH_CHARS_MAX: usize = 1000;
pub(crate) const TIMEOUT_SECONDS_MIN: f64 = 30.0;
/// The fencing token of a lock grant.
pub(crate) const TOKEN: Shape = Shape::Integer { min: 1, max: INTEGER_MAX };

pub(crate) const CHECKS: Shape = list!(Shape::Object(&CHECK), 0, limits::CHECKS_PER_TASK_MAX);

static CHECK: Object = Object {
    name: "operator_check",
    about: "A command that writ runs to verify that a criterion is met.",
    fields: &[
        required("criterion", NON_BLANK, "The acceptance criterion it decides."),
        required("command", list!(TEXT, 1, UNBOUNDED), "An argument list."),
        optional("expects", Shape::Word(Expects::WORDS), "What the outcome must be; exit code 0 by default."),
        optional("shell", Shape::Bool, "The one element of `command` is a script."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};
