//! The result of a finished program: its status and its two streams.

use std::fmt;
use std::process::ExitStatus;

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "check the result: .success(), .fails_with(code), or compare the streams"]
pub struct Output {
    /// The command line, for messages.
    pub line: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Panics with both streams unless the program exited with 0.
    #[track_caller]
    pub fn success(&self) -> &Output {
        self.ended_with(0)
    }

    /// Panics with both streams unless the program exited with this code, which is not 0.
    #[track_caller]
    pub fn fails_with(&self, code: i32) -> &Output {
        assert!(code != 0, "exit code 0 is not a failure: use .success()");
        self.ended_with(code)
    }

    /// Standard output as one JSON document; panics if it is anything else.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("standard output is not one JSON document: {error}\n{self}"))
    }

    /// Standard output as one JSON document per line. Panics if a line is anything else.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("`{line}` is not JSON: {error}\n{self}"))
        };
        self.stdout.lines().map(parse).collect()
    }

    #[track_caller]
    fn ended_with(&self, code: i32) -> &Output {
        assert!(self.status.code() == Some(code), "expected exit code {code}\n{self}");
        self
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Output { line, status, stdout, stderr } = self;
        write!(f, "{line}\n{status}\n--- standard output\n{stdout}\n--- standard error\n{stderr}")
    }
}
