//! Lists the limit windows that are open, and how many tasks wait for each.

use contract::domain::attempt::AttemptId;
use contract::domain::limit_window::{LimitWindow, ResetBasis};
use contract::domain::limits;
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use contract::domain::time::{Now, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::Tx;

use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "limits.list";
    const COMMAND: &'static str = "limits list";
    const SUMMARY: &'static str = "List the rate limits and usage windows that tasks wait for";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub count: usize,
    /// The one that ends first comes first.
    pub limits: Vec<Limit>,
}

/// A resource that its provider refuses, or that is taken up again step by step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The executor, or `EXECUTOR/MODEL` where only that model is limited.
    pub resource: String,
    /// When its provider takes work again.
    pub until: Timestamp,
    pub basis: ResetBasis,
    /// How many seconds that is from now; 0 once it has expired and tasks resume one at a time.
    pub seconds_left: u64,
    /// `rate limit` or `usage limit`.
    pub kind: String,
    /// In the provider's words.
    pub reason: String,
    /// How often in a row it was refused.
    pub times: u32,
    /// How many tasks wait for it, in all runs.
    pub waiting: u64,
    /// The attempt that saw it.
    pub run_id: RunId,
    pub task_id: TaskId,
    pub attempt_id: AttemptId,
    pub seen_at: Timestamp,
}

pub fn list(cx: &mut Context, _: &Request) -> Result<Answer> {
    let now = cx.clock.now();
    let limits = open(&cx.store.read()?, &now)?;
    Ok(Answer { count: limits.len(), limits })
}

/// The windows that are open, and those that tasks still wait for.
pub(crate) fn open(tx: &Tx<'_>, now: &Now) -> Result<Vec<Limit>> {
    let mut open = Vec::new();
    for window in tx.limit_windows(limits::LIMIT_WINDOWS_MAX)? {
        let limit = limit_of(tx, window, now)?;
        if limit.seconds_left > 0 || limit.waiting > 0 {
            open.push(limit);
        }
    }
    Ok(open)
}

pub(super) fn limit_of(tx: &Tx<'_>, window: LimitWindow, now: &Now) -> Result<Limit> {
    let left = window.left(now);
    Ok(Limit {
        until: window.reset.at,
        basis: window.basis,
        // A part of a second is a second: it is not over.
        seconds_left: left.as_secs() + u64::from(left.subsec_nanos() > 0),
        kind: window.kind().to_owned(),
        times: window.times,
        waiting: tx.limit_waiters(&window.resource)?,
        run_id: window.seen.run_id,
        task_id: window.seen.task_id,
        attempt_id: window.seen.attempt_id,
        seen_at: window.seen.at,
        reason: window.reason,
        resource: window.resource,
    })
}
