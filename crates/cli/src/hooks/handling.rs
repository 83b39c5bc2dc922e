//! What a hook of an agent program means to the store. Pure: the input decides, nothing is read or written.

use clap::Subcommand;
use contract::digest;
use contract::domain::workspace;
use serde_json::{Map, Value, json};

/// What hooks call. Each is a hidden command of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
#[command(defer = true)]
pub(crate) enum Handler {
    #[command(hide = true)]
    SessionStart,
    #[command(hide = true)]
    Prompt,
    #[command(hide = true)]
    ToolFailure,
    #[command(hide = true)]
    ToolSuccess,
    #[command(hide = true)]
    Checkpoint,
    #[command(hide = true)]
    TaskCompleted,
    #[command(hide = true)]
    Retrospective,
    #[command(hide = true)]
    RetrospectiveBg,
    #[command(hide = true)]
    SessionEnd,
    #[command(hide = true)]
    SubagentStop,
    #[command(hide = true)]
    SubagentStart,
    #[command(hide = true)]
    Stop,
}

/// What an agent program tells a hook. Everything in it may be missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Input {
    pub(crate) raw: Map<String, Value>,
    /// Where the hook was called, for agent programs that do not say it.
    pub(crate) here: String,
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// Give the session its context.
    Resume,
    /// Write an event down.
    Note {
        kind: &'static str,
        message: String,
        metadata: Value,
        then: Then,
    },
    /// The same, and close the task it names if there is such a task.
    Complete {
        task_id: String,
        message: String,
        metadata: Value,
    },
    /// Tidy up while the session goes on.
    Checkpoint,
    /// Give back what the session holds.
    End,
    Nothing,
}

/// What follows an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Silence,
    /// Remind the agent of its task.
    Remind,
    /// The person asked what is going on.
    Brief,
}

const PROMPT_CHARS_MAX: usize = 500;
/// A session's id that is longer is told by its digest: an agent's name is repeated in every command.
const SESSION_BYTES_MAX: usize = 40;
const INPUT_BYTES_MAX: usize = 2048;
const OUTPUT_BYTES_MAX: usize = 4096;
/// What a person says to be told where things stand.
const BRIEF_WORDS: [&str; 6] = ["brief", "brief me", "remember", "remember?", "status", "what's pending"];

impl Handler {
    /// Whether a word calls a handler.
    pub(crate) fn is_one(word: &str) -> bool {
        Handler::has_subcommand(word)
    }

    /// The agent program's name for the event.
    pub(crate) fn event(self) -> &'static str {
        match self {
            Handler::SessionStart => "SessionStart",
            Handler::Prompt => "UserPromptSubmit",
            Handler::ToolFailure => "PostToolUseFailure",
            Handler::ToolSuccess => "PostToolUse",
            Handler::Checkpoint => "PreCompact",
            Handler::TaskCompleted => "TaskCompleted",
            Handler::Retrospective | Handler::RetrospectiveBg => "SessionEnd",
            Handler::SessionEnd => "SessionEnd",
            Handler::SubagentStop => "SubagentStop",
            Handler::SubagentStart => "SubagentStart",
            Handler::Stop => "Stop",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Handler::SessionStart => "session_start",
            Handler::Prompt => "prompt",
            Handler::ToolFailure => "tool_failure",
            Handler::ToolSuccess => "tool_success",
            Handler::Checkpoint => "checkpoint",
            Handler::TaskCompleted => "task_completed",
            Handler::Retrospective | Handler::RetrospectiveBg => "retrospective",
            Handler::SessionEnd => "session_end",
            Handler::SubagentStop => "subagent_stop",
            Handler::SubagentStart => "subagent_start",
            Handler::Stop => "stop",
        }
    }

    pub(crate) fn act(self, input: &Input) -> Act {
        let note = |kind, message: String| Act::Note {
            kind,
            message,
            metadata: input.metadata(&["source", "reason", "agent_id", "agent_type", "description"]),
            then: Then::Silence,
        };
        match self {
            Handler::SessionStart => Act::Resume,
            Handler::Prompt => prompted(input),
            Handler::ToolFailure => tool_ended(input, "tool_failure"),
            Handler::ToolSuccess => tool_ended(input, "tool_success"),
            Handler::Checkpoint => Act::Checkpoint,
            Handler::SessionEnd => Act::End,
            Handler::SubagentStart => note("agent_spawned", format!("subagent started: {}", subagent(input))),
            Handler::SubagentStop => {
                note("agent_completed", format!("subagent stopped: {}", subagent(input)))
            }
            Handler::Stop => note("heartbeat", "turn ended".to_owned()),
            Handler::TaskCompleted => completed(input),
            // No model is asked behind anybody's back.
            Handler::Retrospective | Handler::RetrospectiveBg => Act::Nothing,
        }
    }

    /// What has an id of its own is the same however often it is told. Everything else happens as often as it is told:
    /// two turns, two prompts or two checkpoints may look alike, so `call` tells them apart.
    pub(crate) fn request_id(self, input: &Input, call: &str) -> String {
        let is_named =
            ["tool_use_id", "prompt_id"].iter().any(|name| !input.raw.get(*name).is_none_or(Value::is_null));
        let call = if is_named { "" } else { call };
        let content = json!([self.word(), input.raw, input.workspace(), call]);
        let digest = digest::of_bytes(content.to_string().as_bytes());
        let digest = digest.trim_start_matches("sha256:");
        format!("cc_{}_{}", self.word(), &digest[..digest.len().min(24)])
    }
}

impl Input {
    /// Reads what an agent program wrote. What is no JSON object says nothing.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let raw = serde_json::from_slice::<Value>(bytes).ok();
        let raw = raw.and_then(|value| value.as_object().cloned()).unwrap_or_default();
        Self { raw, here: String::new() }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.raw.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Where the agent works, which is its project.
    pub(crate) fn workspace(&self) -> String {
        let told = self.text("cwd").filter(|path| path.starts_with('/'));
        workspace::id_from(told.unwrap_or(&self.here), &self.here)
    }

    /// The identity of the session, for agents that give none of their own. The beginnings of two sessions may be the
    /// same, so it is the whole name, or a digest of one that is too long; without one, the place tells agents apart.
    pub(crate) fn agent(&self) -> String {
        let digest = |text: &str| digest::of_bytes(text.as_bytes())["sha256:".len()..][..16].to_owned();
        let name = match self.text("session_id") {
            Some(session) if is_plain(session) => session.to_lowercase(),
            Some(session) => digest(session),
            None => digest(&self.workspace()),
        };
        format!("claude-{name}")
    }

    /// Some of the fields, and the session they are from.
    fn metadata(&self, names: &[&str]) -> Value {
        let named = names.iter().chain(&["session_id"]);
        let fields = named
            .filter_map(|name| Some(((*name).to_owned(), json!(clip(self.text(name)?, PROMPT_CHARS_MAX)))));
        Value::Object(fields.collect())
    }
}

/// Whether a session's id can be a name as it is.
fn is_plain(session: &str) -> bool {
    session.len() <= SESSION_BYTES_MAX
        && session.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn prompted(input: &Input) -> Act {
    // Some prompts are the agent program's own, and no person said them.
    let said = input.text("prompt").filter(|prompt| !prompt.starts_with("<task-notification>"));
    let Some(prompt) = said else { return Act::Nothing };
    let asks = BRIEF_WORDS.contains(&prompt.to_lowercase().as_str());
    Act::Note {
        kind: "user_prompt",
        message: clip(prompt, PROMPT_CHARS_MAX),
        metadata: input.metadata(&[]),
        then: if asks { Then::Brief } else { Then::Remind },
    }
}

fn tool_ended(input: &Input, kind: &'static str) -> Act {
    let tool = clip(input.text("tool_name").unwrap_or("a tool"), 100);
    let failed = kind == "tool_failure";
    let mut metadata = input.metadata(&["tool_name", "tool_use_id"]);
    metadata["input"] = json!(preview(input.raw.get("tool_input"), INPUT_BYTES_MAX));
    if failed {
        let said = ["error", "tool_response"].iter().find_map(|name| input.raw.get(*name));
        metadata["output"] = json!(preview(said, OUTPUT_BYTES_MAX));
    }
    let message = format!("{tool} {}", if failed { "failed" } else { "succeeded" });
    Act::Note { kind, message, metadata, then: Then::Silence }
}

fn completed(input: &Input) -> Act {
    let subject =
        ["task_subject", "description", "task_description"].iter().find_map(|name| input.text(name));
    let message = clip(subject.unwrap_or("a task was completed"), PROMPT_CHARS_MAX);
    let metadata = input.metadata(&["task_id", "description"]);
    // The agent's own list has ids too; only one of ours names a task.
    match input.text("task_id").filter(|id| id.starts_with("task_")) {
        Some(id) => Act::Complete { task_id: id.to_owned(), message, metadata },
        None => Act::Note { kind: "task_completed_signal", message, metadata, then: Then::Silence },
    }
}

fn subagent(input: &Input) -> String {
    let said = ["agent_type", "description", "agent_id"].iter().find_map(|name| input.text(name));
    clip(said.unwrap_or("unnamed"), PROMPT_CHARS_MAX)
}

/// The beginning of a value, in so many bytes. Without what a terminal would obey, which is long in JSON too.
fn preview(value: Option<&Value>, bytes: usize) -> String {
    let text = match value {
        None | Some(Value::Null) => return String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let mut taken = 0;
    let plain = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    let fits = |c: &char| {
        taken += c.len_utf8();
        taken <= bytes
    };
    plain.take_while(fits).collect()
}

/// The beginning of a text that is only a preview.
fn clip(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

#[cfg(test)]
mod tests;
