//! Applies the deltas of one document to a ledger: in order, once each, all or none.

use contract::domain::limits;
use contract::domain::time::Timestamp;
use contract::operator::ledger::Ignored;
use contract::operator::{Code, Delta, DeltaOptions, Options, OrchestratorOutput, read_envelope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::new_run::{NewRunParts, load_or_create};
use crate::context::{Context, Session};
use crate::crew::denial::{denied, deny, verdict};
use crate::crew::done::{self, ChecksSeen};
use crate::crew::ledger_state::LedgerState;
use crate::crew::lock_claims::{LockDifference, differences};
use crate::crew::rows::{self, DeltaStream};
use crate::error::Result;
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};

pub struct Apply;

impl Verb for Apply {
    const NAME: &'static str = "ledger.apply";
    const COMMAND: &'static str = "ledger apply";
    const SUMMARY: &'static str = "Apply the deltas of a document to a ledger";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(apply);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// An orchestrator's output. `assignments`, `active_locks`, `blockers` and `next_actions` may be missing.
    pub document: Value,
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
    pub rows: Vec<Value>,
    pub ignored: Vec<Value>,
    /// The verdict of `ledger.reconcile` afterwards. While it denies, no task can be assigned.
    pub reconcile: Value,
    /// Locks that the document lists and the store does not have, or the other way round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lock_differences: Vec<LockDifference>,
}

pub fn apply(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let workspace = real_workspace(cx, request.workspace.as_deref());
    let request = &Request { workspace, ..request.clone() };
    let envelope = read(&whole(&request.document), request.workspace.as_deref(), request.strict)?;
    if !envelope.assignments.is_empty() {
        let message = "the document has assignments; use `writ orchestrate step` for them";
        return Err(deny(Code::NonCompliant, "assignments_in_deltas", message));
    }
    let checks = done::observe(cx, session, &envelope, options(&envelope, request.strict))?;
    cx.once_viewing(session, Apply::NAME, request, |work| {
        let view = work.view;
        let (mut state, created) = load_or_create(work, &envelope, &NewRunParts::of(session, request))?;
        let ignored = take(work, &mut state, &envelope, (&checks, request.strict))?;
        let fold = view.folds_case(&state.run.asked.workspace)?;
        let reconcile = state.reconcile(work.tx, work.now, fold)?;
        Ok(Answer {
            run_id: state.run_uuid()?,
            created,
            version: state.ledger.version,
            rows: state.ledger.rows.keys().map(|reference| state.view(reference)).collect(),
            ignored: ignored.iter().map(|ignored| json!(ignored)).collect(),
            reconcile: json!(reconcile),
            lock_differences: differences(work.tx, &state, view, (&request.document, &envelope))?,
        })
    })
}

/// The workspace without symbolic links: one directory has one name, which is part of the request's fingerprint.
pub(crate) fn real_workspace(cx: &Context, workspace: Option<&str>) -> Option<String> {
    workspace.map(|path| cx.host().real_directory(path))
}

impl<'r> NewRunParts<'r> {
    fn of(session: &'r Session, request: &'r Request) -> Self {
        Self {
            document: &request.document,
            objective: request.objective.as_deref(),
            workspace: request.workspace.as_deref(),
            environment: &session.origin.environment,
        }
    }
}

/// The document with an empty list for each one that is missing.
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

/// Applies the deltas of a document to its ledger.
pub(crate) fn take(
    work: &mut EventWriter<'_, '_>,
    state: &mut LedgerState,
    envelope: &OrchestratorOutput,
    (checks, strict): (&ChecksSeen, bool),
) -> Result<Vec<Ignored>> {
    refuse_future(&envelope.ledger_delta, work.now.at)?;
    let packets = envelope.assignments.iter().map(|packet| &packet.task);
    let packets = packets.map(|task| (task.task_id.clone(), task.columns())).collect();
    let stream = DeltaStream {
        deltas: &envelope.ledger_delta,
        blockers: &envelope.blockers,
        options: options(envelope, strict),
        packets: &packets,
        checks,
    };
    rows::apply(work, state, &stream)
}

/// How strictly the deltas of a document are applied.
pub(crate) fn options(envelope: &OrchestratorOutput, strict: bool) -> DeltaOptions {
    let base_version = envelope.extra.get("x_base_version").and_then(Value::as_u64);
    DeltaOptions { strict, base_version }
}

/// A heartbeat in the future would delay the timeout of a silent worker.
fn refuse_future(deltas: &[Delta], now: Timestamp) -> Result<()> {
    let heard = |delta: &Delta| delta.last_heartbeat_at.as_deref().and_then(Timestamp::parse_utc);
    let is_ahead = |delta: &Delta| heard(delta).is_some_and(|at| at.since(now) > limits::CLOCK_SKEW_MAX);
    let Some(index) = deltas.iter().position(is_ahead) else { return Ok(()) };
    let most = limits::CLOCK_SKEW_MAX.as_secs();
    let message = format!("$.ledger_delta[{index}].last_heartbeat_at is more than {most} s ahead of now");
    let mut refusal = verdict(Code::SchemaInvalid, "heartbeat_in_future", message);
    refusal.details.more.insert("index".to_owned(), json!(index));
    Err(denied(&refusal)
        .hint("set the clock of the machine that wrote the document, or leave the heartbeat out"))
}
