//! Creates a task.

mod checks;

use contract::continuity::TaskView;
use contract::domain::change::Change;
use contract::domain::check::{Check, TaskChecks};
use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::limits;
use contract::domain::workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::{About, stream_of};
use crate::verb::{Function, Surface, Verb};

pub struct Create;

impl Verb for Create {
    const NAME: &'static str = "task.create";
    const COMMAND: &'static str = "task create";
    const SUMMARY: &'static str = "Create a task";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(create);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// One line that says what to do.
    pub title: String,
    #[serde(default)]
    pub description: String,
    /// The project it belongs to; none where it is absent.
    #[serde(default)]
    pub project_id: Option<String>,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i64,
    /// What writ runs before the task is done; the project's checks where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Where the checks run. Default: the project, if it is a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_directory: Option<String>,
    /// Files and directories in that directory that the checks rest on, besides the files they name. If one changes, done
    /// is only claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<String>,
    /// The task may change the files that its checks name and `pins`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checks_may_change: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub task: TaskView,
    pub event_id: i64,
}

pub fn create(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    check(request)?;
    let mut checks = checks::own_checks(request)?;
    if let Some(checks) = &mut checks {
        checks::look(cx, session, request, checks);
    }
    let author = if checks.is_some() { Some(cx.author(session)?) } else { None };
    cx.once(session, Create::NAME, request, |work| {
        let task_id = mint(work.ids, work.now.at);
        let project_id = request.project_id.as_deref().map(workspace::id);
        let created = Change::TaskCreated {
            task_id: task_id.clone(),
            title: request.title.clone(),
            description: request.description.clone(),
            priority: request.priority,
            project_id: project_id.clone(),
            part: None,
            depends_on: Vec::new(),
            checks: checks
                .zip(author)
                .map(|(checks, author)| TaskChecks { author: author.as_str().to_owned(), ..checks }),
        };
        let about = About {
            stream: stream_of(project_id.as_deref()),
            corr: task_id.to_string(),
            reply_to: None,
            priority: contract::domain::priority::Priority::from_number(request.priority),
            project_id,
            task_id: Some(task_id.clone()),
            run_id: None,
        };
        let message = format!("Task created: {}", request.title);
        let event_id = work.change(&about, &message, &created)?;
        let task = super::required(work.tx, task_id.as_str())?;
        Ok(Answer { task: TaskView::from(&task), event_id })
    })
}

fn check(request: &Request) -> Result<()> {
    let title = request.title.trim();
    if title.is_empty() {
        return Err(Error::required("title"));
    }
    if request.title.chars().count() > limits::TITLE_CHARS_MAX || request.title.chars().any(char::is_control)
    {
        let message = format!("the title must be one line of 1 to {} characters", limits::TITLE_CHARS_MAX);
        return Err(Error::new(ErrorCode::InvalidInput, message).hint("put the rest into the description"));
    }
    if request.description.len() > limits::DESCRIPTION_BYTES_MAX {
        let message = format!("the description is longer than {} bytes", limits::DESCRIPTION_BYTES_MAX);
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    request.project_id.as_deref().map_or(Ok(()), check_project)?;
    // Secrets are not stored; a task that holds one could never be shown as it was written.
    let project = request.project_id.as_deref().unwrap_or_default();
    let texts = [&request.title, &request.description, project];
    if let Some(rule) = texts.iter().find_map(|text| contract::secrets::find(text)) {
        let message = format!("the text appears to contain a secret ({rule})");
        return Err(
            Error::new(ErrorCode::InvalidInput, message).hint("leave out the secret; name where it is kept")
        );
    }
    Ok(())
}

fn invalid(path: &str, problem: &str) -> Error {
    Error::new(ErrorCode::InvalidInput, format!("{path}: {problem}")).details(json!({ "path": path }))
}

/// A project's id names a stream of the log.
pub(crate) fn check_project(project: &str) -> Result<()> {
    let fits = !project.trim().is_empty()
        && project.len() <= limits::PROJECT_ID_BYTES_MAX
        && !project.chars().any(char::is_control);
    if !fits {
        let max = limits::PROJECT_ID_BYTES_MAX;
        let message = format!("the project id must be 1 to {max} bytes without control characters");
        return Err(Error::new(ErrorCode::InvalidInput, message));
    }
    Ok(())
}
