//! The closed list of codes that operator validators return, their meanings, and when to retry.

use crate::shape::words;

words! {
    /// The primary code of a verdict. The verdict's rule is the exact cause.
    Code {
        Ok = "OK",
        SchemaInvalid = "SCHEMA_INVALID",
        MissingRequiredInput = "MISSING_REQUIRED_INPUT",
        UnknownSchemaVersion = "UNKNOWN_SCHEMA_VERSION",
        LockConflict = "LOCK_CONFLICT",
        ScopeViolation = "SCOPE_VIOLATION",
        InvalidTransition = "INVALID_TRANSITION",
        DependencyNotMet = "DEPENDENCY_NOT_MET",
        ConcurrencyConflict = "CONCURRENCY_CONFLICT",
        TaskTimeout = "TASK_TIMEOUT",
        AcceptanceFailed = "ACCEPTANCE_FAILED",
        LedgerInconsistent = "LEDGER_INCONSISTENT",
        NonCompliant = "NON_COMPLIANT",
        MissingValidator = "MISSING_VALIDATOR",
        UntrustedContextBlock = "UNTRUSTED_CONTEXT_BLOCK",
    }
}

/// What has to happen before the refused step is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorRetry {
    /// There was nothing to retry.
    NotNeeded,
    /// The document has to change: sent unchanged, it is refused again.
    AfterChange,
    /// Another task has to release its lock or finish first.
    AfterOthers,
    /// Read the ledger again, then wait as in [`CONFLICT_WAITS_MS`]; after the last wait, plan the task serially.
    AfterRereading,
    /// The task is blocked, its locks are released, and it is planned again.
    AfterReplanning,
    /// One more attempt; then a stronger model or another plan.
    Once,
    /// A person or an explicit repair has to correct it.
    Never,
}

/// How long to wait before each retry after a concurrency conflict.
pub const CONFLICT_WAITS_MS: [u64; 4] = [0, 100, 250, 500];

impl Code {
    /// The codes that a blocker, or the last entry of a worklog, may have as its cause.
    pub const FAULTS: &'static [&'static str] = Self::WORDS.split_at(1).1;

    pub fn meaning(self) -> &'static str {
        match self {
            Code::Ok => "allowed",
            Code::SchemaInvalid => "the document's shape, a type or a value in it is wrong",
            Code::MissingRequiredInput => "something required is absent or empty",
            Code::UnknownSchemaVersion => "this validator does not support the major version",
            Code::LockConflict => "a scope overlaps an active lock of another task",
            Code::ScopeViolation => {
                "a path outside the assigned scope, inside a forbidden one, or out of the workspace"
            }
            Code::InvalidTransition => "the transition is not allowed",
            Code::DependencyNotMet => "a task cannot start before its dependencies are done",
            Code::ConcurrencyConflict => "the row or the lock was changed by another caller",
            Code::TaskTimeout => "the holder sent no heartbeat within its timeout",
            Code::AcceptanceFailed => "a criterion failed, is missing, or has no evidence",
            Code::LedgerInconsistent => "the ledger contradicts its locks, events or results",
            Code::NonCompliant => "a role exceeded its mandate",
            Code::MissingValidator => "the validator itself failed",
            Code::UntrustedContextBlock => "a text contains a secret or injected instructions",
        }
    }

    pub fn retry(self) -> OperatorRetry {
        match self {
            Code::Ok => OperatorRetry::NotNeeded,
            Code::SchemaInvalid | Code::MissingRequiredInput | Code::UnknownSchemaVersion => {
                OperatorRetry::AfterChange
            }
            Code::ScopeViolation | Code::NonCompliant | Code::UntrustedContextBlock => {
                OperatorRetry::AfterChange
            }
            Code::LockConflict | Code::DependencyNotMet => OperatorRetry::AfterOthers,
            Code::ConcurrencyConflict => OperatorRetry::AfterRereading,
            Code::TaskTimeout => OperatorRetry::AfterReplanning,
            Code::AcceptanceFailed => OperatorRetry::Once,
            Code::InvalidTransition | Code::LedgerInconsistent | Code::MissingValidator => {
                OperatorRetry::Never
            }
        }
    }

    /// 0 allowed, 1 denied, 2 the validator could not run. Callers only rely on zero or not.
    pub fn exit(self) -> u8 {
        match self {
            Code::Ok => 0,
            Code::MissingValidator => 2,
            _ => 1,
        }
    }
}
