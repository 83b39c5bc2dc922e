//! Resolves `@last` in requests to verbs that take run ids.

use super::LAST;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{self, Verb};

/// Calls the verb with the id of the run that `@last` means. The fingerprint has the name, as it was written: a repeated
/// request gets its stored answer although another run may be the newest by now.
pub fn call<V: Verb>(cx: &mut Context, session: &Session, request: &V::Request) -> Result<Reply<V::Answer>> {
    let document = serde_json::to_value(request).unwrap_or_default();
    if document.get("run").is_none_or(|run| run != LAST) {
        return verb::call::<V>(cx, session, request);
    }
    let mut document = document;
    let is_repeated = cx.was_answered(session)?;
    match cx.run_named(session, LAST) {
        Ok(run) => document["run"] = run.asked.id.to_string().into(),
        Err(error) if !is_repeated => return Err(error),
        // The stored answer needs no run.
        Err(_) => {}
    }
    cx.run_as_written = Some(LAST);
    let reply = V::read(document).and_then(|request| verb::call::<V>(cx, session, &request));
    cx.run_as_written = None;
    reply
}
