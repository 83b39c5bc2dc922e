//! Codex.

use serde_json::Value;

use super::{AgentProgram, Call, directory, option, text, unless, without};

pub(super) struct Codex;

impl AgentProgram for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn arguments(&self, call: &Call<'_>) -> Vec<String> {
        let given = call.given;
        let open = ["-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox"];
        let mut words = vec!["exec".to_owned()];
        words.extend(unless(given, &["--json"], &["--json"]));
        // Without it the sandbox depends on whether the directory was used before.
        let sandbox = if call.is_confined { "danger-full-access" } else { "workspace-write" };
        words.extend(unless(given, &open, &["-s", sandbox]));
        words.extend(unless(given, &["--skip-git-repo-check"], &["--skip-git-repo-check"]));
        words.extend(directory("--add-dir", call.store));
        words.extend(option(given, &["-m", "--model"], call.model));
        if let Some(effort) = call.effort {
            words.extend(["-c".to_owned(), format!("model_reasoning_effort=\"{}\"", effort.as_str())]);
        }
        // A login shell would set another PATH, on which `writ` may be missing.
        words.extend(["-c".to_owned(), "allow_login_shell=false".to_owned()]);
        words.extend(without(given, "exec"));
        words.extend(call.resume.into_iter().flat_map(|id| ["resume".to_owned(), id.to_owned()]));
        words.push("-".to_owned());
        words
    }

    fn shown(&self, event: &Value) -> Option<String> {
        let item = &event["item"];
        match (event["type"].as_str()?, item["type"].as_str()) {
            ("item.started", Some("command_execution")) => Some(format!("$ {}", text(&item["command"])?)),
            ("item.completed", Some("agent_message")) => text(&item["text"]),
            ("item.completed", Some("file_change")) => {
                let paths = item["changes"].as_array()?.iter().filter_map(|change| change["path"].as_str());
                Some(format!("edit {}", paths.collect::<Vec<_>>().join(" ")))
            }
            ("item.started", Some("mcp_tool_call")) => text(&item["tool"]),
            ("item.completed", Some("error")) => text(&item["message"]),
            ("error", _) => text(&event["message"]),
            ("turn.failed", _) => Some(format!("error: {}", text(&event["error"]["message"])?)),
            _ => None,
        }
    }
}
