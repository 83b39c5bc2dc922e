//! Whether changed files lie in what is locked, and in nothing forbidden.

use contract::domain::crew::lock::place;
use contract::domain::scope::Scope;
use contract::finding::Findings;
use contract::operator::{Code, TaskRef};
use contract::verdict::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Tx;

use crate::context::Context;
use crate::crew::denial::verdict;
use crate::crew::paths::real_scopes;
use crate::crew::sheet::{Sheet, reference};
use crate::error::Result;
use crate::host::HostView;

/// What every answer says: a tree that several tasks write at once does not tell who wrote what.
pub const ATTRIBUTION: &str = "a shared tree does not tell which task changed a file; \
     to attribute changes take a snapshot, a sandbox or a worktree for each task";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    /// Only what this task holds counts.
    #[serde(default)]
    pub task: Option<String>,
    /// What changed, as seen from the workspace.
    pub changed: Vec<String>,
}

pub fn check(cx: &mut Context, request: &Request) -> Result<Verdict> {
    cx.read_viewing(|tx, view| judge(tx, view, request))
}

fn judge(tx: &Tx<'_>, view: &HostView, request: &Request) -> Result<Verdict> {
    let name = request.task.as_deref().map(reference).transpose()?;
    let sheet = Sheet::of(tx, &request.run)?;
    let root = sheet.run.asked.workspace.clone();
    let Places { allowed, worklogs, forbidden } = places(tx, &sheet, name.as_ref(), view)?;
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
            // A worklog is one file: what would lie below it is not exempt.
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

/// What may be changed and what must not be, by the locks that are held and the packets that are out.
#[derive(Default)]
struct Places {
    allowed: Vec<Scope>,
    /// Files that are written by whoever has their task, locked or not.
    worklogs: Vec<Scope>,
    forbidden: Vec<Scope>,
}

fn places(tx: &Tx<'_>, sheet: &Sheet, name: Option<&TaskRef>, view: &HostView) -> Result<Places> {
    let root = &sheet.run.asked.workspace;
    let mut places = Places::default();
    for lock in tx.active_locks_of_run(&sheet.run.asked.id)? {
        if name.is_none_or(|name| *name == lock.reference) {
            places.allowed.push(lock.scope);
        }
    }
    // A lock of another run on the same place covers it too, where nobody asks for one task.
    if name.is_none()
        && let Ok(place) = place(root, &Scope::parse(".", None).expect("BUG: the workspace is a scope"))
    {
        for lock in tx.locks_around(&place)? {
            if let Ok(scope) = Scope::parse(lock.place.as_str(), Some(root)) {
                places.allowed.push(scope);
            }
        }
    }
    for (reference, task) in &sheet.tasks {
        if name.is_some_and(|name| name != reference) {
            continue;
        }
        let Some(open) = tx.last_assignment(&task.id)?.filter(|open| open.ended.is_none()) else { continue };
        let texts = open.packet["task"]["forbidden_scope"].as_array().into_iter().flatten();
        let texts: Vec<String> = texts.filter_map(Value::as_str).map(str::to_owned).collect();
        // What one task must not touch another may, so it counts only where one task is asked about.
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
            Verdict::allowed("lock_check", "every change lies in what is locked", Findings::default())
        }
        ([first, ..], _) => {
            verdict(Code::ScopeViolation, "in_forbidden_scope", format!("`{first}` is forbidden"))
        }
        ([], [first, ..]) => {
            let message = format!("`{first}` was changed and is not in the lock scope");
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
