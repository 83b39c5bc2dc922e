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
use super::engine_run::EngineRun;
use super::task_work::TaskWork;
use super::waiting::wants;
use crate::executor::Stopped;
use crate::host::not_seen;
use crate::index::{How, Look};
use crate::sandbox::Writable;

/// What the changes of a task are compared with.
pub(super) struct Watch {
    /// What it may write, under real names.
    scopes: Vec<Scope>,
    fold: bool,
    /// The workspace at the beginning of the span. `None` between two attempts, and if it was lost.
    before: Option<Look>,
    span: WatchSpan,
    /// Whether this engine watched from the beginning. While there was no engine, a person may have changed files.
    is_unbroken: bool,
}

/// The time in which changes are looked for. It begins with the look that they are compared with, before the first
/// attempt, and includes what others did between two attempts.
struct WatchSpan {
    since: Since,
    /// Tasks of this run that ran in it.
    met: BTreeSet<String>,
}

impl Dispatcher<'_> {
    /// Begins to watch what a task that works in the workspace changes there.
    pub(super) fn begin_watch(&mut self, task: usize, at: Timestamp) -> Result<()> {
        // Others are not met in a clone; its merge holds locks, as every other writer does.
        if self.tasks[task].is_isolated() {
            return Ok(());
        }
        let name = self.tasks[task].name().to_owned();
        let others = self.tasks.live().map(|(other, _)| &self.tasks[other]);
        let running = others.filter(|other| !other.is_isolated()).map(|other| other.name().to_owned());
        let running = running.collect();
        let others = self.tasks.iter_mut().filter(|other| other.index != task);
        for watch in others.filter_map(|other| other.watch.as_mut()) {
            watch.span.met.insert(name.clone());
        }
        begin(&mut self.engine, &mut self.tasks[task], at, running)
    }
}

/// Looks at the workspace before an executor starts. An attempt that repeats a failed one is compared with what was
/// before the first: the change is the same one.
fn begin(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    at: Timestamp,
    running: BTreeSet<String>,
) -> Result<()> {
    let Some((scopes, fold)) = watched_scopes(engine, work) else { return Ok(()) };
    let (root, kept_as) = watched_place(engine, work);
    let index = &engine.settings.index;
    let is_first = work.attempts.is_empty();
    let kept = if is_first { None } else { index.kept(&root, &kept_as) };
    let (before, span, is_unbroken) = if let Some(before) = kept {
        let known = work.watch.take();
        let is_unbroken = known.as_ref().is_some_and(|watch| watch.is_unbroken);
        let known = known.map(|watch| watch.span);
        let recorded = if known.is_some() { None } else { recorded_span(engine, work)? };
        let mut span = known.or(recorded).expect("BUG: it has attempts");
        span.met.extend(running);
        (before, span, is_unbroken)
    } else {
        let own = work.grant.unwrap_or(i64::MAX);
        let since = meanwhile::begin(engine.cx, &engine.run.asked.workspace, own, at)?;
        index.forget(&root, &kept_as);
        let look = index.look(&root, &how(engine, &scopes));
        // Only an engine that takes over from this one needs it, and reports that it is missing.
        index.keep(&root, &kept_as, &look).ok();
        (look, WatchSpan { since, met: running }, true)
    };
    work.watch = Some(Watch { scopes, fold, before: Some(before), span, is_unbroken });
    Ok(())
}

/// What an attempt that has ended changed outside its scope. `None` if that does not matter, or it has no scope.
pub(super) fn end(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    held_to: Option<&Writable>,
    stopped: Option<Stopped>,
) -> Result<Option<Outside>> {
    let Some(mut watch) = work.watch.take() else { return Ok(None) };
    let outside = match stopped {
        Some(Stopped::Interrupted | Stopped::Canceled | Stopped::Fenced) => None,
        Some(Stopped::Timeout | Stopped::Silence) | None => Some(compared(engine, work, &watch, held_to)?),
    };
    // The span goes on if there is another attempt; the look is on the disk.
    watch.before = None;
    work.watch = Some(watch);
    Ok(outside)
}

/// The same for an attempt that its engine left.
pub(crate) fn outside_of_interrupted(engine: &mut EngineRun<'_>, work: &TaskWork) -> Result<Option<Outside>> {
    let Some((scopes, fold)) = watched_scopes(engine, work) else { return Ok(None) };
    let Some(span) = recorded_span(engine, work)? else { return Ok(None) };
    let (root, kept_as) = watched_place(engine, work);
    let before = engine.settings.index.kept(&root, &kept_as);
    let watch = Watch { scopes, fold, before, span, is_unbroken: false };
    compared(engine, work, &watch, None).map(Some)
}

/// Removes what a later attempt would be compared with.
pub(crate) fn forget(engine: &EngineRun<'_>, work: &mut TaskWork) {
    work.watch = None;
    let spec = work.spec();
    if !spec.writes.is_empty() || spec.files.writes_nothing {
        let (root, kept_as) = watched_place(engine, work);
        engine.settings.index.forget(&root, &kept_as);
    }
}

/// The span of a task that began under another engine, from what the journal has: it is not shorter than the real
/// one. `None` if the task never began.
fn recorded_span(engine: &mut EngineRun<'_>, work: &TaskWork) -> Result<Option<WatchSpan>> {
    let Some(at) = work.attempts.first().map(|first| first.started_at) else { return Ok(None) };
    let since = meanwhile::began(engine.cx, &work.task.id, at)?;
    let is_within = |attempt: &Attempt| attempt.ended_at.is_none_or(|ended| ended >= at);
    let all = ops::run::show::by_id(engine.cx, &engine.run.asked.id)?.tasks.into_iter();
    let others = all.filter(|(task, attempts)| task.id != work.task.id && attempts.iter().any(is_within));
    let specs = others.filter_map(|(task, _)| Some(task.part?.spec));
    let met = specs.filter(|spec| spec.worktree.is_none()).map(|spec| spec.id).collect();
    Ok(Some(WatchSpan { since, met }))
}

fn compared(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    watch: &Watch,
    held_to: Option<&Writable>,
) -> Result<Outside> {
    let (root, _) = watched_place(engine, work);
    let rules = watch.before.as_ref().map(Look::rules);
    let how = How { rules, ..how(engine, &watch.scopes) };
    let after = engine.settings.index.look(&root, &how);
    let not_seen = not_seen(watch.before.as_ref(), &after);
    let changed = watch.before.as_ref().map(|before| after.changed_since(before)).unwrap_or_default();
    let own = work.task.id.clone();
    let mut others = meanwhile::others(engine.cx, &engine.run, &own, watch.span.since)?;
    let is_known = |name: &String| others.iter().any(|other| other.name == *name);
    let lockless: Vec<&String> = watch.span.met.iter().filter(|name| !is_known(name)).collect();
    others.extend(lockless.into_iter().map(|name| OtherTask { name: name.clone(), scopes: Vec::new() }));
    let everything = [Scope::everything()];
    let interval = Interval {
        scope: &watch.scopes,
        forbidden: if work.spec().files.writes_nothing { &everything } else { &[] },
        scratch: &work.spec().scratch,
        others: &others,
        fold: watch.fold,
    };
    let mut outside = judge(&interval, changed.iter().map(String::as_str));
    if watch.is_unbroken && work.spec().files.writes_only {
        let real = root.canonicalize().unwrap_or(root);
        // What the kernel held was changed by another process.
        let could_write = |path: &str| held_to.is_none_or(|open| open.includes(&real.join(path)));
        outside.forbid_undeclared(could_write);
    }
    Ok(Outside { not_seen, ..outside })
}

/// The scope of a task under real names. `None` if it has none.
fn watched_scopes(engine: &EngineRun<'_>, work: &TaskWork) -> Option<(Vec<Scope>, bool)> {
    let wants = wants(engine, work).ok()?;
    let is_watched = !wants.scopes.is_empty() || work.spec().files.writes_nothing;
    is_watched.then_some((wants.scopes, wants.fold))
}

/// How the workspace is looked at. Outside the scope of a task that may write everywhere there is only what git keeps
/// for itself.
fn how<'h>(engine: &'h EngineRun<'_>, scopes: &'h [Scope]) -> How<'h> {
    if scopes.contains(&Scope::everything()) {
        return How { is_only: true, ..How::default() };
    }
    How { always: scopes, never: &engine.scratch, ..How::default() }
}

fn watched_place(engine: &EngineRun<'_>, work: &TaskWork) -> (PathBuf, String) {
    (Path::new(&engine.run.asked.workspace).to_owned(), work.task.id.to_string())
}
