//! The shape of a TASK message.

use super::{
    Category, CheckpointStatus, Complexity, ExecutionProfile, Expects, FallbackTrigger, Network, OnFailure,
    OnHeartbeatFailure, Provider, RecoveryStrategy, Role, SnapshotStrategy, TaskMessage, WorkflowPattern,
};
use crate::aop::header::{Family, NAME, TIME, VERSION, extensions, maybe};
use crate::aop::limits::{INPUTS_MAX, OUTPUTS_MAX};
use crate::aop::priority;
use crate::shape::{
    List, NATURAL, NOT_NEGATIVE, Object, POSITIVE, Shape, TEXT, TEXTS, UNBOUNDED, Unknown, optional, required,
};

const ORDER: Shape = Shape::Integer { min: i64::MIN, max: i64::MAX };

pub(crate) static TASK: Object = Object {
    name: "task_message",
    about: "an AOP TASK: who should do what, where, under which limits",
    fields: &[
        required("aop_version", VERSION, "the protocol revision"),
        required("schema_version", NAME, "the schema revision"),
        required("protocol_family", Family::SHAPE, "always AOP"),
        required("message_type", TaskMessage::SHAPE, "always TASK"),
        required("session", Shape::Object(&SESSION), "the session the task belongs to"),
        required("target", Shape::Object(&TARGET), "who is to do it"),
        required("task", Shape::Object(&WORK), "what is to be done"),
        maybe("execution_policy", &Shape::Object(&EXECUTION_POLICY), "timeout, retries, alternatives"),
        maybe(
            "guard_rails",
            &Shape::Object(&GUARD_RAILS),
            "what the response must carry; overrides the policy",
        ),
        optional(
            "phases",
            Shape::List(&List { item: Shape::Object(&PHASE), min: 0, max: UNBOUNDED }),
            "at most 10 without a warning",
        ),
        maybe("orchestration_metadata", &Shape::Object(&METADATA), "where the task came from"),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static SESSION: Object = Object {
    name: "session",
    about: "",
    fields: &[
        required("session_id", NAME, "correlates every message of the session"),
        required("created_at", TIME, ""),
        required("orchestrator", TEXT, ""),
        required("origin", TEXT, "such as CLI or API"),
        maybe("workflow_pattern", &WorkflowPattern::SHAPE, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static TARGET: Object = Object {
    name: "target",
    about: "",
    fields: &[
        required("agent_name", NAME, ""),
        required("role", Role::SHAPE, ""),
        required("provider", Provider::SHAPE, ""),
        required("model", TEXT, ""),
        maybe("execution_profile", &ExecutionProfile::SHAPE, ""),
        maybe("capabilities", &Shape::Object(&CAPABILITIES), ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static CAPABILITIES: Object = Object {
    name: "capabilities",
    about: "",
    fields: &[
        optional("aop_versions_supported", TEXTS, ""),
        maybe("file_system_access", &Shape::Bool, "true if absent"),
        maybe("network_access", &Network::SHAPE, "RESTRICTED if absent"),
        maybe("headless_mode", &Shape::Bool, "true if absent"),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static WORK: Object = Object {
    name: "task",
    about: "",
    fields: &[
        required("task_id", NAME, ""),
        maybe("parent_task_id", &TEXT, "the task that delegated this one"),
        maybe("attempt", &POSITIVE, "counted from 1"),
        required("objective", NAME, "at most 40000 characters without a warning"),
        required("category", Category::SHAPE, ""),
        required("complexity", Complexity::SHAPE, ""),
        maybe("priority", &priority::SHAPE, "NORMAL if absent"),
        required("environment", Shape::Object(&ENVIRONMENT), ""),
        optional("inputs", Shape::List(&List { item: Shape::Object(&INPUT), min: 0, max: INPUTS_MAX }), ""),
        optional(
            "expected_outputs",
            Shape::List(&List { item: Shape::Object(&EXPECTED_OUTPUT), min: 0, max: OUTPUTS_MAX }),
            "",
        ),
        maybe("constraints", &Shape::Object(&CONSTRAINTS), "the stricter of these and the budgets holds"),
        maybe("budgets", &Shape::Object(&BUDGETS), ""),
        maybe("access", &Shape::Object(&ACCESS), ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static ENVIRONMENT: Object = Object {
    name: "environment",
    about: "",
    fields: &[
        required("workspace_root", NAME, ""),
        maybe("os", &TEXT, ""),
        maybe("shell", &TEXT, ""),
        maybe("git_branch", &TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static INPUT: Object = Object {
    name: "input",
    about: "",
    fields: &[
        required("type", TEXT, "such as FILE or TEXT"),
        maybe("path", &TEXT, ""),
        maybe("content", &TEXT, ""),
        maybe("read_only", &Shape::Bool, "true if absent"),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static EXPECTED_OUTPUT: Object = Object {
    name: "expected_output",
    about: "",
    fields: &[
        required("type", TEXT, "such as FILE"),
        required("description", TEXT, ""),
        maybe("path", &TEXT, ""),
        maybe("validation", &Shape::Object(&VALIDATION), ""),
        maybe("rollback_snapshot", &Shape::Object(&ROLLBACK_SNAPSHOT), ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static ARTIFACT: Object = Object {
    name: "expected_artifact",
    about: "",
    fields: &[
        required("type", TEXT, "such as FILE"),
        maybe("description", &TEXT, ""),
        maybe("path", &TEXT, ""),
        maybe("validation", &Shape::Object(&VALIDATION), ""),
        maybe("rollback_snapshot", &Shape::Object(&ROLLBACK_SNAPSHOT), ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static VALIDATION: Object = Object {
    name: "validation",
    about: "",
    fields: &[
        required("command", NAME, ""),
        required("expects", Expects::SHAPE, "what the command must show"),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static ROLLBACK_SNAPSHOT: Object = Object {
    name: "rollback_snapshot",
    about: "",
    fields: &[
        maybe("enabled", &Shape::Bool, "false if absent"),
        maybe("snapshot_path", &TEXT, ""),
        maybe("snapshot_strategy", &SnapshotStrategy::SHAPE, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static CONSTRAINTS: Object = Object {
    name: "constraints",
    about: "",
    fields: &[
        maybe("max_tokens", &NATURAL, ""),
        maybe("max_cost_usd", &NOT_NEGATIVE, ""),
        maybe("read_only_mode", &Shape::Bool, "false if absent"),
        maybe("delegation_allowed", &Shape::Bool, "false if absent"),
        maybe("network_access", &Network::SHAPE, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static BUDGETS: Object = Object {
    name: "budgets",
    about: "",
    fields: &[maybe("max_cost_usd", &NOT_NEGATIVE, ""), maybe("max_tokens", &NATURAL, ""), extensions()],
    unknown: Unknown::Refused,
};

static ACCESS: Object = Object {
    name: "access",
    about: "",
    fields: &[
        maybe("filesystem", &Shape::Object(&FILESYSTEM), ""),
        maybe("network", &Network::SHAPE, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static FILESYSTEM: Object = Object {
    name: "filesystem",
    about: "",
    fields: &[optional("read_paths", TEXTS, ""), optional("write_paths", TEXTS, ""), extensions()],
    unknown: Unknown::Refused,
};

static EXECUTION_POLICY: Object = Object {
    name: "execution_policy",
    about: "",
    fields: &[
        maybe("timeout_seconds", &POSITIVE, "1800 if absent"),
        maybe("max_retries", &NATURAL, "0 if absent"),
        optional(
            "retry_backoff_seconds",
            Shape::List(&List { item: NATURAL, min: 0, max: UNBOUNDED }),
            "the wait before each retry; the last one repeats",
        ),
        maybe("abort_on_first_critical_error", &Shape::Bool, "false if absent"),
        maybe("auto_terminate_on_timeout", &Shape::Bool, "true if absent"),
        maybe("on_failure", &OnFailure::SHAPE, "REPORT_AND_CONTINUE if absent"),
        optional(
            "alternative_models",
            Shape::List(&List { item: Shape::Object(&ALTERNATIVE_MODEL), min: 0, max: UNBOUNDED }),
            "tried in this order",
        ),
        maybe("heartbeat", &Shape::Object(&HEARTBEAT), ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static ALTERNATIVE_MODEL: Object = Object {
    name: "alternative_model",
    about: "",
    fields: &[
        required("provider", Provider::SHAPE, ""),
        required("model", TEXT, ""),
        required("fallback_trigger", FallbackTrigger::SHAPE, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static HEARTBEAT: Object = Object {
    name: "heartbeat",
    about: "",
    fields: &[
        maybe("enabled", &Shape::Bool, "false if absent"),
        maybe("interval_seconds", &POSITIVE, "120 if absent"),
        maybe("max_missed_beats", &POSITIVE, "3 if absent"),
        maybe("on_heartbeat_failure", &OnHeartbeatFailure::SHAPE, "ABORT if absent"),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static GUARD_RAILS: Object = Object {
    name: "guard_rails",
    about: "",
    fields: &[
        maybe("require_minimal_report", &Shape::Bool, "true if absent"),
        maybe("require_final_signal", &Shape::Bool, "true if absent"),
        maybe("auto_terminate_on_timeout", &Shape::Bool, ""),
        maybe("timeout_seconds", &POSITIVE, "overrides the execution policy"),
        maybe("abort_on_first_critical_error", &Shape::Bool, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static PHASE: Object = Object {
    name: "phase",
    about: "",
    fields: &[
        required("phase_id", NAME, ""),
        required("phase_order", ORDER, "phases run in ascending order"),
        required("label", TEXT, ""),
        required("objective", TEXT, ""),
        optional(
            "checkpoints",
            Shape::List(&List { item: Shape::Object(&CHECKPOINT), min: 0, max: UNBOUNDED }),
            "at most 20 without a warning",
        ),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static CHECKPOINT: Object = Object {
    name: "checkpoint",
    about: "",
    fields: &[
        required("checkpoint_id", NAME, ""),
        required("description", TEXT, ""),
        optional(
            "expected_artifacts",
            Shape::List(&List { item: Shape::Object(&ARTIFACT), min: 0, max: UNBOUNDED }),
            "",
        ),
        maybe("validation", &Shape::Object(&VALIDATION), ""),
        maybe("status", &CheckpointStatus::SHAPE, "PENDING if absent"),
        maybe("recovery_strategy", &RecoveryStrategy::SHAPE, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};

static METADATA: Object = Object {
    name: "orchestration_metadata",
    about: "",
    fields: &[
        maybe("initiator", &TEXT, ""),
        maybe("spec_author", &TEXT, ""),
        optional("tags", TEXTS, ""),
        maybe("notes", &TEXT, ""),
        extensions(),
    ],
    unknown: Unknown::Refused,
};
