//! Seals the store as it is, after a person looked at it: after a restore without the key, or when the seal is broken.

use contract::domain::code::ErrorCode;
use contract::domain::principal::Action;
use contract::domain::priority::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::report::Verification;
use crate::context::{Context, Key};
use crate::decision::Decider;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::{About, EventBody, stream_of};
use crate::verb::{Function, Surface, Verb};

/// The kind of the event.
pub const RESEALED: &str = "store_resealed";

pub struct Reseal;

impl Verb for Reseal {
    const NAME: &'static str = "audit.reseal";
    const COMMAND: &'static str = "audit reseal";
    const SUMMARY: &'static str = "Seal the store as it is now, after a restore";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(reseal);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Why, for the log.
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// False where the seal matched already: then nobody was asked.
    pub resealed: bool,
    /// What was found before.
    pub before: Verification,
}

/// Damage to the file and to the log stays visible: the seal covers what is beside the log.
pub fn reseal(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    if request.reason.as_deref() == Some("") {
        return Err(Error::field(ErrorCode::InvalidInput, "reason", "must not be empty"));
    }
    let mut found = None;
    // A repeated request gets the stored answer; nobody is asked again.
    if !cx.was_answered(key)? {
        cx.store.forget_key();
        let before = Verification::from(super::verify(cx, None)?);
        let resealed = before.seal_not_checked.is_some() || !before.tables.is_empty();
        let mut decision = None;
        if resealed {
            // Tokens are in the store, which may be forged.
            let action = Action::new(Reseal::NAME, question(&before));
            decision = Some(cx.decision_by(Decider::Person, key, &action)?);
            cx.store.seal_anew_at_next_transaction()?;
        }
        found = Some((Answer { resealed, before }, decision));
    }
    let about = About {
        stream: stream_of(None),
        corr: "store".to_owned(),
        reply_to: None,
        priority: Priority::Normal,
        project_id: None,
        task_id: None,
        run_id: None,
    };
    cx.once(key, Reseal::NAME, request, |work| {
        let pruned = || Error::new(ErrorCode::Busy, "the stored answer was pruned meanwhile");
        let (answer, decision) = found.ok_or_else(pruned)?;
        if let Some(decision) = &decision {
            let payload = json!({"reason": request.reason, "before": answer.before});
            let body = EventBody::event(RESEALED, "Sealed the store as it was found", payload);
            decision.act(work)?.say(&about, body)?;
        }
        Ok(answer)
    })
}

fn question(found: &Verification) -> String {
    let mut text = "The seal shows that nothing but writ changed the tables. ".to_owned();
    match &found.seal_not_checked {
        Some(why) => text.push_str(&format!("It was not checked: {why}.\n")),
        None if found.tables.is_empty() => text.push_str("It matches.\n"),
        None => text.push_str("It does not match:\n"),
    }
    for fault in found.damage.iter().chain(&found.schema).chain(&found.tables) {
        text.push_str(&format!("  {fault}\n"));
    }
    for fault in found.integrity.iter().chain(&found.completeness) {
        text.push_str(&format!("  {} at {}: {}\n", fault.stream, fault.seq, fault.message));
    }
    text.push_str("\nAfter this, the store as it is now counts as genuine. Seal it.");
    text
}
