//! Idempotency: the same request id gives the same answer and no second side effect.

use contract::digest;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::request::RequestId;
use contract::domain::time::{Lease, Timestamp};
use contract::secrets::{find_in, scrub_value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::Tx;

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::record::EventWriter;
use crate::verb::key_required;

/// Old answers that one call prunes: more than the one it adds, and few enough not to be noticed.
const PRUNED_AT_ONCE: usize = 4;
/// How often a transaction starts again because it wants to know more of the host. Each round asks everything that
/// the last one missed, so a few are enough; a cancel asks up to three times for each delegated run that lost its engine.
const LOOKS_MAX: usize = 96;

/// An answer, and whether it was given before.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply<A> {
    pub answer: A,
    pub replayed: bool,
}

impl<A> Reply<A> {
    pub(crate) fn fresh(answer: A) -> Self {
        Self { answer, replayed: false }
    }
}

/// A call under a key, and the fingerprint that tells a retry from another request.
struct KeyedCall<'c> {
    session: &'c Session,
    operation: &'c str,
    fingerprint: String,
}

impl Context {
    /// Whether this key has been used: a repeated request gets the stored answer.
    pub fn was_answered(&mut self, session: &Session) -> Result<bool> {
        Ok(self.answered_verb(session)?.is_some())
    }

    /// The verb that this key was used for.
    pub(crate) fn answered_verb(&mut self, session: &Session) -> Result<Option<String>> {
        let Some(request_id) = &session.request_id else { return Ok(None) };
        let known = self.store.read()?.stored_answer(&session.caller.agent, request_id)?;
        Ok(known.map(|known| known.operation))
    }

    /// Runs `work` once for this key. A later call with the same request gets the stored answer; one with another
    /// request is refused. A refused call leaves its id usable, because nothing of it was written.
    pub(crate) fn once<R, A>(
        &mut self,
        session: &Session,
        operation: &str,
        request: &R,
        work: impl FnOnce(&mut EventWriter<'_, '_>) -> Result<A>,
    ) -> Result<Reply<A>>
    where
        R: Serialize,
        A: Serialize + DeserializeOwned,
    {
        let call = KeyedCall { session, operation, fingerprint: self.fingerprint(operation, request)? };
        self.run_once(&call, &HostView::default(), work).map_err(|error| error.placed_in(request))
    }

    /// The same for work that asks about the host: it starts again after each look at the world.
    pub(crate) fn once_viewing<R, A>(
        &mut self,
        session: &Session,
        operation: &str,
        request: &R,
        mut work: impl FnMut(&mut EventWriter<'_, '_>) -> Result<A>,
    ) -> Result<Reply<A>>
    where
        R: Serialize,
        A: Serialize + DeserializeOwned,
    {
        let call = KeyedCall { session, operation, fingerprint: self.fingerprint(operation, request)? };
        let done = self.viewing(|cx, view| cx.run_once(&call, view, &mut work));
        done.map_err(|error| error.placed_in(request))
    }

    /// Reads one snapshot of the store, with the answers of the host.
    pub(crate) fn read_viewing<A>(
        &mut self,
        mut work: impl FnMut(&Tx<'_>, &HostView) -> Result<A>,
    ) -> Result<A> {
        self.viewing(|cx, view| work(&cx.store.read()?, view))
    }

    /// Repeats a transaction until it has seen everything it asked for. The host is asked in between.
    pub(crate) fn viewing<A>(
        &mut self,
        mut attempt: impl FnMut(&mut Self, &HostView) -> Result<A>,
    ) -> Result<A> {
        let mut view = HostView::default();
        for _ in 0..LOOKS_MAX {
            let result = attempt(self, &view);
            if !view.is_incomplete() {
                return result;
            }
            view.look(&*self.host());
        }
        Err(Error::new(ErrorCode::Busy, "the verb asked the host too often; its transaction was given up"))
    }

    fn fingerprint(&self, operation: &str, request: &impl Serialize) -> Result<String> {
        let mut document = json!({"operation": operation, "request": request});
        if let Some(written) = self.run_as_written
            && let Some(run) = document["request"].get_mut("run")
        {
            *run = written.into();
        }
        digest::of_value(&document).map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))
    }

    fn run_once<A>(
        &mut self,
        call: &KeyedCall<'_>,
        view: &HostView,
        work: impl FnOnce(&mut EventWriter<'_, '_>) -> Result<A>,
    ) -> Result<Reply<A>>
    where
        A: Serialize + DeserializeOwned,
    {
        let KeyedCall { session, operation, fingerprint } = call;
        let request_id = session.request_id.as_ref().ok_or_else(|| key_required(operation))?;
        let tx = self.store.begin()?;
        let now = self.clock.now();
        if let Some(known) = tx.stored_answer(&session.caller.agent, request_id)? {
            let same = known.fingerprint == *fingerprint;
            return replay(request_id, operation, &known, same);
        }
        // Any call by the holder of claims is a sign of life.
        let lease = Lease::starting(&now, limits::CLAIM_LEASE);
        tx.renew_claims(session.caller.agent.as_str(), session.caller.holder.as_ref(), &now, &lease)?;
        let answer = work(&mut EventWriter {
            tx: &tx,
            now: &now,
            ids: &mut *self.ids,
            caller: &session.caller,
            view,
        })?;
        if view.is_incomplete() {
            return Err(Error::new(ErrorCode::Bug, "the host was not asked before the transaction"));
        }
        let stored = serde_json::to_value(&answer)
            .map_err(|error| Error::new(ErrorCode::Bug, format!("an answer has no JSON form: {error}")))?;
        let (answer, stored) = without_secrets(answer, stored)?;
        if stored.to_string().len() > limits::ANSWER_BYTES_MAX {
            return Err(Error::new(ErrorCode::TooLarge, "the answer is too large to be kept for a retry")
                .hint("ask for less at once"));
        }
        let (operation, fingerprint) = ((*operation).to_owned(), fingerprint.clone());
        let answered = store::StoredAnswer { operation, fingerprint, answer: Some(stored) };
        tx.keep_answer(&session.caller.agent, request_id, &answered, now.at)?;
        // Nearly every call finds none, and to look is cheaper than to delete nothing.
        if tx.old_answers(kept_since(now.at), 1)? > 0 {
            tx.forget_answers(kept_since(tx.confirmed(now.at)?), PRUNED_AT_ONCE)?;
        }
        tx.commit()?;
        Ok(Reply { answer, replayed: false })
    }
}

/// What the caller wrote may be repeated in the answer. A secret in it is kept out of both, so that a retry gets the same.
fn without_secrets<A: DeserializeOwned>(answer: A, stored: Value) -> Result<(A, Value)> {
    if find_in(&stored).is_none() {
        return Ok((answer, stored));
    }
    let clean = scrub_value(stored);
    let answer = serde_json::from_value(clean.clone()).map_err(|error| {
        Error::new(ErrorCode::InvalidInput, format!("the answer would contain a secret: {error}"))
    })?;
    Ok((answer, clean))
}

/// Answers older than this are pruned.
pub(crate) fn kept_since(now: Timestamp) -> Timestamp {
    let kept = i64::try_from(limits::ANSWER_KEPT.as_millis()).expect("BUG: a month fits");
    Timestamp::from_millis(now.millis().saturating_sub(kept))
}

fn replay<A: DeserializeOwned>(
    request_id: &RequestId,
    operation: &str,
    known: &store::StoredAnswer,
    same: bool,
) -> Result<Reply<A>> {
    if !same {
        let message = format!(
            "request id `{}` was used for another request ({})",
            request_id.as_str(),
            known.operation
        );
        return Err(Error::new(ErrorCode::IdempotencyKeyReused, message)
            .hint("use a new request id for a new request, and the old one only to repeat the old request")
            .details(json!({"operation": known.operation, "asked": operation})));
    }
    let Some(answer) = &known.answer else {
        let message =
            format!("request id `{}` was answered long ago; its answer was pruned", request_id.as_str());
        return Err(Error::new(ErrorCode::IdempotencyExpired, message)
            .hint("the request was done and is not repeated"));
    };
    let answer = serde_json::from_value(answer.clone()).map_err(|error| {
        Error::new(ErrorCode::Corrupt, format!("a stored answer cannot be read: {error}"))
    })?;
    Ok(Reply { answer, replayed: true })
}
