//! Changes a ledger by the deltas of one envelope: in order, once each, all of them or none.

use contract::domain::code::ErrorCode;
use contract::domain::id::{Event, Id, mint};
use contract::domain::limits;
use contract::domain::run::{DocumentKind, NewRun, RunId};
use contract::domain::time::Timestamp;
use contract::operator::ids::parse_utc;
use contract::operator::ledger::Ignored;
use contract::operator::{Code, Delta, DeltaOptions, Options, OrchestratorOutput, read_envelope};
use contract::plan::Plan;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::{Context, Key};
use crate::crew::denial::{denied, deny, verdict};
use crate::crew::rows;
use crate::crew::sheet::Sheet;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::EventWriter;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// An orchestrator's output. For this verb its assignments, locks, blockers and next actions may be left out.
    pub document: Value,
    /// What a run that is new is for.
    #[serde(default)]
    pub objective: Option<String>,
    /// Where a run that is new works: an absolute path.
    #[serde(default)]
    pub workspace: Option<String>,
    #[serde(default)]
    pub strict: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub run_id: String,
    /// The run was new.
    pub created: bool,
    pub version: u64,
    pub rows: Vec<Value>,
    pub ignored: Vec<Value>,
    /// What reconciliation says afterwards. While it denies, nothing is given out.
    pub reconcile: Value,
}

pub fn apply(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let envelope = read(&whole(&request.document), request.workspace.as_deref(), request.strict)?;
    if !envelope.assignments.is_empty() {
        let message = "the document has assignments, which `writ orchestrate step` gives out";
        return Err(deny(Code::NonCompliant, "assignments_in_deltas", message));
    }
    cx.once_viewing(key, "ledger.apply", request, |work| {
        let view = work.view;
        let (mut sheet, created) = sheet(work, &envelope, request)?;
        let ignored = take(work, &mut sheet, &envelope, request.strict)?;
        let fold = view.folds_case(&sheet.run.asked.workspace)?;
        let reconcile = sheet.reconcile(work.tx, work.now, fold)?;
        Ok(Answer {
            run_id: sheet.run_uuid()?,
            created,
            version: sheet.ledger.version,
            rows: sheet.ledger.rows.keys().map(|reference| sheet.view(reference)).collect(),
            ignored: ignored.iter().map(|ignored| json!(ignored)).collect(),
            reconcile: json!(reconcile),
        })
    })
}

/// The document with empty lists where it may leave them out.
fn whole(document: &Value) -> Value {
    let mut document = document.clone();
    if let Some(fields) = document.as_object_mut() {
        for name in ["assignments", "active_locks", "blockers", "next_actions"] {
            fields.entry(name).or_insert_with(|| json!([]));
        }
    }
    document
}

pub(crate) fn read(document: &Value, root: Option<&str>, strict: bool) -> Result<OrchestratorOutput> {
    let options = Options { strict, root, ..Options::default() };
    let read = read_envelope(document.to_string().as_bytes(), &options);
    Ok(read.map_err(|refusal| denied(&refusal))?.0)
}

/// Applies the deltas of an envelope to its ledger.
pub(crate) fn take(
    work: &mut EventWriter<'_, '_>,
    sheet: &mut Sheet,
    envelope: &OrchestratorOutput,
    strict: bool,
) -> Result<Vec<Ignored>> {
    refuse_future(&envelope.ledger_delta, work.now.at)?;
    let base_version = envelope.extra.get("x_base_version").and_then(Value::as_u64);
    let options = DeltaOptions { strict, base_version };
    rows::apply(work, sheet, &envelope.ledger_delta, &envelope.blockers, options)
}

/// A heartbeat from the future would keep a silent worker alive.
fn refuse_future(deltas: &[Delta], now: Timestamp) -> Result<()> {
    let heard = |delta: &Delta| delta.last_heartbeat_at.as_deref().and_then(parse_utc);
    let is_ahead = |delta: &Delta| heard(delta).is_some_and(|at| at.since(now) > limits::CLOCK_SKEW_MAX);
    let Some(index) = deltas.iter().position(is_ahead) else { return Ok(()) };
    let most = limits::CLOCK_SKEW_MAX.as_secs();
    let message = format!("$.ledger_delta[{index}].last_heartbeat_at is more than {most} s ahead of now");
    let mut refusal = verdict(Code::SchemaInvalid, "heartbeat_in_future", message);
    refusal.details.more.insert("index".to_owned(), json!(index));
    Err(denied(&refusal).hint("set the clock of whoever wrote it, or leave the heartbeat out"))
}

/// The ledger of the envelope's run. A run that is not known yet is made.
pub(crate) fn sheet(
    work: &mut EventWriter<'_, '_>,
    envelope: &OrchestratorOutput,
    request: &Request,
) -> Result<(Sheet, bool)> {
    let run_id: RunId = Id::from_uuid(envelope.run_id.as_str())
        .ok_or_else(|| deny(Code::SchemaInvalid, "run_id", "the run id is no UUID"))?;
    if let Some(run) = work.tx.run(&run_id)? {
        if run.state.is_terminal() && !envelope.ledger_delta.is_empty() {
            let message = format!("the run is {}; its ledger is closed", run.state.as_str());
            return Err(deny(Code::InvalidTransition, "run_ended", message));
        }
        return Ok((Sheet::load(work.tx, run)?.of_a_crew()?, false));
    }
    let run = new_run(work, run_id, request)?;
    crate::run::accept::accept(work, &run)?;
    let run = crate::run::required(work.tx, &run.id)?;
    Ok((Sheet::load(work.tx, run)?, true))
}

fn new_run(work: &mut EventWriter<'_, '_>, id: RunId, request: &Request) -> Result<NewRun> {
    let Some(workspace) = request.workspace.clone() else {
        return Err(Error::new(ErrorCode::InvalidInput, "the run is new, so it needs a workspace"));
    };
    let objective = request.objective.clone().unwrap_or_else(|| "work of a crew".to_owned());
    crate::run::accept::refuse_secrets_in(&json!([objective, workspace]))?;
    let digest = contract::digest::of_value(&request.document)
        .map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))?;
    Ok(NewRun {
        id,
        corr: mint::<contract::domain::id::Corr>(work.ids, work.now.at).to_string(),
        origin_id: mint::<Event>(work.ids, work.now.at).to_string(),
        kind: DocumentKind::Ledger,
        objective,
        workspace,
        plan: Plan::default(),
        intent: None,
        requested_by: work.caller.entity.clone(),
        depth: 1,
        parent_run: None,
        parent_task: None,
        document_digest: digest,
    })
}
