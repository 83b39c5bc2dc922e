//! Shows an AOP session: its runs, and who delegated what to whom.

use contract::aop::event::DelegationGraph;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{final_report, session_status};
use crate::context::Context;
use crate::error::Result;
use crate::run::list::RunBrief;
use crate::verb::{Function, Surface, Verb};

pub struct Show;

impl Verb for Show {
    const NAME: &'static str = "session.show";
    const COMMAND: &'static str = "session show";
    const SUMMARY: &'static str = "Show an AOP session: its runs, its TASKs and who delegated them";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| show(cx, request));
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The session's id.
    pub session: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub session_id: String,
    /// `IN_PROGRESS` until all have ended, then `SUCCESS`, `PARTIAL_SUCCESS` or `FAILURE`.
    pub final_signal: String,
    /// Oldest first.
    pub runs: Vec<RunBrief>,
    /// Nodes and edges, as in the final report.
    pub delegation_graph: Value,
    /// The newest work on each TASK.
    pub tasks: Value,
}

pub fn show(cx: &mut Context, request: &Request) -> Result<Answer> {
    let whole = super::whole(cx, &request.session)?;
    let report = final_report::of(&whole);
    let mut runs = Vec::new();
    for (run, _) in &whole.runs {
        runs.push(RunBrief { state: crate::run::shown_state(cx, run), ..RunBrief::from(run) });
    }
    let graph: DelegationGraph = report.delegation_graph.unwrap_or_default();
    let signal = report.session_status.map(|status| session_status::word(&status).to_owned());
    Ok(Answer {
        session_id: whole.session_id,
        final_signal: signal.unwrap_or_default(),
        runs,
        delegation_graph: json!(graph),
        tasks: json!(report.tasks),
    })
}
