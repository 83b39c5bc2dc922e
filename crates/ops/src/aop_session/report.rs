//! Prints the SESSION_FINAL_REPORT of an AOP session.

use contract::aop::event::{Body, Event};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{final_report, trail};
use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Report;

impl Verb for Report {
    const NAME: &'static str = "session.report";
    const COMMAND: &'static str = "session report";
    const SUMMARY: &'static str = "Print the final report of an AOP session as an AOP EVENT";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| report(cx, request));
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The session's id.
    pub session: String,
}

/// An AOP EVENT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Answer(pub Value);

pub fn report(cx: &mut Context, request: &Request) -> Result<Answer> {
    let whole = super::whole(cx, &request.session)?;
    let mut report = final_report::of(&whole);
    let workspace = whole.runs.last().map(|(run, _)| run.asked.workspace.clone()).unwrap_or_default();
    if let Some(storage_path) = cx.host().executors(&workspace)?.aop.audit.path() {
        let runs = whole.runs.iter().map(|(run, tasks)| (run, tasks.iter().map(|(task, _)| task).collect()));
        let count = Some(trail::count(cx, runs)?);
        report.audit_trail = Some(trail::told(storage_path, count));
    }
    let body = Body::SessionFinalReport(Box::new(report));
    // The same session gives the same report, whenever it is asked for.
    let moments = whole.runs.iter().map(|(run, _)| run.ended_at.unwrap_or(run.created_at));
    let at = moments.max().unwrap_or_else(|| cx.now().at);
    Ok(Answer(json!(Event::new(Some(whole.session_id), None, at, body))))
}
