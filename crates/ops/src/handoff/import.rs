//! Imports a run from a bundle: all or nothing, and exporting it again gives the same bundle.

mod known;
mod tokens;

use contract::digest;
use contract::domain::code::ErrorCode;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::Id;
use contract::domain::run::RunId;
use contract::operator::handoff::HandoffRow;
use contract::operator::handoff::bundle::foreign::{Assumed, Completed, is_foreign};
use contract::operator::handoff::bundle::{CarriedRow, HandoffBundle};
use contract::operator::{Code, Tripwire};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::read::{complete, read};
use super::refuse_contradiction;
use super::unpack::unpack;
use crate::context::{Context, Session};
use crate::crew::denial::deny;
use crate::crew::ledger_state::LedgerState;
use crate::crew::token;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::EventWriter;
use crate::verb::{Function, Surface, Verb};
use known::{known_foreign, refuse_difference};
use tokens::{known_as, raise, with_hashes};

pub struct Import;

impl Verb for Import {
    const NAME: &'static str = "handoff.import";
    const COMMAND: &'static str = "handoff import";
    const SUMMARY: &'static str = "Import a run from a bundle, all or nothing";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(import);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The bundle.
    pub document: Value,
    /// Refuse a bundle with another digest.
    #[serde(default)]
    pub digest: Option<String>,
    /// The workspace of the run from now on: an absolute path of a directory.
    pub workspace: String,
    /// Import tasks that timed out too.
    #[serde(default)]
    pub allow_stale: bool,
    /// What happens to a text that looks like instructions.
    #[serde(default, skip_serializing_if = "super::is_deny")]
    pub tripwire: Tripwire,
    /// Refuse unknown fields without `x_`, and placeholders of a template.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The run was not in this store before.
    pub created: bool,
    pub digest: String,
    /// The verdict of `ledger.reconcile`.
    pub reconcile: Value,
    pub run_id: String,
    /// Each task with its owner, its token, and the checks that will be run before it is done.
    pub tasks: Vec<Value>,
    /// How much higher every token is than in the bundle.
    pub tokens_raised_by: i64,
    pub version: u64,
    /// Tasks with a worklog; their files are written too.
    pub worklogs: Vec<String>,
    /// Files with other content that were in the place of worklogs; they were kept under these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub x_set_aside: Vec<String>,
    /// What a bundle of another program does not say, and what is assumed instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<Assumed>,
    /// Paths in such a bundle that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// What makes two imports the same.
#[derive(Serialize)]
struct ImportFingerprint<'r> {
    bundle: &'r str,
    workspace: &'r str,
}

/// Imports the run, then writes the files of its worklogs. A run that is here already in the same state is not an
/// error; one in another state is never overwritten.
pub fn import(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let digest = digest_of(&request.document)?;
    if request.digest.as_ref().is_some_and(|expected| *expected != digest) {
        let message = format!("the bundle has another digest: {digest}");
        return Err(deny(Code::NonCompliant, "digest", message));
    }
    let workspace = workspace_of(cx, request)?;
    let request = &Request { workspace, ..request.clone() };
    let same = ImportFingerprint { bundle: &digest, workspace: &request.workspace };
    let mut reply = cx.once_viewing(session, Import::NAME, &same, |work| {
        take_over(work, request, &digest, &session.origin.environment)
    })?;
    for task in reply.answer.worklogs.clone() {
        let set_aside = crate::worklog::write_file(cx, &reply.answer.run_id, &task)?;
        reply.answer.x_set_aside.extend(set_aside);
    }
    // Stored answers have only the numbers of tokens.
    let tx = cx.store.read()?;
    for task in &mut reply.answer.tasks {
        if let Some(number) = task["token"].as_i64() {
            task["token"] = json!(token::of_assignment(&tx, number)?);
        }
    }
    Ok(reply)
}

/// The workspace without symbolic links.
fn workspace_of(cx: &Context, request: &Request) -> Result<String> {
    let host = cx.host();
    let workspace = host.real_directory(&request.workspace);
    if host.is_directory(&workspace, ".") {
        return Ok(workspace);
    }
    Err(Error::new(ErrorCode::InvalidInput, format!("workspace {workspace} is not a directory")))
}

fn take_over(
    work: &mut EventWriter<'_, '_>,
    request: &Request,
    digest: &str,
    environment: &AuthorEnvironment,
) -> Result<Answer> {
    let view = work.view;
    let handoff = read(work, request, view)?;
    let run_id: RunId = Id::from_uuid(handoff.run_id.as_str())
        .ok_or_else(|| deny(Code::SchemaInvalid, "run_id", "run_id must be a UUID"))?;
    let is_new = work.tx.run(&run_id)?.is_none();
    if !is_new && is_foreign(&handoff) {
        return known_foreign(work, &run_id, &handoff, digest);
    }
    let Completed { bundle, assumed, ignored } = complete(work, request, handoff, digest)?;
    let (bundle, raised) = if is_new {
        let raised = raise(work, &bundle)?;
        let bundle = bundle.shifted(raised);
        unpack(work, &run_id, &bundle, (request, digest), environment)?;
        (bundle, raised)
    } else {
        known_as(work, &run_id, bundle)?
    };
    let state = LedgerState::of(work.tx, run_id.as_str())?;
    let bundle = with_hashes(work, &state, bundle)?;
    refuse_difference(work, &state, &bundle, is_new)?;
    let fold = view.folds_case(&state.run.asked.workspace)?;
    let reconcile = state.reconcile(work.tx, work.now, fold)?;
    refuse_contradiction(&reconcile, request.allow_stale)?;
    let worklogs = bundle.carried.x_worklogs.iter().map(|log| log.task_id.to_string());
    Ok(Answer {
        created: is_new,
        digest: digest.to_owned(),
        reconcile: json!(reconcile),
        run_id: state.run_uuid()?,
        tasks: tasks(&bundle),
        tokens_raised_by: raised,
        version: state.ledger.version,
        worklogs: worklogs.collect(),
        x_set_aside: Vec::new(),
        assumed,
        ignored,
    })
}

pub(super) fn digest_of(document: &Value) -> Result<String> {
    digest::of_value(document).map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))
}

fn tasks(bundle: &HandoffBundle) -> Vec<Value> {
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
