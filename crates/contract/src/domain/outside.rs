//! Changes outside a task's scope: which of them withhold its evidence, and which cannot be attributed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::crew::worklog;
use super::limits;
use super::scope::Scope;

/// What a task may change, and who else could change files while it ran.
#[derive(Debug, Clone, Copy)]
pub struct Interval<'i> {
    /// What it was granted. Changes in it are its own.
    pub scope: &'i [Scope],
    pub forbidden: &'i [Scope],
    /// Declared scratch, and files that writ writes itself. Changes there never count.
    pub scratch: &'i [Scope],
    /// Tasks that overlapped the interval in time.
    pub others: &'i [OtherTask],
    /// Names that differ only in case are one.
    pub fold: bool,
}

/// Another task of the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherTask {
    pub name: String,
    /// What it was granted, as seen from the workspace. Empty if it holds no lock.
    pub scopes: Vec<Scope>,
}

/// What changed outside the scope of a task while it ran. Each list is bounded; `left_out` counts the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Outside {
    /// Changed although the task's author forbade it. The task is not done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<String>,
    /// Changed while no other task ran and no other grant covered them. Done is only claimed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undeclared: Vec<String>,
    /// Changed while other tasks ran, none of which had a grant on them: nobody knows by whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unattributed: Vec<String>,
    /// Changed while another task had a grant on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<Covered>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Why changes outside the scope could not be seen, or not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_seen: Option<String>,
}

/// A changed file that another task's grant covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Covered {
    pub path: String,
    /// The task that holds or held the grant.
    pub by: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Outside {
    /// A comparison that could not be made.
    pub fn not_seen(why: impl Into<String>) -> Self {
        Self { not_seen: Some(why.into()), ..Self::default() }
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Treats what only this task can have changed as forbidden: of what changed, the paths that it could write to.
    pub fn forbid_undeclared(&mut self, could_write: impl Fn(&str) -> bool) {
        self.forbidden.extend(self.undeclared.extract_if(.., |path| could_write(path)));
    }

    /// Why the task is not done, if a forbidden file changed.
    pub fn refusal(&self) -> Option<String> {
        let more = self.more(&self.forbidden);
        (!self.forbidden.is_empty())
            .then(|| format!("forbidden files changed: {}{more}", list(&self.forbidden)))
    }

    /// Why done is only claimed, if files outside the scope changed while the task ran alone.
    pub fn withheld(&self) -> Option<String> {
        let more = self.more(&self.undeclared);
        let told =
            || format!("files outside its scope changed while it ran: {}{more}", list(&self.undeclared));
        (!self.undeclared.is_empty()).then(told)
    }

    /// What nobody can be held responsible for, in a line for people.
    pub fn unattributed(&self) -> Option<String> {
        let more = self.more(&self.unattributed);
        let told = || format!("changed while several tasks ran: {}{more}", list(&self.unattributed));
        (!self.unattributed.is_empty()).then(told).or_else(|| self.not_seen.clone())
    }

    /// The rest is counted at the list that is full.
    fn more(&self, list: &[String]) -> String {
        let is_full = list.len() == limits::OUTSIDE_PATHS_MAX && self.left_out > 0;
        if is_full { format!(" and up to {} more", self.left_out) } else { String::new() }
    }

    fn keep(&mut self, verdict: OutsideVerdict<'_>, path: &str) {
        let list = match verdict {
            OutsideVerdict::Own => return,
            OutsideVerdict::Covered(by) if self.covered.len() < limits::OUTSIDE_PATHS_MAX => {
                self.covered.push(Covered { path: path.to_owned(), by: by.to_owned() });
                return;
            }
            OutsideVerdict::Covered(_) => {
                self.left_out += 1;
                return;
            }
            OutsideVerdict::Forbidden => &mut self.forbidden,
            OutsideVerdict::Undeclared => &mut self.undeclared,
            OutsideVerdict::Unattributed => &mut self.unattributed,
        };
        if list.len() < limits::OUTSIDE_PATHS_MAX {
            list.push(path.to_owned());
        } else {
            self.left_out += 1;
        }
    }
}

enum OutsideVerdict<'i> {
    Own,
    Forbidden,
    Undeclared,
    Unattributed,
    Covered(&'i str),
}

/// Decides about every path that changed in the interval.
pub fn judge<'p>(interval: &Interval<'_>, changed: impl IntoIterator<Item = &'p str>) -> Outside {
    let mut outside = Outside::default();
    for path in changed {
        outside.keep(judge_one(interval, worklog::original_name(path)), path);
    }
    outside
}

fn judge_one<'i>(interval: &Interval<'i>, path: &str) -> OutsideVerdict<'i> {
    if interval.scratch.iter().any(|scope| covers(scope, path, interval.fold)) {
        return OutsideVerdict::Own;
    }
    let guarded = guarded_part(path);
    let names_it = |scope: &Scope| guarded.is_none_or(|part| scope.as_str().starts_with(part));
    let inside =
        |scopes: &[Scope]| scopes.iter().any(|scope| names_it(scope) && covers(scope, path, interval.fold));
    let holder = interval.others.iter().find(|other| inside(&other.scopes));
    match (inside(interval.forbidden), inside(interval.scope), holder) {
        // A grant excludes all others, so a change in it is the holder's, also where another task must not write.
        (true, _, None) | (true, true, Some(_)) => OutsideVerdict::Forbidden,
        (false, true, _) => OutsideVerdict::Own,
        (_, false, Some(holder)) => OutsideVerdict::Covered(&holder.name),
        (false, false, None) if interval.others.is_empty() => OutsideVerdict::Undeclared,
        (false, false, None) => OutsideVerdict::Unattributed,
    }
}

/// Whether a file of the workspace is in a scope. Scopes are normalized, names on the disk are not.
pub fn covers(scope: &Scope, path: &str, fold: bool) -> bool {
    let has = |outer: &str, path: &str| {
        outer == "." || path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if fold {
        let folded: String = path.to_uppercase().to_lowercase().nfc().collect();
        return has(scope.folded().as_str(), &folded);
    }
    if path.is_ascii() {
        return has(scope.as_str(), path);
    }
    has(scope.as_str(), &path.nfc().collect::<String>())
}

/// What is watched in git's own directory: what runs commands later, changes what commands mean, or hides changes.
pub const GIT_GUARDED: [&str; 5] = ["hooks", "config", "config.worktree", "info/exclude", "info/attributes"];

/// The part of a path up to what is watched in git's own directory. Only a scope that names it covers it, not one that has
/// the whole repository.
fn guarded_part(path: &str) -> Option<&str> {
    for (at, _) in path.match_indices(".git/") {
        let begins = at == 0 || path.as_bytes()[at - 1] == b'/';
        let rest = &path[at + ".git/".len()..];
        let part = GIT_GUARDED.iter().find(|part| {
            rest.strip_prefix(**part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if let Some(part) = part.filter(|_| begins) {
            return Some(&path[..at + ".git/".len() + part.len()]);
        }
    }
    None
}

fn list(paths: &[String]) -> String {
    paths.join(", ")
}

#[cfg(test)]
mod tests;
