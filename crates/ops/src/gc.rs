//! Keeps the store small: summarizes long streams and removes old events, in bounded pieces.

pub mod all;
mod stream;

use contract::continuity::substance::ENGINE;
use contract::domain::code::ErrorCode;
use contract::domain::request::Agent;
use contract::domain::retention::{BATCH_MAX, Retention};
use contract::domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Stream;

use crate::context::{Caller, Context, Session};
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::once::{Reply, kept_since};
use crate::record::{EventBody, EventWriter, stream_of};
use crate::verb::Verb;

/// Streams that one call looks at.
const STREAMS_AT_ONCE: usize = 200;
/// Held streams that an answer names; the rest is counted.
const HELD_MAX: usize = 20;

/// One piece of the work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    #[serde(default)]
    pub retention: Retention,
    /// Continue after this stream, where the last piece ended.
    #[serde(default)]
    pub after: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GcDone")]
pub struct Answer {
    /// Events that a new summary stands for.
    pub archived: u64,
    pub summaries: u64,
    /// Events that were removed.
    pub pruned: u64,
    /// Old answers to request ids, of which only a tombstone stays.
    pub answers_forgotten: u64,
    /// Memories that had expired.
    pub memories_removed: u64,
    /// Events, answers and memories that are old by the clock alone. They are kept until the log has an event from
    /// before the call that is past their time too.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting: u64,
    pub streams: u64,
    /// Streams with old events that are still needed.
    pub held: Vec<RetainedStream>,
    pub held_more: u64,
    /// Where the next call goes on; nothing when all streams were looked at.
    pub next: Option<String>,
}

/// A stream with old events that are kept, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetainedStream {
    pub stream: String,
    pub by: String,
}

impl Answer {
    fn hold(&mut self, stream: &str, by: String) {
        if self.held.len() < HELD_MAX {
            self.held.push(RetainedStream { stream: stream.to_owned(), by });
        } else {
            self.held_more += 1;
        }
    }

    /// Adds the counts of a further piece.
    pub fn add(&mut self, further: Answer) {
        self.archived += further.archived;
        self.summaries += further.summaries;
        self.pruned += further.pruned;
        self.answers_forgotten += further.answers_forgotten;
        self.memories_removed += further.memories_removed;
        self.waiting += further.waiting;
        self.streams += further.streams;
        self.held_more += further.held_more;
        for RetainedStream { stream, by } in further.held {
            if self.held.last().is_none_or(|last| last.stream != stream) {
                self.hold(&stream, by);
            }
        }
        self.next = further.next;
    }
}

/// One bounded piece of the work on all streams. Call again with the answer's `next` until there is none.
pub fn gc(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    check(&request.retention)?;
    cx.once(session, all::Gc::NAME, request, |work| piece(work, request))
}

/// What [`gc`] would do. Writes nothing.
pub(crate) fn preview_piece(cx: &mut Context, request: &Request) -> Result<Answer> {
    check(&request.retention)?;
    // Does the work in a transaction that is dropped: an estimate would have to be kept in step with it.
    let caller = Caller::agent(Agent::parse("writ").expect("BUG: a fixed name"));
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    piece(
        &mut EventWriter {
            tx: &tx,
            now: &now,
            ids: &mut *cx.ids,
            caller: &caller,
            view: &HostView::default(),
        },
        request,
    )
}

/// Files beside the store from before this time are old. Called before the work, because its events would confirm their
/// own time.
pub fn files_cutoff(cx: &mut Context, retention: &Retention) -> Result<Timestamp> {
    let now = cx.clock.now().at;
    Ok(retention.cutoff(cx.store.read()?.confirmed(now)?))
}

/// One bounded call for one project, or for what is outside of projects: what hooks do when a session pauses or ends.
pub fn maintain(
    cx: &mut Context,
    session: &Session,
    project_id: Option<&str>,
    retention: &Retention,
) -> Result<Reply<Answer>> {
    check(retention)?;
    let request = serde_json::json!({"project_id": project_id, "retention": retention});
    cx.once(session, "store.maintain", &request, |work| {
        let mut answer = Answer::default();
        let stream = stream_of(project_id);
        if let Some(extent) = work.tx.stream_extent(&stream.name())? {
            let mut budget = batch(retention);
            stream::keep_small(work, &stream, extent, retention, (&mut answer, &mut budget))?;
        }
        forget(work, retention, &mut answer)?;
        Ok(answer)
    })
}

fn piece(work: &mut EventWriter<'_, '_>, request: &Request) -> Result<Answer> {
    let mut answer = Answer::default();
    let mut budget = batch(&request.retention);
    let mut after = request.after.clone().unwrap_or_default();
    let streams = work.tx.streams_after(&after, STREAMS_AT_ONCE)?;
    let is_last = streams.len() < STREAMS_AT_ONCE;
    for (name, extent) in streams {
        // A stream that another version named is left to that version.
        if let Some(stream) = Stream::named(&name) {
            stream::keep_small(work, &stream, extent, &request.retention, (&mut answer, &mut budget))?;
        }
        if budget == 0 {
            // There may be more in this one.
            answer.next = Some(after);
            return Ok(answer);
        }
        after = name;
    }
    answer.next = (!is_last).then_some(after);
    forget(work, &request.retention, &mut answer)?;
    if answer.waiting > 0 {
        // The next call then has an earlier event.
        let message = format!("{} old entries wait for a second call to confirm the time", answer.waiting);
        let about = crate::memory::about_project(work, None, None);
        work.say_for(Some(ENGINE), &about, EventBody::event("gc_waiting", message, Value::Null))?;
    }
    Ok(answer)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn check(retention: &Retention) -> Result<()> {
    retention.fault().map_or(Ok(()), |fault| Err(Error::new(ErrorCode::InvalidInput, fault)))
}

fn batch(retention: &Retention) -> usize {
    retention.events_prune_batch.clamp(1, BATCH_MAX)
}

/// Removes old answers and expired memories.
fn forget(work: &mut EventWriter<'_, '_>, retention: &Retention, answer: &mut Answer) -> Result<()> {
    let (now, at_once) = (work.now.at, batch(retention));
    let confirmed = work.tx.confirmed(now)?;
    let over = work.tx.expired_memories(confirmed, at_once)?;
    if over.len() < at_once {
        answer.waiting += (work.tx.expired_memories(now, at_once)?.len() - over.len()) as u64;
    }
    if !over.is_empty() {
        answer.memories_removed += over.len() as u64;
        crate::memory::gc::remove(work, over)?;
    }
    let forgotten = work.tx.forget_answers(kept_since(confirmed), at_once)?;
    answer.answers_forgotten += forgotten as u64;
    answer.waiting += work.tx.old_answers(kept_since(now), at_once - forgotten)?;
    Ok(())
}
