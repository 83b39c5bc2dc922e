//! Exit codes by surface.

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::verb::Surface;

use crate::persona;

/// The exit code of an error on this surface.
pub(crate) fn code(surface: Surface, error: ErrorCode) -> u8 {
    if persona::current().is_bridge() {
        return 1;
    }
    match surface {
        Surface::Continuity => 1,
        Surface::Writ | Surface::Crew => error.exit(),
        Surface::Validator | Surface::Conformance => 2,
        Surface::Handler => 0,
    }
}

/// Ended by a signal: 128 and its number, as shells do.
pub(crate) fn by_signal(signal: i32) -> ExitCode {
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
}
