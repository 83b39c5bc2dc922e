//! Lists AOP sessions, the one with the newest run first.

use contract::domain::limits;
use contract::domain::run::RunId;
use contract::domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "session.list";
    const COMMAND: &'static str = "session list";
    const SUMMARY: &'static str = "List AOP sessions, the one with the newest run first";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub count: usize,
    pub sessions: Vec<SessionBrief>,
}

/// One session in a few words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionBrief {
    pub session_id: String,
    /// How many of the newest runs of all sessions are its own.
    pub runs: usize,
    pub newest_run: RunId,
    pub newest_at: Timestamp,
}

/// Of the newest runs of all sessions.
pub fn list(cx: &mut Context, _: &Request) -> Result<Answer> {
    let mut sessions: Vec<SessionBrief> = Vec::new();
    for (session_id, run, at) in cx.store.read()?.newest_of_sessions(limits::SESSION_RUNS_MAX)? {
        match sessions.iter_mut().find(|known| known.session_id == session_id) {
            Some(known) => known.runs += 1,
            None => sessions.push(SessionBrief {
                session_id,
                runs: 1,
                newest_run: RunId::parse(&run).expect("BUG: the store has only ids that it minted"),
                newest_at: at,
            }),
        }
    }
    Ok(Answer { count: sessions.len(), sessions })
}
