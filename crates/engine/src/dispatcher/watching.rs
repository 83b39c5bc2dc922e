//! What changes in the workspace while a task runs: a look before its executor starts, and one when it has ended.
//!
//! A task that declares no `writes` has no scope, so nothing can be outside it, and nothing is looked at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use contract::domain::attempt::Attempt;
use contract::domain::outside::{Interval, OtherTask, Outside, judge};
use contract::domain::scope::Scope;
use contract::domain::time::Timestamp;
use ops::Result;
use ops::crew::meanwhile::{self, Since};

use super::Dispatcher;
use crate::executor::Stopped;
use crate::host::not_seen;
use crate::index::{How, Look};
use crate::live::Live;

/// A task whose changes are watched.
pub(super) struct Watch {
    /// What it may write, under real names.
    scopes: Vec<Scope>,
    fold: bool,
    /// The workspace at the beginning of the span. `None` between two attempts, and if it is not known any more.
    before: Option<Look>,
    span: Span,
    /// Whether this engine watched from the beginning. While there was no engine, a person may have changed files.
    is_unbroken: bool,
}

/// The time in which changes are looked for. It begins with the look that they are compared with, before the first
/// attempt, and includes what others did between two attempts.
struct Span {
    since: Since,
    /// Tasks of this run that ran in it.
    met: BTreeSet<String>,
}

impl Dispatcher<'_> {
    /// Looks at the workspace before an executor starts. An attempt that repeats a failed one is compared with what was
    /// before the first: the change is the same one.
    pub(super) fn begin_watch(&mut self, task: usize, at: Timestamp) -> Result<()> {
        // Nobody meets a task in its clone; its merge holds locks, as every other writer does.
        if self.is_isolated(task) {
            return Ok(());
        }
        let name = self.board.slot(task).name.clone();
        let others = self.live.keys().filter(|&&other| !self.is_isolated(other));
        let running = others.map(|&other| self.board.slot(other).name.clone()).collect();
        for (_, watch) in self.watches.iter_mut().filter(|(other, _)| **other != task) {
            watch.span.met.insert(name.clone());
        }
        let Some((scopes, fold)) = self.watched_scopes(task) else { return Ok(()) };
        let (root, kept_as) = self.watched_place(task);
        let index = &self.settings.index;
        let is_first = self.attempts[task].is_empty();
        let kept = if is_first { None } else { index.kept(&root, &kept_as) };
        let (before, span, is_unbroken) = if let Some(before) = kept {
            let known = self.watches.remove(&task);
            let is_unbroken = known.as_ref().is_some_and(|watch| watch.is_unbroken);
            let known = known.map(|watch| watch.span);
            let recorded = if known.is_some() { None } else { self.recorded_span(task)? };
            let mut span = known.or(recorded).expect("BUG: it has attempts");
            span.met.extend(running);
            (before, span, is_unbroken)
        } else {
            let own = self.held.get(&task).copied().unwrap_or(i64::MAX);
            let since = meanwhile::begin(self.cx, &self.run.asked.workspace, own, at)?;
            index.forget(&root, &kept_as);
            let look = index.look(&root, &self.how(&scopes));
            // Only an engine that takes over from this one needs it, and says so where it is missing.
            index.keep(&root, &kept_as, &look).ok();
            (look, Span { since, met: running }, true)
        };
        self.watches.insert(task, Watch { scopes, fold, before: Some(before), span, is_unbroken });
        Ok(())
    }

    /// What an attempt that has ended changed outside its scope. `None` if that does not matter, or it has no scope.
    pub(super) fn end_watch(&mut self, task: usize, stopped: Option<Stopped>) -> Result<Option<Outside>> {
        let Some(mut watch) = self.watches.remove(&task) else { return Ok(None) };
        let outside = match stopped {
            Some(Stopped::Interrupted | Stopped::Canceled | Stopped::Fenced) => None,
            Some(Stopped::Timeout | Stopped::Silence) | None => Some(self.compared(task, &watch)?),
        };
        // The span goes on if there is another attempt; the look is on the disk.
        watch.before = None;
        self.watches.insert(task, watch);
        Ok(outside)
    }

    /// The same for an attempt whose engine is gone.
    pub(crate) fn outside_of_interrupted(&mut self, task: usize) -> Result<Option<Outside>> {
        let Some((scopes, fold)) = self.watched_scopes(task) else { return Ok(None) };
        let Some(span) = self.recorded_span(task)? else { return Ok(None) };
        let (root, kept_as) = self.watched_place(task);
        let before = self.settings.index.kept(&root, &kept_as);
        let watch = Watch { scopes, fold, before, span, is_unbroken: false };
        self.compared(task, &watch).map(Some)
    }

    /// Nobody will compare anything with what was before the task.
    pub(crate) fn forget_watch(&mut self, task: usize) {
        self.watches.remove(&task);
        let spec = &self.part(task).spec;
        if !spec.writes.is_empty() || spec.files.writes_nothing {
            let (root, kept_as) = self.watched_place(task);
            self.settings.index.forget(&root, &kept_as);
        }
    }

    /// The span of a task that began under another engine, from what the journal has: it is not shorter than the real
    /// one. `None` if the task never began.
    fn recorded_span(&mut self, task: usize) -> Result<Option<Span>> {
        let Some(at) = self.attempts[task].first().map(|first| first.started_at) else { return Ok(None) };
        let since = meanwhile::began(self.cx, &self.tasks[task].id, at)?;
        let is_within = |attempt: &Attempt| attempt.ended_at.is_none_or(|ended| ended >= at);
        let others = (0..self.tasks.len()).filter(|&other| other != task && !self.is_isolated(other));
        let met = others.filter(|&other| self.attempts[other].iter().any(is_within));
        let met = met.map(|other| self.board.slot(other).name.clone()).collect();
        Ok(Some(Span { since, met }))
    }

    fn compared(&mut self, task: usize, watch: &Watch) -> Result<Outside> {
        let (root, _) = self.watched_place(task);
        let rules = watch.before.as_ref().map(Look::rules);
        let how = How { rules, ..self.how(&watch.scopes) };
        let after = self.settings.index.look(&root, &how);
        let not_seen = not_seen(watch.before.as_ref(), &after);
        let changed = watch.before.as_ref().map(|before| after.changed_since(before)).unwrap_or_default();
        let own = self.tasks[task].id.clone();
        let mut others = meanwhile::others(self.cx, &self.run, &own, watch.span.since)?;
        let is_known = |name: &String| others.iter().any(|other| other.name == *name);
        let lockless: Vec<&String> = watch.span.met.iter().filter(|name| !is_known(name)).collect();
        others.extend(lockless.into_iter().map(|name| OtherTask { name: name.clone(), scopes: Vec::new() }));
        let everything = [Scope::everything()];
        let interval = Interval {
            scope: &watch.scopes,
            forbidden: if self.part(task).spec.files.writes_nothing { &everything } else { &[] },
            scratch: &self.part(task).spec.scratch,
            others: &others,
            fold: watch.fold,
        };
        let mut outside = judge(&interval, changed.iter().map(String::as_str));
        if watch.is_unbroken && self.part(task).spec.files.writes_only {
            let real = root.canonicalize().unwrap_or(root);
            let writable = self.live.get(&task).and_then(Live::held_to);
            // What the kernel held was changed by somebody else.
            let could_write = |path: &str| writable.is_none_or(|open| open.includes(&real.join(path)));
            outside.forbid_undeclared(could_write);
        }
        Ok(Outside { not_seen, ..outside })
    }

    /// The scope of a task under real names. `None` if it has none.
    fn watched_scopes(&self, task: usize) -> Option<(Vec<Scope>, bool)> {
        let wants = self.wants(task).ok()?;
        let is_watched = !wants.scopes.is_empty() || self.part(task).spec.files.writes_nothing;
        is_watched.then_some((wants.scopes, wants.fold))
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
