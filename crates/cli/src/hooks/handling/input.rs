//! What an agent program tells a hook.

use contract::digest;
use serde_json::{Map, Value, json};

use super::excerpt;
use super::tool::{self, ToolOutcome};
use crate::hooks::adapter::HookAdapter;

/// A session's id that is longer is replaced by its digest: an agent's name is repeated in every command.
const SESSION_BYTES_MAX: usize = 40;
const FIELD_CHARS_MAX: usize = 500;

/// One call of a hook. Every field may be missing.
#[derive(Debug, Clone)]
pub(crate) struct HookInput {
    pub(crate) adapter: &'static dyn HookAdapter,
    /// The payload, with the names that Claude Code gives its fields.
    pub(crate) raw: Map<String, Value>,
    /// The project in which the agent works.
    pub(crate) project: String,
    /// Paths below this directory are noted relative to it; `None` notes them as they are.
    pub(crate) root: Option<String>,
}

impl HookInput {
    /// Reads what an agent program wrote. Input that is not a JSON object has no fields.
    pub(crate) fn parse(adapter: &'static dyn HookAdapter, bytes: &[u8]) -> Self {
        let raw = serde_json::from_slice::<Value>(bytes).ok();
        let raw = raw.and_then(|value| value.as_object().cloned()).unwrap_or_default();
        Self { adapter, raw, project: String::new(), root: None }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.raw.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The first of the fields that has a text.
    pub(super) fn first_text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.text(name))
    }

    /// The identity of the session, for agents that give none of their own. Two sessions may begin alike, so it is the
    /// whole id, or a digest where an id cannot be a name; without an id, the project tells agents apart.
    pub(crate) fn agent(&self) -> String {
        let name = match self.text("session_id") {
            Some(session) if is_plain(session) && !self.adapter.has_case_sensitive_sessions() => {
                session.to_lowercase()
            }
            Some(session) => short_digest(session),
            None => short_digest(&self.project),
        };
        format!("{}-{name}", self.adapter.name())
    }

    /// Some of the fields, and the session they are from.
    pub(super) fn metadata(&self, names: &[&str]) -> Map<String, Value> {
        let named = names.iter().chain(&["session_id"]);
        let fields = named.filter_map(|name| {
            Some(((*name).to_owned(), json!(excerpt::line(self.text(name)?, FIELD_CHARS_MAX))))
        });
        fields.collect()
    }

    /// The tool's error, if the payload has one.
    pub(super) fn failure(&self) -> (String, Option<i64>) {
        let said = ["error", "tool_response"].iter().find_map(|name| self.raw.get(*name));
        let text = excerpt::text_of(said);
        let told = self.raw.get("exit_code").and_then(Value::as_i64);
        let code = told.or_else(|| tool::exit_code_of(&text));
        (tool::without_exit_line(&text).to_owned(), code)
    }

    pub(super) fn outcome<'a>(&self, failure: &'a (String, Option<i64>)) -> ToolOutcome<'a> {
        let is_interrupt = self.raw.get("is_interrupt").and_then(Value::as_bool).unwrap_or(false);
        ToolOutcome::Failed { output: &failure.0, exit_code: failure.1, is_interrupt }
    }
}

fn short_digest(text: &str) -> String {
    digest::of_bytes(text.as_bytes())["sha256:".len()..][..16].to_owned()
}

/// Whether a session's id can be a name as it is.
fn is_plain(session: &str) -> bool {
    session.len() <= SESSION_BYTES_MAX
        && session.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
