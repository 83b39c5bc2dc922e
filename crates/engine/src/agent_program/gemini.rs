//! Gemini CLI.

use contract::aop::task::Provider;
use serde_json::Value;

use super::{AgentProgram, HeadlessCall, directory, option, text, tool, unless};
use crate::executor::{AgentStream, Talk, Trouble, TroubleKind, TurnEnd, sum};

pub(super) const PROGRAM: AgentProgram = AgentProgram {
    name: "gemini",
    title: "Gemini CLI",
    provider: Provider::Gemini,
    takes_effort: false,
    // It refuses directories that were not trusted, and survives signals when it starts itself a second time.
    environment: &[("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("GEMINI_CLI_NO_RELAUNCH", "true")],
    home_variable: "GEMINI_CLI_HOME",
    secrets: &[".gemini/oauth_creds.json"],
    credentials: &[".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/settings.json"],
    arguments,
    shown,
    stream: || Box::new(GeminiStream::default()),
};

fn arguments(call: &HeadlessCall<'_>) -> Vec<String> {
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

fn shown(event: &Value) -> Option<String> {
    match event["type"].as_str()? {
        "message" if event["role"] == "assistant" => text(&event["content"]),
        "tool_use" => tool(&event["tool_name"], &event["parameters"]),
        "error" => text(&event["message"]),
        "result" => Some(format!("error: {}", text(&event["error"]["message"])?)),
        _ => None,
    }
}

/// Its texts come in pieces.
#[derive(Default)]
struct GeminiStream {
    text: String,
}

impl AgentStream for GeminiStream {
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
                    Some(if event["status"] == "success" { TurnEnd::Completed } else { failed(event, talk) });
            }
            _ => {}
        }
    }

    /// It exits with the HTTP status, truncated to eight bits.
    fn exit(&self, code: i32) -> Option<Trouble> {
        let status = [400_u16, 401, 403, 404, 413, 429, 500, 502, 503, 504]
            .into_iter()
            .find(|status| i32::from(*status % 256) == code);
        match (code, status) {
            (41, _) => Some(Trouble::said("it is not signed in").known_as(TroubleKind::Authentication)),
            (_, Some(status)) => Some(Trouble {
                status: Some(status),
                ..Trouble::said(format!("the model answered {status}"))
            }),
            _ => None,
        }
    }
}

fn failed(event: &Value, talk: &mut Talk) -> TurnEnd {
    let words = event["error"]["message"].as_str().or(event["error"]["type"].as_str());
    let before = talk.trouble.take();
    match (words, before) {
        (Some(words), _) => TurnEnd::Failed(Trouble::said(words)),
        (None, Some(trouble)) => TurnEnd::Failed(trouble),
        (None, None) => TurnEnd::Failed(Trouble::said("the turn failed")),
    }
}
