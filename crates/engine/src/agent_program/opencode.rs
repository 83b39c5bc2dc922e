//! OpenCode.

use contract::aop::task::Provider;
use contract::domain::failure_code::FailureCode;
use serde_json::Value;

use super::{AgentProgram, Effort, HeadlessCall, option, text, tool, unless, without};
use crate::executor::{AgentStream, Talk, Trouble, TroubleKind, TurnEnd, sum};

pub(super) const PROGRAM: AgentProgram = AgentProgram {
    name: "opencode",
    title: "OpenCode",
    provider: Provider::Other,
    takes_effort: true,
    environment: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
    home_variable: "OPENCODE_CONFIG_DIR",
    secrets: &[".local/share/opencode/auth.json"],
    credentials: &[".local/share/opencode/auth.json", ".config/opencode"],
    arguments,
    shown,
    stream: || Box::new(OpenCodeStream::default()),
};

fn arguments(call: &HeadlessCall<'_>) -> Vec<String> {
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

fn shown(event: &Value) -> Option<String> {
    let part = &event["part"];
    match event["type"].as_str()? {
        "text" => text(&part["text"]),
        "tool_use" => tool(&part["tool"], &part["state"]["input"]),
        "error" => Some(format!("error: {}", text(&event["error"]["data"]["message"])?)),
        _ => None,
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

/// On an answer that breaks off it asks again without end; so often it may.
const BROKEN_STEPS_MAX: u32 = 4;

#[derive(Default)]
struct OpenCodeStream {
    broken: u32,
}

impl AgentStream for OpenCodeStream {
    fn take(&mut self, event: &Value, talk: &mut Talk) {
        talk.names(&event["sessionID"]);
        let part = &event["part"];
        match event["type"].as_str().unwrap_or_default() {
            "text" => talk.says(&part["text"]),
            "tool_use" => {
                let state = &part["state"];
                talk.calls(&part["callID"], &part["tool"], &state["input"]);
                let result = if state["output"].is_null() { &state["error"] } else { &state["output"] };
                talk.results(&part["callID"], result);
            }
            "step_finish" => self.finish(part, talk),
            "error" => talk.end = Some(TurnEnd::Failed(trouble(&event["error"]))),
            _ => {}
        }
    }
}

impl OpenCodeStream {
    /// It has no final event: a step that stops is the last one.
    fn finish(&mut self, part: &Value, talk: &mut Talk) {
        let input = sum(part, &["/tokens/input", "/tokens/cache/read", "/tokens/cache/write"]);
        let output = sum(part, &["/tokens/output", "/tokens/reasoning"]);
        // It reports 0 for a model without a configured price, so 0 is unknown.
        let cost = part["cost"].as_f64().filter(|cost| *cost > 0.0);
        talk.adds(input.unwrap_or(0), output.unwrap_or(0), cost);
        match part["reason"].as_str() {
            Some("stop") => talk.end = Some(TurnEnd::Completed),
            Some("length") => {
                let trouble = Trouble::said("the answer is longer than the model can give");
                talk.end = Some(TurnEnd::Failed(trouble.known_as(TroubleKind::Overflow)));
            }
            Some("unknown" | "error") => {
                self.broken += 1;
                talk.end = None;
                if self.broken > BROKEN_STEPS_MAX {
                    let words = format!("the model's answer broke off {} times", self.broken);
                    talk.given_up.get_or_insert((FailureCode::ModelUnavailable, words));
                }
            }
            _ => talk.end = None,
        }
    }
}

fn trouble(error: &Value) -> Trouble {
    let name = error["name"].as_str().unwrap_or("error");
    let words = error["data"]["message"].as_str().or(error["message"].as_str()).unwrap_or(name);
    let trouble = Trouble::said(words).with_status(error["data"]["statusCode"].as_u64());
    match name {
        "ContextOverflowError" => trouble.known_as(TroubleKind::Overflow),
        "ProviderAuthError" => trouble.known_as(TroubleKind::Authentication),
        _ => trouble,
    }
}
