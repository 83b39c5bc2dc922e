//! Creates an access token. Only a person at a terminal may: a token that made tokens could not be taken back.

use std::time::Duration;

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::limits;
use contract::domain::principal::Action;
use contract::domain::time::Timestamp;
use contract::domain::token::{NewToken, Token, TokenScope, TokenSecret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Tx;

use crate::context::{Context, Session};
use crate::decision::{Decider, about_id};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct Create;

impl Verb for Create {
    const NAME: &'static str = "token.create";
    const COMMAND: &'static str = "token create";
    const SUMMARY: &'static str = "Create a token that lets a program decide for a person";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(create);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What the token is called in lists and as the actor of what it decides: a-z, 0-9, `-`, `_` and `.`.
    pub name: String,
    pub scope: TokenScope,
    /// How long it is valid. Default: until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    #[serde(flatten)]
    pub token: Token,
    /// What the program presents. It is shown once: a repeated request does not show it again.
    #[serde(default)]
    pub secret: Option<String>,
}

pub fn create(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    refuse_name(&request.name)?;
    let (bits, now) = ([cx.ids.random_bits(), cx.ids.random_bits()], cx.clock.now().at);
    let secret = TokenSecret::new(mint(&mut *cx.ids, now), bits);
    let prepare = |cx: &mut Context| {
        refuse_second(&cx.store.read()?, &request.name)?;
        cx.decision_by(session, Decider::Person, action(request))
    };
    let mut reply = cx.decide_once(session, (Create::NAME, request), prepare, |work, decision| {
        let mut work = decision.act(work, &action(request))?;
        refuse_second(work.tx, &request.name)?;
        let token = NewToken {
            id: secret.id().clone(),
            name: request.name.clone(),
            scope: request.scope,
            hash: secret.hash(),
            created_by: work.caller.entity.clone(),
            expires_at: expiry(work.now.at, request),
        };
        let message = format!("Token {} with the scope {} created", token.name, token.scope);
        work.change(&about_id(token.id.as_str()), &message, &Change::TokenCreated { token })?;
        let token = work.tx.access_token(secret.id())?;
        Ok(Answer { token: token.expect("BUG: created one line up"), secret: None })
    })?;
    // The stored answer has no secret, so only this call can show it.
    reply.answer.secret = (!reply.replayed).then(|| secret.text().to_owned());
    Ok(reply)
}

fn action(request: &Request) -> Action {
    let until = request
        .expires_in_seconds
        .map_or_else(|| "until it is revoked".to_owned(), |seconds| format!("for {seconds} seconds"));
    let question = format!(
        "Create token `{}` with the scope `{}`, valid {until}.\nWhoever has it can decide for you: approvals, budgets, \
         trust and forced releases.",
        request.name, request.scope
    );
    Action::new(Create::NAME, question)
}

fn expiry(now: Timestamp, request: &Request) -> Option<Timestamp> {
    request.expires_in_seconds.map(|seconds| now.plus(Duration::from_secs(seconds)))
}

fn refuse_name(name: &str) -> Result<()> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    if (1..=limits::TOKEN_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    let problem = format!("must be 1 to {} of a-z, 0-9, `-`, `_` and `.`", limits::TOKEN_NAME_BYTES_MAX);
    Err(Error::field(ErrorCode::InvalidInput, "name", &problem))
}

/// A name is the actor of decisions, so no two tokens that are in use may share it.
fn refuse_second(tx: &Tx<'_>, name: &str) -> Result<()> {
    let known = tx.access_tokens(limits::ACCESS_TOKENS_MAX)?;
    if known.iter().any(|token| token.name == name) {
        return Err(Error::new(ErrorCode::AlreadyExists, format!("there is a token `{name}`"))
            .details(json!({"name": name}))
            .hint("choose another name; a revoked token keeps its name"));
    }
    if known.len() >= limits::ACCESS_TOKENS_MAX {
        return Err(Error::new(ErrorCode::TooLarge, "the store has too many tokens")
            .details(json!({"limit": "ACCESS_TOKENS_MAX", "value": limits::ACCESS_TOKENS_MAX})));
    }
    Ok(())
}
