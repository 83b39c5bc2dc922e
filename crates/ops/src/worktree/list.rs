//! Lists the clones that are kept, and why each stays.

use contract::domain::status::Status;
use contract::domain::worktree::{Standing, WorktreeRecord, kept_because};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::Result;
use crate::host::WorktreeLeftover;
use crate::verb::{Function, Surface, Verb};

pub struct List;

impl Verb for List {
    const NAME: &'static str = "worktree.list";
    const COMMAND: &'static str = "worktree list";
    const SUMMARY: &'static str = "List the clones in which tasks work";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| list(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WorktreeList")]
pub struct Request {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Worktrees")]
pub struct Answer {
    pub worktrees: Vec<WorktreeRow>,
    /// Directories among them without a readable record, or left by a removal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<WorktreeLeftover>,
}

/// A clone that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Worktree")]
pub struct WorktreeRow {
    pub worktree: WorktreeRecord,
    /// Where its files are.
    pub directory: String,
    #[serde(flatten)]
    pub standing: Standing,
    /// Of its task; absent if this store does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_status: Option<Status>,
    /// Why it would not be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_because: Option<String>,
}

pub fn list(cx: &mut Context, _: &Request) -> Result<Answer> {
    Ok(Answer { worktrees: rows(cx)?, leftovers: cx.host().worktree_leftovers()? })
}

/// Every clone, with the state of its task.
pub(super) fn rows(cx: &mut Context) -> Result<Vec<WorktreeRow>> {
    let now = cx.now().at;
    let mark = contract::domain::id::mint(cx.ids(), now);
    let kept = cx.host().worktrees(&mark)?;
    let tx = cx.store.read()?;
    let mut rows = Vec::new();
    for clone in kept {
        let task_status = tx.task(&clone.worktree.task_id)?.map(|task| task.status);
        let kept_because = kept_because(&clone.standing, task_status);
        let (worktree, directory, standing) = (clone.worktree, clone.directory, clone.standing);
        rows.push(WorktreeRow { worktree, directory, standing, task_status, kept_because });
    }
    Ok(rows)
}
