//! Runs that a task starts.

use std::path::Path;

use contract::domain::code::ErrorCode;
use contract::domain::confinement::Ceiling;
use contract::domain::run::RunId;
use contract::domain::workspace::is_within;
use contract::intake::Intake;
use contract::plan::within;

use super::document;
use crate::context::Context;
use crate::error::{Error, Result};

/// Keeps the document of a program in a sandbox to what that program may do itself.
pub(super) fn confine(cx: &Context, intake: &mut Intake, workspace: &str, ceiling: &Ceiling) -> Result<()> {
    let beside_store =
        cx.store_path().parent().and_then(Path::to_str).map(|place| cx.host().real_directory(place));
    if !is_open(beside_store.as_deref(), workspace, &ceiling.workspace) {
        let message = format!("{workspace} is outside the workspace of the calling task");
        return Err(Error::new(ErrorCode::Denied, message).hint(format!(
            "set `workspace = \"{}\"` in the document, or a directory in it",
            ceiling.workspace
        )));
    }
    if !cx.host().is_directory("/", workspace) {
        let message = format!("there is no directory {workspace}");
        return Err(Error::new(ErrorCode::NotFound, message).hint("make it before the run is started"));
    }
    let findings = within::confine(&mut intake.plan, document::root_of(intake.kind), workspace, ceiling);
    if findings.is_empty() {
        return Ok(());
    }
    let hint = "a task in a sandbox can pass on only what it may do itself";
    let Error { message, details, .. } = Error::invalid(document::title(intake.kind), findings);
    Err(Error::new(ErrorCode::Denied, message).details(details).hint(hint))
}

/// Whether a run may work there: in the caller's workspace, but not among the files of the store, which may be in it.
fn is_open(beside_store: Option<&str>, workspace: &str, callers: &str) -> bool {
    let is_of_store = beside_store.is_some_and(|place| is_within(workspace, place));
    workspace == callers || (is_within(workspace, callers) && !is_of_store)
}

/// The correlation of the run that starts another one: both are one work item.
pub(super) fn corr(cx: &mut Context, parent: Option<&RunId>) -> Result<Option<String>> {
    let Some(parent) = parent else { return Ok(None) };
    Ok(cx.store.read()?.run(parent)?.map(|run| run.asked.corr))
}
