//! Ends the trust in a project. Anyone may: nothing more can run afterwards.

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use serde_json::json;

use super::grant::Request;
use super::{View, about, look};
use crate::context::{Context, Key};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Revoke;

impl Verb for Revoke {
    const NAME: &'static str = "trust.revoke";
    const COMMAND: &'static str = "trust --revoke";
    const SUMMARY: &'static str = "Stop trusting the commands in a project's .writ directory";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = View;
    const FUNCTION: Function<Self> = Function::Once(revoke);
}

pub fn revoke(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<View>> {
    let (found, commands) =
        if cx.was_answered(key)? { (String::new(), None) } else { look(cx, &request.directory)? };
    cx.once(key, Revoke::NAME, request, |work| {
        // A project that was deleted is known only by the name that was trusted.
        let known = work.tx.trust(&found)?.or(work.tx.trust(&request.directory)?);
        let Some(trust) = known else {
            return Err(Error::new(ErrorCode::NotFound, format!("{found} is not trusted"))
                .hint("`writ trust --list` shows the trusted projects")
                .details(json!({"directory": found})));
        };
        let directory = trust.directory;
        let message = format!("Trust in {directory} revoked");
        let revoked = Change::ProjectTrustRevoked { directory: directory.clone() };
        work.change(&about(&directory), &message, &revoked)?;
        Ok(View::of(&directory, commands.as_ref(), None))
    })
}
