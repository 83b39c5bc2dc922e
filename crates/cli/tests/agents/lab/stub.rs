//! The stub model: a process on a loopback port that obeys the script in the prompt.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::{Scratch, eventually_some};

const SERVER: &str = include_str!("../stub_model.py");

/// Additions of hooks to a conversation. They quote earlier prompts, which must not script this one.
const HOOK_CONTEXT: &str = "<system-reminder>.*?</system-reminder>|<hook_context>.*?</hook_context>\
    |--- data [0-9a-f]+: .*?--- end [0-9a-f]+ ---";

pub(super) struct Stub {
    server: Child,
    port: u16,
    log: PathBuf,
}

impl Stub {
    #[expect(clippy::disallowed_methods, reason = "the server has no home and outlives single calls")]
    pub(super) fn start(scratch: &Scratch, default_steps: Option<&Value>) -> Stub {
        let server = scratch.write("stub/server.py", SERVER);
        let (port_file, log) = (scratch.join("stub/port"), scratch.join("stub/requests.jsonl"));
        let mut command = Command::new("python3");
        command.arg(server).arg("--port-file").arg(&port_file).arg("--log").arg(&log);
        command.env("STUB_CUT", HOOK_CONTEXT).stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(steps) = default_steps {
            command.env("STUB_DEFAULT", steps.to_string());
        }
        let server = command
            .spawn()
            .unwrap_or_else(|error| panic!("the stub model needs python3, which did not start: {error}"));
        let mut stub = Stub { server, port: 0, log };
        stub.port = eventually_some("the stub model listens", || {
            std::fs::read_to_string(&port_file).ok()?.parse().ok()
        });
        stub
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The bodies of the requests so far, oldest first.
    pub(super) fn requests(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let entries = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.map(|mut entry| entry["body"].take()).filter(Value::is_object).collect()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        // It may be gone already; either way nothing is left of it after the wait.
        drop(self.server.kill());
        drop(self.server.wait());
    }
}
