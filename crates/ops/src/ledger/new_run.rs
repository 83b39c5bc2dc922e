//! The run of a document's ledger: the one in the store, or a new one.

use contract::domain::code::ErrorCode;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::{Event, Id, mint};
use contract::domain::plan::Plan;
use contract::domain::run::{DocumentKind, NewRun, RunId};
use contract::operator::{Code, OrchestratorOutput};
use serde_json::{Value, json};

use crate::crew::denial::deny;
use crate::crew::ledger_state::LedgerState;
use crate::error::{Error, Result};
use crate::record::EventWriter;

/// What a run needs that the document creates.
pub(crate) struct NewRunParts<'r> {
    pub(crate) document: &'r Value,
    pub(crate) objective: Option<&'r str>,
    pub(crate) workspace: Option<&'r str>,
    pub(crate) environment: &'r AuthorEnvironment,
}

/// The ledger of the document's run, and whether the run had to be created.
pub(crate) fn load_or_create(
    work: &mut EventWriter<'_, '_>,
    envelope: &OrchestratorOutput,
    parts: &NewRunParts<'_>,
) -> Result<(LedgerState, bool)> {
    let run_id: RunId = Id::from_uuid(envelope.run_id.as_str())
        .ok_or_else(|| deny(Code::SchemaInvalid, "run_id", "run_id must be a UUID"))?;
    if let Some(run) = work.tx.run(&run_id)? {
        if run.state.is_terminal() && !envelope.ledger_delta.is_empty() {
            let message = format!("the run {}; its ledger is closed", run.state.said());
            return Err(deny(Code::InvalidTransition, "run_ended", message));
        }
        return Ok((LedgerState::load(work.tx, run)?.of_a_crew()?, false));
    }
    let run = new_run(work, run_id, parts)?;
    let author = work.caller.agent.clone();
    crate::run::accept::accept(work, &run, &author, &[])?;
    let run = crate::run::required(work.tx, &run.id)?;
    Ok((LedgerState::load(work.tx, run)?, true))
}

fn new_run(work: &mut EventWriter<'_, '_>, id: RunId, parts: &NewRunParts<'_>) -> Result<NewRun> {
    let Some(workspace) = parts.workspace.map(str::to_owned) else {
        return Err(Error::new(ErrorCode::InvalidInput, "the run is new, so workspace is required"));
    };
    let objective = parts.objective.unwrap_or("work of a crew").to_owned();
    crate::run::accept::refuse_secrets_in(&json!([objective, workspace]))?;
    let digest = contract::digest::of_value(parts.document)
        .map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))?;
    Ok(NewRun {
        id,
        corr: mint::<contract::domain::id::Corr>(work.ids, work.now.at).to_string(),
        origin_id: mint::<Event>(work.ids, work.now.at).to_string(),
        kind: DocumentKind::Ledger,
        objective,
        workspace,
        plan: Plan::default(),
        plan_priority: None,
        intent: None,
        requested_by: work.caller.entity.clone(),
        depth: 1,
        parent_run: None,
        parent_task: None,
        document_digest: digest,
        environment: Some(parts.environment.clone()),
        session_id: None,
        warnings: Vec::new(),
    })
}
