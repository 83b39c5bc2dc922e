//! What a handler does in a sandbox: it tells the session about its task, and passes on what the session reports.

use std::path::Path;

use contract::continuity::state::CloseOutcome;
use ops::Result;
use ops::context::Key;
use ops::event::note;
use ops::task::complete;

use super::session::{Answer, with_suffix};
use crate::hooks::adapter::HookEvent;
use crate::hooks::handling::{Act, Note};
use crate::inside;

pub(super) fn work(socket: &Path, act: Act, key: &Key) -> Result<Answer> {
    match act {
        Act::Resume => {
            let request = ops::resume::Request::default();
            let told = inside::call::<ops::resume::Resume>(socket, Some(key), &request)?.prompt;
            Ok((!told.is_empty()).then_some((HookEvent::SessionStart, told)))
        }
        Act::Note { note, .. } => record(socket, key, note),
        Act::Complete { task_id, note } => {
            let summary = note.message.clone();
            record(socket, key, note)?;
            let outcome = CloseOutcome::Done;
            let request =
                complete::Request { id: task_id, outcome, summary, label: None, blocked_reason: None };
            inside::call::<complete::Complete>(socket, Some(&with_suffix(key, "close")?), &request)?;
            Ok(None)
        }
        Act::Stop { heartbeat, last_words } => {
            if let Some(words) = last_words {
                record(socket, &with_suffix(key, "last_words")?, words)?;
            }
            record(socket, key, heartbeat)
        }
        // Claims, checkpoints and keeping the store small are the engine's, which runs outside.
        Act::Nothing | Act::Checkpoint { .. } | Act::End | Act::Renew => Ok(None),
    }
}

fn record(socket: &Path, key: &Key, note: Note) -> Result<Answer> {
    let (kind, message, metadata) = (note.kind.to_owned(), note.message, note.metadata);
    let request = note::Request { kind, message, metadata, project_id: None, task_id: None };
    inside::call::<note::Note>(socket, Some(key), &request)?;
    Ok(None)
}
