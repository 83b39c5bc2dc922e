//! OpenCode.

use serde_json::Value;

use super::{AgentProgram, Call, Effort, option, text, tool, unless, without};

pub(super) struct OpenCode;

impl AgentProgram for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn arguments(&self, call: &Call<'_>) -> Vec<String> {
        let given = call.given;
        let mut words = vec!["run".to_owned()];
        words.extend(unless(given, &["--format"], &["--format", "json"]));
        // Without it a question about a directory outside ends the run, and the store is outside.
        words.extend(unless(given, &["--auto"], &["--auto"]));
        words.extend(option(given, &["-m", "--model"], call.model));
        words.extend(option(given, &["--variant"], call.effort.map(variant)));
        words.extend(option(given, &["-s", "--session"], call.resume));
        words.extend(without(given, "run"));
        words
    }

    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[("OPENCODE_DISABLE_AUTOUPDATE", "1")]
    }

    fn shown(&self, event: &Value) -> Option<String> {
        let part = &event["part"];
        match event["type"].as_str()? {
            "text" => text(&part["text"]),
            "tool_use" => tool(&part["tool"], &part["state"]["input"]),
            "error" => Some(format!("error: {}", text(&event["error"]["data"]["message"])?)),
            _ => None,
        }
    }
}

/// Its names for reasoning efforts depend on the provider; these are the usual ones.
fn variant(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "minimal",
        Effort::Medium => "medium",
        Effort::High => "high",
    }
}
