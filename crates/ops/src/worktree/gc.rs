//! Removes clones of ended tasks with merged work or without work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list::{WorktreeRow, rows};
use crate::context::Context;
use crate::error::Result;
use crate::host::WorktreeLeftover;
use crate::verb::{Function, Surface, Verb};

pub struct Gc;

impl Verb for Gc {
    const NAME: &'static str = "worktree.gc";
    const COMMAND: &'static str = "worktree gc";
    const SUMMARY: &'static str = "Remove clones whose work is merged";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Repeatable(|cx, _, _| collect(cx, false));
}

pub struct Preview;

impl Verb for Preview {
    const NAME: &'static str = "worktree.preview_gc";
    const COMMAND: &'static str = "worktree gc --dry-run";
    const SUMMARY: &'static str = "Show which clones would be removed";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, _| collect(cx, true));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WorktreeGc")]
pub struct Request {}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorktreesCollected")]
pub struct Answer {
    pub dry_run: bool,
    /// Clones that were removed, or would be.
    pub removed: Vec<WorktreeRow>,
    pub kept: Vec<WorktreeRow>,
    /// Directories among them without a readable record, or that could not be removed completely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leftovers: Vec<WorktreeLeftover>,
}

fn collect(cx: &mut Context, dry_run: bool) -> Result<Answer> {
    let mut answer = Answer { dry_run, ..Answer::default() };
    for mut row in rows(cx)? {
        if row.kept_because.is_none() && !dry_run {
            let now = cx.now().at;
            let mark = contract::domain::id::mint(cx.ids(), now);
            // It is compared again before it is removed. One that cannot be removed does not keep the others here.
            row.kept_because = match cx.host().remove_worktree(&row.worktree, &mark) {
                Ok(true) => None,
                Ok(false) => Some("it was changed meanwhile".to_owned()),
                Err(error) => Some(error.message),
            };
        }
        if row.kept_because.is_none() { &mut answer.removed } else { &mut answer.kept }.push(row);
    }
    if !dry_run {
        cx.host().remove_worktree_leftovers();
    }
    answer.leftovers = cx.host().worktree_leftovers()?;
    Ok(answer)
}
