//! Takes a run over from a bundle: all of it or nothing, and what was taken over is what was sent.

use contract::digest;
use contract::domain::code::ErrorCode;
use contract::domain::crew::handoff::{Bundle, CarriedRow, difference};
use contract::domain::id::Id;
use contract::domain::run::RunId;
use contract::operator::handoff::HandoffRow;
use contract::operator::{Code, Options, Tripwire, read_handoff};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::gather::gather;
use super::unpack::unpack;
use super::{faulty, refuse_contradiction};
use crate::context::{Context, Key};
use crate::crew::denial::{denied, deny};
use crate::crew::sheet::Sheet;
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::once::Reply;
use crate::record::EventWriter;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// The bundle.
    pub document: Value,
    /// The digest that the bundle must have, where the sender named one.
    #[serde(default)]
    pub digest: Option<String>,
    /// Where the run works from now on: an absolute path.
    pub workspace: String,
    /// Take over tasks whose workers have been silent for too long.
    #[serde(default)]
    pub allow_stale: bool,
    /// An operator's choice.
    #[serde(skip)]
    pub tripwire: Tripwire,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub run_id: String,
    /// It was not here before.
    pub created: bool,
    pub version: u64,
    pub digest: String,
    /// By how much every token is higher than in the bundle.
    pub tokens_raised_by: i64,
    /// Who was at work, with which token, and what will be run before its task is done.
    pub tasks: Vec<Value>,
    /// Tasks with a worklog, whose files follow the store.
    pub worklogs: Vec<String>,
    pub reconcile: Value,
}

/// What makes two imports the same.
#[derive(Serialize)]
struct Fingerprint<'r> {
    bundle: &'r str,
    workspace: &'r str,
}

/// Takes the run over. A bundle that is here already, exactly so, is an answer; anything else under its name is not
/// written over.
pub fn import(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let digest = digest_of(&request.document)?;
    if request.digest.as_ref().is_some_and(|expected| *expected != digest) {
        let message = format!("the bundle is another one: its digest is {digest}");
        return Err(deny(Code::NonCompliant, "digest", message));
    }
    let same = Fingerprint { bundle: &digest, workspace: &request.workspace };
    cx.once_viewing(key, "handoff.import", &same, |work| {
        let view = work.view;
        let bundle = read(work, request, view)?;
        let run_id: RunId = Id::from_uuid(bundle.handoff.run_id.as_str())
            .ok_or_else(|| deny(Code::SchemaInvalid, "run_id", "the run id is no UUID"))?;
        let is_new = work.tx.run(&run_id)?.is_none();
        let (bundle, raised) = if is_new {
            let raised = raise(work, &bundle)?;
            let bundle = bundle.shifted(raised);
            unpack(work, &run_id, &bundle, (request, &digest), view)?;
            (bundle, raised)
        } else {
            known_as(work, &run_id, bundle)?
        };
        let sheet = Sheet::of(work.tx, run_id.as_str())?;
        refuse_difference(work, &sheet, &bundle, is_new)?;
        let fold = view.folds_case(&sheet.run.asked.workspace)?;
        let reconcile = sheet.reconcile(work.tx, work.now, fold)?;
        refuse_contradiction(&reconcile, request.allow_stale)?;
        let worklogs = bundle.carried.x_worklogs.iter().map(|log| log.task_id.to_string());
        Ok(Answer {
            run_id: sheet.run_uuid()?,
            created: is_new,
            version: sheet.ledger.version,
            digest: digest.clone(),
            tokens_raised_by: raised,
            tasks: tasks(&bundle),
            worklogs: worklogs.collect(),
            reconcile: json!(reconcile),
        })
    })
}

/// The bundle, judged as a whole against the workspace it is for.
fn read(work: &EventWriter<'_, '_>, request: &Request, view: &HostView) -> Result<Bundle> {
    let root = &request.workspace;
    let links = view.links(root, &paths(&request.document))?;
    let options = Options {
        root: Some(root),
        links: Some(links),
        fold: view.folds_case(root)?,
        now: Some(work.now.at),
        allow_stale: request.allow_stale,
        tripwire: request.tripwire,
        ..Options::default()
    };
    let read = read_handoff(request.document.to_string().as_bytes(), &options);
    let (handoff, _) = read.map_err(|refusal| denied(&refusal))?;
    Bundle::of(handoff).map_err(|fault| faulty(&fault))
}

pub(super) fn digest_of(document: &Value) -> Result<String> {
    digest::of_value(document).map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))
}

/// Everything in the bundle that names a place in the workspace.
fn paths(document: &Value) -> Vec<&str> {
    let rows = document["ledger"].as_array().into_iter().flatten();
    let scopes = rows.flat_map(|row| row["lock_scope"].as_array().into_iter().flatten());
    let locks = document["active_locks"].as_array().into_iter().flatten().map(|lock| &lock["resource"]);
    let given = document["x_assignments"].as_array().into_iter().flatten();
    let logs = given.map(|given| &given["packet"]["task"]["worklog_path"]);
    scopes.chain(locks).chain(logs).filter_map(Value::as_str).collect()
}

/// Tokens stay as they are where this store has given out none of them; otherwise all of them move up together. The
/// next one of this store is higher than any that the run ever had.
fn raise(work: &EventWriter<'_, '_>, bundle: &Bundle) -> Result<i64> {
    let last = work.tx.last_number("fencing")?;
    let is_free = bundle.tokens().all(|token| token > last);
    let by = if is_free { 0 } else { last };
    work.tx.raise_number("fencing", bundle.carried.x_run.fencing.saturating_add(by))?;
    Ok(by)
}

/// The bundle with the tokens that the run would have here, if it is the same.
fn known_as(work: &EventWriter<'_, '_>, run_id: &RunId, bundle: Bundle) -> Result<(Bundle, i64)> {
    let raised = work.tx.fencing_of_run(run_id)?.saturating_sub(bundle.carried.x_run.fencing).max(0);
    Ok((bundle.shifted(raised), raised))
}

/// What stands in the bundle twice must be the same, and what it adds must be known: else it would be lost.
fn refuse_difference(work: &EventWriter<'_, '_>, sheet: &Sheet, bundle: &Bundle, is_new: bool) -> Result<()> {
    let found = gather(work.tx, sheet)?.document();
    let Some(path) = difference(&bundle.document(), &found) else { return Ok(()) };
    if is_new {
        let message =
            format!("{path}: the bundle contradicts itself, or says something that is not known here");
        return Err(deny(Code::LedgerInconsistent, "not_reproduced", message));
    }
    let message = format!("the run is here already, and in another state: {path} differs");
    Err(deny(Code::ConcurrencyConflict, "run_exists", message)
        .hint("`writ ledger show` shows it; a run is taken over into a store that does not have it"))
}

fn tasks(bundle: &Bundle) -> Vec<Value> {
    let task = |(row, carried): (&HandoffRow, &CarriedRow)| {
        let mut given = bundle.carried.x_assignments.iter();
        let open = given.find(|given| given.task_id == row.task_id && given.ended.is_none());
        let checks: Vec<String> = carried.x_spec.checks.iter().map(|check| check.command.join(" ")).collect();
        json!({
            "task_id": row.task_id, "status": row.status, "owner": row.owner,
            "token": open.map(|given| given.token), "checks": checks,
        })
    };
    bundle.tasks().map(task).collect()
}
