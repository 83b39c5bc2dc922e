//! What an agent's event is about: the task it works on, and the project.

use contract::domain::code::ErrorCode;
use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::task::{Task, TaskId};
use serde_json::json;
use store::Stream;

use crate::error::{Error, Result};
use crate::record::{About, EventWriter, stream_of};

/// Refuses a project id that is too long.
pub(crate) fn check(project_id: Option<&str>) -> Result<()> {
    if project_id.is_some_and(|id| id.len() > limits::PROJECT_ID_BYTES_MAX) {
        let message = format!("the project id is longer than {} bytes", limits::PROJECT_ID_BYTES_MAX);
        return Err(Error::new(ErrorCode::TooLarge, message).details(json!({"path": "$.project_id"})));
    }
    Ok(())
}

/// The named task, or else the one in the agent's focus if it is in the named project. An event may name a task that
/// does not exist; then there is no task to return.
pub(crate) fn of_event(
    work: &mut EventWriter<'_, '_>,
    task_id: Option<&str>,
    project_id: Option<&str>,
) -> Result<(About, Option<Task>)> {
    let known = work.tx.agent(work.caller.agent.as_str())?;
    let (focus, focused_project) =
        known.map_or((None, None), |state| (state.focus_task_id, state.focus_project_id));
    let named = task_id.map(parsed).transpose()?;
    let in_focus = focus.and_then(|id| Id::parse(&id).ok());
    let task = match (&named, &in_focus) {
        (Some(id), _) => work.tx.task(id)?,
        (None, Some(id)) => work.tx.task(id)?.filter(|task| is_in(task, project_id)),
        (None, None) => None,
    };
    let project = project_id.map(str::to_owned).or(focused_project);
    let Some(task) = task else {
        let about = About {
            stream: stream_of(project.as_deref()),
            corr: format!("agent-{}", work.caller.agent.as_str()),
            reply_to: None,
            priority: Priority::default(),
            project_id: project,
            task_id: named,
            run_id: None,
        };
        return Ok((about, None));
    };
    let mut about = crate::task::about(work.tx, &task)?;
    if about.project_id.is_none() {
        about.project_id = project;
        // Events of a run are all in its stream.
        if !matches!(about.stream, Stream::Run(_)) {
            about.stream = stream_of(about.project_id.as_deref());
        }
    }
    Ok((about, Some(task)))
}

fn parsed(text: &str) -> Result<TaskId> {
    Id::parse(text).map_err(|error| {
        Error::new(ErrorCode::InvalidInput, format!("task_id: {error}")).details(json!({"path": "$.task_id"}))
    })
}

/// A task outside of projects is in every project.
fn is_in(task: &Task, project: Option<&str>) -> bool {
    match (&task.project_id, project) {
        (Some(of_task), Some(named)) => of_task == named,
        (Some(_) | None, _) => true,
    }
}
