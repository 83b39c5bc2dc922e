//! Checks `reply_to` in a trace: every reply has a target, and all events use one strategy.

use std::collections::BTreeMap;

use crate::aee::{Envelope, Type};
use crate::aocl::intents;
use crate::finding::Findings;
use crate::shape::words;

words! {
    /// The two ways to set `reply_to` on control events.
    Strategy {
        /// Every event points at the request.
        RootLinked = "root_linked",
        /// Every layer event points at the one before it.
        SpanLinked = "span_linked",
    }
}

/// Reports replies without a target and mixed strategies.
pub(super) fn check(envelopes: &[Envelope], findings: &mut Findings) -> Option<Strategy> {
    let root_id = root_id(envelopes.first()?);
    let mut seen =
        SeenEnvelopes { root_id, by_id: BTreeMap::new(), last: None, last_of_a_layer: None, strategy: None };
    for (index, envelope) in envelopes.iter().enumerate() {
        if index > 0
            && let Err((rule, message)) = seen.judge(envelope)
        {
            findings.push(format!("$[{index}].reply_to"), rule, message);
        }
        seen.remember(envelope);
    }
    check_tasks(envelopes, &seen, findings);
    seen.strategy
}

/// A log may begin with the first event; the envelope it answers is then the request.
fn root_id(first: &Envelope) -> &str {
    let answered = first.reply_to.as_deref().filter(|_| is_event(first));
    answered.unwrap_or(&first.id)
}

/// What was read so far.
struct SeenEnvelopes<'t> {
    root_id: &'t str,
    by_id: BTreeMap<&'t str, &'t Envelope>,
    last: Option<&'t Envelope>,
    last_of_a_layer: Option<&'t Envelope>,
    strategy: Option<Strategy>,
}

impl<'t> SeenEnvelopes<'t> {
    fn remember(&mut self, envelope: &'t Envelope) {
        self.by_id.entry(&envelope.id).or_insert(envelope);
        if is_event(envelope) {
            self.last = Some(envelope);
            if intents::is_layer_event(&envelope.intent) {
                self.last_of_a_layer = Some(envelope);
            }
        }
    }

    fn judge(&mut self, envelope: &Envelope) -> Result<(), (&'static str, String)> {
        let reply_to = envelope.reply_to.as_deref();
        let target = reply_to.and_then(|id| self.by_id.get(id));
        if let (Some(id), None) = (reply_to.filter(|id| *id != self.root_id), target) {
            return Err(("dangling_reply", format!("`{id}` is not an earlier envelope of this trace")));
        }
        if is_event(envelope) {
            return self.judge_event(reply_to);
        }
        match target {
            // A result or an error answers a task.
            Some(target) if envelope.kind.is_answer() && target.kind != Type::Task => {
                let message =
                    format!("a {} answers a task, not a {}", envelope.kind.as_str(), target.kind.as_str());
                Err(("reply_target", message))
            }
            _ => Ok(()),
        }
    }

    fn judge_event(&mut self, reply_to: Option<&str>) -> Result<(), (&'static str, String)> {
        let is = |one: Option<&Envelope>| one.is_some_and(|one| reply_to == Some(one.id.as_str()));
        let used = if reply_to == Some(self.root_id) {
            Strategy::RootLinked
        } else if is(self.last) || is(self.last_of_a_layer) {
            Strategy::SpanLinked
        } else {
            let message = "must be the request, or the layer event before this one".to_owned();
            return Err(("reply_target", message));
        };
        match self.strategy {
            // The first event after the request is valid in both strategies.
            None if self.last.is_none() => Ok(()),
            None => {
                self.strategy = Some(used);
                Ok(())
            }
            Some(kept) if kept == used => Ok(()),
            Some(kept) => {
                let message = format!("is {}, while the trace is {}", used.as_str(), kept.as_str());
                Err(("mixed_strategy", message))
            }
        }
    }
}

/// Delegated tasks come from the request or, span-linked, from the decision that delegated them.
fn check_tasks(envelopes: &[Envelope], seen: &SeenEnvelopes<'_>, findings: &mut Findings) {
    for (index, envelope) in envelopes.iter().enumerate().skip(1).filter(|(_, e)| e.kind == Type::Task) {
        let Some(target) = envelope.reply_to.as_deref().and_then(|id| seen.by_id.get(id)) else { continue };
        let from_root = target.id == seen.root_id;
        // The receiver of a task may delegate parts of it.
        let handed_on = !from_root && target.kind == Type::Task && target.to == envelope.from;
        let from_root_allowed = seen.strategy != Some(Strategy::SpanLinked);
        let fits = is_event(target) || handed_on || (from_root && from_root_allowed);
        if !fits {
            let message = "must be the request or the decision that delegated this task";
            findings.push(format!("$[{index}].reply_to"), "reply_target", message);
        }
    }
}

/// Whether the envelope is a control event.
fn is_event(envelope: &Envelope) -> bool {
    intents::is_control(&envelope.intent) && matches!(envelope.kind, Type::Event | Type::Stream)
}
