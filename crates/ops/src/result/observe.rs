//! Looks at what a worker left behind: the files in its scope, and what the author's checks say about them.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use contract::operator::Outcome;
use store::Store;

use super::submit::Request;
use super::{JudgedResult, Observation, judge};
use crate::assignment::packet::HEARTBEAT_SECONDS_MIN;
use crate::assignment::snapshot::{locked_scopes, watch_name, watched};
use crate::checking::CheckResults;
use crate::context::{Context, SharedClock};
use crate::error::Result;
use crate::heartbeat;

/// Judges a result without changing anything, and looks at the world only for one that is not refused anyway.
pub(super) fn observe(cx: &mut Context, request: &Request) -> Result<Observation> {
    let judged = judge(cx, &request.sent())?;
    while_alive(cx, &judged, |cx| look(cx, &judged))
}

fn look(cx: &mut Context, judged: &JudgedResult) -> Result<Observation> {
    let host = cx.host();
    // An assignment that was interrupted before its snapshot was kept is judged without one.
    let locked = match &judged.issued.snapshot {
        Some(_) => locked_scopes(&cx.store.read()?, &judged.issued)?,
        None => None,
    };
    // Before the checks: what they leave behind is not the worker's.
    let root = locked.as_ref().map(|(root, _)| root.clone());
    let workspace = match locked {
        Some((root, scopes)) => {
            let watched = watched(cx, &root, scopes, &judged.issued)?;
            Some((host.end_watch(&root, &watch_name(judged.issued.token), &watched), watched))
        }
        None => None,
    };
    let checked = match judged.result.status {
        Outcome::Done => {
            let task = crate::task::required(&cx.store.read()?, judged.issued.task_id.as_str())?;
            crate::checking::run_checks(cx, &task)?
        }
        Outcome::Blocked | Outcome::Failed => CheckResults::default(),
    };
    let CheckResults { seen: checks, withheld, .. } = checked;
    Ok(Observation { checks, withheld, workspace, root, arrived: Some(judged.arrived.clone()) })
}

/// Runs `work` while a thread keeps the sender's lease alive: the sender is done, and must not time out because its
/// checks take long.
fn while_alive<A>(
    cx: &mut Context,
    judged: &JudgedResult,
    work: impl FnOnce(&mut Context) -> Result<A>,
) -> Result<A> {
    let place = cx.place();
    std::thread::scope(|scope| {
        let (working, done) = mpsc::channel::<()>();
        let beat = move || beat_until(&done, || place.open().ok(), &place.clock, judged);
        crate::checking::beside(scope, beat)?;
        let answer = work(cx);
        drop(working);
        answer
    })
}

/// Sends heartbeats until the channel is closed. The store is opened when the first one is due.
fn beat_until(
    done: &mpsc::Receiver<()>,
    open: impl Fn() -> Option<Store>,
    clock: &SharedClock,
    judged: &JudgedResult,
) {
    const FIRST: Duration = Duration::from_secs(1);
    let request = heartbeat::Request {
        run: judged.issued.run_id.to_string(),
        task: judged.reference.to_string(),
        token: Some(judged.issued.token.into()),
        at: None,
    };
    let interval = judged.issued.packet["task"]["heartbeat_interval_seconds"].as_u64();
    let interval = interval.unwrap_or(HEARTBEAT_SECONDS_MIN);
    let (mut wait, mut store) = (FIRST, None);
    while done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        if store.is_none() {
            store = open();
        }
        if let Some(store) = &mut store {
            // One that failed is sent again at the next turn; the result counts from its arrival in any case.
            heartbeat::beat(store, &**clock, &request, |_, _| Ok(judged.issued.token)).ok();
        }
        wait = Duration::from_secs(interval.max(1));
    }
}
