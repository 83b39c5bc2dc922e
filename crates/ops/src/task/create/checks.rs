//! The checks of a new task: their commands, their environment, and the files they use.

use contract::domain::check::TaskChecks;
use contract::domain::limits;
use contract::domain::pins;
use contract::domain::scope::Scope;
use contract::domain::workspace;

use super::{Request, invalid};
use crate::checking;
use crate::context::{Context, Session};
use crate::error::Result;

/// The checks of the request, without their author.
pub(super) fn own_checks(request: &Request) -> Result<Option<TaskChecks>> {
    if request.checks.is_empty() {
        return match (&request.check_directory, request.pins.is_empty(), request.checks_may_change) {
            (None, true, false) => Ok(None),
            (Some(_), _, _) => Err(invalid("$.check_directory", "there are no checks to run there")),
            (None, false, _) => Err(invalid("$.pins", "there are no checks that use them")),
            (None, true, true) => Err(invalid("$.checks_may_change", "there are no checks")),
        };
    }
    if request.checks.len() > limits::CHECKS_PER_TASK_MAX {
        let message = format!("a task has at most {} checks", limits::CHECKS_PER_TASK_MAX);
        return Err(invalid("$.checks", &message));
    }
    for (index, check) in request.checks.iter().enumerate() {
        let path = format!("$.checks[{index}].command");
        if let Some(fault) = check.fault() {
            return Err(invalid(&path, fault));
        }
        if let Some(rule) = check.command.iter().find_map(|word| contract::secrets::find(word)) {
            let message = format!("looks like a secret ({rule}); keep it in the environment");
            return Err(invalid(&path, &message));
        }
        if check.line().len() > limits::EVENT_MESSAGE_BYTES_MAX {
            let message = format!("is longer than {} bytes", limits::EVENT_MESSAGE_BYTES_MAX);
            return Err(invalid(&path, &message));
        }
    }
    let directory = request.check_directory.clone();
    match (&directory, checking::project_directory(request.project_id.as_deref())) {
        (Some(path), _) if !path.starts_with('/') => {
            return Err(invalid("$.check_directory", "must be an absolute path"));
        }
        (Some(_), _) | (None, Some(_)) => {}
        (None, None) => {
            let message = "the checks need a directory to run in, because the project is not one";
            return Err(invalid("$.check_directory", message));
        }
    }
    Ok(Some(TaskChecks {
        directory,
        checks: request.checks.clone(),
        pins: own_pins(request)?,
        may_change: request.checks_may_change,
        ..TaskChecks::default()
    }))
}

fn own_pins(request: &Request) -> Result<Vec<Scope>> {
    if request.pins.len() > limits::SCOPES_PER_TASK_MAX {
        let message = format!("a task has at most {} pins", limits::SCOPES_PER_TASK_MAX);
        return Err(invalid("$.pins", &message));
    }
    let root = request.check_directory.as_deref().or(request.project_id.as_deref());
    let pin = |(index, text): (usize, &String)| {
        let path = format!("$.pins[{index}]");
        if let Some(rule) = contract::secrets::find(text) {
            return Err(invalid(&path, &format!("looks like a secret ({rule})")));
        }
        Scope::parse(text, root).map_err(|fault| invalid(&path, &fault.to_string()))
    };
    request.pins.iter().enumerate().map(pin).collect()
}

/// Keeps the author's environment, and digests of the files that the checks use.
pub(super) fn look(cx: &Context, session: &Session, request: &Request, checks: &mut TaskChecks) {
    let host = cx.host();
    let environment = session.origin.environment.clone();
    let project = request.project_id.as_deref().map(workspace::id);
    let directory = checks.directory.as_deref().or(checking::project_directory(project.as_deref()));
    if let Some(directory) = directory.filter(|_| !checks.may_change) {
        let path = environment.values.get("PATH").map(String::as_str);
        let paths = pins::candidates(&checks.checks, &checks.pins, path, directory);
        if !paths.is_empty() {
            let found = host.digests(directory, &paths.keys().map(String::as_str).collect::<Vec<_>>());
            checks.pinned = pins::baseline(&paths, &found);
        }
    }
    checks.environment = Some(environment);
}
