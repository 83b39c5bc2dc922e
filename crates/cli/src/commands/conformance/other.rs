//! Another implementation: a program that reads a question on standard input and answers on standard output.

use std::ffi::OsString;
use std::time::Duration;

use contract::json::strict;
use engine::launcher::ask;
use engine::supervisor::{ShimProgram, Stdin};
use serde_json::Value;

use crate::host;

/// A program under test, as a line for the shell.
pub(super) struct Other {
    command: OsString,
    patience: Duration,
    shim: ShimProgram,
}

impl Other {
    pub(super) fn new(command: &str, patience: Duration) -> Self {
        Self { command: command.into(), patience, shim: host::shim() }
    }

    /// Its answer to one question, or why there is none.
    pub(super) fn answer(&self, question: &Value) -> Result<Value, String> {
        let mut spec = host::program(vec!["sh".into(), "-c".into(), self.command.clone()]);
        spec.stdin = Stdin::Bytes(format!("{question}\n").into_bytes());
        // A validator that denies fails too, so its exit code does not show whether it answered.
        let answered = ask(&self.shim, spec, self.patience).map_err(|error| error.to_string())?;
        strict::parse(&answered.printed).map_err(|error| format!("its answer is not JSON: {error}"))
    }
}
