//! The steps of a discard: look at the clone, announce it, take it away, say that it is done.

use contract::domain::code::ErrorCode;
use contract::domain::event_kind::{WORKTREE_DISCARD_BEGUN, WORKTREE_DISCARDED};
use contract::domain::id::{Attempt, Id, mint};
use contract::domain::principal::Action;
use contract::domain::task::Task;
use contract::domain::worktree::{Loss, Standing, WorktreeRecord};
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Tx;

use super::{Answer, Discard, Request};
use crate::context::{Context, Session};
use crate::decision::{PersonDecision, about_id};
use crate::error::{Error, Result};
use crate::host::{HostView, KeptWorktree};
use crate::record::{About, EventBody, EventWriter};
use crate::task::last_of;
use crate::verb::Verb;

/// A clone as it was seen, and what would be lost with it.
pub(super) struct InspectedClone {
    pub(super) clone: KeptWorktree,
    pub(super) loss: Loss,
    pub(super) mark: Id<Attempt>,
}

/// What is done with a clone.
pub(super) enum DiscardStep {
    /// It was taken away now.
    Taken { seen: InspectedClone, decision: Option<Box<PersonDecision>>, bundle: Option<String> },
    /// An earlier call with the same key took it away and ended before it could say so.
    Finished { seen: InspectedClone, by: String, bundle: Option<String> },
}

/// What the event before a removal keeps, for a call that has to finish it.
#[derive(Serialize, Deserialize)]
struct Begun {
    agent: String,
    request_id: String,
    mark: Id<Attempt>,
    worktree: WorktreeRecord,
    directory: String,
    standing: Standing,
    loss: Loss,
}

impl InspectedClone {
    pub(super) fn answer(self, dry_run: bool, bundle: Option<String>) -> Answer {
        let KeptWorktree { worktree, directory, standing } = self.clone;
        Answer { dry_run, worktree, directory, standing, loss: self.loss, bundle }
    }

    /// What a person decides. `None` if nothing is lost.
    pub(super) fn action(&self) -> Option<Action> {
        let record = &self.clone.worktree;
        let (lost, place) = (self.loss.told(), &self.clone.directory);
        let (name, run, lost) = (&record.name, &record.run_id, lost.trim_end());
        let question = format!("Discard the clone of `{name}` of {run} in {place}.\n{lost}");
        self.clone.standing.may_have_work().then(|| Action::new(Discard::NAME, question))
    }
}

/// What an earlier call with this key has done already, if it took the clone away and could not say so.
pub(super) fn interrupted(
    cx: &mut Context,
    session: &Session,
    request: &Request,
) -> Result<Option<DiscardStep>> {
    let Ok(task) = Id::parse(&cx.any_task_id(session, &request.task)?) else { return Ok(None) };
    let last = last_of(&cx.store.read()?, &task, &[WORKTREE_DISCARD_BEGUN, WORKTREE_DISCARDED])?;
    let Some(last) = last.filter(|last| last.record.kind == WORKTREE_DISCARD_BEGUN) else { return Ok(None) };
    // One of an older version cannot be finished.
    let Ok(begun) = serde_json::from_value::<Begun>(last.record.payload["begun"].clone()) else {
        return Ok(None);
    };
    if (begun.agent.as_str(), begun.request_id.as_str()) != (session.caller.agent.as_str(), session.request())
    {
        return Ok(None);
    }
    let host = cx.host();
    if host.worktrees(&begun.mark)?.iter().any(|clone| clone.worktree == begun.worktree) {
        return Ok(None);
    }
    let bundle = host.bundle_of(&begun.worktree, &begun.mark)?;
    let Begun { mark, worktree, directory, standing, loss, .. } = begun;
    let seen = InspectedClone { clone: KeptWorktree { worktree, directory, standing }, loss, mark };
    Ok(Some(DiscardStep::Finished { seen, by: last.record.from, bundle }))
}

/// The current state of the requested clone. Refused while a task works in it.
pub(super) fn look(cx: &mut Context, session: &Session, request: &Request) -> Result<InspectedClone> {
    let id = cx.any_task_id(session, &request.task)?;
    let now = cx.now().at;
    let mark = mint(cx.ids(), now);
    // A task that the name means is not mistaken for one of the same name in another run.
    let is_known = match Id::parse(&id) {
        Ok(id) => cx.store.read()?.task(&id)?.is_some(),
        Err(_) => false,
    };
    let is_named =
        |record: &WorktreeRecord| record.task_id.as_str() == id || (!is_known && record.name == request.task);
    let mut named: Vec<KeptWorktree> =
        cx.host().worktrees(&mark)?.into_iter().filter(|clone| is_named(&clone.worktree)).collect();
    if let Some(at) = named.iter().position(|clone| clone.worktree.task_id.as_str() == id) {
        named = vec![named.swap_remove(at)];
    }
    let clone = match (named.pop(), named.is_empty()) {
        (Some(clone), true) => clone,
        (Some(_), false) => {
            let message = format!("more than one run has a clone of `{}`", request.task);
            return Err(Error::new(ErrorCode::Ambiguous, message).hint("name it as RUN/TASK"));
        }
        (None, _) => {
            let message = format!("there is no clone of `{}`", request.task);
            return Err(Error::new(ErrorCode::NotFound, message).hint("`writ worktree list` shows them"));
        }
    };
    refuse_used(&cx.store.read()?, &clone.worktree)?;
    let (standing, loss) = cx.host().worktree_loss(&clone.worktree, &mark)?;
    Ok(InspectedClone { clone: KeptWorktree { standing, ..clone }, loss, mark })
}

pub(super) fn refuse_used(tx: &Tx<'_>, record: &WorktreeRecord) -> Result<Option<Task>> {
    let task = tx.task(&record.task_id)?;
    if tx.has_open_attempt(&record.task_id)? {
        let message = format!("`{}` is being worked on", record.name);
        return Err(Error::new(ErrorCode::WrongState, message).hint(
            "cancel the task or wait for its end; if its engine died, `writ run --continue RUN` closes the attempt",
        ));
    }
    Ok(task)
}

/// Records who discards what, before it is done. Looks at the task again, because a person may take a while to answer.
pub(super) fn announce(
    cx: &mut Context,
    session: &Session,
    seen: &InspectedClone,
    decision: Option<&PersonDecision>,
) -> Result<()> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let view = HostView::default();
    let mut work =
        EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller: &session.caller, view: &view };
    let about = about(&tx, refuse_used(&tx, &seen.clone.worktree)?.as_ref(), seen)?;
    let message = format!("The clone of {} is discarded", seen.clone.worktree.name);
    let mut payload = payload(seen);
    payload["begun"] = json!(Begun {
        agent: session.caller.agent.as_str().to_owned(),
        request_id: session.request().to_owned(),
        mark: seen.mark.clone(),
        worktree: seen.clone.worktree.clone(),
        directory: seen.clone.directory.clone(),
        standing: seen.clone.standing.clone(),
        loss: seen.loss.clone(),
    });
    let body = EventBody::event(WORKTREE_DISCARD_BEGUN, message, payload);
    match (decision, seen.action()) {
        (Some(decision), Some(action)) => decision.announce(&mut work, &action)?.say(&about, body)?,
        (None, _) | (_, None) => work.say(&about, body)?,
    };
    Ok(tx.commit()?)
}

/// Records that it is done, in the name of `by` if an earlier call did it.
pub(super) fn ended(
    work: &mut EventWriter<'_, '_>,
    by: Option<&str>,
    (seen, bundle): (&InspectedClone, Option<&str>),
) -> Result<()> {
    let task = work.tx.task(&seen.clone.worktree.task_id)?;
    let about = about(work.tx, task.as_ref(), seen)?;
    let kept = bundle.map_or_else(String::new, |bundle| format!("; its work is in {bundle}"));
    let message = format!("The clone of {} was discarded{kept}", seen.clone.worktree.name);
    let mut payload = payload(seen);
    payload["bundle"] = json!(bundle);
    work.say_for(by, &about, EventBody::event(WORKTREE_DISCARDED, message, payload))?;
    Ok(())
}

/// The counts and the names of what is lost; the lists are in the answer.
fn payload(seen: &InspectedClone) -> serde_json::Value {
    json!({
        "directory": seen.clone.directory, "standing": seen.clone.standing, "tree": seen.loss.tree,
        "commits": seen.loss.all_commits, "files": seen.loss.all_files, "cannot_keep": seen.loss.cannot_keep,
    })
}

fn about(tx: &Tx<'_>, task: Option<&Task>, seen: &InspectedClone) -> Result<About> {
    match task {
        Some(task) => crate::task::about(tx, task),
        // A clone of a store that was replaced.
        None => Ok(about_id(seen.clone.worktree.run_id.as_str())),
    }
}
