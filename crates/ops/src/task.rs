//! Tasks: the verbs of the agent contract.

pub mod add_dependency;
pub mod begin;
pub mod complete;
pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod ready;
pub mod remove_dependency;
pub mod set_priority;
pub mod set_status;

use contract::continuity;
use contract::domain::attempt::AttemptId;
use contract::domain::change::Change;
use contract::domain::check::CheckSeen;
use contract::domain::code::ErrorCode;
use contract::domain::event_kind::{TASK_VERIFIED, TASK_WITHHELD};
use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::reason::Reason;
use contract::domain::run::DocumentKind;
use contract::domain::status::{Evidence, Status};
use contract::domain::task::{Command, Task, TaskId, apply, decide, not_held_by_another};
use contract::domain::text::counted;
use contract::secrets;
use serde_json::json;
use store::{EventFilter, LoggedEvent, Tx};

use crate::checking::{self, CheckResults};
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::record::{About, EventBody, EventWriter};

/// The task with this id, or an error that names it.
pub(crate) fn required(tx: &Tx<'_>, id: &str) -> Result<Task> {
    if id.is_empty() {
        return Err(Error::required("id"));
    }
    let parsed: TaskId = Id::parse(id).map_err(|_| Error::not_found("task", id))?;
    tx.task(&parsed)?.ok_or_else(|| Error::not_found("task", id))
}

/// Why something is so, in a caller's words: bounded, and without secrets before it is stored anywhere.
pub(crate) fn reason(text: Option<&str>) -> Result<Option<String>> {
    text.map(|text| bounded("the reason", text).map(|text| secrets::scrub(text).into_owned())).transpose()
}

/// The same as the reason of a task.
pub(crate) fn task_reason(text: Option<&str>) -> Result<Option<Reason>> {
    Ok(reason(text)?.as_deref().map(continuity::reason::read))
}

/// A text that goes into an event.
pub(crate) fn bounded<'t>(what: &str, text: &'t str) -> Result<&'t str> {
    if text.len() > limits::EVENT_MESSAGE_BYTES_MAX {
        let message = format!("{what} is longer than {} bytes", limits::EVENT_MESSAGE_BYTES_MAX);
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    Ok(text)
}

/// Decides and makes a change of a task, and keeps the value in step, and the ledger it may be in. Returns each
/// event's number with its change.
pub(crate) fn carry_out(
    work: &mut EventWriter<'_, '_>,
    task: &mut Task,
    command: &Command,
    message: &str,
) -> Result<Vec<(i64, Change)>> {
    let made = carry_out_alone(work, task, command, message)?;
    crate::crew::follow(work, task)?;
    Ok(made)
}

/// The same for callers that update the ledger themselves.
pub(crate) fn carry_out_alone(
    work: &mut EventWriter<'_, '_>,
    task: &mut Task,
    command: &Command,
    message: &str,
) -> Result<Vec<(i64, Change)>> {
    let mut made = Vec::new();
    for decided in decide(task, command, work.now)? {
        let about = about(work.tx, task)?;
        let is_release = matches!(&decided, Change::TaskReleased { .. });
        let is_claim = matches!(&decided, Change::TaskClaimed { .. });
        let message = match command {
            Command::Begin(_) | Command::Claim(_) if is_release => "Claim ended",
            Command::Begin(_) if is_claim => "Task claimed",
            Command::Begin(_)
            | Command::Claim(_)
            | Command::Move { .. }
            | Command::Release { .. }
            | Command::Evict => message,
        };
        let number = work.change(&about, message, &decided)?;
        apply(task, &decided, work.now.at);
        if let Change::TaskMoved { to, .. } = &decided {
            crate::limit_window::follow(work, &about, (&task.id, *to))?;
        }
        if matches!(&decided, Change::TaskMoved { to: Status::Done, .. }) {
            unblock_dependents(work, task)?;
        }
        made.push((number, decided));
    }
    Ok(made)
}

/// Tasks that waited for this one alone can be started.
pub(crate) fn unblock_dependents(work: &mut EventWriter<'_, '_>, done: &Task) -> Result<()> {
    for task in work.tx.unblocked_dependents(&done.id)? {
        unblock(work, &task, &format!("Unblocked: {} is done", done.title))?;
    }
    Ok(())
}

/// Unblocks a task.
pub(crate) fn unblock(work: &mut EventWriter<'_, '_>, task: &Task, message: &str) -> Result<i64> {
    let unblocked = Change::TaskMoved {
        task_id: task.id.clone(),
        from: task.status,
        to: Status::Todo,
        evidence: None,
        reason: None,
    };
    let about = about(work.tx, task)?;
    let message = format!("Status changed to: {} ({message})", Status::Todo.continuity());
    work.change(&about, &message, &unblocked)
}

/// Refuses tasks of a run: its plan fixes what they are and what they depend on.
pub(crate) fn outside_runs(task: &Task) -> Result<()> {
    match &task.part {
        None => Ok(()),
        Some(part) => {
            Err(Error::new(ErrorCode::WrongState, "the task belongs to a run, whose plan is fixed")
                .hint("submit another plan, or end the run with `writ cancel`")
                .details(json!({"run_id": part.run_id})))
        }
    }
}

/// Refuses tasks that only their run may move: the rows of a crew's ledger, and tasks of an engine once they are done.
/// The others may be done by hand.
pub(crate) fn open_to_agents(tx: &Tx<'_>, task: &Task) -> Result<()> {
    let Some(part) = &task.part else { return Ok(()) };
    let run = crate::run::required(tx, &part.run_id)?;
    let refused = if run.asked.kind == DocumentKind::Ledger {
        Error::new(ErrorCode::WrongState, "the task is a row of a crew's ledger").hint(
            "`writ assignment issue` gives it out and `writ result submit` ends it; `writ ledger apply` moves the row",
        )
    } else if task.status == Status::Done {
        Error::new(ErrorCode::WrongState, "the task is done in its run").hint("submit a plan to do it again")
    } else {
        return Ok(());
    };
    Err(refused.details(json!({"run_id": part.run_id, "status": task.status})))
}

/// The attempt at this task that the call comes from, while an engine works on it.
pub(crate) fn calling_attempt(cx: &mut Context, session: &Session, id: &str) -> Result<Option<AttemptId>> {
    let tx = cx.store.read()?;
    let Some(task) = TaskId::parse(id).ok().map(|id| tx.task(&id)).transpose()?.flatten() else {
        return Ok(None);
    };
    if task.part.is_none() || task.status != Status::InProgress || !tx.has_open_attempt(&task.id)? {
        return Ok(None);
    }
    let Some(attempt) = &*session.origin.attempt else { return Ok(None) };
    let is_own = tx.task_of_attempt(attempt)?.as_ref() == Some(&task.id);
    Ok(is_own.then(|| attempt.clone()))
}

/// Refuses a move of a task by its own program: the run decides what becomes of it.
pub(crate) fn refuse_own_move(cx: &mut Context, session: &Session, id: &str) -> Result<()> {
    if calling_attempt(cx, session, id)?.is_none() {
        return Ok(());
    }
    let message = "the run moves the task when its program has ended";
    Err(Error::new(ErrorCode::WrongState, message)
        .hint("report the outcome with `writ task complete --outcome done|blocked --summary TEXT`"))
}

/// Who starts a task holds it, whatever verb was used.
pub(crate) fn hold_what_was_started(work: &mut EventWriter<'_, '_>, task: &mut Task) -> Result<()> {
    if task.status == Status::InProgress && task.claim.is_none() && task.part.is_none() {
        let token = work.tx.next_number("fencing")?;
        let command = Command::Claim(work.caller.claim(token));
        carry_out(work, task, &command, "Task claimed")?;
    }
    Ok(())
}

/// What the task's checks show before it is moved to `to`. Nothing is run for a repeated request, for another state
/// than done, or where the move would be refused anyway. Checks that fail are an error.
pub(crate) fn checks_before(
    cx: &mut Context,
    session: &Session,
    id: &str,
    to: Status,
) -> Result<CheckResults> {
    if to != Status::Done || cx.was_answered(session)? {
        return Ok(CheckResults::default());
    }
    let task = judged(cx, session, id)?;
    checking::passed_checks(cx, session, &task)
}

/// The task, if the caller may complete it.
pub(crate) fn judged(cx: &mut Context, session: &Session, id: &str) -> Result<Task> {
    let now = cx.now();
    let tx = cx.store.read()?;
    let task = required(&tx, id)?;
    open_to_agents(&tx, &task)?;
    not_held_by_another(&task, &session.caller.agent, &now)?;
    Ok(task)
}

/// What the checks of a done task showed when they last ran.
pub(crate) fn checks_seen(tx: &Tx<'_>, task: &Task) -> Result<Vec<CheckSeen>> {
    if task.status != Status::Done || task.evidence.is_none() {
        return Ok(Vec::new());
    }
    let last = tx.attempts_of_task(&task.id)?.pop().and_then(|last| last.outcome);
    if let Some(outcome) = last.filter(|outcome| !outcome.checks.is_empty()) {
        return Ok(outcome.checks);
    }
    let said = last_of(tx, &task.id, &[TASK_VERIFIED, TASK_WITHHELD])?;
    let checks = said.and_then(|event| serde_json::from_value(event.record.payload["checks"].clone()).ok());
    Ok(checks.unwrap_or_default())
}

/// The last event of these kinds that writ itself wrote about a task.
pub(crate) fn last_of(tx: &Tx<'_>, task: &TaskId, kinds: &[&str]) -> Result<Option<LoggedEvent>> {
    let filter = EventFilter {
        task_id: Some(task.to_string()),
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        own: true,
        limit: 1,
        ..EventFilter::default()
    };
    Ok(tx.events(&filter)?.pop())
}

/// Writes down what a `done` stands on.
pub(crate) fn note_evidence(work: &mut EventWriter<'_, '_>, task: &Task, seen: &[CheckSeen]) -> Result<()> {
    if seen.is_empty() || task.status != Status::Done {
        return Ok(());
    }
    let about = about(work.tx, task)?;
    let passed = format!("{} passed", counted(seen.len(), "check"));
    let (kind, message) = match (&task.evidence, &task.blocked_reason) {
        (Some(Evidence::Claimed), Some(reason)) => {
            (TASK_WITHHELD, format!("{passed}, but done is only claimed: {reason}"))
        }
        (Some(Evidence::Verified | Evidence::SelfChecked), _) => (TASK_VERIFIED, passed),
        (Some(Evidence::Claimed) | None, _) => return Ok(()),
    };
    work.say(&about, EventBody::event(kind, message, json!({"checks": seen})))?;
    Ok(())
}

/// Events of a run's task belong to the run's stream and share its correlation.
pub(crate) fn about(tx: &Tx<'_>, task: &Task) -> Result<About> {
    let mut about = About::task(task);
    if let Some(part) = &task.part
        && let Some(run) = tx.run(&part.run_id)?
    {
        about.stream = store::Stream::Run(part.run_id.clone());
        about.corr = run.asked.corr;
        about.reply_to = Some(run.asked.origin_id);
    }
    Ok(about)
}
