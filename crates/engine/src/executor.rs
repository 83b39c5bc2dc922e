//! Executors: how the end of a child becomes a claim. An exit code alone is never success.

pub(crate) mod aop_stdio;
pub(crate) mod shell;

use contract::domain::money::MicroUsd;

/// Why writ ended a child that had not ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    Timeout,
    Silence,
    Canceled,
    Interrupted,
    /// What it writes was taken back and may be somebody else's by now.
    Fenced,
}

/// How a child ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// It could not be started, or its supervisor was lost.
    pub(crate) fault: Option<String>,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) leftovers_killed: u32,
    pub(crate) survivors: u32,
}

/// What an executor reported besides its claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) cost: Option<MicroUsd>,
    pub(crate) tokens: Option<i64>,
    pub(crate) summary: Option<String>,
    /// How long a repetition has to wait.
    pub(crate) retry_after_ms: Option<u64>,
}
