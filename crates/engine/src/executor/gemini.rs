//! The stream of Gemini CLI.

use serde_json::Value;

use super::talk::{End, Stream, Talk, sum};
use super::trouble::{Reason, Trouble};

/// Its texts come in pieces.
#[derive(Default)]
pub(super) struct Gemini {
    text: String,
}

impl Stream for Gemini {
    fn take(&mut self, event: &Value, talk: &mut Talk) {
        match event["type"].as_str().unwrap_or_default() {
            "init" => {
                talk.names(&event["session_id"]);
                talk.model = event["model"].as_str().map(str::to_owned);
            }
            "message" if event["role"] == "assistant" => {
                self.text.push_str(event["content"].as_str().unwrap_or_default());
                talk.says(&Value::from(self.text.as_str()));
            }
            "tool_use" => {
                self.text.clear();
                talk.calls(&event["tool_id"], &event["tool_name"], &event["parameters"]);
            }
            "tool_result" => talk.results(&event["tool_id"], &event["output"]),
            "error" => talk.trouble = event["message"].as_str().map(Trouble::said),
            "result" => {
                talk.usage.input = sum(&event["stats"], &["/input_tokens"]);
                talk.usage.output = sum(&event["stats"], &["/output_tokens"]);
                talk.end =
                    Some(if event["status"] == "success" { End::Completed } else { failed(event, talk) });
            }
            _ => {}
        }
    }

    /// It ends with the HTTP status, of which a process can only pass on the last eight bits.
    fn exit(&self, code: i32) -> Option<Trouble> {
        let status = [400_u16, 401, 403, 404, 413, 429, 500, 502, 503, 504]
            .into_iter()
            .find(|status| i32::from(*status % 256) == code);
        match (code, status) {
            (41, _) => Some(Trouble::said("it is not signed in").known_as(Reason::Authentication)),
            (_, Some(status)) => Some(Trouble {
                status: Some(status),
                ..Trouble::said(format!("the model answered {status}"))
            }),
            _ => None,
        }
    }
}

fn failed(event: &Value, talk: &mut Talk) -> End {
    let words = event["error"]["message"].as_str().or(event["error"]["type"].as_str());
    let before = talk.trouble.take();
    match (words, before) {
        (Some(words), _) => End::Failed(Trouble::said(words)),
        (None, Some(trouble)) => End::Failed(trouble),
        (None, None) => End::Failed(Trouble::said("the turn failed")),
    }
}
