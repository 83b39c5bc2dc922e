//! What an engine writes while it works a run: layer records and changes, many in one transaction.

mod entry;
mod granted;

pub use entry::{JournalEntry, JournalNote, JournalWritten};
pub use granted::Wants;

use contract::domain::attempt::AttemptId;
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::Ended;
use contract::domain::crew::budget::Spent;
use contract::domain::reason::Reason;
use contract::domain::run::{Owner, Run, RunId, RunState};
use contract::domain::status::Status;
use contract::domain::task::{Command, TaskId, TransitionRules};
use contract::domain::time::Timestamp;

use crate::context::{Caller, Context};
use crate::crew::grants;
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::record::{EventBody, EventWriter};
use granted::{JournalStop, end, hold, start};

/// Writes all entries or none. Refused when the run is no longer the writer's.
pub fn write(
    cx: &mut Context,
    caller: &Caller,
    run_id: &RunId,
    owner: &Owner,
    entries: &[JournalEntry],
) -> Result<JournalWritten> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let mut run = super::required(&tx, run_id)?;
    if run.owner.as_ref() != Some(owner) {
        return Err(taken(run_id));
    }
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller, view: &HostView::default() };
    let mut token = None;
    for entry in entries {
        match write_one(&mut work, &mut run, entry)? {
            Ok(granted) => token = granted.or(token),
            Err(JournalStop::Hindered(hindrance)) => return Ok(JournalWritten::Hindered(hindrance)),
            Err(JournalStop::Fenced) => return Ok(JournalWritten::Fenced),
        }
    }
    tx.commit()?;
    Ok(JournalWritten::All { token })
}

/// The refusal for an engine that lost its run.
pub fn taken(run_id: &RunId) -> Error {
    Error::new(ErrorCode::VersionConflict, format!("the run {run_id} was taken by another engine"))
}

/// Returns the number of the grant, if there was one.
fn write_one(
    work: &mut EventWriter<'_, '_>,
    run: &mut Run,
    entry: &JournalEntry,
) -> Result<std::result::Result<Option<i64>, JournalStop>> {
    let mut about = super::about(run);
    match entry {
        JournalEntry::Envelope(note) => {
            about.task_id.clone_from(&note.task_id);
            work.say_for(note.from.as_deref(), &about, says(note))?;
        }
        JournalEntry::MoveTask { task_id, to, reason } => {
            let reason = reason.as_ref();
            move_task(work, task_id, EngineMove { to: *to, reason, verified: false, withheld: None })?;
        }
        JournalEntry::Finish { task_id, verified, withheld } => {
            let (verified, withheld) = (*verified, withheld.as_ref());
            move_task(work, task_id, EngineMove { to: Status::Done, reason: None, verified, withheld })?;
        }
        JournalEntry::Pin { task_id, files } => {
            let task = crate::task::required(work.tx, task_id.as_str())?;
            crate::checking::pin(work, &task, files)?;
        }
        JournalEntry::StartAttempt { attempt, dispatch, wants } => {
            return start(work, run, (attempt, dispatch.as_deref()), wants);
        }
        JournalEntry::NameSession { attempt_id, agent_session } => {
            let named = Change::AttemptNamed {
                attempt_id: attempt_id.clone(),
                agent_session: contract::secrets::scrub(agent_session).into_owned(),
            };
            work.change(&about, "Conversation named", &named)?;
        }
        JournalEntry::EndAttempt { .. } => return end(work, run, entry),
        JournalEntry::RollBack { .. } => return granted::roll_back(work, entry),
        JournalEntry::Land { .. } => return granted::land(work, &about, entry),
        JournalEntry::Hold { task_id, wants } => return hold(work, run, task_id, wants),
        JournalEntry::WaitForLimit { task_id, resource } => {
            crate::limit_window::begin_wait(work, run, task_id, resource)?;
        }
        JournalEntry::LetGo { task_id } => {
            let task = crate::task::required(work.tx, task_id.as_str())?;
            grants::let_go(work, &task, Ended::Withdrawn, Spent::default())?;
        }
        JournalEntry::Aop { task_id, event } => {
            let task = crate::task::required(work.tx, task_id.as_str())?;
            crate::aop_event::say(work, &task, event.as_ref().clone())?;
        }
        JournalEntry::AopOfRun { event } => {
            let names = (run.asked.session_id.clone(), None);
            crate::aop_event::say_about(work, &about, names, event.as_ref().clone())?;
        }
        JournalEntry::MoveRun { to: RunState::Stopped, .. } if run.cancel_requested => {
            // A cancellation was acknowledged; a stopped run would lose it.
            return Err(Error::new(ErrorCode::WrongState, "the run is being canceled"));
        }
        JournalEntry::MoveRun { to, result } => {
            let result = result.clone().map(crate::record::scrubbed);
            let moved = Change::RunMoved { run_id: run.asked.id.clone(), from: run.state, to: *to, result };
            work.change(&about, &format!("Run {}", to.as_str()), &moved)?;
            run.state = *to;
        }
    }
    Ok(Ok(None))
}

/// A move of the engine that works the task. `verified` counts for a task that is done.
struct EngineMove<'m> {
    to: Status,
    reason: Option<&'m Reason>,
    verified: bool,
    withheld: Option<&'m Reason>,
}

fn move_task(work: &mut EventWriter<'_, '_>, task_id: &TaskId, moved: EngineMove<'_>) -> Result<()> {
    let mut task = crate::task::required(work.tx, task_id.as_str())?;
    let scrubbed =
        |reason: &Reason| reason.clone().map_text(|text| contract::secrets::scrub(text).into_owned());
    let command = Command::Move {
        to: moved.to,
        reason: moved.reason.map(scrubbed),
        rules: TransitionRules::Operator,
        verified: moved.verified,
        withheld: moved.withheld.map(scrubbed),
        by: None,
        author: None,
    };
    let message = format!("{}: {}", task.title, moved.to);
    crate::task::carry_out(work, &mut task, &command, &message)?;
    Ok(())
}

/// Notes that an attempt is alive.
pub fn heartbeat(cx: &mut Context, attempt: &AttemptId) -> Result<()> {
    let tx = cx.store.begin()?;
    tx.heartbeat(attempt, cx.clock.now().at)?;
    Ok(tx.commit()?)
}

/// When an attempt was last known to be alive.
pub fn last_heartbeat(cx: &mut Context, attempt: &AttemptId) -> Result<Option<Timestamp>> {
    Ok(cx.store.read()?.heartbeat_of(attempt)?)
}

fn says(note: &JournalNote) -> EventBody {
    EventBody {
        r#type: note.kind.as_str(),
        to: note.to.clone(),
        intent: note.intent.clone(),
        kind: note.intent.clone(),
        message: note.message.clone(),
        payload: note.payload.clone(),
        requires: None,
    }
}
