//! Gemini CLI.

use serde_json::Value;

use super::{AgentProgram, Call, directory, option, text, tool, unless};

pub(super) struct Gemini;

impl AgentProgram for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn arguments(&self, call: &Call<'_>) -> Vec<String> {
        let given = call.given;
        let mut words = given.to_vec();
        words.extend(unless(given, &["-o", "--output-format"], &["-o", "stream-json"]));
        // In other modes it does not offer the shell and the editor to the model at all.
        words.extend(unless(given, &["--approval-mode", "-y", "--yolo"], &["--approval-mode", "yolo"]));
        words.extend(option(given, &["-m", "--model"], call.model));
        words.extend(option(given, &["--resume", "-r"], call.resume));
        words.extend(directory("--include-directories", call.store));
        words
    }

    /// It refuses directories that were not trusted, and survives signals when it starts itself a second time.
    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("GEMINI_CLI_NO_RELAUNCH", "true")]
    }

    fn has_effort(&self) -> bool {
        false
    }

    fn shown(&self, event: &Value) -> Option<String> {
        match event["type"].as_str()? {
            "message" if event["role"] == "assistant" => text(&event["content"]),
            "tool_use" => tool(&event["tool_name"], &event["parameters"]),
            "error" => text(&event["message"]),
            "result" => Some(format!("error: {}", text(&event["error"]["message"])?)),
            _ => None,
        }
    }
}
