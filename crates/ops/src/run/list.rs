//! Lists runs, newest first.

use contract::domain::limits;
use contract::domain::run::{Run, RunId, RunState, ShownState};
use contract::domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::RunFilter;

use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "run.list";
    const COMMAND: &'static str = "runs list";
    const SUMMARY: &'static str = "List runs, newest first";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Only runs in this state. A run without a live engine is `interrupted`, not `running`.
    #[serde(default)]
    pub state: Option<ShownState>,
    /// At most this many; 20 where it is absent.
    #[serde(default)]
    pub limit: Option<u64>,
}

/// How many runs are listed where the request sets no limit.
const ROWS_DEFAULT: u64 = 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub count: usize,
    pub runs: Vec<RunBrief>,
}

/// One run in a few words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunBrief {
    pub id: RunId,
    /// Shared by everything that belongs to the run.
    pub corr: String,
    pub state: ShownState,
    pub objective: String,
    pub requested_by: String,
    /// The parent run, for a run that a task started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run: Option<RunId>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl From<&Run> for RunBrief {
    fn from(run: &Run) -> Self {
        Self {
            id: run.asked.id.clone(),
            corr: run.asked.corr.clone(),
            state: run.state.into(),
            objective: run.asked.objective.clone(),
            requested_by: run.asked.requested_by.clone(),
            parent_run: run.asked.parent_run.clone(),
            created_at: run.created_at,
            ended_at: run.ended_at,
        }
    }
}

pub fn list(cx: &mut Context, request: &Request) -> Result<Answer> {
    let limit = usize::try_from(request.limit.unwrap_or(ROWS_DEFAULT)).unwrap_or(usize::MAX);
    let runs = briefs(cx, request.state, limit)?;
    Ok(Answer { count: runs.len(), runs })
}

/// Runs with the state that is shown, newest first.
pub(crate) fn briefs(cx: &mut Context, state: Option<ShownState>, limit: usize) -> Result<Vec<RunBrief>> {
    // Whether an engine lives is not in the store, so all runs that may be meant are looked at.
    let read = match state {
        Some(ShownState::Running | ShownState::Interrupted) => limits::LIST_ROWS_MAX,
        Some(
            ShownState::Submitted
            | ShownState::Stopped
            | ShownState::Done
            | ShownState::Failed
            | ShownState::Canceled,
        )
        | None => limit,
    };
    let mut found = Vec::new();
    for run in rows(cx, state.map(ShownState::stored), read)? {
        let shown = super::shown_state(cx, &run);
        if state.is_none_or(|state| state == shown) {
            found.push(RunBrief { state: shown, ..RunBrief::from(&run) });
        }
    }
    found.truncate(limit.clamp(1, limits::LIST_ROWS_MAX));
    Ok(found)
}

/// The runs themselves.
pub fn rows(cx: &mut Context, state: Option<RunState>, limit: usize) -> Result<Vec<Run>> {
    let limit = limit.clamp(1, limits::LIST_ROWS_MAX);
    Ok(cx.store.read()?.runs(&RunFilter { state, limit })?)
}
