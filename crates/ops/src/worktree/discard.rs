//! Removes a clone together with work that is not merged: a person's decision, because work is lost.
//!
//! The log comes first: who discards what is in the store before the clone is taken away.

mod steps;

use contract::domain::worktree::{Loss, Standing, WorktreeRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Witness;

use crate::context::{Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};
use steps::{DiscardStep, announce, ended, interrupted, look, refuse_used};

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

fn preview(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    Ok(look(cx, session, request)?.answer(true, None))
}

pub fn discard(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    // That it began confirms no time to its end.
    let before = cx.store.use_witness(Witness::Whole(None));
    let done = discard_once(cx, session, request);
    cx.store.use_witness(before);
    done
}

fn discard_once(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let prepare = |cx: &mut Context| {
        if let Some(finished) = interrupted(cx, session, request)? {
            return Ok(finished);
        }
        let seen = look(cx, session, request)?;
        let decision = seen.action().map(|action| cx.decision(session, action)).transpose()?;
        announce(cx, session, &seen, decision.as_ref())?;
        let (as_seen, record) = ((&seen.clone.standing, &seen.loss), &seen.clone.worktree);
        let host = cx.host();
        let mut unused = || refuse_used(&cx.store.read()?, record).map(|_| ());
        let bundle = host.discard_worktree(record, as_seen, &seen.mark, &mut unused)?;
        Ok(DiscardStep::Taken { seen, decision: decision.map(Box::new), bundle })
    };
    cx.decide_once(session, (Discard::NAME, request), prepare, |work, step| {
        let (seen, bundle) = match step {
            DiscardStep::Taken { seen, decision, bundle } => {
                match (&decision, seen.action()) {
                    (Some(decision), Some(action)) => {
                        ended(&mut decision.act(work, &action)?, None, (&seen, bundle.as_deref()))
                    }
                    (None, _) | (_, None) => ended(work, None, (&seen, bundle.as_deref())),
                }?;
                (seen, bundle)
            }
            DiscardStep::Finished { seen, by, bundle } => {
                ended(work, Some(&by), (&seen, bundle.as_deref()))?;
                (seen, bundle)
            }
        };
        Ok(seen.answer(false, bundle))
    })
}
