//! Removes a clone together with work that is not merged: a person's decision, because work is lost.
//!
//! The log comes first: who discards what is in the store before the clone is taken away.

use contract::domain::code::ErrorCode;
use contract::domain::event_kind::{WORKTREE_DISCARD_BEGUN, WORKTREE_DISCARDED};
use contract::domain::id::{Attempt, Id, mint};
use contract::domain::principal::Action;
use contract::domain::task::Task;
use contract::domain::worktree::{Loss, Standing, WorktreeRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Tx, Witness};

use crate::context::{Context, Key};
use crate::decision::{Decision, about_id};
use crate::error::{Error, Result};
use crate::host::{HostView, KeptWorktree};
use crate::once::Reply;
use crate::record::{About, EventBody, EventWriter};
use crate::task::last_of;
use crate::verb::{Function, Surface, Verb};

pub struct Discard;

impl Verb for Discard {
    const NAME: &'static str = "worktree.discard";
    const COMMAND: &'static str = "worktree discard";
    const SUMMARY: &'static str = "Remove a clone together with work that is not merged";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(discard);
}

pub struct Preview;

impl Verb for Preview {
    const NAME: &'static str = "worktree.preview_discard";
    const COMMAND: &'static str = "worktree discard --dry-run";
    const SUMMARY: &'static str = "Show what would be lost with a clone";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(preview);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WorktreeDiscard")]
pub struct Request {
    /// The task's id, a unique prefix of it, its id in a plan, or `RUN/TASK`.
    pub task: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorktreeDiscarded")]
pub struct Answer {
    pub dry_run: bool,
    pub worktree: WorktreeRecord,
    /// Where its files were, or are.
    pub directory: String,
    #[serde(flatten)]
    pub standing: Standing,
    pub loss: Loss,
    /// The git bundle with the work that was not merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
}

/// A clone as it was seen, and what would be lost with it.
struct Seen {
    clone: KeptWorktree,
    loss: Loss,
    mark: Id<Attempt>,
}

/// What is done with a clone.
enum Step {
    /// It was taken away now.
    Taken { seen: Seen, decision: Option<Decision>, bundle: Option<String> },
    /// An earlier call with the same key took it away and ended before it could say so.
    Finished { seen: Seen, by: String, bundle: Option<String> },
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

impl Seen {
    fn answer(self, dry_run: bool, bundle: Option<String>) -> Answer {
        let KeptWorktree { worktree, directory, standing } = self.clone;
        Answer { dry_run, worktree, directory, standing, loss: self.loss, bundle }
    }

    /// What a person decides. `None` if nothing is lost.
    fn action(&self) -> Option<Action> {
        let record = &self.clone.worktree;
        let (lost, place) = (self.loss.told(), &self.clone.directory);
        let (name, run, lost) = (&record.name, &record.run_id, lost.trim_end());
        let question = format!("Discard the clone of `{name}` of {run} in {place}.\n{lost}");
        self.clone.standing.may_have_work().then(|| Action::new(Discard::NAME, question))
    }
}

fn preview(cx: &mut Context, request: &Request) -> Result<Answer> {
    Ok(look(cx, None, request)?.answer(true, None))
}

pub fn discard(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    // That it began confirms no time to its end.
    let before = cx.store.use_witness(Witness::Whole(None));
    let done = discard_once(cx, key, request);
    cx.store.use_witness(before);
    done
}

fn discard_once(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let prepare = |cx: &mut Context| {
        if let Some(finished) = interrupted(cx, key, request)? {
            return Ok(finished);
        }
        let seen = look(cx, Some(key), request)?;
        let decision = seen.action().map(|action| cx.decision(action)).transpose()?;
        announce(cx, key, &seen, decision.as_ref())?;
        let (as_seen, record) = ((&seen.clone.standing, &seen.loss), &seen.clone.worktree);
        let host = cx.host();
        let mut unused = || refuse_used(&cx.store.read()?, record).map(|_| ());
        let bundle = host.discard_worktree(record, as_seen, &seen.mark, &mut unused)?;
        Ok(Step::Taken { seen, decision, bundle })
    };
    cx.decide_once(key, (Discard::NAME, request), prepare, |work, step| {
        let (seen, bundle) = match step {
            Step::Taken { seen, decision, bundle } => {
                match (&decision, seen.action()) {
                    (Some(decision), Some(action)) => {
                        ended(&mut decision.act(work, &action)?, None, (&seen, bundle.as_deref()))
                    }
                    (None, _) | (_, None) => ended(work, None, (&seen, bundle.as_deref())),
                }?;
                (seen, bundle)
            }
            Step::Finished { seen, by, bundle } => {
                ended(work, Some(&by), (&seen, bundle.as_deref()))?;
                (seen, bundle)
            }
        };
        Ok(seen.answer(false, bundle))
    })
}

/// What an earlier call with this key has done already, if it took the clone away and could not say so.
fn interrupted(cx: &mut Context, key: &Key, request: &Request) -> Result<Option<Step>> {
    let Ok(task) = Id::parse(&cx.any_task_id(Some(key), &request.task)?) else { return Ok(None) };
    let last = last_of(&cx.store.read()?, &task, &[WORKTREE_DISCARD_BEGUN, WORKTREE_DISCARDED])?;
    let Some(last) = last.filter(|last| last.record.kind == WORKTREE_DISCARD_BEGUN) else { return Ok(None) };
    // One of an older version cannot be finished.
    let Ok(begun) = serde_json::from_value::<Begun>(last.record.payload["begun"].clone()) else {
        return Ok(None);
    };
    if (begun.agent.as_str(), begun.request_id.as_str())
        != (key.caller.agent.as_str(), key.request_id.as_str())
    {
        return Ok(None);
    }
    let host = cx.host();
    if host.worktrees(&begun.mark)?.iter().any(|clone| clone.worktree == begun.worktree) {
        return Ok(None);
    }
    let bundle = host.bundle_of(&begun.worktree, &begun.mark)?;
    let Begun { mark, worktree, directory, standing, loss, .. } = begun;
    let seen = Seen { clone: KeptWorktree { worktree, directory, standing }, loss, mark };
    Ok(Some(Step::Finished { seen, by: last.record.from, bundle }))
}

/// The clone that the request names, as it is now. Refused while somebody works in it.
fn look(cx: &mut Context, key: Option<&Key>, request: &Request) -> Result<Seen> {
    let id = cx.any_task_id(key, &request.task)?;
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
    Ok(Seen { clone: KeptWorktree { standing, ..clone }, loss, mark })
}

fn refuse_used(tx: &Tx<'_>, record: &WorktreeRecord) -> Result<Option<Task>> {
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
fn announce(cx: &mut Context, key: &Key, seen: &Seen, decision: Option<&Decision>) -> Result<()> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let view = HostView::default();
    let mut work = EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller: &key.caller, view: &view };
    let about = about(&tx, refuse_used(&tx, &seen.clone.worktree)?.as_ref(), seen)?;
    let message = format!("The clone of {} is discarded", seen.clone.worktree.name);
    let mut payload = payload(seen);
    payload["begun"] = json!(Begun {
        agent: key.caller.agent.as_str().to_owned(),
        request_id: key.request_id.as_str().to_owned(),
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
fn ended(
    work: &mut EventWriter<'_, '_>,
    by: Option<&str>,
    (seen, bundle): (&Seen, Option<&str>),
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
fn payload(seen: &Seen) -> serde_json::Value {
    json!({
        "directory": seen.clone.directory, "standing": seen.clone.standing, "tree": seen.loss.tree,
        "commits": seen.loss.all_commits, "files": seen.loss.all_files, "cannot_keep": seen.loss.cannot_keep,
    })
}

fn about(tx: &Tx<'_>, task: Option<&Task>, seen: &Seen) -> Result<About> {
    match task {
        Some(task) => crate::task::about(tx, task),
        // A clone of a store that was replaced.
        None => Ok(about_id(seen.clone.worktree.run_id.as_str())),
    }
}
