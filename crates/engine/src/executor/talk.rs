//! What an agent program has said so far, whatever its stream looks like.

use contract::aop::limits::ACTIONS_SOFT;
use contract::domain::attempt::Limited;
use contract::domain::failure_code::FailureCode;
use contract::domain::limits::{AGENT_SESSION_BYTES_MAX, REPORTED_TOKENS_MAX};
use serde_json::Value;

use super::conversation::AgentUsage;
use super::repeats::Repeats;
use super::trouble::Trouble;
use crate::agent_program::tool;

/// How one program's stream reads. Unknown events are ignored.
pub(crate) trait AgentStream {
    /// Takes one event.
    fn take(&mut self, event: &Value, talk: &mut Talk);

    /// The meaning of the program's failure codes, without another message.
    fn exit(&self, _code: i32) -> Option<Trouble> {
        None
    }
}

#[derive(Default)]
pub(crate) struct Talk {
    /// The program's own name for its conversation.
    pub(crate) session: Option<String>,
    pub(crate) model: Option<String>,
    /// The last text of the model.
    pub(crate) text: String,
    pub(crate) usage: AgentUsage,
    /// The terminal event of the stream.
    pub(crate) end: Option<TurnEnd>,
    /// The newest trouble with the model, unless it answered since.
    pub(crate) trouble: Option<Trouble>,
    /// The error that makes success impossible.
    pub(crate) given_up: Option<(FailureCode, String)>,
    /// What the user has to know about the call.
    pub(crate) warnings: Vec<String>,
    pub(crate) actions: Vec<String>,
    pub(crate) actions_omitted: usize,
    pub(super) repeats: Repeats,
    /// Calls without a result.
    open: Vec<(String, String, Value)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    Completed,
    Failed(Trouble),
}

/// Maximum open calls, which bounds the memory for a program that never reports results.
const OPEN_CALLS_MAX: usize = 100;

impl Talk {
    /// Takes the name of the conversation, if it can be passed on as an argument.
    pub(crate) fn names(&mut self, session: &Value) {
        let Some(name) = session.as_str() else { return };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        let fits = !name.is_empty() && name.len() <= AGENT_SESSION_BYTES_MAX;
        if fits && !name.starts_with('-') && name.chars().all(is_plain) {
            self.session = Some(name.to_owned());
        }
    }

    /// The model said something.
    pub(crate) fn says(&mut self, text: &Value) {
        self.trouble = None;
        if let Some(text) = text.as_str().map(str::trim).filter(|text| !text.is_empty()) {
            text.clone_into(&mut self.text);
        }
    }

    /// The model calls a tool.
    pub(crate) fn calls(&mut self, id: &Value, name: &Value, arguments: &Value) {
        self.trouble = None;
        let shown = tool(name, arguments).unwrap_or_else(|| "tool".to_owned());
        let shown = contract::domain::text::cut(&shown, ACTION_CHARS_MAX);
        if self.actions.len() < ACTIONS_SOFT {
            self.actions.push(shown.clone());
        } else {
            self.actions_omitted += 1;
        }
        if self.open.len() == OPEN_CALLS_MAX {
            self.open.remove(0);
        }
        self.open.push((id.as_str().unwrap_or_default().to_owned(), shown, arguments.clone()));
    }

    /// What became of a call.
    pub(crate) fn results(&mut self, id: &Value, result: &Value) {
        let id = id.as_str().unwrap_or_default();
        let Some(at) = self.open.iter().position(|(open, ..)| open == id) else { return };
        let (_, shown, arguments) = self.open.remove(at);
        self.repeats.note(&shown, &arguments, result);
    }

    /// Gives up where the same call is made over and over, and the workspace stays as it was.
    pub(crate) fn heed_repeats(&mut self, digest: Option<String>) {
        if let Some(told) = self.repeats.seen(digest) {
            self.given_up.get_or_insert((FailureCode::Unknown, told));
        }
    }

    /// What the program used. Where its provider refused the first call, that is nothing, even if the program does not say so.
    pub(crate) fn used(&self, limited: Option<&Limited>) -> AgentUsage {
        let AgentUsage { input, output, cost_usd, .. } = self.usage;
        let says_it = input.is_some() || output.is_some() || cost_usd.is_some();
        let has_answered = !self.text.is_empty() || !self.actions.is_empty();
        if limited.is_none() || has_answered || says_it {
            return self.usage;
        }
        AgentUsage { input: Some(0), output: Some(0), cost_usd: Some(0.0), ..AgentUsage::default() }
    }

    /// Adds what one step used.
    pub(crate) fn adds(&mut self, input: u64, output: u64, cost_usd: Option<f64>) {
        let usage = &mut self.usage;
        usage.input = Some(usage.input.unwrap_or(0).saturating_add(input));
        usage.output = Some(usage.output.unwrap_or(0).saturating_add(output));
        usage.cost_usd = match (usage.cost_usd, cost_usd) {
            (Some(sum), Some(cost)) => Some(sum + cost),
            (sum, cost) => sum.or(cost),
        };
    }
}

/// An action is one line.
const ACTION_CHARS_MAX: usize = 300;

/// The sum of numbers among the fields; `None` if none of them is there.
pub(crate) fn sum(value: &Value, fields: &[&str]) -> Option<u64> {
    let numbers = fields.iter().filter_map(|field| value.pointer(field).and_then(Value::as_u64));
    numbers.reduce(u64::saturating_add).map(|sum| sum.min(REPORTED_TOKENS_MAX))
}
