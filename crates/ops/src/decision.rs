//! Decisions that only a person may make: confirmed at a terminal, or made with a token that a person created.
//!
//! A verb describes the exact action, asks for the decision while no transaction is open, and describes it again in the
//! transaction that acts: if that is another action by then, nothing is done. Nobody is asked for a request that was
//! answered before.

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::principal::{Action, Principal};
use contract::domain::priority::Priority;
use contract::domain::request::Agent;
use contract::domain::time::Timestamp;
use contract::domain::token::{NotPermitted, Token, TokenScope, TokenSecret};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use store::Tx;

use crate::context::{Caller, Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::{About, EventWriter, stream_of};

/// A person's decision for one exact action, to be used in the transaction that acts.
#[derive(Debug)]
pub(crate) struct PersonDecision {
    caller: Caller,
    action: Action,
    basis: Basis,
}

#[derive(Debug)]
enum Basis {
    /// A person typed the action's digits.
    Person,
    Token(TokenSecret),
}

/// Who may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decider {
    /// A person at a terminal, or a token with the scope `approve`.
    PersonOrToken,
    /// Only a person at a terminal.
    Person,
}

impl Context {
    /// Runs `prepare`, which asks for a decision, and then `act` in a transaction, once for this key. A repeated request gets
    /// the stored answer without another question.
    pub(crate) fn decide_once<R, A, P>(
        &mut self,
        session: &Session,
        (operation, request): (&str, &R),
        prepare: impl FnOnce(&mut Context) -> Result<P>,
        act: impl FnOnce(&mut EventWriter<'_, '_>, P) -> Result<A>,
    ) -> Result<Reply<A>>
    where
        R: Serialize,
        A: Serialize + DeserializeOwned,
    {
        let prepared = if self.was_answered(session)? { None } else { Some(prepare(self)?) };
        self.once(session, operation, request, |work| {
            let pruned =
                || Error::new(ErrorCode::Busy, "the stored answer of this request was pruned meanwhile");
            act(work, prepared.ok_or_else(|| pruned().hint("repeat the call"))?)
        })
    }

    /// A person's decision for this action. Refused if there is neither a person at a terminal who confirms it nor a
    /// token that permits it.
    pub(crate) fn decision(&mut self, session: &Session, action: Action) -> Result<PersonDecision> {
        self.decision_by(session, Decider::PersonOrToken, action)
    }

    pub(crate) fn decision_by(
        &mut self,
        session: &Session,
        decider: Decider,
        action: Action,
    ) -> Result<PersonDecision> {
        let host = self.host();
        if decider == Decider::PersonOrToken
            && let Some(text) = (session.origin.access_token)()?
        {
            let secret =
                TokenSecret::parse(&text).ok_or_else(|| not_permitted("the token", NotPermitted::Unknown))?;
            let now = self.clock.now().at;
            let token = permitted(&self.store.read()?, &secret, now)?;
            let caller = Caller::of(&Principal::Token(token.name));
            return Ok(PersonDecision { caller, action, basis: Basis::Token(secret) });
        }
        if !action.is_confirmed_by(&host.ask_person(&action)?) {
            return Err(Error::new(ErrorCode::Denied, "the action was not confirmed, so nothing was done")
                .details(json!({"rule": "not_confirmed"}))
                .hint("type the digits that are shown with the action to confirm it"));
        }
        let person = Agent::parse(&session.origin.person)
            .map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))?;
        let caller = Caller::of(&Principal::Person(person));
        Ok(PersonDecision { caller, action, basis: Basis::Person })
    }
}

impl PersonDecision {
    /// Writes for the principal that decided `action`, which is computed in this transaction. Refused if it is not the one
    /// that was confirmed. A token must still be valid, and its use is recorded.
    pub(crate) fn act<'a, 't>(
        &'a self,
        work: &'a mut EventWriter<'_, 't>,
        action: &Action,
    ) -> Result<EventWriter<'a, 't>> {
        let (mut work, token) = self.confirmed(work, action)?;
        if let Some(token) = token {
            let message = format!("Token {} was used for a decision", token.name);
            work.change(&about(&token), &message, &Change::TokenUsed { token_id: token.id.clone() })?;
        }
        Ok(work)
    }

    /// The same for a step before the action: the token's use is recorded when it is done.
    pub(crate) fn announce<'a, 't>(
        &'a self,
        work: &'a mut EventWriter<'_, 't>,
        action: &Action,
    ) -> Result<EventWriter<'a, 't>> {
        Ok(self.confirmed(work, action)?.0)
    }

    fn confirmed<'a, 't>(
        &'a self,
        work: &'a mut EventWriter<'_, 't>,
        action: &Action,
    ) -> Result<(EventWriter<'a, 't>, Option<Token>)> {
        if self.action != *action {
            return Err(changed());
        }
        let token = match &self.basis {
            Basis::Person => None,
            Basis::Token(secret) => Some(permitted(work.tx, secret, work.now.at)?),
        };
        Ok((work.acting_as(&self.caller), token))
    }
}

/// The action is not the one that was confirmed.
pub(crate) fn changed() -> Error {
    let message = "the action changed meanwhile, so nothing was done";
    Error::new(ErrorCode::VersionConflict, message)
        .details(json!({"rule": "changed_meanwhile"}))
        .hint("repeat the command; it shows the action as it is now")
}

/// The token of this secret, if it may decide for a person now.
fn permitted(tx: &Tx<'_>, secret: &TokenSecret, now: Timestamp) -> Result<Token> {
    let Some(token) = tx.access_token(secret.id())? else {
        return Err(not_permitted("the token", NotPermitted::Unknown));
    };
    let named = format!("token `{}`", token.name);
    token.permits(secret, TokenScope::Approve, now).map_err(|fault| {
        // A wrong secret must not show that its id exists.
        let named = if fault == NotPermitted::Unknown { "the token" } else { &named };
        not_permitted(named, fault)
    })?;
    Ok(token)
}

fn not_permitted(named: &str, fault: NotPermitted) -> Error {
    Error::new(ErrorCode::Denied, format!("{named} {fault}")).details(json!({"rule": fault.rule()})).hint(
        "`writ token list` shows the tokens; a person creates one with `writ token create` at a terminal",
    )
}

/// Tokens belong to the store, not to a project.
pub(crate) fn about(token: &Token) -> About {
    about_id(token.id.as_str())
}

pub(crate) fn about_id(id: &str) -> About {
    About {
        stream: stream_of(None),
        corr: id.to_owned(),
        reply_to: None,
        priority: Priority::Normal,
        project_id: None,
        task_id: None,
        run_id: None,
    }
}
