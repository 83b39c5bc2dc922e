//! Claude Code.

use std::time::Duration;

use contract::aop::task::Provider;
use serde_json::Value;

use super::{AgentProgram, Effort, HeadlessCall, directory, option, text, tool, unless};
use crate::executor::{AgentStream, Talk, Trouble, TroubleKind, TurnEnd, sum};

pub(super) const PROGRAM: AgentProgram = AgentProgram {
    name: "claude",
    title: "Claude Code",
    provider: Provider::Claude,
    takes_effort: true,
    environment: &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")],
    home_variable: "CLAUDE_CONFIG_DIR",
    secrets: &[".claude/.credentials.json", ".claude.json"],
    credentials: &[".claude/.credentials.json"],
    arguments,
    shown,
    stream: || Box::new(ClaudeStream::default()),
};

/// Its tools work in the workspace; the named one also where the user's settings restrict the shell.
const TOOLS: &str = "Bash,Bash(writ:*),Edit,Glob,Grep,MultiEdit,NotebookEdit,Read,TodoWrite,Write";

fn arguments(call: &HeadlessCall<'_>) -> Vec<String> {
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

fn shown(event: &Value) -> Option<String> {
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

fn content(block: &Value) -> Option<String> {
    match block["type"].as_str()? {
        "text" => text(&block["text"]),
        "tool_use" => tool(&block["name"], &block["input"]),
        _ => None,
    }
}

/// The last version that reported the cost of one process instead of the whole conversation.
const LAST_WITH_OWN_COST: (u64, u64, u64) = (2, 1, 197);

#[derive(Default)]
struct ClaudeStream {
    has_own_cost: bool,
}

impl AgentStream for ClaudeStream {
    fn take(&mut self, event: &Value, talk: &mut Talk) {
        talk.names(&event["session_id"]);
        let content = event["message"]["content"].as_array().into_iter().flatten();
        match event["type"].as_str().unwrap_or_default() {
            "system" if event["subtype"] == "init" => {
                talk.model = event["model"].as_str().map(str::to_owned);
                self.has_own_cost = version(&event["claude_code_version"])
                    .is_some_and(|version| version <= LAST_WITH_OWN_COST);
            }
            "system" if event["subtype"] == "api_retry" => {
                let words = event["error"].as_str().unwrap_or("the model does not answer");
                let trouble = Trouble::said(words).with_status(event["error_status"].as_u64());
                let wait =
                    event["retry_delay_ms"].as_f64().map(|ms| Duration::from_secs_f64(ms.max(0.0) / 1000.0));
                talk.trouble = Some(Trouble { wait: trouble.wait.or(wait), ..trouble });
            }
            "assistant" => {
                let is_main = event["parent_tool_use_id"].is_null();
                for block in content {
                    match block["type"].as_str().unwrap_or_default() {
                        "text" if is_main => talk.says(&block["text"]),
                        "tool_use" => talk.calls(&block["id"], &block["name"], &block["input"]),
                        _ => {}
                    }
                }
            }
            "user" => content.for_each(|block| talk.results(&block["tool_use_id"], &block["content"])),
            "result" => self.finish(event, talk),
            _ => {}
        }
    }
}

impl ClaudeStream {
    fn finish(&self, event: &Value, talk: &mut Talk) {
        let usage = &event["usage"];
        let read = ["/input_tokens", "/cache_creation_input_tokens", "/cache_read_input_tokens"];
        talk.usage.input = sum(usage, &read);
        talk.usage.output = sum(usage, &["/output_tokens"]);
        talk.usage.cost_usd = event["total_cost_usd"].as_f64();
        talk.usage.cost_is_total = !self.has_own_cost;
        let is_error = event["is_error"] != false || event["subtype"] != "success";
        if !is_error {
            talk.says(&event["result"]);
            talk.end = Some(TurnEnd::Completed);
            return;
        }
        let errors = event["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let errors = errors.collect::<Vec<_>>().join("; ");
        let said = event["result"].as_str().filter(|text| !text.trim().is_empty()).unwrap_or(&errors);
        let subtype = event["subtype"].as_str().unwrap_or("error");
        let words = if said.is_empty() { subtype } else { said };
        let status = &event["api_error_status"];
        let status = status.as_u64().or_else(|| status.as_str().and_then(|text| text.parse().ok()));
        let before = talk.trouble.take();
        let trouble = Trouble::said(words).with_status(status);
        let trouble = match (subtype, event["terminal_reason"].as_str()) {
            ("error_max_budget_usd", _) => trouble.known_as(TroubleKind::Cost),
            (_, Some("prompt_too_long")) => trouble.known_as(TroubleKind::Overflow),
            _ => trouble,
        };
        let wait = trouble.wait.or_else(|| before.and_then(|before| before.wait));
        talk.end = Some(TurnEnd::Failed(Trouble { wait, ..trouble }));
    }
}

fn version(value: &Value) -> Option<(u64, u64, u64)> {
    let mut numbers = value.as_str()?.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}
