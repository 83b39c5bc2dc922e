//! The table of error codes: what a program may branch on, and the exit code and HTTP status of each.

use std::fmt;

use serde::{Serialize, Serializer};

/// Whether sending a request again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It will be refused again.
    Never,
    /// Send the same request with the same request id.
    SameRequest,
    /// The same, but only after its cause is gone: a lock, a dependency, a full disk. The details say more.
    Later,
    /// Change the input first.
    ChangedRequest,
}

impl Retry {
    pub fn as_str(self) -> &'static str {
        match self {
            Retry::Never => "never",
            Retry::SameRequest => "same_request",
            Retry::Later => "later",
            Retry::ChangedRequest => "changed_request",
        }
    }
}

impl Serialize for Retry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

macro_rules! codes {
    ($($name:ident, $text:literal, $exit:literal, $http:literal, $retry:ident, $meaning:literal;)*) => {
        /// A stable, append-only name for one kind of refusal or fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode { $( #[doc = $meaning] $name, )* }

        impl ErrorCode {
            pub const ALL: &'static [ErrorCode] = &[$( ErrorCode::$name, )*];

            pub fn as_str(self) -> &'static str {
                match self { $( ErrorCode::$name => $text, )* }
            }
            /// The exit code of `writ` verbs; the continuity surface has its own (0 or 1).
            pub fn exit(self) -> u8 {
                match self { $( ErrorCode::$name => $exit, )* }
            }
            pub fn http(self) -> u16 {
                match self { $( ErrorCode::$name => $http, )* }
            }
            pub fn retry(self) -> Retry {
                match self { $( ErrorCode::$name => Retry::$retry, )* }
            }
            pub fn meaning(self) -> &'static str {
                match self { $( ErrorCode::$name => $meaning, )* }
            }
        }
    };
}

codes! {
    InvalidInput, "INVALID_INPUT", 1, 400, ChangedRequest, "the input breaks a rule; the findings say where";
    UnsupportedVersion, "UNSUPPORTED_VERSION", 1, 400, ChangedRequest, "writ does not support the document's version";
    TooLarge, "TOO_LARGE", 1, 413, ChangedRequest, "over a named limit";
    Usage, "USAGE", 2, 400, ChangedRequest, "the command line is invalid";
    Denied, "DENIED", 1, 403, Never, "a policy denied it; the details name the rule";
    NotFound, "NOT_FOUND", 1, 404, Never, "nothing has this id";
    Ambiguous, "AMBIGUOUS", 1, 409, ChangedRequest, "a short id matches more than one object";
    AlreadyExists, "ALREADY_EXISTS", 1, 409, Never, "it already exists";
    WrongState, "WRONG_STATE", 1, 409, Never, "not possible in the state it is in";
    HeldByAnother, "HELD_BY_ANOTHER", 1, 409, Later, "another agent holds a live claim";
    VersionConflict, "VERSION_CONFLICT", 75, 409, SameRequest, "someone else changed it; read it again";
    CheckFailed, "CHECK_FAILED", 1, 409, ChangedRequest, "writ ran the task's checks and they did not pass";
    IdempotencyKeyReused, "IDEMPOTENCY_KEY_REUSED", 1, 409, ChangedRequest, "this request id belongs to another request";
    IdempotencyExpired, "IDEMPOTENCY_EXPIRED", 1, 410, Never, "this request was answered long ago and its answer was pruned";
    RunFailed, "RUN_FAILED", 1, 409, Never, "the run ended, but not all of its tasks are done";
    RunStopped, "RUN_STOPPED", 1, 409, Never, "the run was stopped or parked; it can be continued";
    Busy, "BUSY", 75, 503, SameRequest, "the store was busy for longer than the limit";
    Timeout, "TIMEOUT", 75, 504, SameRequest, "no answer before the deadline";
    ForeignStore, "FOREIGN_STORE", 1, 409, Never, "the file belongs to another program";
    NewerStore, "NEWER_STORE", 1, 409, Never, "the store was written by a newer version of writ";
    StoreUnavailable, "STORE_UNAVAILABLE", 1, 503, Later, "the store could not be opened or written";
    Corrupt, "CORRUPT", 65, 500, Never, "the store failed its own check; run `writ audit verify`";
    Io, "IO", 1, 500, Later, "a file or process operation failed";
    Interrupted, "INTERRUPTED", 130, 503, SameRequest, "stopped by a signal; the run can be continued";
    Bug, "BUG", 70, 500, Never, "an internal error in writ; please report it";
    SchemaInvalid, "SCHEMA_INVALID", 1, 400, ChangedRequest, "the shape, a type or a value of an operator document is wrong";
    MissingRequiredInput, "MISSING_REQUIRED_INPUT", 1, 400, ChangedRequest, "an operator document lacks something required";
    UnknownSchemaVersion, "UNKNOWN_SCHEMA_VERSION", 1, 400, ChangedRequest, "writ does not support the major version of an operator document";
    LockConflict, "LOCK_CONFLICT", 1, 409, Later, "a scope overlaps an active lock of another task";
    ScopeViolation, "SCOPE_VIOLATION", 1, 403, ChangedRequest, "a path outside the granted scope, in a forbidden one, or out of the workspace";
    InvalidTransition, "INVALID_TRANSITION", 1, 409, Never, "the transition is not allowed";
    DependencyNotMet, "DEPENDENCY_NOT_MET", 1, 409, Later, "what the task depends on is not done";
    ConcurrencyConflict, "CONCURRENCY_CONFLICT", 1, 409, ChangedRequest, "the row or the lock was changed by another caller; read it again";
    TaskTimeout, "TASK_TIMEOUT", 1, 409, Never, "the holder sent no heartbeat within its timeout";
    AcceptanceFailed, "ACCEPTANCE_FAILED", 1, 409, ChangedRequest, "a criterion failed, is missing, or has no evidence";
    LedgerInconsistent, "LEDGER_INCONSISTENT", 1, 409, Never, "the ledger contradicts its locks, events or results";
    NonCompliant, "NON_COMPLIANT", 1, 403, ChangedRequest, "a role exceeded its mandate, its budget or its approval";
    MissingValidator, "MISSING_VALIDATOR", 2, 500, Never, "a validator could not run, so the document is refused";
    UntrustedContextBlock, "UNTRUSTED_CONTEXT_BLOCK", 1, 400, ChangedRequest, "a text contains a secret or injected instructions";
    StoreReplaced, "STORE_REPLACED", 1, 503, Later, "the store's file was deleted, moved or replaced while it was open";
    Halted, "HALTED", 1, 503, Later, "a person halted writ; a person lifts it with `writ resume-all`";
}

impl ErrorCode {
    /// The code with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_disappears_or_changes_its_meaning_for_programs() {
        let table: Vec<String> = ErrorCode::ALL
            .iter()
            .map(|c| format!("{c} {} {} {}", c.exit(), c.http(), c.retry().as_str()))
            .collect();
        insta::assert_snapshot!(table.join("\n"));
    }

    #[test]
    fn the_exit_code_and_the_retry_class_of_a_code_agree() {
        for code in ErrorCode::ALL {
            let expected: &[u8] = match (code, code.retry()) {
                // A signal has an exit code of its own; the request can still be sent again.
                (ErrorCode::Interrupted, _) => &[130],
                (_, Retry::SameRequest) => &[75],
                (_, Retry::Later) => &[1],
                (_, Retry::ChangedRequest) => &[1, 2],
                (_, Retry::Never) => &[1, 2, 65, 70],
            };
            assert!(expected.contains(&code.exit()), "{code}: {} and {}", code.exit(), code.retry().as_str());
            // What is wrong with the input stays wrong, however often it is sent.
            let is_input = code.http() == 400 || code.http() == 413 || code.http() == 404;
            assert!(!is_input || code.retry() != Retry::SameRequest, "{code}");
        }
    }
}
