//! A task's own clone of its workspace: where its result is kept, which ports it has, what a conflict is, and when the
//! clone may be deleted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits;
use super::reason::{Reason, ReasonRule};
use super::run::RunId;
use super::status::Status;
use super::task::TaskId;
use super::text::counted;
use super::time::Timestamp;
use crate::shape::words;

words! {
    /// Where the processes of a task work.
    #[derive(Default)]
    Isolation {
        /// In the workspace itself.
        #[default]
        InPlace = "none",
        /// In a clone of the workspace's repository.
        Worktree = "worktree",
    }
}

/// What a task in a clone gets besides the files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorktreeSpec {
    /// Commands that prepare the clone, each a program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<Vec<String>>,
    /// How many ports are reserved for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ports: u16,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(ports: &u16) -> bool {
    *ports == 0
}

/// A range of ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ports {
    pub first: u16,
    pub last: u16,
}

impl Ports {
    fn overlaps(self, other: Ports) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// The lowest range of this many ports that overlaps none of the taken ones. `None` if there is none.
    pub fn free(count: u16, taken: &[Ports]) -> Option<Ports> {
        let mut first = limits::WORKTREE_PORT_FIRST;
        loop {
            let last = first.checked_add(count.checked_sub(1)?)?;
            if last > limits::WORKTREE_PORT_LAST {
                return None;
            }
            let wanted = Ports { first, last };
            match taken.iter().find(|taken| taken.overlaps(wanted)) {
                Some(taken) => first = taken.last.checked_add(1)?,
                None => return Some(wanted),
            }
        }
    }
}

/// The name of a task as one part of a path and of a git reference. No two tasks of a plan share one.
pub fn part_name(task: &str) -> String {
    let is_refused = task.contains("..") || task.ends_with('.') || task.strip_suffix(".lock").is_some();
    if is_refused { task.replace('.', "%2E") } else { task.to_owned() }
}

/// Under this reference the workspace's repository keeps what a task did.
pub fn reference(run: &RunId, task: &str) -> String {
    format!("refs/writ/{run}/{}", part_name(task))
}

/// What is written about a clone beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeRecord {
    pub run_id: RunId,
    pub task_id: TaskId,
    /// The task's id in its plan.
    pub name: String,
    pub workspace: String,
    /// The commit that the clone began with.
    pub base: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Ports>,
    /// How many of the setup commands have ended well.
    #[serde(default)]
    pub set_up: usize,
    pub created_at: Timestamp,
}

/// How a clone compares with its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// Nothing was changed in it.
    Empty,
    /// Everything in it is in the workspace's current branch.
    Merged,
    /// It has work that the current branch has not.
    Unmerged { commit: String },
    /// It could not be compared.
    Unknown { reason: String },
}

impl Standing {
    /// Whether something may be lost with the clone.
    pub fn may_have_work(&self) -> bool {
        match self {
            Standing::Empty | Standing::Merged => false,
            Standing::Unmerged { .. } | Standing::Unknown { .. } => true,
        }
    }
}

/// Why a clone stays. `None` if it may be deleted: its task has ended and nothing in it is unmerged.
pub fn kept_because(standing: &Standing, task: Option<Status>) -> Option<String> {
    match (standing, task) {
        (Standing::Unmerged { .. }, _) => Some("it has work that is not merged".to_owned()),
        (Standing::Unknown { reason }, _) => Some(format!("it could not be compared: {reason}")),
        (Standing::Empty | Standing::Merged, Some(status)) if !status.is_terminal() => {
            Some(format!("its task is {status}"))
        }
        (Standing::Empty | Standing::Merged, _) => None,
    }
}

/// What goes with a clone that is discarded, besides ignored files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// The tree of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// What its branches and tags name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tips: Vec<String>,
    /// Commits that the workspace's current branch has not, newest first.
    pub commits: Vec<String>,
    pub all_commits: usize,
    /// Files that the task changed, committed or not.
    pub files: Vec<String>,
    pub all_files: usize,
    /// Why it cannot be brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_keep: Option<String>,
}

impl Loss {
    /// What a person is shown before it is lost.
    pub fn told(&self) -> String {
        let mut text = String::new();
        let mut list = |what: &str, lines: &[String], all: usize| {
            if all == 0 {
                return;
            }
            text.push_str(&format!("{}:\n", counted(all, what)));
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
            if all > lines.len() {
                text.push_str(&format!("  and {} more\n", all - lines.len()));
            }
        };
        list("unmerged commit", &self.commits, self.all_commits);
        list("changed file", &self.files, self.all_files);
        match &self.cannot_keep {
            Some(reason) => text.push_str(&format!("This cannot be brought back: {reason}.\n")),
            None => text.push_str("Ignored files are lost; the rest is kept in a git bundle.\n"),
        }
        text
    }
}

/// One side of a conflict: who changed the path there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConflictSide {
    /// A branch or a reference.
    pub at: String,
    pub commit: String,
    /// Tasks of runs, by their ids in their plans, or the commits of others.
    pub by: Vec<String>,
}

/// Why the work of a task could not be merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergeConflict {
    /// What the workspace has.
    pub ours: ConflictSide,
    /// What the task did.
    pub theirs: ConflictSide,
    pub paths: Vec<String>,
    pub more_paths: usize,
    /// What is wrong besides the paths, as git said it: uncommitted edits that the merge would overwrite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl MergeConflict {
    /// The reason of the task that could not be merged.
    pub fn reason(&self) -> Reason {
        let told = Reason::new(self.told());
        if self.problem.is_some() { told } else { told.with_rule(ReasonRule::MergeConflict) }
    }

    /// The same in words.
    pub fn told(&self) -> String {
        let paths = self.listed();
        match &self.problem {
            Some(problem) => format!("merge conflict: {problem}; its work is in {}", self.theirs.at),
            None => format!(
                "merge conflict with {} in {paths}; resolve it in the workspace with `git merge {}`",
                either(&self.ours.by, &self.ours.at),
                self.theirs.at
            ),
        }
    }

    /// The title of the task that is created for it.
    pub fn title(&self, task: &str) -> String {
        let title = format!(
            "Resolve the merge conflict of `{task}` with {} in {}",
            either(&self.ours.by, &self.ours.at),
            self.listed()
        );
        title.replace(char::is_control, " ").chars().take(limits::TITLE_CHARS_MAX).collect()
    }

    /// What has to be done, for a person or an agent.
    pub fn description(&self, run: &RunId) -> String {
        let side = |name: &str, side: &ConflictSide| {
            format!("{name}: {} at {}, by {}\n", side.at, side.commit, either(&side.by, "nobody known"))
        };
        let problem = self.problem.as_ref().map(|problem| format!("{problem}\n")).unwrap_or_default();
        let paths: String = self.paths.iter().map(|path| format!("  {path}\n")).collect();
        let more =
            if self.more_paths > 0 { format!("  and {} more\n", self.more_paths) } else { String::new() };
        format!(
            "{}{}paths:\n{paths}{more}{problem}\nTo resolve it, in the workspace:\n  git merge {}\n  edit the paths, \
             then git add and git commit\n  writ run --continue {run}\n",
            side("ours", &self.ours),
            side("theirs", &self.theirs),
            self.theirs.at
        )
    }

    fn listed(&self) -> String {
        let shown: Vec<&str> = self.paths.iter().take(3).map(String::as_str).collect();
        let more = self.paths.len() - shown.len() + self.more_paths;
        match (shown.is_empty(), more) {
            (true, _) => "its files".to_owned(),
            (false, 0) => shown.join(", "),
            (false, more) => format!("{} and {more} more", shown.join(", ")),
        }
    }
}

fn either(names: &[String], otherwise: &str) -> String {
    if names.is_empty() { otherwise.to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests;
