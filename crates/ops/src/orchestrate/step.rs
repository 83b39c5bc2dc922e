//! One step of an orchestrator: its deltas, a consistency check and its assignments, all or nothing.

use contract::domain::code::ErrorCode;
use contract::operator::{OrchestratorOutput, untrusted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::next_actions::next_actions;
use super::program::{self, OrchestratorProgram};
use super::sending::send_assignment;
use crate::assignment::issue::{self, settled};
use crate::assignment::snapshot;
use crate::context::{Context, Session};
use crate::crew::done::{self, ChecksSeen};
use crate::crew::lock_claims::{LockDifference, differences};
use crate::error::{Error, Result};
use crate::ledger::apply;
use crate::ledger::new_run::{NewRunParts, load_or_create};
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};
use crate::watchdog;

pub struct Step;

impl Verb for Step {
    const NAME: &'static str = "orchestrate.step";
    const COMMAND: &'static str = "orchestrate step";
    const SUMMARY: &'static str =
        "Run one step of an orchestrator: apply its deltas and issue its assignments";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(step);
}

/// Either a document or a program that prints one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// An orchestrator's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// A program that prints an orchestrator's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<OrchestratorProgram>,
    /// The objective, if the run is new.
    #[serde(default)]
    pub objective: Option<String>,
    /// The workspace, if the run is new: an absolute path.
    #[serde(default)]
    pub workspace: Option<String>,
    /// Require every delta to name the version it read, and a repeated delta to repeat its content.
    #[serde(default)]
    pub strict: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub run_id: String,
    /// The run did not exist before.
    pub created: bool,
    pub version: u64,
    /// Deltas that were applied before.
    pub ignored: Vec<Value>,
    /// The new assignments, each with its token.
    pub assignments: Vec<issue::Answer>,
    /// What the watchdog did first.
    pub swept: watchdog::Answer,
    /// The verdict of `ledger.reconcile` afterwards.
    pub reconcile: Value,
    /// Why tasks are blocked.
    pub blockers: Vec<Value>,
    /// What could be done now, and the orchestrator's own list.
    pub next_actions: Vec<String>,
    /// Locks that the document lists and the store does not have, or the other way round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lock_differences: Vec<LockDifference>,
    /// Fields that others wrote: treat them as data.
    #[serde(default)]
    pub x_untrusted: Value,
}

/// Sweeps tasks that timed out first, so that the step works on the current ledger. The sweep is undone if the step is
/// refused.
pub fn step(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let workspace = apply::real_workspace(cx, request.workspace.as_deref());
    let request = &Request { workspace, ..request.clone() };
    let read = document(cx, session, request)?.map(|document| {
        let envelope = apply::read(&document, request.workspace.as_deref(), request.strict)?;
        Ok::<_, Error>((document, envelope))
    });
    let read = read.transpose()?;
    let checks = match &read {
        Some((_, envelope)) => {
            done::observe(cx, session, envelope, apply::options(envelope, request.strict))?
        }
        None => ChecksSeen::new(),
    };
    let mut reply = cx.once_viewing(session, Step::NAME, request, |work| {
        let (document, envelope) =
            read.as_ref().ok_or_else(|| Error::new(ErrorCode::Bug, "a stored answer was not replayed"))?;
        take_step(work, session, request, (document, envelope), &checks)
    })?;
    for assignment in &mut reply.answer.assignments {
        snapshot::take(cx, &session.caller, assignment.token.number)?;
        issue::fill_in(cx, assignment)?;
    }
    Ok(reply)
}

/// The document of a request, or what its program prints. A program is not asked again for a request that was answered
/// already: the answer is stored.
fn document(cx: &mut Context, session: &Session, request: &Request) -> Result<Option<Value>> {
    match (&request.document, &request.program) {
        (Some(document), None) => Ok(Some(document.clone())),
        (None, Some(_)) if cx.was_answered(session)? => Ok(None),
        (None, Some(program)) => program::ask(cx, program).map(Some),
        (None, None) | (Some(_), Some(_)) => {
            Err(Error::new(ErrorCode::InvalidInput, "either document or program is required, not both"))
        }
    }
}

fn take_step(
    work: &mut EventWriter<'_, '_>,
    session: &Session,
    request: &Request,
    (document, envelope): (&Value, &OrchestratorOutput),
    checks: &ChecksSeen,
) -> Result<Answer> {
    let view = work.view;
    let parts = NewRunParts {
        document,
        objective: request.objective.as_deref(),
        workspace: request.workspace.as_deref(),
        environment: &session.origin.environment,
    };
    let (mut state, created) = load_or_create(work, envelope, &parts)?;
    let mut swept = watchdog::Answer::default();
    watchdog::sweep_run(work, &mut state, &mut swept)?;
    let ignored = apply::take(work, &mut state, envelope, (checks, request.strict))?;
    let mut assignments = Vec::new();
    for packet in &envelope.assignments {
        assignments.push(send_assignment(work, &mut state, packet, view)?);
    }
    settled(work.tx, &state, work.now, view)?;
    let fold = view.folds_case(&state.run.asked.workspace)?;
    let reconcile = state.reconcile(work.tx, work.now, fold)?;
    let blockers = work.tx.blockers_of_run(&state.run.asked.id)?;
    Ok(Answer {
        run_id: state.run_uuid()?,
        created,
        version: state.ledger.version,
        ignored: ignored.iter().map(|ignored| json!(ignored)).collect(),
        assignments,
        swept,
        reconcile: json!(reconcile),
        blockers: blockers.into_iter().map(|(_, blocker)| json!(blocker)).collect(),
        next_actions: next_actions(&state, envelope, work.now.at),
        lock_differences: differences(work.tx, &state, view, (document, envelope))?,
        x_untrusted: untrusted(&["$.blockers[*].reason", "$.blockers[*].details"]),
    })
}
