//! Clears a limit window, e.g. after buying more. Open to every caller: it grants nothing, budgets still hold, and
//! a provider that still refuses opens the window again.

use contract::domain::code::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::{Limit, limit_of};
use super::{about, end};
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Clear;

impl Verb for Clear {
    const NAME: &'static str = "limits.clear";
    const COMMAND: &'static str = "limits clear";
    const SUMMARY: &'static str = "Let tasks use a limited resource again before its reset time";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Limit;
    const FUNCTION: Function<Self> = Function::Once(clear);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The resource as `limits list` names it: `claude`, `claude/opus`.
    pub resource: String,
}

/// Returns the window as it was.
pub fn clear(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Limit>> {
    if request.resource.is_empty() {
        return Err(Error::required("resource"));
    }
    cx.once(session, Clear::NAME, request, |work| {
        let Some(window) = work.tx.limit_window(&request.resource)? else {
            // What was given could be a secret, so it is not repeated.
            return Err(Error::new(ErrorCode::NotFound, "no limit of this resource is known")
                .hint("`writ limits list` shows all limits"));
        };
        let cleared = limit_of(work.tx, window, work.now)?;
        let by = work.caller.entity.clone();
        end(work, &about(&request.resource), &request.resource, Some(by))?;
        Ok(cleared)
    })
}
