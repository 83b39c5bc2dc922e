//! Seals the store as it is, after a person looked at it: after a restore without the key, or when the seal is broken.

use std::cell::Cell;

use contract::domain::code::ErrorCode;
use contract::domain::event_kind::STORE_RESEALED;
use contract::domain::principal::Action;
use contract::domain::priority::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{AuditDepth, Tx};

use super::report::LogVerification;
use crate::context::{Context, Session};
use crate::decision::{Decider, PersonDecision};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::{About, EventBody, stream_of};
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct Reseal;

impl Verb for Reseal {
    const NAME: &'static str = "audit.reseal";
    const COMMAND: &'static str = "audit reseal";
    const SUMMARY: &'static str = "Seal the store as it is now, after a restore";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
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
    /// False if the seal already matched; then no decision was needed.
    pub resealed: bool,
    /// What was found before.
    pub before: LogVerification,
}

/// Damage to the file and to the log stays visible: the seal covers what is beside the log.
pub fn reseal(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    if request.reason.as_deref() == Some("") {
        return Err(Error::field(ErrorCode::InvalidInput, "reason", "must not be empty"));
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
    let made_key = Cell::new(false);
    let prepare = |cx: &mut Context| ask(cx, session, &made_key);
    let done = cx.decide_once(session, (Reseal::NAME, request), prepare, |work, (found, decision)| {
        if let Some(decision) = &decision {
            let action = found.again(work.tx)?.action();
            let work = &mut decision.act(work, &action)?;
            let payload = json!({"reason": request.reason, "before": found.verified});
            let body = EventBody::event(STORE_RESEALED, "Sealed the store as it was found", payload);
            work.say(&about, body)?;
        }
        Ok(Answer { resealed: decision.is_some(), before: found.verified })
    });
    if done.is_err() && made_key.get() {
        // A key without a seal would allow writes to a store that no person has accepted.
        cx.store.unmake_key()?;
    }
    done
}

/// What a person is shown, if there is something to seal.
fn ask(
    cx: &mut Context,
    session: &Session,
    made_key: &Cell<bool>,
) -> Result<(SealCheck, Option<PersonDecision>)> {
    cx.store.forget_key();
    let found = SealCheck::in_store(&cx.store.read()?)?;
    if found.verified.seal_not_checked.is_none() && found.verified.tables.is_empty() {
        return Ok((found, None));
    }
    // Tokens are in the store, which may be forged.
    let decision = cx.decision_by(session, Decider::Person, found.action())?;
    made_key.set(cx.store.seal_anew_at_next_transaction()?);
    Ok((found, Some(decision)))
}

struct SealCheck {
    verified: LogVerification,
    /// The digest of what the seal covers, where the seal itself cannot show that it changes.
    contents: Option<String>,
}

impl SealCheck {
    fn in_store(tx: &Tx<'_>) -> Result<Self> {
        let verified = LogVerification::from(tx.verify_to(None, AuditDepth::Full)?);
        let contents = verified.seal_not_checked.as_ref().map(|_| tx.sealed_contents()).transpose()?;
        Ok(Self { verified, contents })
    }

    /// The same in the transaction that seals. It has a key in any case, but one that was just made shows nothing.
    fn again(&self, tx: &Tx<'_>) -> Result<Self> {
        let mut verified = LogVerification::from(tx.verify_to(None, AuditDepth::Full)?);
        if self.contents.is_none() {
            return Ok(Self { verified, contents: None });
        }
        verified.tables.clone_from(&self.verified.tables);
        verified.seal_not_checked.clone_from(&self.verified.seal_not_checked);
        Ok(Self { verified, contents: Some(tx.sealed_contents()?) })
    }

    fn action(&self) -> Action {
        Action::new(Reseal::NAME, question(&self.verified, self.contents.as_deref()))
    }
}

fn question(found: &LogVerification, contents: Option<&str>) -> String {
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
    if let Some(contents) = contents {
        text.push_str(&format!("contents {contents}\n"));
    }
    text.push_str("\nAfter this, the store as it is now counts as genuine. Seal it.");
    text
}
