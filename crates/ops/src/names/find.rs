//! Looks names up. Every read is an index look-up, and their number is bounded.

use contract::domain::code::ErrorCode;
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::run::{Run, RunId};
use serde_json::json;
use store::Tx;

use super::{LAST, Names};
use crate::error::{Error, Result};

/// The id of the task, or `None` if nothing has this name. A name of several tasks is an error that lists them.
pub(super) fn task(tx: &Tx<'_>, names: &Names, text: &str) -> Result<Option<String>> {
    if tx.task_status(text)?.is_some() {
        return Ok(Some(text.to_owned()));
    }
    if let Some((run, task)) = text.split_once('/') {
        let run = self::run(tx, names, run)?;
        return task_in(tx, run.asked.id.as_str(), task);
    }
    let ids = if text.starts_with("task_") { with_prefix(tx, text)? } else { Vec::new() };
    if let [only] = ids.as_slice() {
        return Ok(Some(only.clone()));
    }
    let runs = newest_runs(tx, names)?;
    for run in &runs {
        if let Some(id) = exactly_in(tx, run, text)? {
            return Ok(Some(id));
        }
    }
    if !ids.is_empty() {
        return Err(ambiguous("task", text, &ids));
    }
    if let Some(run) = runs.first()
        && let Some(id) = by_prefix_in(tx, run, text)?
    {
        return Ok(Some(id));
    }
    match with_prefix(tx, &format!("task_{text}"))?.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        several => Err(ambiguous("task", text, several)),
    }
}

/// The same among the tasks of one run.
pub(super) fn task_in(tx: &Tx<'_>, run: &str, text: &str) -> Result<Option<String>> {
    if text.is_empty() {
        return Ok(None);
    }
    if let Some(id) = exactly_in(tx, run, text)? {
        return Ok(Some(id));
    }
    let mut ids = with_prefix(tx, text)?;
    let mut inside = Vec::new();
    for id in ids.drain(..) {
        let task = Id::parse(&id).ok().map(|id| tx.task(&id)).transpose()?.flatten();
        if task.and_then(|task| task.part).is_some_and(|part| part.run_id.as_str() == run) {
            inside.push(id);
        }
    }
    match inside.as_slice() {
        [] => by_prefix_in(tx, run, text),
        [only] => Ok(Some(only.clone())),
        several => Err(ambiguous("task", text, several)),
    }
}

fn exactly_in(tx: &Tx<'_>, run: &str, text: &str) -> Result<Option<String>> {
    if let Some(id) = tx.task_of_plan(run, text)? {
        return Ok(Some(id));
    }
    let (Some(reference), Ok(run)) = (TaskRef::parse(text), Id::parse(run)) else { return Ok(None) };
    Ok(tx.task_named(&run, &reference)?.map(|id| id.to_string()))
}

fn by_prefix_in(tx: &Tx<'_>, run: &str, text: &str) -> Result<Option<String>> {
    match tx.tasks_of_plan_with_prefix(run, text, limits::CANDIDATES_MAX)?.as_slice() {
        [] => Ok(None),
        [(_, only)] => Ok(Some(only.clone())),
        several => {
            let names: Vec<String> = several.iter().map(|(name, _)| name.clone()).collect();
            Err(ambiguous("task", text, &names))
        }
    }
}

fn with_prefix(tx: &Tx<'_>, text: &str) -> Result<Vec<String>> {
    if text.starts_with("task_") && text.is_ascii() {
        Ok(tx.task_ids_with_prefix(text, limits::CANDIDATES_MAX)?)
    } else {
        Ok(Vec::new())
    }
}

/// The newest runs that are meant where none is named.
fn newest_runs(tx: &Tx<'_>, names: &Names) -> Result<Vec<String>> {
    Ok(own_and_other_runs(tx, names)?.0.into_iter().map(|(id, _)| id).collect())
}

/// The id and the workspace of a run.
type Placed = (String, String);

/// The newest runs: those of the caller's project or directory, and the others.
fn own_and_other_runs(tx: &Tx<'_>, names: &Names) -> Result<(Vec<Placed>, Vec<Placed>)> {
    let mut runs = tx.newest_runs(limits::NAMED_RUNS_MAX)?;
    // The default is a run that a caller started, not one that its tasks started.
    runs.sort_by_key(|run| run.is_nested);
    let runs = runs.into_iter().map(|run| (run.id, run.workspace));
    Ok(runs.partition(|(_, workspace)| names.is_own(workspace)))
}

/// The run that `text` names.
pub(super) fn run(tx: &Tx<'_>, names: &Names, text: &str) -> Result<Run> {
    if text != LAST {
        return crate::run::find(tx, text);
    }
    let (own, others) = own_and_other_runs(tx, names)?;
    if let Some((id, _)) = own.first() {
        let id = Id::parse(id).map_err(|_| Error::not_found("run", id))?;
        return crate::run::required(tx, &id);
    }
    let Some((id, workspace)) = others.first() else {
        return Err(Error::new(ErrorCode::NotFound, "there is no run yet").hint("`writ run PLAN` starts one"));
    };
    let message = format!("none of the newest runs belongs to {}", names.place());
    let project = names.project.as_deref().or(names.directory.as_deref());
    Err(Error::new(ErrorCode::NotFound, message)
        .hint(format!("name the run: the newest is {id} in {workspace}; `writ runs list` lists all"))
        .details(json!({"run": text, "project": project, "newest": id, "workspace": workspace})))
}

/// A name that fits several things.
pub(crate) fn ambiguous(what: &str, text: &str, candidates: &[String]) -> Error {
    let (shown, more) = if candidates.len() < limits::CANDIDATES_MAX {
        (candidates.join(", "), "")
    } else {
        (candidates.join(", "), ", …")
    };
    Error::new(ErrorCode::Ambiguous, format!("`{text}` matches more than one {what}"))
        .hint(format!("give more of it: {shown}{more}"))
        .details(json!({what: text, "candidates": candidates}))
}

/// The error for a name of nothing: it names the run of another project that has such a task, or lists the tasks of the
/// newest run.
pub(super) fn unknown(tx: &Tx<'_>, names: &Names, text: &str) -> Result<Error> {
    let (own, others) = own_and_other_runs(tx, names)?;
    let newest = own.first().and_then(|(id, _)| Id::parse(id).ok());
    let unknown = Error::not_found("task", text);
    for (id, workspace) in &others {
        if exactly_in(tx, id, text)?.is_some() {
            let message = format!("no run of {} has a task `{text}`", names.place());
            return Ok(Error::new(ErrorCode::NotFound, message)
                .hint(format!("a run in {workspace} has one: name it {id}/{text}"))
                .details(json!({"task": text, "elsewhere": id, "workspace": workspace})));
        }
    }
    let listing = "`writ task list` lists tasks";
    let Some(run) = newest else { return Ok(unknown.hint(listing)) };
    let candidates = plan_ids(tx, &run)?;
    if candidates.is_empty() {
        return Ok(unknown.hint(listing));
    }
    let hint = format!("run {run} has {}; {listing}", candidates.join(", "));
    Ok(unknown.hint(hint).details(json!({"task": text, "run": run, "candidates": candidates})))
}

/// The same for a task of one run.
pub(super) fn unknown_in(tx: &Tx<'_>, run: &RunId, text: &str) -> Error {
    let candidates = plan_ids(tx, run).unwrap_or_default();
    let unknown = Error::not_found("task", text);
    unknown
        .hint(format!("run {run} has {}", candidates.join(", ")))
        .details(json!({"task": text, "run": run, "candidates": candidates}))
}

/// The ids that a run's plan gives its first tasks.
fn plan_ids(tx: &Tx<'_>, run: &RunId) -> Result<Vec<String>> {
    let found = tx.tasks_of_plan_with_prefix(run.as_str(), "", limits::CANDIDATES_MAX)?;
    Ok(found.into_iter().map(|(name, _)| name).collect())
}
