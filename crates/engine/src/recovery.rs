//! Decides about tasks that were interrupted: done if their checks pass, else run again with the files that they had before
//! if that is safe, else parked.

mod files;

use std::path::Path;

use contract::domain::attempt::{Attempt, AttemptOutcome, AttemptState, Recovery, Taken};
use contract::domain::check::{Check, CheckSeen, Expects};
use contract::domain::crew::lock::HeldLock;
use contract::domain::limits;
use contract::domain::outside::Outside;
use contract::domain::pins::together;
use contract::domain::policy::Authorization;
use contract::domain::reason::Reason;
use contract::domain::rollback::Trigger;
use contract::domain::status::Status;
use contract::domain::time::Timestamp;
use ops::Result;
use ops::run::journal::{JournalEntry, JournalNote};
use serde_json::json;

use self::files::{Need, RecoveredFiles};
use crate::dispatcher::isolated;
use crate::dispatcher::isolated::landing::{self, MergeEnd};
use crate::dispatcher::rollback::{self, is_unfinished};
use crate::dispatcher::{Committed, Dispatcher, EngineRun, TaskWork, confined, pins, waiting, watching};
use crate::observer::TaskProgress;
use crate::sandbox::{SandboxRequest, leave_repository};
use crate::verify::{self, CheckLocation};

/// What becomes of an interrupted task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecoveryChoice {
    /// Its checks pass: it had finished.
    Verified,
    Rerun,
    /// Its outcome is unknown. A person decides.
    Parked,
}

impl RecoveryChoice {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            RecoveryChoice::Verified => "verified",
            RecoveryChoice::Rerun => "rerun",
            RecoveryChoice::Parked => "parked",
        }
    }

    /// How the attempt is recorded.
    fn ends(self) -> AttemptState {
        match self {
            RecoveryChoice::Verified => AttemptState::Succeeded,
            RecoveryChoice::Rerun => AttemptState::Interrupted,
            RecoveryChoice::Parked => AttemptState::Unknown,
        }
    }
}

/// `checks` are the results of the task's checks, as far as they were run; `shows_end` whether they say anything about interrupted
/// work.
pub(crate) fn decide(
    expected: usize,
    checks: &[CheckSeen],
    (shows_end, may_rerun): (bool, bool),
) -> RecoveryChoice {
    let are_passed = checks.len() == expected && checks.iter().all(CheckSeen::is_passed_or_tolerated);
    match (expected > 0 && shows_end && are_passed, may_rerun) {
        (true, _) => RecoveryChoice::Verified,
        (false, true) => RecoveryChoice::Rerun,
        (false, false) => RecoveryChoice::Parked,
    }
}

/// Whether the checks of a task show that interrupted work had been finished. That a file exists shows nothing if it was there
/// before.
fn shows_the_end(checks: &[Check], was_there: impl Fn(&str) -> bool) -> bool {
    let is_old = |check: &Check| check.command.first().is_some_and(|path| was_there(path));
    checks.iter().any(|check| check.expects != Expects::FileExists || !is_old(check))
}

/// A task runs again only with the files that it had before.
pub(crate) fn with_files(decision: RecoveryChoice, are_fit: bool) -> RecoveryChoice {
    match (decision, are_fit) {
        (RecoveryChoice::Rerun, false) => RecoveryChoice::Parked,
        (RecoveryChoice::Verified | RecoveryChoice::Rerun | RecoveryChoice::Parked, _) => decision,
    }
}

/// Brings every interrupted task of the run into a state from which the scheduler can continue. Leaves the rest
/// unchanged after a request to stop.
pub(crate) fn recover(dispatcher: &mut Dispatcher<'_>) -> Result<()> {
    for task in 0..dispatcher.tasks.len() {
        let (engine, work) = (&dispatcher.engine, &dispatcher.tasks[task]);
        let Some(last) = work.attempts.last().cloned() else { continue };
        let is_blocked = work.task.status == Status::Blocked;
        let interrupted = match last.state {
            AttemptState::Started => true,
            AttemptState::Interrupted => is_blocked,
            AttemptState::Unknown => is_blocked && engine.settings.rerun_parked,
            // Its work could not be merged; perhaps it can by now. Work that was discarded cannot.
            AttemptState::Succeeded => is_blocked && isolated::has_clone(engine, work),
            AttemptState::Failed => false,
        };
        if interrupted {
            isolated::settle_merges(engine, work, &last.begun.id);
        }
        // If another process moves the task meanwhile, its change stays, and the task is decided about again.
        while interrupted && !recover_one(dispatcher, task, &last)? {
            dispatcher.refresh(task)?;
            if dispatcher.is_stopping() && is_wanted(dispatcher, task) {
                return let_go(dispatcher, task);
            }
        }
        dispatcher.follow(task);
    }
    Ok(())
}

/// Whether the task is to be recovered. One that was canceled, alone or with its run, only needs its attempt closed.
fn is_wanted(dispatcher: &Dispatcher<'_>, task: usize) -> bool {
    !dispatcher.engine.is_canceled()
        && matches!(dispatcher.tasks[task].task.status, Status::InProgress | Status::Blocked)
}

/// What was found of an interrupted attempt.
struct Remnant {
    /// Why its evidence is withheld: it changed what its checks use.
    changed: Option<String>,
    outside: Option<Outside>,
    lost_to: Option<HeldLock>,
    /// The locks of its scope are held, and no other task had them since.
    is_held: bool,
    checks: Vec<CheckSeen>,
    looked_at: Timestamp,
}

/// Decides about one task and writes the decision. False if nothing was written, because of a request to stop or
/// because another process moved the task.
fn recover_one(dispatcher: &mut Dispatcher<'_>, task: usize, last: &Attempt) -> Result<bool> {
    let (engine, work) = (&mut dispatcher.engine, &mut dispatcher.tasks[task]);
    if last.state == AttemptState::Started && confined::may_commit(engine, work) {
        leave_repository(work.directory(&engine.run));
    }
    if !is_wanted(dispatcher, task) {
        return close(dispatcher, task, last);
    }
    let (engine, work) = (&mut dispatcher.engine, &mut dispatcher.tasks[task]);
    let lost_to = ops::lock::list::lost_to(engine.cx, &last.begun.task_id)?;
    // No other task writes in a clone.
    let lost_to = lost_to.filter(|_| !work.is_isolated());
    let looked_at = engine.cx.now().at;
    let Some((changed, outside)) = left_behind(engine, work, last)? else { return Ok(true) };
    let is_unfinished = last.rollback.as_ref().is_some_and(is_unfinished);
    let hold = hold(dispatcher, task)?;
    let is_held = matches!(hold, LockHold::Held) && lost_to.is_none();
    let checks = match hold {
        // Whatever the checks find there may be the work of others, or only half of the task's.
        LockHold::Held if lost_to.is_some() || is_unfinished => Some(Vec::new()),
        LockHold::Held => look(dispatcher, task, last)?,
        // Work that was only to be merged still is.
        LockHold::GivenUp if last.state == AttemptState::Succeeded => return Ok(true),
        // The checks could not be run, so nothing is proved.
        LockHold::GivenUp => Some(Vec::new()),
        LockHold::Stopping => None,
    };
    let Some(checks) = checks else { return Ok(false) };
    let found = Remnant { changed, outside, lost_to, is_held, checks, looked_at };
    let (engine, work) = (&mut dispatcher.engine, &mut dispatcher.tasks[task]);
    let Some(told) = settle(engine, work, last, found)? else { return Ok(false) };
    dispatcher
        .engine
        .observer
        .report(TaskProgress::Recovered { task: dispatcher.tasks[task].name(), told: &told });
    leave(dispatcher, task)?;
    Ok(true)
}

/// Decides about a task by what was found, brings its files back, and writes the decision. Returns what to report;
/// `None` if nothing was written.
fn settle(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    last: &Attempt,
    found: Remnant,
) -> Result<Option<String>> {
    let Remnant { changed, outside, lost_to, is_held, checks, looked_at } = found;
    // After the checks: what they leave is the task's.
    let finish = || rollback::finish_snapshot(engine, work, &last.begun.id);
    let snapshot = if lost_to.is_none() { finish().map(noted) } else { None };
    let spec = work.spec();
    let (has_checks, is_safe) = (!spec.checks.is_empty(), spec.retry_safe);
    let was_done = last.state == AttemptState::Succeeded || isolated::was_judged(work, &last.begun.id);
    let unchecked = !has_checks && was_done;
    let shows_end = was_done || shows_the_end(&spec.checks, |path| rollback::was_there(engine, last, path));
    let refused = outside.as_ref().and_then(Outside::refusal);
    let may_rerun = is_safe || engine.settings.rerun_parked;
    let decision = match refused {
        // What it must not have changed is not merged.
        Some(_) => RecoveryChoice::Parked,
        None if unchecked => RecoveryChoice::Verified,
        None => decide(spec.checks.len(), &checks, (shows_end, may_rerun)),
    };
    // Another process moved the task, or took its locks: it is looked at again.
    let MergeEnd::Ended { withheld: unseen } = land(engine, work, last, decision)? else {
        return Ok(None);
    };
    let between = files::between(engine, last, looked_at)?;
    let need = Need { decision, is_held, is_lost: lost_to.is_some(), between };
    let files = files::bring_back(engine, work, last, &need)?;
    let decision = with_files(decision, !files.is_unfit);
    let why = Why { decision, has_checks: has_checks && shows_end, is_safe };
    let reason = refused.unwrap_or_else(|| reason(&why, lost_to.as_ref(), &files));
    let told = recovered((last.state, decision), unchecked, landing::unmerged(work).is_some());
    let withheld = together([changed, outside.as_ref().and_then(Outside::withheld), unseen]);
    let outside = outside.filter(|outside| !outside.is_empty());
    let decided = RecoveryDecision { decision, reason, files };
    let recovery = Some(decided.recovery());
    let observed = AttemptOutcome { checks, outside, snapshot, recovery, ..AttemptOutcome::default() };
    Ok(write(engine, work, last, (decided, observed, withheld))?.then_some(told))
}

/// What was decided, and what became of the files.
struct RecoveryDecision {
    decision: RecoveryChoice,
    reason: String,
    files: RecoveredFiles,
}

impl RecoveryDecision {
    fn recovery(&self) -> Recovery {
        Recovery {
            decision: self.decision.as_str().to_owned(),
            reason: self.reason.clone(),
            restored: self.files.restored,
        }
    }
}

/// Writes the decision, the end of the attempt and the moves of the task in one transaction. False if it was not written,
/// because another process moved the task.
fn write(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    last: &Attempt,
    (decided, observed, withheld): (RecoveryDecision, AttemptOutcome, Option<String>),
) -> Result<bool> {
    let RecoveryDecision { decision, reason, mut files } = decided;
    let mark = engine.pipeline.mark();
    engine.note_all(files.entry.take());
    note_end(engine, work, last, (decision.ends(), &reason), observed);
    match landing::unmerged(work).filter(|_| decision == RecoveryChoice::Verified) {
        Some(reason) => note_unmerged(engine, work, reason),
        None => note_moves(engine, work, decision, (&reason, withheld)),
    }
    engine.note(JournalEntry::LetGo { task_id: last.begun.task_id.clone() });
    note_decision(engine, (decision, &reason), &files, last);
    engine.commit_unless_moved(mark)
}

/// Forgets what only a task that is recovered needs.
fn leave(dispatcher: &mut Dispatcher<'_>, task: usize) -> Result<()> {
    dispatcher.tasks[task].grant = None;
    isolated::create_conflict_task(&mut dispatcher.engine, &mut dispatcher.tasks[task])?;
    dispatcher.reload(task)?;
    if dispatcher.tasks[task].task.status.is_terminal() {
        watching::forget(&dispatcher.engine, &mut dispatcher.tasks[task]);
        dispatcher.engine.settings.sandbox.forget(dispatcher.tasks[task].task.id.as_str());
    }
    Ok(())
}

/// What is reported about a recovered task.
fn recovered((was, decision): (AttemptState, RecoveryChoice), unchecked: bool, is_unmerged: bool) -> String {
    match (was, decision) {
        (AttemptState::Succeeded, RecoveryChoice::Verified) if is_unmerged => {
            "still cannot be merged".to_owned()
        }
        (AttemptState::Succeeded, RecoveryChoice::Verified) => "is merged now".to_owned(),
        (AttemptState::Succeeded, RecoveryChoice::Rerun | RecoveryChoice::Parked) => {
            format!("could not be merged, {}", decision.as_str())
        }
        (_, RecoveryChoice::Verified) if unchecked => "was interrupted, and had finished".to_owned(),
        _ => format!("was interrupted, {}", decision.as_str()),
    }
}

/// Merges the work of a task that had finished.
fn land(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    last: &Attempt,
    decision: RecoveryChoice,
) -> Result<MergeEnd> {
    match decision {
        RecoveryChoice::Verified => {
            let mut mark = engine.pipeline.mark();
            landing::land(engine, work, &last.begun.id, &mut mark)
        }
        RecoveryChoice::Rerun | RecoveryChoice::Parked => Ok(MergeEnd::Ended { withheld: None }),
    }
}

/// The pins that an attempt changed, and what it changed outside its scope. `None` if the task stays as it is: its clone cannot
/// be opened, or its work still cannot be merged.
fn left_behind(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    last: &Attempt,
) -> Result<Option<(Option<String>, Option<Outside>)>> {
    if !work.is_isolated() {
        let changed = pins::changed(engine, work);
        return Ok(Some((changed, watching::outside_of_interrupted(engine, work)?)));
    }
    if !isolated::return_to_clone(engine, work, &last.begun.id)? {
        return Ok(None);
    }
    // Before the work of others comes in.
    let changed = pins::changed(engine, work);
    isolated::bring_together(engine, work, &last.begun.id);
    if last.state == AttemptState::Succeeded && landing::unmerged(work).is_some() {
        isolated::create_conflict_task(engine, work)?;
        return Ok(None);
    }
    Ok(Some((changed, isolated::outside_of_clone(engine, work))))
}

fn note_decision(
    engine: &mut EngineRun<'_>,
    (decision, reason): (RecoveryChoice, &str),
    files: &RecoveredFiles,
    last: &Attempt,
) {
    let message = format!("{}: {}", decision.as_str(), reason);
    let payload = json!({
        "decision": decision.as_str(), "reason": reason, "attempt": last.begun.number,
        "restored": files.restored, "left": files.left,
    });
    let note = JournalNote::event("writ.recovery", &message, payload, Some(&last.begun.task_id));
    engine.note(JournalEntry::Envelope(note));
}

/// What a decision rests on.
struct Why {
    decision: RecoveryChoice,
    has_checks: bool,
    /// The plan allows it to run again.
    is_safe: bool,
}

/// The reason of the decision, the holder of its locks, and what became of its files.
fn reason(why: &Why, lost_to: Option<&HeldLock>, files: &RecoveredFiles) -> String {
    let unproved = if why.has_checks {
        "it was interrupted, and its checks do not pass"
    } else {
        "it was interrupted, and it has no checks that show whether it is done"
    };
    let told = match why.decision {
        RecoveryChoice::Parked if files.is_unfit => {
            "it was interrupted, and what it changed was not taken back completely, so it is not run again"
                .to_owned()
        }
        RecoveryChoice::Verified if !why.has_checks => "it had finished, and its work is merged".to_owned(),
        RecoveryChoice::Verified => "its checks pass, so it had finished".to_owned(),
        RecoveryChoice::Rerun if why.is_safe => format!("{unproved}; the plan says that it may run again"),
        RecoveryChoice::Rerun => format!("{unproved}; it runs again because that was asked for"),
        RecoveryChoice::Parked => format!("{unproved}; the plan does not say that it may run again"),
    };
    let lost = lost_to.map(|other| {
        let HeldLock { reference, run_id, scope, .. } = other;
        format!("its locks were taken, and {reference} of {run_id} got {scope} since; ")
    });
    let files = files.told.as_ref().map(|told| format!("; {told}"));
    format!("{}{told}{}", lost.unwrap_or_default(), files.unwrap_or_default())
}

/// Runs the task's checks. `None` if a request to stop came before they had ended.
fn look(dispatcher: &mut Dispatcher<'_>, task: usize, last: &Attempt) -> Result<Option<Vec<CheckSeen>>> {
    let settings = dispatcher.engine.settings;
    // Checks that the policy forbids by now are not started either; the walk will refuse the run.
    if ops::policy::of_run(&dispatcher.engine.run.asked, &settings.policy) != Authorization::Allow {
        return Ok(Some(Vec::new()));
    }
    let run = dispatcher.engine.run.clone();
    let work = &dispatcher.tasks[task];
    let spec = work.spec().clone();
    let (workspace, task_env) = (work.directory(&run).to_owned(), work.task_env().clone());
    let origin = work.is_isolated().then_some(Path::new(&run.asked.workspace));
    let place = CheckLocation {
        launcher: &*settings.launcher,
        workspace: &workspace,
        index: &settings.index,
        environment: &settings.environment,
        author: run.asked.environment.as_ref(),
        task_env: &task_env,
        scopes: &spec.writes,
        wanted: SandboxRequest::of_task(&spec, settings, origin),
        sandbox: &settings.sandbox,
        task: last.begun.task_id.as_str(),
    };
    let mut heard = Ok(());
    let seen = verify::run_all_while(&spec.checks, &place, &last.begun.id, &mut || {
        if heard.is_ok() {
            dispatcher.engine.observer.tick();
            heard = dispatcher.heed_requests().map(drop);
        }
        heard.is_ok() && !dispatcher.is_stopping()
    });
    heard.map(|()| seen)
}

fn close(dispatcher: &mut Dispatcher<'_>, task: usize, last: &Attempt) -> Result<bool> {
    let (engine, work) = (&mut dispatcher.engine, &mut dispatcher.tasks[task]);
    let lost_to = ops::lock::list::lost_to(engine.cx, &last.begun.task_id)?;
    let looked_at = engine.cx.now().at;
    let is_open = last.state == AttemptState::Started && lost_to.is_none();
    let finish = || rollback::finish_snapshot(engine, work, &last.begun.id).map(noted);
    let snapshot = if is_open { finish() } else { None };
    let is_wanted_back = is_open && files::is_wanted_back(engine, work, last);
    let is_held = is_wanted_back && matches!(hold(dispatcher, task)?, LockHold::Held);
    let (engine, work) = (&mut dispatcher.engine, &mut dispatcher.tasks[task]);
    let mut rolled = None;
    if is_held {
        let (mark, between) = (engine.pipeline.mark(), files::between(engine, last, looked_at)?);
        rolled = rollback::roll_back(engine, work, mark, Trigger::TaskInterrupted, between)?.done();
    }
    let mark = engine.pipeline.mark();
    let more = rolled.as_ref().map(|rolled| rolled.told.clone()).or_else(|| landing::merged_before(work));
    let told = more.map(|more| format!("; {more}")).unwrap_or_default();
    engine.note_all(rolled.and_then(|rolled| rolled.entry));
    let end = format!("canceled after its engine had ended{told}");
    work.grant = None;
    let observed = AttemptOutcome { snapshot, ..AttemptOutcome::default() };
    note_end(engine, work, last, (AttemptState::Interrupted, &end), observed);
    if !engine.commit_unless_moved(mark)? {
        return Ok(false);
    }
    dispatcher.reload(task)?;
    Ok(true)
}

/// The record of a snapshot with an unknown end.
fn noted(note: String) -> Taken {
    Taken { notes: vec![note], ..Taken::default() }
}

/// Whether the locks on what a task writes are held while its checks run.
enum LockHold {
    Held,
    GivenUp,
    Stopping,
}

/// Takes over the locks that the task had when its engine died, or takes new ones, with a higher token either way:
/// checks that run while others write there prove nothing. Waits for other holders as a task does.
fn hold(dispatcher: &mut Dispatcher<'_>, task: usize) -> Result<LockHold> {
    let (engine, work) = (&dispatcher.engine, &dispatcher.tasks[task]);
    let last = work.attempts.last();
    let needs_locks =
        !work.spec().checks.is_empty() || last.is_some_and(|last| files::needs_locks(engine, work, last));
    let is_isolated = work.is_isolated();
    let wanted =
        || if is_isolated { Ok(landing::landing_wants(engine, work)) } else { waiting::wants(engine, work) };
    // A scope that cannot be locked is refused when the task starts.
    let wants = wanted().unwrap_or_default();
    if !(needs_locks || is_isolated) || wants.scopes.is_empty() {
        return Ok(LockHold::Held);
    }
    loop {
        let mark = dispatcher.engine.pipeline.mark();
        let task_id = dispatcher.tasks[task].task.id.clone();
        dispatcher.engine.note(JournalEntry::Hold { task_id, wants: wants.clone() });
        match dispatcher.engine.try_commit(mark)? {
            Committed::All(token) => {
                let work = &mut dispatcher.tasks[task];
                work.grant = token.or(work.grant);
                work.clear_wait();
                return Ok(LockHold::Held);
            }
            Committed::Hindered(mut hindrance) => {
                waiting::look_at_holder(dispatcher.engine.settings, &mut hindrance);
                dispatcher.wait_for(task, hindrance);
            }
            Committed::Moved | Committed::Fenced => {}
        }
        if dispatcher.has_waited_enough(task) {
            dispatcher.tasks[task].clear_wait();
            return Ok(LockHold::GivenUp);
        }
        dispatcher.engine.settings.launcher.pause(limits::HINDRANCE_POLL);
        dispatcher.engine.observer.tick();
        dispatcher.heed_requests()?;
        if dispatcher.is_stopping() {
            return Ok(LockHold::Stopping);
        }
    }
}

fn let_go(dispatcher: &mut Dispatcher<'_>, task: usize) -> Result<()> {
    dispatcher.tasks[task].clear_wait();
    if dispatcher.tasks[task].grant.take().is_some() {
        let mark = dispatcher.engine.pipeline.mark();
        dispatcher.engine.note(JournalEntry::LetGo { task_id: dispatcher.tasks[task].task.id.clone() });
        dispatcher.engine.commit_unless_moved(mark)?;
    }
    Ok(())
}

/// Ends an attempt that is open.
pub(crate) fn note_end(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    last: &Attempt,
    (state, reason): (AttemptState, &str),
    observed: AttemptOutcome,
) {
    if last.state == AttemptState::Started {
        engine.note(JournalEntry::EndAttempt {
            task_id: last.begun.task_id.clone(),
            attempt_id: last.begun.id.clone(),
            state,
            outcome: Box::new(AttemptOutcome {
                message: reason.to_owned(),
                agent_session: last.begun.agent_session.clone(),
                ..observed
            }),
            token: work.grant,
        });
    }
}

fn note_moves(
    engine: &mut EngineRun<'_>,
    work: &TaskWork,
    decision: RecoveryChoice,
    (reason, withheld): (&str, Option<String>),
) {
    for to in moves(decision, work.task.status) {
        let task_id = work.task.id.clone();
        if to == Status::Done {
            let withheld = withheld.clone().map(Reason::from);
            let verified = !work.spec().checks.is_empty();
            engine.note(JournalEntry::Finish { task_id, verified, withheld });
            continue;
        }
        engine.note(work.move_to(to, Some(format!("unknown: {reason}").into())));
    }
}

/// Leaves a task with unmerged work to a person.
fn note_unmerged(engine: &mut EngineRun<'_>, work: &TaskWork, reason: Reason) {
    if work.task.status == Status::InProgress {
        engine.note(work.move_to(Status::Blocked, Some(reason)));
    }
}

/// The legal path from the state of an interrupted task to the state that was decided.
fn moves(decision: RecoveryChoice, from: Status) -> Vec<Status> {
    let is_blocked = from == Status::Blocked;
    match (decision, is_blocked) {
        (RecoveryChoice::Verified, true) => vec![Status::InProgress, Status::Done],
        (RecoveryChoice::Verified, false) => vec![Status::Done],
        (RecoveryChoice::Rerun, true) => vec![Status::Todo],
        (RecoveryChoice::Rerun, false) => vec![Status::Blocked, Status::Todo],
        (RecoveryChoice::Parked, true | false) => vec![Status::Blocked],
    }
}

#[cfg(test)]
mod tests;
