//! Checks that changed files are inside the locked scopes and outside the forbidden ones.

use contract::domain::crew::lock::place;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::id::mint;
use contract::domain::scope::Scope;
use contract::finding::Findings;
use contract::operator::Code;
use contract::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Tx;

use crate::context::Context;
use crate::crew::denial::verdict;
use crate::crew::ledger_state::{LedgerState, find_run, reference};
use crate::crew::paths::real_scopes;
use crate::error::Result;
use crate::host::HostView;
use crate::verb::{Function, Surface, Verb};
use crate::verdict::VerdictAnswer;

/// Part of every answer: several tasks may write one tree at the same time.
pub const ATTRIBUTION: &str = "a shared tree does not show which task changed a file; \
     to attribute changes, use a snapshot, a sandbox or a worktree for each task";

pub struct Check;

impl Verb for Check {
    const NAME: &'static str = "lock.check";
    const COMMAND: &'static str = "lock check";
    const SUMMARY: &'static str = "Check changed files against the locks of a run";
    const SURFACE: Surface = Surface::Validator;
    type Request = Request;
    type Answer = VerdictAnswer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| check(cx, request));
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    /// Count only the locks of this task.
    #[serde(default)]
    pub task: Option<String>,
    /// Changed files, relative to the workspace.
    #[serde(default)]
    pub changed: Vec<String>,
    /// A git revision: also check every file that differs from it, untracked files included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

pub fn check(cx: &mut Context, request: &Request) -> Result<VerdictAnswer> {
    let mut changed = request.changed.clone();
    if let Some(revision) = &request.diff {
        changed.extend(changed_since(cx, &request.run, revision)?);
    }
    let request = Request { changed, ..request.clone() };
    Ok(cx.read_viewing(|tx, view| judge(tx, view, &request))?.into())
}

/// The changes in the run's workspace according to git.
fn changed_since(cx: &mut Context, run: &str, revision: &str) -> Result<Vec<String>> {
    let workspace = find_run(&cx.store.read()?, run)?.asked.workspace;
    let now = cx.now().at;
    let mark = mint(cx.ids(), now);
    cx.host().changed_in_git(&workspace, revision, &mark)
}

fn judge(tx: &Tx<'_>, view: &HostView, request: &Request) -> Result<Verdict> {
    let name = request.task.as_deref().map(reference).transpose()?;
    let state = LedgerState::of(tx, &request.run)?;
    let root = state.run.asked.workspace.clone();
    let LockedPaths { allowed, worklogs, forbidden } = places(tx, &state, name.as_ref(), view)?;
    let fold = view.folds_case(&root)?;
    let covers = |a: &Scope, b: &Scope| if fold { a.folded().contains(&b.folded()) } else { a.contains(b) };
    let same = |a: &Scope, b: &Scope| if fold { a.folded() == b.folded() } else { a == b };
    let crosses = |a: &Scope, b: &Scope| if fold { a.overlaps_ignoring_case(b) } else { a.overlaps(b) };
    let (mut outside, mut within_forbidden) = (Vec::new(), Vec::new());
    for path in &request.changed {
        let real = match real_scopes(view, &root, std::slice::from_ref(path)) {
            Ok(real) => real,
            Err(error) => return Ok(escaped(path, &error)),
        };
        for scope in real {
            // A worklog is one file: paths below it are not exempt.
            if worklogs.iter().any(|worklog| same(worklog, &scope)) {
                continue;
            }
            if !allowed.iter().any(|outer| covers(outer, &scope)) {
                outside.push(scope.to_string());
            }
            if forbidden.iter().any(|other| crosses(other, &scope)) {
                within_forbidden.push(scope.to_string());
            }
        }
    }
    Ok(answer(request, &outside, &within_forbidden))
}

/// What may and must not be changed, by the active locks and the open assignments.
#[derive(Default)]
struct LockedPaths {
    allowed: Vec<Scope>,
    /// Files that the assigned worker may always write.
    worklogs: Vec<Scope>,
    forbidden: Vec<Scope>,
}

fn places(tx: &Tx<'_>, state: &LedgerState, name: Option<&TaskRef>, view: &HostView) -> Result<LockedPaths> {
    let root = &state.run.asked.workspace;
    let mut places = LockedPaths::default();
    for lock in tx.active_locks_of_run(&state.run.asked.id)? {
        if name.is_none_or(|name| *name == lock.reference) {
            places.allowed.push(lock.scope);
        }
    }
    // Without a task, a lock of another run on the same place counts too.
    if name.is_none()
        && let Ok(place) = place(root, &Scope::parse(".", None).expect("BUG: the workspace is a scope"))
    {
        for lock in tx.locks_around(&place)? {
            if let Ok(scope) = Scope::parse(lock.place.as_str(), Some(root)) {
                places.allowed.push(scope);
            }
        }
    }
    for (reference, task) in &state.tasks {
        if name.is_some_and(|name| name != reference) {
            continue;
        }
        let Some(open) = tx.last_assignment(&task.id)?.filter(|open| open.ended.is_none()) else { continue };
        let texts = open.packet["task"]["forbidden_scope"].as_array().into_iter().flatten();
        let texts: Vec<String> = texts.filter_map(Value::as_str).map(str::to_owned).collect();
        // A scope is forbidden for one task only, so it counts only when the request names a task.
        if name.is_some() {
            places.forbidden.extend(real_scopes(view, root, &texts)?);
        }
        if let Some(worklog) = open.packet["task"]["worklog_path"].as_str() {
            places.worklogs.extend(real_scopes(view, root, &[worklog.to_owned()])?);
        }
    }
    Ok(places)
}

fn escaped(path: &str, error: &crate::Error) -> Verdict {
    let code = Code::parse(error.code.as_str()).unwrap_or(Code::ScopeViolation);
    let mut verdict = verdict(code, "workspace_escape", error.message.clone());
    verdict.details.more.insert("changed".to_owned(), json!([path]));
    verdict.details.more.insert("attribution".to_owned(), json!(ATTRIBUTION));
    verdict
}

fn answer(request: &Request, outside: &[String], forbidden: &[String]) -> Verdict {
    let mut verdict = match (forbidden, outside) {
        ([], []) => {
            Verdict::allowed("lock_check", "every change is inside the locked scopes", Findings::default())
        }
        ([first, ..], _) => {
            verdict(Code::ScopeViolation, "in_forbidden_scope", format!("`{first}` is in a forbidden scope"))
        }
        ([], [first, ..]) => {
            let message = format!("`{first}` was changed outside the lock scope");
            verdict(Code::ScopeViolation, "outside_lock_scope", message)
        }
    };
    let more = &mut verdict.details.more;
    more.insert("changed_count".to_owned(), json!(request.changed.len()));
    more.insert("outside".to_owned(), json!(outside));
    more.insert("forbidden".to_owned(), json!(forbidden));
    more.insert("attribution".to_owned(), json!(ATTRIBUTION));
    verdict
}
