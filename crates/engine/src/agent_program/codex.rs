//! Codex.

use contract::aop::task::Provider;
use serde_json::{Value, json};

use super::{AgentProgram, HeadlessCall, directory, option, text, unless, without};
use crate::executor::{AgentStream, Talk, Trouble, TurnEnd, sum};

pub(super) const PROGRAM: AgentProgram = AgentProgram {
    name: "codex",
    title: "Codex",
    provider: Provider::Codex,
    takes_effort: true,
    environment: &[],
    home_variable: "CODEX_HOME",
    secrets: &[".codex/auth.json"],
    credentials: &[".codex/auth.json", ".codex/config.toml"],
    arguments,
    shown,
    stream: || Box::new(CodexStream),
};

fn arguments(call: &HeadlessCall<'_>) -> Vec<String> {
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

fn shown(event: &Value) -> Option<String> {
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

struct CodexStream;

impl AgentStream for CodexStream {
    fn take(&mut self, event: &Value, talk: &mut Talk) {
        match event["type"].as_str().unwrap_or_default() {
            "thread.started" => talk.names(&event["thread_id"]),
            "item.completed" => item(&event["item"], talk),
            "error" => talk.trouble = event["message"].as_str().map(Trouble::said),
            "turn.completed" => {
                talk.usage.input = sum(&event["usage"], &["/input_tokens"]);
                talk.usage.output = sum(&event["usage"], &["/output_tokens"]);
                talk.usage.tokens_are_total = true;
                talk.end = Some(TurnEnd::Completed);
            }
            "turn.failed" => {
                let words = event["error"]["message"].as_str().unwrap_or("the turn failed");
                talk.end = Some(TurnEnd::Failed(Trouble::said(words)));
            }
            _ => {}
        }
    }
}

/// A tool call is read when it has ended; items of type `error` may be mere warnings.
fn item(item: &Value, talk: &mut Talk) {
    let id = &item["id"];
    let call = match item["type"].as_str().unwrap_or_default() {
        "agent_message" => return talk.says(&item["text"]),
        "command_execution" => (
            json!("shell"),
            json!({"command": item["command"]}),
            json!([item["aggregated_output"], item["exit_code"]]),
        ),
        "file_change" => {
            (json!("edit"), json!({"path": paths(item), "changes": item["changes"]}), item["status"].clone())
        }
        "mcp_tool_call" => {
            (item["tool"].clone(), item["arguments"].clone(), json!([item["result"], item["error"]]))
        }
        _ => return,
    };
    let (name, arguments, result) = call;
    talk.calls(id, &name, &arguments);
    talk.results(id, &result);
}

fn paths(item: &Value) -> String {
    let changes = item["changes"].as_array().into_iter().flatten();
    changes.filter_map(|change| change["path"].as_str()).collect::<Vec<_>>().join(" ")
}
