//! Records what confined a command of a loop or a worker. It is no verb: a confined program must not be able to say it.

use contract::domain::event_kind::SANDBOX_IN_FORCE;
use serde_json::Value;

use crate::context::{Caller, Context};
use crate::error::Result;
use crate::event::target;
use crate::host::HostView;
use crate::record::{EventBody, EventWriter};

pub struct Request<'r> {
    pub message: String,
    pub metadata: Value,
    /// The project that the program works in; else the one the agent is in.
    pub project_id: Option<&'r str>,
    pub task_id: &'r str,
}

pub fn record(cx: &mut Context, caller: &Caller, request: &Request<'_>) -> Result<()> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let view = HostView::default();
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view: &view };
    let (about, _) = target::of_event(&mut work, Some(request.task_id), request.project_id)?;
    let says = EventBody::event(SANDBOX_IN_FORCE, request.message.clone(), request.metadata.clone());
    work.say(&about, says)?;
    Ok(tx.commit()?)
}
