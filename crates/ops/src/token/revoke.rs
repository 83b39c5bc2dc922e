//! Revokes an access token. Anyone may revoke one; it cannot be used afterwards.

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::token::Token;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Tx;

use crate::context::{Context, Session};
use crate::decision::about;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct Revoke;

impl Verb for Revoke {
    const NAME: &'static str = "token.revoke";
    const COMMAND: &'static str = "token revoke";
    const SUMMARY: &'static str = "Revoke a token";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Token;
    const FUNCTION: Function<Self> = Function::Once(revoke);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The token's name or id.
    pub token: String,
}

pub fn revoke(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Token>> {
    cx.once(session, Revoke::NAME, request, |work| {
        let token = find(work.tx, &request.token)?;
        if token.revoked_at.is_some() {
            return Err(Error::new(ErrorCode::WrongState, format!("token `{}` is revoked", token.name)));
        }
        let message = format!("Token {} revoked", token.name);
        work.change(&about(&token), &message, &Change::TokenRevoked { token_id: token.id.clone() })?;
        find(work.tx, token.id.as_str())
    })
}

fn find(tx: &Tx<'_>, named: &str) -> Result<Token> {
    let found = match Id::parse(named) {
        Ok(id) => tx.access_token(&id)?,
        Err(_) => tx.access_tokens(limits::ACCESS_TOKENS_MAX)?.into_iter().find(|token| token.name == named),
    };
    // What was given could be a secret, so it is not repeated.
    found.ok_or_else(|| {
        Error::new(ErrorCode::NotFound, "no token has this name or id")
            .hint("`writ token list` shows all tokens")
    })
}
