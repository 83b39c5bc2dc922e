//! The stream of Codex.

use serde_json::{Value, json};

use super::talk::{End, Stream, Talk, sum};
use super::trouble::Trouble;

pub(super) struct Codex;

impl Stream for Codex {
    fn take(&mut self, event: &Value, talk: &mut Talk) {
        match event["type"].as_str().unwrap_or_default() {
            "thread.started" => talk.names(&event["thread_id"]),
            "item.completed" => item(&event["item"], talk),
            "error" => talk.trouble = event["message"].as_str().map(Trouble::said),
            "turn.completed" => {
                talk.usage.input = sum(&event["usage"], &["/input_tokens"]);
                talk.usage.output = sum(&event["usage"], &["/output_tokens"]);
                talk.usage.tokens_are_total = true;
                talk.end = Some(End::Completed);
            }
            "turn.failed" => {
                let words = event["error"]["message"].as_str().unwrap_or("the turn failed");
                talk.end = Some(End::Failed(Trouble::said(words)));
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
