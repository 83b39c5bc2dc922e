//! What changes in the workspace while a task runs: a look before its executor starts, and one when it has ended.
//!
//! A task that declares no `writes` has no scope, so nothing can be outside it, and nothing is looked at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use contract::domain::outside::{Interval, OtherTask, Outside, judge};
use contract::domain::scope::Scope;
use contract::domain::time::Timestamp;
use ops::Result;
use ops::crew::meanwhile::{self, Since};

use super::Dispatcher;
use crate::executor::Stopped;
use crate::host::not_seen;
use crate::index::{How, Look};

/// A task whose changes are watched.
pub(super) struct Watch {
    /// What it may write, under real names.
    scopes: Vec<Scope>,
    fold: bool,
    since: Since,
    /// The workspace before its first attempt; `None` if that is not known any more.
    before: Option<Look>,
    /// Tasks of this run that ran at the same time.
    met: BTreeSet<String>,
}

impl Dispatcher<'_> {
    /// Looks at the workspace before an executor starts. An attempt that repeats a failed one is compared with what was
    /// before the first: the change is the same one.
    pub(super) fn begin_watch(&mut self, task: usize, at: Timestamp) -> Result<()> {
        let name = self.board.slot(task).name.clone();
        let met = self.live.keys().map(|&other| self.board.slot(other).name.clone()).collect();
        for watch in self.watches.values_mut() {
            watch.met.insert(name.clone());
        }
        let Some((scopes, fold)) = self.watched_scopes(task) else { return Ok(()) };
        let since = meanwhile::begin(self.cx, &self.run.asked.workspace, at)?;
        let (root, kept_as) = self.watched_place(task);
        let index = &self.settings.index;
        let is_first = self.attempts[task].is_empty();
        let kept = if is_first { None } else { index.kept(&root, &kept_as) };
        let before = kept.unwrap_or_else(|| {
            index.forget(&root, &kept_as);
            let look = index.look(&root, &self.how(&scopes));
            // Only an engine that takes over from this one needs it, and says so where it is missing.
            index.keep(&root, &kept_as, &look).ok();
            look
        });
        self.watches.insert(task, Watch { scopes, fold, since, before: Some(before), met });
        Ok(())
    }

    /// What an attempt that has ended changed outside its scope. `None` if that does not matter, or it has no scope.
    pub(super) fn end_watch(&mut self, task: usize, stopped: Option<Stopped>) -> Result<Option<Outside>> {
        let Some(watch) = self.watches.remove(&task) else { return Ok(None) };
        match stopped {
            Some(Stopped::Interrupted | Stopped::Canceled | Stopped::Fenced) => Ok(None),
            Some(Stopped::Timeout | Stopped::Silence) | None => self.compared(task, &watch).map(Some),
        }
    }

    /// The same for an attempt whose engine is gone.
    pub(crate) fn outside_of_interrupted(
        &mut self,
        task: usize,
        started_at: Timestamp,
    ) -> Result<Option<Outside>> {
        let Some((scopes, fold)) = self.watched_scopes(task) else { return Ok(None) };
        let (root, kept_as) = self.watched_place(task);
        let before = self.settings.index.kept(&root, &kept_as);
        // Its own grant may be gone, so all grants since it started are looked at.
        let since = Since { oldest_grant: 0, at: started_at };
        let watch = Watch { scopes, fold, since, before, met: BTreeSet::new() };
        self.compared(task, &watch).map(Some)
    }

    /// Nobody will compare anything with what was before the task.
    pub(crate) fn forget_watch(&mut self, task: usize) {
        if !self.part(task).spec.writes.is_empty() {
            let (root, kept_as) = self.watched_place(task);
            self.settings.index.forget(&root, &kept_as);
        }
    }

    fn compared(&mut self, task: usize, watch: &Watch) -> Result<Outside> {
        let (root, _) = self.watched_place(task);
        let rules = watch.before.as_ref().map(Look::rules);
        let how = How { rules, ..self.how(&watch.scopes) };
        let after = self.settings.index.look(&root, &how);
        let not_seen = not_seen(watch.before.as_ref(), &after);
        let changed = watch.before.as_ref().map(|before| after.changed_since(before)).unwrap_or_default();
        let own = self.tasks[task].id.clone();
        let mut others = meanwhile::others(self.cx, &self.run, &own, watch.since)?;
        let is_known = |name: &String| others.iter().any(|other| other.name == *name);
        let lockless: Vec<&String> = watch.met.iter().filter(|name| !is_known(name)).collect();
        others.extend(lockless.into_iter().map(|name| OtherTask { name: name.clone(), scopes: Vec::new() }));
        let interval = Interval {
            scope: &watch.scopes,
            forbidden: &[],
            scratch: &self.part(task).spec.scratch,
            others: &others,
            fold: watch.fold,
        };
        let outside = judge(&interval, changed.iter().map(String::as_str));
        Ok(Outside { not_seen, ..outside })
    }

    /// The scope of a task under real names. `None` if it has none.
    fn watched_scopes(&self, task: usize) -> Option<(Vec<Scope>, bool)> {
        let wants = self.wants(task).ok()?;
        (!wants.scopes.is_empty()).then_some((wants.scopes, wants.fold))
    }

    /// How the workspace is looked at. Outside the scope of a task that may write everywhere there is only what git keeps
    /// for itself.
    fn how<'h>(&'h self, scopes: &'h [Scope]) -> How<'h> {
        if scopes.contains(&Scope::everything()) {
            return How { is_only: true, ..How::default() };
        }
        How { always: scopes, never: self.scratch(), ..How::default() }
    }

    fn watched_place(&self, task: usize) -> (PathBuf, String) {
        (Path::new(&self.run.asked.workspace).to_owned(), self.tasks[task].id.to_string())
    }

    /// The scratch of every task of the run.
    fn scratch(&self) -> &[Scope] {
        &self.scratch
    }
}
