//! What a hook of an agent program means to the store. Pure: the input decides, nothing is read or written.

mod excerpt;
mod input;
pub(crate) mod tool;

use contract::digest;
use serde_json::{Value, json};

pub(crate) use input::HookInput;
use tool::ToolOutcome;

use super::adapter::HookEvent;

/// What hooks call. Each is a hidden command of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handler {
    SessionStart,
    Prompt,
    ToolFailure,
    ToolSuccess,
    Checkpoint,
    TaskCompleted,
    Retrospective,
    RetrospectiveBg,
    SessionEnd,
    SubagentStop,
    SubagentStart,
    Stop,
    Todos,
}

/// An event that is recorded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookNote {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) metadata: Value,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// Give the session its context.
    Resume,
    /// Record an event.
    Note {
        note: HookNote,
        then: Then,
    },
    /// Record an event, and close the task it names if there is such a task.
    Complete {
        task_id: String,
        note: HookNote,
    },
    /// The turn ended: keep the claims alive, and remember what the agent said last.
    Stop {
        heartbeat: HookNote,
        last_words: Option<HookNote>,
    },
    /// Record what the session has done, before the agent program compacts its context.
    Checkpoint {
        reason: String,
    },
    /// Release what the session holds.
    End,
    /// Nothing worth a note, but the session is alive.
    Renew,
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
    /// A subagent starts and knows nothing yet.
    BriefSubagent,
}

const PROMPT_CHARS_MAX: usize = 500;
const LAST_WORDS_CHARS_MAX: usize = 2000;
const SUBAGENT_CHARS_MAX: usize = 300;
const TRIGGER_CHARS_MAX: usize = 40;
/// Items of an agent's own list that are stored.
const TODOS_MAX: usize = 20;
const TODO_CHARS_MAX: usize = 150;
/// The prompt by which a person asks for the current state.
const BRIEF_WORDS: [&str; 6] = ["brief", "brief me", "remember", "remember?", "status", "what's pending"];

impl Handler {
    pub(crate) const ALL: [Handler; 13] = [
        Handler::SessionStart,
        Handler::Prompt,
        Handler::ToolFailure,
        Handler::ToolSuccess,
        Handler::Checkpoint,
        Handler::TaskCompleted,
        Handler::Retrospective,
        Handler::RetrospectiveBg,
        Handler::SessionEnd,
        Handler::SubagentStop,
        Handler::SubagentStart,
        Handler::Stop,
        Handler::Todos,
    ];

    pub(crate) fn from_word(word: &str) -> Option<Handler> {
        Handler::ALL.into_iter().find(|handler| handler.word() == word)
    }

    /// The hook that returns an answer to the agent, if there is one.
    pub(crate) fn answered_event(self) -> Option<HookEvent> {
        match self {
            Handler::SessionStart => Some(HookEvent::SessionStart),
            Handler::Prompt => Some(HookEvent::Prompt),
            Handler::SubagentStart => Some(HookEvent::SubagentStart),
            Handler::ToolFailure
            | Handler::ToolSuccess
            | Handler::Checkpoint
            | Handler::TaskCompleted
            | Handler::Retrospective
            | Handler::RetrospectiveBg
            | Handler::SessionEnd
            | Handler::SubagentStop
            | Handler::Stop
            | Handler::Todos => None,
        }
    }

    /// The command after `hook`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Handler::SessionStart => "session-start",
            Handler::Prompt => "prompt",
            Handler::ToolFailure => "tool-failure",
            Handler::ToolSuccess => "tool-success",
            Handler::Checkpoint => "checkpoint",
            Handler::TaskCompleted => "task-completed",
            Handler::Retrospective => "retrospective",
            Handler::RetrospectiveBg => "retrospective-bg",
            Handler::SessionEnd => "session-end",
            Handler::SubagentStop => "subagent-stop",
            Handler::SubagentStart => "subagent-start",
            Handler::Stop => "stop",
            Handler::Todos => "todos",
        }
    }

    pub(crate) fn act(self, input: &HookInput) -> Act {
        match self {
            Handler::SessionStart => Act::Resume,
            Handler::Prompt => prompted(input),
            Handler::ToolFailure => tool_failed(input),
            Handler::ToolSuccess => tool_succeeded(input),
            Handler::Checkpoint => Act::Checkpoint { reason: compacting(input) },
            Handler::SessionEnd => Act::End,
            Handler::SubagentStart => {
                let note = subagent(input, "agent_spawned", "subagent started");
                Act::Note { note, then: Then::BriefSubagent }
            }
            // Agent programs have helpers of their own, without a type, such as the one that summarizes.
            Handler::SubagentStop if input.first_text(&["agent_type", "description"]).is_none() => Act::Renew,
            Handler::SubagentStop => {
                let note = subagent(input, "agent_completed", "subagent stopped");
                Act::Note { note, then: Then::Silence }
            }
            Handler::Stop => stopped(input),
            Handler::TaskCompleted => completed(input),
            Handler::Todos => todos(input),
            // Never calls a model.
            Handler::Retrospective | Handler::RetrospectiveBg => Act::Nothing,
        }
    }

    /// An event that has an id of its own is recorded once, however often it is reported. Other events are recorded
    /// each time, because two turns or two checkpoints may look alike: `call` tells them apart.
    pub(crate) fn request_id(self, input: &HookInput, call: &str) -> String {
        let is_named =
            ["tool_use_id", "prompt_id"].iter().any(|name| !input.raw.get(*name).is_none_or(Value::is_null));
        // A session gets its context each time it starts, resumes or was compacted.
        let call = if is_named && self != Handler::SessionStart { "" } else { call };
        let content = json!([self.word(), input.raw, input.project, call]);
        let digest = digest::of_bytes(content.to_string().as_bytes());
        let digest = digest.trim_start_matches("sha256:");
        let word = self.word().replace('-', "_");
        format!("{}_{word}_{}", input.adapter.request_prefix(), &digest[..digest.len().min(24)])
    }
}

fn prompted(input: &HookInput) -> Act {
    // Some prompts are made by the agent program itself.
    let said = input.text("prompt").filter(|prompt| !prompt.starts_with("<task-notification>"));
    let Some(prompt) = said else { return Act::Renew };
    let asks = BRIEF_WORDS.contains(&prompt.to_lowercase().as_str());
    let note = HookNote {
        kind: "user_prompt",
        message: excerpt::head(prompt, PROMPT_CHARS_MAX),
        metadata: input.metadata(&[]).into(),
    };
    Act::Note { note, then: if asks { Then::Brief } else { Then::Remind } }
}

fn tool_succeeded(input: &HookInput) -> Act {
    let call = tool_call(input);
    if call.is_read { Act::Renew } else { tool_ended(input, &call, ToolOutcome::Succeeded) }
}

fn tool_failed(input: &HookInput) -> Act {
    let failure = input.failure();
    tool_ended(input, &tool_call(input), input.outcome(&failure))
}

fn tool_call(input: &HookInput) -> tool::ToolCall {
    let arguments = input.raw.get("tool_input").unwrap_or(&Value::Null);
    input.adapter.tool(input.text("tool_name").unwrap_or("a tool"), arguments)
}

fn tool_ended(input: &HookInput, call: &tool::ToolCall, outcome: ToolOutcome<'_>) -> Act {
    let root = input.root.as_deref();
    let mut metadata = input.metadata(&["tool_use_id", "agent_id", "agent_type"]);
    metadata.extend(call.metadata(input.raw.get("tool_input"), outcome, root));
    let kind = match outcome {
        ToolOutcome::Succeeded => "tool_success",
        ToolOutcome::Failed { .. } => "tool_failure",
    };
    let note = HookNote { kind, message: call.message(outcome, root), metadata: metadata.into() };
    Act::Note { note, then: Then::Silence }
}

fn compacting(input: &HookInput) -> String {
    let trigger = excerpt::line(input.text("trigger").unwrap_or("unknown"), TRIGGER_CHARS_MAX);
    let asked = input.text("custom_instructions").map(|text| excerpt::line(text, PROMPT_CHARS_MAX));
    let asked = asked.map(|text| format!(": {text}")).unwrap_or_default();
    format!("context compacted ({trigger}){asked}")
}

fn stopped(input: &HookInput) -> Act {
    let metadata: Value = input.metadata(&[]).into();
    let heartbeat =
        HookNote { kind: "heartbeat", message: "turn ended".to_owned(), metadata: metadata.clone() };
    let last_words = input.text("last_assistant_message").map(|text| HookNote {
        kind: "last_words",
        message: excerpt::ends(text, LAST_WORDS_CHARS_MAX),
        metadata,
    });
    Act::Stop { heartbeat, last_words }
}

fn completed(input: &HookInput) -> Act {
    let subject = input.first_text(&["task_subject", "description", "task_description"]);
    let note = HookNote {
        kind: "task_completed_signal",
        message: excerpt::line(subject.unwrap_or("a task was completed"), PROMPT_CHARS_MAX),
        metadata: input.metadata(&["task_id", "description"]).into(),
    };
    // The agent's own list has ids too; only one of ours names a task.
    match input.text("task_id").filter(|id| id.starts_with("task_")) {
        Some(id) => Act::Complete { task_id: id.to_owned(), note },
        None => Act::Note { note, then: Then::Silence },
    }
}

fn subagent(input: &HookInput, kind: &'static str, what: &str) -> HookNote {
    let name = input.first_text(&["agent_type", "description", "agent_id"]).unwrap_or("unnamed");
    let name = excerpt::line(name, SUBAGENT_CHARS_MAX);
    let said = input.text("last_assistant_message").map(|text| excerpt::line(text, SUBAGENT_CHARS_MAX));
    let said = said.map(|text| format!(": {text}")).unwrap_or_default();
    let metadata = input.metadata(&["source", "reason", "agent_id", "agent_type", "description"]);
    HookNote { kind, message: format!("{what}: {name}{said}"), metadata: metadata.into() }
}

/// The agent's own list of what it wants to do.
fn todos(input: &HookInput) -> Act {
    let Some(items) = input.raw.get("todos").and_then(Value::as_array) else { return Act::Renew };
    let text =
        |item: &Value, name: &str| excerpt::line(item[name].as_str().unwrap_or_default(), TODO_CHARS_MAX);
    let is_done = |item: &Value| matches!(item["status"].as_str(), Some("completed" | "cancelled"));
    let done = items.iter().filter(|item| is_done(item)).count();
    let next =
        items.iter().find(|item| !is_done(item)).map(|item| format!("; next: {}", text(item, "content")));
    let kept = items.iter().take(TODOS_MAX);
    let kept: Vec<Value> =
        kept.map(|item| json!({"content": text(item, "content"), "status": text(item, "status")})).collect();
    let mut metadata = input.metadata(&[]);
    metadata.insert("todos".to_owned(), json!(kept));
    let message = format!("{done} of {} items done{}", items.len(), next.unwrap_or_default());
    Act::Note {
        note: HookNote { kind: "todo_snapshot", message, metadata: metadata.into() },
        then: Then::Silence,
    }
}

#[cfg(test)]
mod tests;
