//! Says what a rollback would do to each path. Changes nothing.

use contract::domain::rollback::{Direction, FileResult};
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::undo::Request;
use super::{RollbackSubject, listed};
use crate::context::{Context, Session};
use crate::error::Result;
use crate::host::RollbackJob;
use crate::verb::{Function, Surface, Verb};

pub struct Preview;

impl Verb for Preview {
    const NAME: &'static str = "rollback.preview";
    const COMMAND: &'static str = "rollback --preview";
    const SUMMARY: &'static str = "Show what a rollback of a task would do to each file";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(preview);
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RollbackPreview")]
pub struct Answer {
    pub run_id: RunId,
    pub task_id: TaskId,
    /// The task's id in its plan.
    pub name: String,
    pub direction: Direction,
    /// The numbers of the attempts, newest first.
    pub attempts: Vec<i64>,
    /// Paths that would stay as they are first.
    pub files: Vec<FileResult>,
    pub files_not_listed: u64,
}

pub fn preview(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    let direction = request.direction();
    let id = cx.task_id(session, &request.task)?;
    let (subject, silent_since) = RollbackSubject::look(cx, &id, direction)?;
    let files = cx.host().roll_back(&RollbackJob {
        root: &subject.run.asked.workspace,
        attempts: &subject.ids(),
        direction,
        is_preview: true,
        is_repeated: subject.covered.unfinished.is_some(),
        silent_since,
    })?;
    let (files, files_not_listed) = listed(files);
    Ok(Answer {
        run_id: subject.run.asked.id.clone(),
        task_id: subject.task.id.clone(),
        name: subject.name(),
        direction,
        attempts: subject.covered.attempts,
        files,
        files_not_listed,
    })
}
