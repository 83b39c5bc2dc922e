//! What a plan file may contain. The published JSON Schema is printed from this.

use crate::domain::check::Expects;
use crate::domain::limits;
use crate::plan::executor;
use crate::shape::{
    Form, List, Map, NATURAL, NON_BLANK, NOT_NEGATIVE, Object, Shape, TEXT, Text, UNBOUNDED, Unknown,
    optional, required, text,
};

pub static PLAN: Object = Object {
    name: "plan",
    about: "An objective and the tasks that reach it.",
    fields: &[
        required("objective", text(1, 5000), "What the whole run is for, in a sentence."),
        optional(
            "workspace",
            NON_BLANK,
            "The directory the tasks work in, relative to the plan file; made if missing. Default: the plan file's directory.",
        ),
        optional(
            "max_parallel",
            Shape::Integer { min: 1, max: limits::PARALLEL_MAX.cast_signed() as i64 },
            "How many tasks may run at once. Default 4.",
        ),
        optional(
            "budget",
            Shape::Object(&BUDGET),
            "What the whole run may spend. Each task says in its own budget what is reserved for one attempt of it.",
        ),
        required(
            "task",
            Shape::List(&List { item: Shape::Object(&TASK), min: 1, max: limits::PLAN_TASKS_MAX }),
            "The tasks, each a [[task]] table.",
        ),
    ],
    unknown: Unknown::OnlyExtensions,
};

pub static TASK: Object = Object {
    name: "task",
    about: "One unit of work for one child process.",
    fields: &[
        required("id", Shape::Text(Text { min: 1, max: 64, form: Some(&TASK_ID) }), "Its name in this plan."),
        optional("title", text(1, limits::TITLE_CHARS_MAX), "One line for people. Default: the id."),
        optional(
            "executor",
            EXECUTOR,
            "Who does it, by name: `shell` runs the command; `aop-stdio` gives the command an AOP TASK on standard input. Default `shell`.",
        ),
        required(
            "command",
            COMMAND,
            "The program and its arguments; with `shell = true` one line for `sh -c`.",
        ),
        optional("shell", Shape::Bool, "Run the command with `sh -c`. Default false."),
        optional("prompt", text(1, 50_000), "What an agent is asked to do. Required for `aop-stdio`."),
        optional("writes", SCOPES, "Paths it may change. Tasks whose writes overlap need an order."),
        optional("reads", SCOPES, "Paths it looks at."),
        optional("scratch", SCOPES, "Paths it may use and nobody cares about."),
        optional("env", ENV, "Environment variables; `env:NAME` takes a value from writ's own environment."),
        optional(
            "depends_on",
            Shape::List(&List { item: NON_BLANK, min: 0, max: limits::PLAN_TASKS_MAX }),
            "Ids of tasks that must be done first.",
        ),
        optional(
            "priority",
            Shape::Word(&["low", "normal", "high", "critical"]),
            "Who goes first among the ready. Default normal.",
        ),
        optional(
            "timeout",
            DURATION,
            "How long one attempt may take: seconds, or text such as `90s`, `5m`, `2h`. Default 30m.",
        ),
        optional(
            "retries",
            Shape::Integer { min: 0, max: limits::RETRIES_MAX as i64 },
            "How often a failed attempt is repeated. Default 0.",
        ),
        optional(
            "backoff",
            Shape::List(&List { item: DURATION, min: 0, max: 20 }),
            "Waits before each repetition; the last repeats.",
        ),
        optional(
            "retry_safe",
            Shape::Bool,
            "Running it again after an interruption does no harm. Default false.",
        ),
        optional("budget", Shape::Object(&BUDGET), "What it may spend."),
        optional(
            "checks",
            Shape::List(&List { item: Shape::Object(&CHECK), min: 0, max: limits::CHECKS_PER_TASK_MAX }),
            "What writ runs before it grants done, each a [[task.checks]] table.",
        ),
    ],
    unknown: Unknown::OnlyExtensions,
};

pub static CHECK: Object = Object {
    name: "check",
    about: "A command whose outcome decides whether the task is done.",
    fields: &[
        required("command", COMMAND, "The program and its arguments; for FILE_EXISTS the path."),
        optional(
            "expects",
            Shape::Word(Expects::WORDS),
            "EXIT_CODE_0; MATCH_FOUND: exit 0 and some output; NO_MATCH: exit 1 and none; FILE_EXISTS. Default EXIT_CODE_0.",
        ),
        optional("shell", Shape::Bool, "Run the command with `sh -c`. Default false."),
    ],
    unknown: Unknown::OnlyExtensions,
};

pub static BUDGET: Object = Object {
    name: "budget",
    about: "Limits of spending.",
    fields: &[
        optional("max_cost_usd", NOT_NEGATIVE, "In US dollars."),
        optional("max_tokens", NATURAL, "Input and output together."),
    ],
    unknown: Unknown::OnlyExtensions,
};

const EXECUTOR: Shape =
    Shape::Text(Text { min: 1, max: executor::NAME_CHARS_MAX, form: Some(&executor::FORM) });
const COMMAND: Shape = Shape::Either(&[Shape::List(&List { item: TEXT, min: 1, max: 1000 }), NON_BLANK]);
const SCOPES: Shape = Shape::List(&List { item: NON_BLANK, min: 0, max: limits::SCOPES_PER_TASK_MAX });
const ENV: Shape =
    Shape::Map(&Map { value: TEXT, key: Text { min: 1, max: UNBOUNDED, form: Some(&ENV_NAME) } });
const DURATION: Shape = Shape::Either(&[
    Shape::Integer { min: 1, max: limits::TASK_TIMEOUT_MAX.as_secs().cast_signed() },
    Shape::Text(Text { min: 1, max: 40, form: Some(&DURATION_FORM) }),
]);

static TASK_ID: Form = Form {
    name: "a name of letters, digits, `-`, `_` and `.`, starting with a letter or digit",
    pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$",
    accepts: |text| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    },
};

static ENV_NAME: Form = Form {
    name: "a variable name of letters, digits and `_`, not starting with `WRIT_`",
    pattern: "^(?!WRIT_)[A-Za-z_][A-Za-z0-9_]*$",
    accepts: |text| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !text.starts_with("WRIT_")
    },
};

static DURATION_FORM: Form = Form {
    name: "a length of time such as `90s`, `5m` or `1h30m`, up to 7 days",
    pattern: "^([0-9]+|([0-9]+(ms|s|m|h|d|w))+)$",
    accepts: |text| {
        crate::domain::time::parse_duration(text)
            .is_some_and(|length| !length.is_zero() && length <= limits::TASK_TIMEOUT_MAX)
    },
};
