//! Exit codes by surface.

use std::process::ExitCode;

use contract::domain::code::ErrorCode;

/// Which contract's exit codes a command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// The agent contract: 0 or 1, usage errors included, and one JSON envelope on standard output.
    Continuity,
    /// Everything else of writ.
    Writ,
    /// Validators: 0 allow, 1 deny, 2 could not work, and always an answer.
    Validator,
    /// Runs of vectors: 0 all passed, 1 some failed, 2 could not work.
    Conformance,
}

impl Surface {
    /// The surface of a command by its first word.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "task" | "events" | "status" | "hook" => Surface::Continuity,
            "validate" | "convert" => Surface::Validator,
            "conformance" => Surface::Conformance,
            _ => Surface::Writ,
        }
    }

    pub(crate) fn exit(self, code: ErrorCode) -> u8 {
        match self {
            Surface::Continuity => 1,
            Surface::Writ => code.exit(),
            Surface::Validator | Surface::Conformance => 2,
        }
    }
}

/// Ended by a signal: 128 and its number, as shells do.
pub(crate) fn by_signal(signal: i32) -> ExitCode {
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
}
