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
use store::Tx;

use crate::context::{Context, Key};
use crate::decision::{Decision, about_id};
use crate::error::{Error, Result};
use crate::host::{HostView, KeptWorktree};
use crate::once::Reply;
use crate::record::{About, EventBody, EventWriter};
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
    let prepare = |cx: &mut Context| {
        let seen = look(cx, Some(key), request)?;
        let decision = seen.action().map(|action| cx.decision(action)).transpose()?;
        announce(cx, key, &seen, decision.as_ref())?;
        let as_seen = (&seen.clone.standing, &seen.loss);
        let bundle = cx.host().discard_worktree(&seen.clone.worktree, as_seen, &seen.mark)?;
        Ok((seen, decision, bundle))
    };
    cx.decide_once(key, (Discard::NAME, request), prepare, |work, (seen, decision, bundle)| {
        let action = seen.action();
        match (&decision, &action) {
            (Some(decision), Some(action)) => {
                ended(&mut decision.act(work, action)?, &seen, bundle.as_deref())
            }
            (None, _) | (_, None) => ended(work, &seen, bundle.as_deref()),
        }?;
        Ok(seen.answer(false, bundle))
    })
}

/// The clone that the request names, as it is now. Refused while somebody works in it.
fn look(cx: &mut Context, key: Option<&Key>, request: &Request) -> Result<Seen> {
    let id = cx.any_task_id(key, &request.task)?;
    let now = cx.now().at;
    let mark = mint(cx.ids(), now);
    let is_named = |record: &WorktreeRecord| record.task_id.as_str() == id || record.name == request.task;
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
    let body = EventBody::event(WORKTREE_DISCARD_BEGUN, message, payload(seen));
    match (decision, seen.action()) {
        (Some(decision), Some(action)) => decision.announce(&mut work, &action)?.say(&about, body)?,
        (None, _) | (_, None) => work.say(&about, body)?,
    };
    Ok(tx.commit()?)
}

fn ended(work: &mut EventWriter<'_, '_>, seen: &Seen, bundle: Option<&str>) -> Result<()> {
    let task = work.tx.task(&seen.clone.worktree.task_id)?;
    let about = about(work.tx, task.as_ref(), seen)?;
    let kept = bundle.map_or_else(String::new, |bundle| format!("; its work is in {bundle}"));
    let message = format!("The clone of {} was discarded{kept}", seen.clone.worktree.name);
    let mut payload = payload(seen);
    payload["bundle"] = json!(bundle);
    work.say(&about, EventBody::event(WORKTREE_DISCARDED, message, payload))?;
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
