//! Every rule a document can break: its name in verdicts, the stage at which it is checked, and its code.

use super::codes::Code;

/// The order in which faults matter. The earliest stage of a document's findings decides the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Parse,
    Version,
    Missing,
    UnknownFields,
    Values,
    Normalization,
    Scope,
    Locks,
    Trust,
    Identity,
    Documents,
    Ledger,
    Completion,
}

macro_rules! rules {
    ($($variant:ident, $name:literal, $stage:ident, $code:ident;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum OperatorRule { $($variant),* }

        impl OperatorRule {
            pub(super) const fn as_str(self) -> &'static str {
                match self { $(OperatorRule::$variant => $name),* }
            }

            pub(super) fn parse(name: &str) -> Option<OperatorRule> {
                match name { $($name => Some(OperatorRule::$variant),)* _ => None }
            }

            pub(super) const fn stage(self) -> Stage {
                match self { $(OperatorRule::$variant => Stage::$stage),* }
            }

            pub(super) const fn code(self) -> Code {
                match self { $(OperatorRule::$variant => Code::$code),* }
            }
        }
    };
}

rules! {
    EmptyInput, "empty_input", Parse, SchemaInvalid;
    TooLarge, "too_large", Parse, SchemaInvalid;
    Json, "json", Parse, SchemaInvalid;
    NotAnObject, "not_an_object", Parse, SchemaInvalid;
    TornLine, "torn_line", Parse, SchemaInvalid;
    SchemaVersion, "schema_version", Version, UnknownSchemaVersion;
    Missing, "missing", Missing, MissingRequiredInput;
    Empty, "empty", Missing, MissingRequiredInput;
    UnknownField, "unknown_field", UnknownFields, SchemaInvalid;
    Type, "type", Values, SchemaInvalid;
    ItemField, "item_field", Values, SchemaInvalid;
    Enum, "enum", Values, SchemaInvalid;
    Integer, "integer", Values, SchemaInvalid;
    TooLong, "too_long", Values, SchemaInvalid;
    TooManyNotes, "too_many_notes", Values, SchemaInvalid;
    RunId, "run_id", Values, SchemaInvalid;
    TaskRef, "task_id", Values, SchemaInvalid;
    Timestamp, "timestamp", Values, SchemaInvalid;
    UnknownCode, "unknown_code", Values, SchemaInvalid;
    HeartbeatNotBelowTimeout, "heartbeat_not_below_timeout", Values, SchemaInvalid;
    SelfDependency, "self_dependency", Values, SchemaInvalid;
    Placeholder, "placeholder", Values, SchemaInvalid;
    HeartbeatMissing, "heartbeat_missing", Values, SchemaInvalid;
    HeartbeatInFuture, "heartbeat_in_future", Values, SchemaInvalid;
    ResourceEmpty, "resource_empty", Normalization, SchemaInvalid;
    GlobNotSupported, "glob_not_supported", Normalization, SchemaInvalid;
    ResourceControlChar, "resource_control_char", Normalization, SchemaInvalid;
    WorkspaceEscape, "workspace_escape", Scope, ScopeViolation;
    ForbiddenOverlapsLock, "forbidden_overlaps_lock", Scope, ScopeViolation;
    SelfOverlap, "self_overlap", Locks, LockConflict;
    ActiveLock, "active_lock", Locks, LockConflict;
    Overlap, "overlap", Locks, LockConflict;
    Secret, "secret", Trust, UntrustedContextBlock;
    ControlPlaneFields, "control_plane_fields", Trust, UntrustedContextBlock;
    InstructionOverride, "instruction_override", Trust, UntrustedContextBlock;
    IdentityMismatch, "identity_mismatch", Identity, NonCompliant;
    NotAppendOnly, "not_append_only", Identity, NonCompliant;
    TimeGoesBack, "time_goes_back", Identity, NonCompliant;
    StaleFencingToken, "stale_fencing_token", Identity, ConcurrencyConflict;
    OutsideLockScope, "outside_lock_scope", Documents, ScopeViolation;
    InForbiddenScope, "in_forbidden_scope", Documents, ScopeViolation;
    DuplicateTask, "duplicate_task", Documents, LedgerInconsistent;
    DuplicateAssignment, "duplicate_assignment", Documents, NonCompliant;
    BlockerMissing, "blocker_missing", Documents, LedgerInconsistent;
    OwnerMissing, "owner_missing", Documents, LedgerInconsistent;
    DeltaMismatch, "delta_mismatch", Documents, LedgerInconsistent;
    BaseVersion, "base_version", Documents, ConcurrencyConflict;
    ExpectedVersion, "expected_version", Documents, ConcurrencyConflict;
    CreateExists, "create_exists", Documents, ConcurrencyConflict;
    BaseRowMissing, "base_row_missing", Documents, LedgerInconsistent;
    Illegal, "illegal", Documents, InvalidTransition;
    TerminalOwnerChange, "terminal_owner_change", Documents, InvalidTransition;
    DependencyNotDone, "dependency_not_done", Documents, DependencyNotMet;
    Reconcile, "reconcile", Ledger, LedgerInconsistent;
    HeartbeatTooOld, "heartbeat_too_old", Ledger, TaskTimeout;
    NoChecks, "no_checks", Completion, AcceptanceFailed;
    CriterionFailed, "criterion_failed", Completion, AcceptanceFailed;
    NoEvidence, "no_evidence", Completion, AcceptanceFailed;
    CriterionMissing, "criterion_missing", Completion, AcceptanceFailed;
    FinalEntry, "final_entry", Completion, MissingRequiredInput;
}
