//! Results: what a worker reports, checked against its assignment and the files in its scope.

mod observe;
pub mod submit;
mod transition;

use std::collections::BTreeSet;

use contract::domain::check::CheckSeen;
use contract::domain::crew::lock::{LockRefusal, admit};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::token::{InvalidToken, LockToken};
use contract::domain::id::Id;
use contract::domain::run::RunId;
use contract::domain::scope::Scope;
use contract::domain::time::Now;
use contract::operator::{Code, Options, SubagentResult, read_result, recall_assignment};
use serde_json::Value;
use store::{AssignmentRow, Tx};

use crate::context::Context;
use crate::crew::denial::{denied, deny, refused};
use crate::crew::ledger_state::LedgerState;
use crate::crew::token;
use crate::error::Result;
use crate::host::{HostView, WatchEnd, WatchedScopes};

/// A result that answers an open assignment by its current holder.
pub struct JudgedResult {
    pub result: SubagentResult,
    pub issued: AssignmentRow,
    pub workspace: String,
    /// When it was sent: what writ does with it afterwards does not make it late.
    pub arrived: Now,
    /// The files that it reports as changed, without symbolic links.
    pub claimed: BTreeSet<String>,
    pub(crate) reference: TaskRef,
}

/// What writ saw itself: the checks and the files.
#[derive(Debug, Clone, Default)]
pub struct Observation {
    pub checks: Vec<CheckSeen>,
    /// Why done is only claimed although they passed.
    pub withheld: Option<String>,
    /// The workspace as it is now, and what was watched there.
    pub workspace: Option<(WatchEnd, WatchedScopes)>,
    /// The workspace, where it was looked at.
    pub root: Option<String>,
    /// When the result arrived, before the checks ran; now if it was not observed.
    pub arrived: Option<Now>,
}

/// Judges a result without changing anything, so that checks run only for a result that may be accepted.
pub fn judge(cx: &mut Context, sent: &Sent<'_>) -> Result<JudgedResult> {
    let now = cx.clock.now();
    cx.read_viewing(|tx, view| judged(tx, &state_of(tx, sent)?, sent, &now, view))
}

/// A result as it was sent.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'r> {
    pub document: &'r Value,
    /// The token of the assignment, if it was given beside the document.
    pub token: Option<LockToken>,
    /// Refuse fields that the contract does not know.
    pub strict: bool,
}

impl Sent<'_> {
    /// The token of the assignment. One that is missing is a fault of the request, not of the lock.
    fn token(&self) -> Result<LockToken> {
        if let Some(text) = self.document["x_token"].as_str().filter(|_| self.token.is_none()) {
            return text.parse().map_err(|error: InvalidToken| {
                deny(Code::SchemaInvalid, "token", format!("$.x_token: {error}"))
            });
        }
        let number = || self.document["x_fencing_token"].as_i64().map(LockToken::from);
        self.token.or_else(number).ok_or_else(|| {
            let message = "$.x_token is required: the token of the assignment";
            deny(Code::MissingRequiredInput, "missing", message).hint(
                "`writ assignment issue` printed the token; add it to the document, or give it beside it",
            )
        })
    }

    /// The document with the number of its token and without the token itself, which is not stored.
    fn whole(&self, sent: LockToken, number: i64) -> Value {
        let mut document = self.document.clone();
        let Some(fields) = document.as_object_mut() else { return document };
        fields.remove("x_token");
        // The number differs here if another store gave out the token.
        if fields.get("x_fencing_token").is_none_or(|said| *said == sent.number) {
            fields.insert("x_fencing_token".to_owned(), number.into());
        }
        document
    }
}

/// The ledger that a result speaks of.
pub(crate) fn state_of(tx: &Tx<'_>, sent: &Sent<'_>) -> Result<LedgerState> {
    let options = Options { strict: sent.strict, ..Options::default() };
    let read = read_result(sent.document.to_string().as_bytes(), &options);
    let (result, _) = read.map_err(|refusal| denied(&refusal))?;
    let run_id: Option<RunId> = Id::from_uuid(result.run_id.as_str());
    match run_id.map(|run_id| tx.run(&run_id)).transpose()?.flatten() {
        Some(run) => LedgerState::load(tx, run),
        None => {
            Err(deny(Code::NonCompliant, "identity_mismatch", "the result belongs to no run of this store"))
        }
    }
}

pub(crate) fn judged(
    tx: &Tx<'_>,
    state: &LedgerState,
    sent: &Sent<'_>,
    now: &Now,
    view: &HostView,
) -> Result<JudgedResult> {
    let document = sent.document;
    let reference = document["task_id"].as_str().and_then(TaskRef::parse);
    let reference = reference.ok_or_else(|| deny(Code::SchemaInvalid, "task_id", "names no task"))?;
    let task = state.tasks.get(&reference).ok_or_else(|| {
        deny(Code::NonCompliant, "identity_mismatch", format!("{reference} is not in the ledger"))
    })?;
    // The token is checked before the content: a former holder is refused, whatever it sends.
    let given = sent.token()?;
    let token = token::genuine(tx, &task.id, given)?;
    admit(&tx.locks_of_task(&task.id)?, token, now).map_err(|fault| token::not_admitted(task, fault))?;
    let issued = tx.assignment(token)?.filter(|open| open.ended.is_none());
    let issued = issued.ok_or_else(|| refused(LockRefusal::StaleToken))?;
    let assignment =
        recall_assignment(issued.packet.to_string().as_bytes()).map_err(|refusal| denied(&refusal))?;
    let root = &state.run.asked.workspace;
    let changes = document["changes"].as_array().into_iter().flatten();
    let mut paths: Vec<&str> = changes.filter_map(|change| change["resource"].as_str()).collect();
    let task = &assignment.task;
    paths.extend(task.lock_scope.iter().chain(&task.forbidden_scope).map(String::as_str));
    paths.push(&task.worklog_path);
    let links = view.links(root, &paths)?;
    let options = Options {
        root: Some(root),
        links: Some(links),
        fold: view.folds_case(root)?,
        assignment: Some(&assignment),
        strict: sent.strict,
        ..Options::default()
    };
    let read = read_result(sent.whole(given, token).to_string().as_bytes(), &options);
    let (result, _) = read.map_err(|refusal| denied(&refusal))?;
    let real = |text: &str| Scope::parse(text, Some(root)).and_then(|scope| scope.follow(links, Some(root)));
    let worklog = real(&task.worklog_path).ok();
    let claimed = result.changes.iter().filter_map(|change| real(&change.resource).ok());
    let claimed = claimed.filter(|scope| Some(scope) != worklog.as_ref());
    let claimed = claimed.map(|scope| scope.to_string()).collect();
    Ok(JudgedResult { result, issued, workspace: root.clone(), arrived: now.clone(), claimed, reference })
}
