//! What a handler does in a sandbox: it tells the session about its task, and passes on what the session reports.

use std::path::Path;

use contract::continuity::state::CloseOutcome;
use ops::event::note;
use ops::task::complete;
use ops::{Result, Session};

use super::session::{Answer, with_suffix};
use crate::hooks::adapter::HookEvent;
use crate::hooks::handling::{Act, HookNote};
use crate::inside;

pub(super) fn work(socket: &Path, act: Act, session: &Session) -> Result<Answer> {
    match act {
        Act::Resume => {
            let request = ops::resume::Request::default();
            let told = inside::call::<ops::resume::Resume>(socket, session, &request)?.prompt;
            Ok((!told.is_empty()).then_some((HookEvent::SessionStart, told)))
        }
        Act::Note { note, .. } => record(socket, session, note),
        Act::Complete { task_id, note } => {
            let summary = note.message.clone();
            record(socket, session, note)?;
            let outcome = CloseOutcome::Done;
            let request =
                complete::Request { id: task_id, outcome, summary, label: None, blocked_reason: None };
            inside::call::<complete::Complete>(socket, &with_suffix(session, "close")?, &request)?;
            Ok(None)
        }
        Act::Stop { heartbeat, last_words } => {
            if let Some(words) = last_words {
                record(socket, &with_suffix(session, "last_words")?, words)?;
            }
            record(socket, session, heartbeat)
        }
        // Claims, checkpoints and keeping the store small are the engine's, which runs outside.
        Act::Nothing | Act::Checkpoint { .. } | Act::End | Act::Renew => Ok(None),
    }
}

fn record(socket: &Path, session: &Session, note: HookNote) -> Result<Answer> {
    let (kind, message, metadata) = (note.kind.to_owned(), note.message, note.metadata);
    let request = note::Request { kind, message, metadata, project_id: None, task_id: None };
    inside::call::<note::Note>(socket, session, &request)?;
    Ok(None)
}
