//! Claude Code.

use serde_json::Value;

use super::{AgentProgram, Call, Effort, directory, option, text, tool, unless};

pub(super) struct Claude;

/// Its tools work in the workspace; the named one also where the user's settings restrict the shell.
const TOOLS: &str = "Bash,Bash(writ:*),Edit,Glob,Grep,MultiEdit,NotebookEdit,Read,TodoWrite,Write";

impl AgentProgram for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn arguments(&self, call: &Call<'_>) -> Vec<String> {
        const SKIP: &str = "--dangerously-skip-permissions";
        let given = call.given;
        let mut words = given.to_vec();
        words.extend(unless(given, &["-p", "--print"], &["-p"]));
        words.extend(unless(given, &["--output-format"], &["--output-format", "stream-json"]));
        words.extend(unless(given, &["--verbose"], &["--verbose"]));
        words.extend(unless(given, &["--permission-mode", SKIP], &["--permission-mode", "acceptEdits"]));
        let tools = ["--allowedTools", "--allowed-tools", SKIP];
        words.extend(unless(given, &tools, &["--allowedTools", TOOLS]));
        words.extend(option(given, &["--model"], call.model));
        words.extend(option(given, &["--effort"], call.effort.map(Effort::as_str)));
        words.extend(option(given, &["-r", "--resume"], call.resume));
        words.extend(directory("--add-dir", call.store));
        if call.without_hooks {
            words.extend(unless(given, &["--settings"], &["--settings", r#"{"disableAllHooks":true}"#]));
        }
        words
    }

    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")]
    }

    fn shown(&self, event: &Value) -> Option<String> {
        match event["type"].as_str()? {
            "assistant" => event["message"]["content"].as_array()?.iter().rev().find_map(content),
            "system" if event["subtype"] == "api_retry" => {
                Some(format!("waiting for the model: {}", text(&event["error"])?))
            }
            "result" if event["is_error"] == true => Some(format!("error: {}", text(&event["result"])?)),
            "result" => text(&event["result"]),
            _ => None,
        }
    }
}

fn content(block: &Value) -> Option<String> {
    match block["type"].as_str()? {
        "text" => text(&block["text"]),
        "tool_use" => tool(&block["name"], &block["input"]),
        _ => None,
    }
}
