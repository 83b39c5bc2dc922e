//! Removes what is old from the whole store, in as many bounded pieces as it takes.

use contract::domain::code::ErrorCode;
use contract::domain::request::RequestId;
use contract::domain::retention::Retention;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Witness;

use super::{Answer as Done, Request as Piece, gc, preview_piece};
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::host::Collected;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Gc;

impl Verb for Gc {
    const NAME: &'static str = "store.gc";
    const COMMAND: &'static str = "gc";
    const SUMMARY: &'static str = "Summarize long streams of the log and remove old events";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(collect);
}

pub struct Preview;

impl Verb for Preview {
    const NAME: &'static str = "store.gc_preview";
    const COMMAND: &'static str = "gc --dry-run";
    const SUMMARY: &'static str = "Show what gc would remove";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| preview(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What is kept and for how long.
    #[serde(default)]
    pub retention: Retention,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub dry_run: bool,
    /// Under which the work was done; absent in a preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    pub done: Done,
    /// What became of the snapshots; absent where none are kept, or while others use them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<Collected>,
}

pub fn collect(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    // What one piece writes confirms no time to the next.
    let before = cx.store.use_witness(Witness::Whole(None));
    let done = collect_all(cx, session, request);
    cx.store.use_witness(before);
    done
}

fn collect_all(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let mut piece = Piece { retention: request.retention, after: None };
    let mut total = Done::default();
    let mut replayed = true;
    for number in 1_u64.. {
        let reply = gc(cx, &nth(session, number)?, &piece)?;
        replayed &= reply.replayed;
        piece.after = reply.answer.next.clone();
        total.add(reply.answer);
        if piece.after.is_none() {
            break;
        }
    }
    remove_private(cx)?;
    let request_id = Some(session.request().to_owned());
    // While a snapshot is taken or a rollback runs, they stay until the next call.
    let snapshots = crate::snapshots::gc::collect(cx, false).ok();
    Ok(Reply { answer: Answer { dry_run: false, request_id, done: total, snapshots }, replayed })
}

/// Removes private directories of tasks of ended runs, left by killed engines.
fn remove_private(cx: &mut Context) -> Result<()> {
    let host = cx.host();
    let names = host.private_directories();
    if !names.is_empty() {
        let ended = cx.store.read()?.ended_tasks_by_ends(&names)?;
        ended.iter().for_each(|task| host.forget_private(task));
    }
    Ok(())
}

pub fn preview(cx: &mut Context, request: &Request) -> Result<Answer> {
    let mut piece = Piece { retention: request.retention, after: None };
    let mut total = Done::default();
    loop {
        let done = preview_piece(cx, &piece)?;
        // Nothing was removed, so the same stream would be looked at again and again.
        let stands_still = done.next == Some(piece.after.clone().unwrap_or_default());
        piece.after = done.next.clone();
        total.add(done);
        if piece.after.is_none() || stands_still {
            let snapshots = crate::snapshots::gc::collect(cx, true).ok();
            return Ok(Answer { dry_run: true, request_id: None, done: total, snapshots });
        }
    }
}

/// Each piece has a request id of its own that follows from the first, so that a repeated call repeats no piece.
fn nth(session: &Session, piece: u64) -> Result<Session> {
    if piece == 1 {
        return Ok(session.clone());
    }
    let request_id = RequestId::parse(&format!("{}.{piece}", session.request())).map_err(|error| {
        Error::new(ErrorCode::InvalidInput, error.to_string()).hint("use a shorter request id")
    })?;
    Ok(session.under(request_id))
}
