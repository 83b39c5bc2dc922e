//! The stream of OpenCode.

use contract::aop::codes::Code;
use serde_json::Value;

use super::talk::{End, Stream, Talk, sum};
use super::trouble::{Reason, Trouble};

/// On an answer that breaks off it asks again without end; so often it may.
const BROKEN_STEPS_MAX: u32 = 4;

#[derive(Default)]
pub(super) struct OpenCode {
    broken: u32,
}

impl Stream for OpenCode {
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
            "error" => talk.end = Some(End::Failed(trouble(&event["error"]))),
            _ => {}
        }
    }
}

impl OpenCode {
    /// It has no final event: a step that stops is the last one.
    fn finish(&mut self, part: &Value, talk: &mut Talk) {
        let input = sum(part, &["/tokens/input", "/tokens/cache/read", "/tokens/cache/write"]);
        let output = sum(part, &["/tokens/output", "/tokens/reasoning"]);
        // A model without a price in its configuration costs 0 there, which says nothing.
        let cost = part["cost"].as_f64().filter(|cost| *cost > 0.0);
        talk.adds(input.unwrap_or(0), output.unwrap_or(0), cost);
        match part["reason"].as_str() {
            Some("stop") => talk.end = Some(End::Completed),
            Some("length") => {
                let trouble = Trouble::said("the answer is longer than the model can give");
                talk.end = Some(End::Failed(trouble.known_as(Reason::Overflow)));
            }
            Some("unknown" | "error") => {
                self.broken += 1;
                talk.end = None;
                if self.broken > BROKEN_STEPS_MAX {
                    let words = format!("the model's answer broke off {} times", self.broken);
                    talk.given_up.get_or_insert((Code::ModelUnavailable, words));
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
        "ContextOverflowError" => trouble.known_as(Reason::Overflow),
        "ProviderAuthError" => trouble.known_as(Reason::Authentication),
        _ => trouble,
    }
}
