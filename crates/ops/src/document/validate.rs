//! Judges a document by the contract of its kind.

use contract::domain::time::Timestamp;
use contract::plan::KnownExecutor;
use contract::validate::{Kind, Tripwire, ValidateOptions, could_not_work};
use contract::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Judgment;
use crate::context::Context;
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};

pub struct Validate;

impl Verb for Validate {
    const NAME: &'static str = "document.validate";
    const COMMAND: &'static str = "validate";
    const SUMMARY: &'static str = "Judge a document by the contract of its kind";
    const SURFACE: Surface = Surface::Validator;
    type Request = Request;
    type Answer = Judgment;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| validate(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The document's text.
    pub document: String,
    /// A kind that `schema.list` names. Default: detected from the contents.
    #[serde(default)]
    pub kind: Option<String>,
    /// Refuse what the contract allows to ignore.
    #[serde(default)]
    pub strict: bool,
    /// The workspace that paths are in.
    #[serde(default)]
    pub root: Option<String>,
    /// The time by which heartbeats are judged.
    #[serde(default)]
    pub now: Option<Timestamp>,
    /// The text of the assignment that a result or a worklog answers.
    #[serde(default)]
    pub assignment: Option<String>,
    /// The text of the worklog as it was before.
    #[serde(default)]
    pub prior: Option<String>,
    /// How the task of a worklog ended: done, blocked or failed.
    #[serde(default)]
    pub outcome: Option<String>,
    /// What happens when a text seems to give orders: deny, warn or off.
    #[serde(default)]
    pub tripwire: Option<String>,
    /// The file system treats names that differ only in case as one.
    #[serde(default)]
    pub fold_case: bool,
    /// Accept a handoff whose only fault are tasks that timed out.
    #[serde(default)]
    pub allow_stale: bool,
    /// Whether a task in progress must hold a lock; by default only if a ledger comes with its lock table.
    #[serde(default)]
    pub check_locks: Option<bool>,
}

/// There is always a verdict. A plan may name the executors that this host knows.
pub fn validate(cx: &mut Context, request: &Request) -> Result<Judgment> {
    let known = cx.host().executors("/")?.known;
    Ok(Judgment::from(&judge(request, &known)))
}

fn judge(request: &Request, executors: &[KnownExecutor]) -> Verdict {
    let kind = match request.kind.as_deref().map(|word| Kind::named(word).ok_or(word)).transpose() {
        Ok(kind) => kind,
        Err(word) => return could_not_work(None, "usage", format!("there is no kind `{word}`")),
    };
    let Some(tripwire) = request.tripwire.as_deref().map_or(Some(Tripwire::Deny), Tripwire::parse) else {
        return could_not_work(kind, "usage", "tripwire must be deny, warn or off");
    };
    let options = ValidateOptions {
        strict: request.strict,
        root: request.root.as_deref(),
        now: request.now,
        assignment: request.assignment.as_deref().map(str::as_bytes),
        prior: request.prior.as_deref().map(str::as_bytes),
        outcome: request.outcome.as_deref(),
        links: None,
        fold: request.fold_case,
        tripwire,
        allow_stale: request.allow_stale,
        check_locks: request.check_locks,
        executors,
    };
    contract::validate::validate(kind, request.document.as_bytes(), &options)
}
