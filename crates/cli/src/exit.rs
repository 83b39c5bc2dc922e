//! Exit codes by surface.

use std::process::ExitCode;

use contract::domain::code::ErrorCode;

use crate::hooks::handling::Handler;
use crate::persona::{self, Persona};

/// Which contract's exit codes a command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// The agent contract: 0 or 1, usage errors included, and one JSON envelope on standard output.
    Continuity,
    /// Everything else of writ.
    Writ,
    /// The verbs of a crew: writ's exit codes, and JSON wherever nobody looks.
    Crew,
    /// Validators: 0 allow, 1 deny, 2 could not work, and always an answer.
    Validator,
    /// Runs of vectors: 0 all passed, 1 some failed, 2 could not work.
    Conformance,
    /// What hooks call: an agent must never stumble over it, so it is always 0.
    Handler,
}

impl Surface {
    /// The surface of a command by its first two words.
    pub(crate) fn of(word: &str, next: Option<&str>) -> Self {
        match word {
            "hook" if next.is_some_and(Handler::is_one) => Surface::Handler,
            "schema" if next.is_none_or(|next| next == "commands") => Surface::Continuity,
            _ if persona::current() == Persona::Vybe => Surface::Continuity,
            "artifacts" | "events" | "hook" | "loop" | "memory" | "push" | "resume" | "status" | "task"
            | "upgrade" => Surface::Continuity,
            "validate" | "convert" => Surface::Validator,
            "ledger" | "worklog" | "assignment" | "result" | "heartbeat" | "watchdog" | "orchestrate"
            | "lock" | "budget" | "approval" | "handoff" => Surface::Crew,
            "conformance" => Surface::Conformance,
            _ => Surface::Writ,
        }
    }

    pub(crate) fn exit(self, code: ErrorCode) -> u8 {
        match self {
            Surface::Continuity => 1,
            Surface::Writ | Surface::Crew => code.exit(),
            Surface::Validator | Surface::Conformance => 2,
            Surface::Handler => 0,
        }
    }
}

/// Ended by a signal: 128 and its number, as shells do.
pub(crate) fn by_signal(signal: i32) -> ExitCode {
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
}
