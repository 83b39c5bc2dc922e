//! Decides about tasks that were interrupted: done if their checks pass, else run again with the files that they had before
//! if that is safe, else parked.

mod files;

use std::path::PathBuf;

use contract::aee::Type;
use contract::domain::attempt::{Attempt, AttemptState, Outcome, Recovery, Taken};
use contract::domain::check::{Check, CheckSeen, Expects};
use contract::domain::crew::lock::Held;
use contract::domain::limits;
use contract::domain::outside::Outside;
use contract::domain::pins::together;
use contract::domain::policy::Authorization;
use contract::domain::rollback::Trigger;
use contract::domain::status::Status;
use contract::plan::PlanTask;
use ops::Result;
use ops::run::journal::{Entry, Note};
use serde_json::json;

use self::files::{Files, Need};
use crate::dispatcher::rollback::is_unfinished;
use crate::dispatcher::{Committed, Dispatcher};
use crate::observer::Progress;
use crate::sandbox::{Wanted, leave_repository};
use crate::verify::{self, CheckLocation};

/// What becomes of an interrupted task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Its checks pass: it had finished.
    Verified,
    Rerun,
    /// Nobody can tell what it did. A person decides.
    Parked,
}

impl Decision {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Decision::Verified => "verified",
            Decision::Rerun => "rerun",
            Decision::Parked => "parked",
        }
    }

    /// How the attempt is recorded.
    fn ends(self) -> AttemptState {
        match self {
            Decision::Verified => AttemptState::Succeeded,
            Decision::Rerun => AttemptState::Interrupted,
            Decision::Parked => AttemptState::Unknown,
        }
    }
}

/// `checks` are the results of the task's checks, as far as they were run; `shows_end` whether they say anything about interrupted
/// work.
pub(crate) fn decide(
    expected: usize,
    checks: &[CheckSeen],
    (shows_end, may_rerun): (bool, bool),
) -> Decision {
    let are_passed = checks.len() == expected && checks.iter().all(CheckSeen::is_passed_or_tolerated);
    match (expected > 0 && shows_end && are_passed, may_rerun) {
        (true, _) => Decision::Verified,
        (false, true) => Decision::Rerun,
        (false, false) => Decision::Parked,
    }
}

/// Whether the checks of a task show that interrupted work had been finished. That a file exists shows nothing if it was there
/// before.
fn shows_the_end(checks: &[Check], was_there: impl Fn(&str) -> bool) -> bool {
    let is_old = |check: &Check| check.command.first().is_some_and(|path| was_there(path));
    checks.iter().any(|check| check.expects != Expects::FileExists || !is_old(check))
}

/// A task runs again only with the files that it had before.
pub(crate) fn with_files(decision: Decision, are_fit: bool) -> Decision {
    match (decision, are_fit) {
        (Decision::Rerun, false) => Decision::Parked,
        (Decision::Verified | Decision::Rerun | Decision::Parked, _) => decision,
    }
}

/// Brings every interrupted task of the run into a state from which the scheduler can continue. Leaves the rest
/// unchanged after a request to stop.
pub(crate) fn recover(dispatcher: &mut Dispatcher<'_>) -> Result<()> {
    for task in 0..dispatcher.tasks.len() {
        let Some(last) = dispatcher.attempts[task].last().cloned() else { continue };
        let interrupted = match last.state {
            AttemptState::Started => true,
            AttemptState::Interrupted => dispatcher.tasks[task].status == Status::Blocked,
            AttemptState::Unknown => {
                dispatcher.tasks[task].status == Status::Blocked && dispatcher.settings.rerun_parked
            }
            // Its work could not be merged; perhaps it can by now. Work that was discarded cannot.
            AttemptState::Succeeded => {
                dispatcher.tasks[task].status == Status::Blocked && dispatcher.has_clone(task)
            }
            AttemptState::Failed => false,
        };
        if interrupted {
            dispatcher.settle_merges(task, &last.begun.id);
        }
        // If another process moves the task meanwhile, its change stays, and the task is decided about again.
        while interrupted && !recover_one(dispatcher, task, &last)? {
            dispatcher.refresh(task)?;
            if dispatcher.is_stopping() && is_wanted(dispatcher, task) {
                return let_go(dispatcher, task);
            }
        }
    }
    Ok(())
}

/// Whether the task is to be recovered. One that was canceled, alone or with its run, only needs its attempt closed.
fn is_wanted(dispatcher: &Dispatcher<'_>, task: usize) -> bool {
    !dispatcher.is_canceled() && matches!(dispatcher.tasks[task].status, Status::InProgress | Status::Blocked)
}

/// Decides about one task and writes the decision. False if nothing was written, because of a request to stop or
/// because another process moved the task.
fn recover_one(dispatcher: &mut Dispatcher<'_>, task: usize, last: &Attempt) -> Result<bool> {
    if last.state == AttemptState::Started && dispatcher.may_commit(task) {
        leave_repository(dispatcher.directory(task));
    }
    if !is_wanted(dispatcher, task) {
        return close(dispatcher, task, last);
    }
    let spec = dispatcher.part(task).spec.clone();
    let lost_to = ops::lock::list::lost_to(dispatcher.cx, &last.begun.task_id)?;
    // Nobody else writes in a clone.
    let lost_to = lost_to.filter(|_| !dispatcher.is_isolated(task));
    let looked_at = dispatcher.cx.now().at;
    let Some((changed, outside)) = left_behind(dispatcher, task, last)? else { return Ok(true) };
    let is_unfinished = last.rollback.as_ref().is_some_and(is_unfinished);
    let hold = hold(dispatcher, task)?;
    let is_held = matches!(hold, Hold::Held) && lost_to.is_none();
    let checks = match hold {
        // Whatever the checks find there may be the work of others, or only half of the task's.
        Hold::Held if lost_to.is_some() || is_unfinished => Some(Vec::new()),
        Hold::Held => look(dispatcher, task, &spec, last)?,
        // Work that was only to be merged still is.
        Hold::GivenUp if last.state == AttemptState::Succeeded => return Ok(true),
        // The checks could not be run, so nothing is proved.
        Hold::GivenUp => Some(Vec::new()),
        Hold::Stopping => None,
    };
    let Some(checks) = checks else { return Ok(false) };
    // After the checks: what they leave is the task's.
    let finish = || dispatcher.finish_snapshot(task, &last.begun.id);
    let snapshot = if lost_to.is_none() { finish().map(noted) } else { None };
    let may_rerun = spec.retry_safe || dispatcher.settings.rerun_parked;
    let was_done = was_done(dispatcher, task, last);
    let unchecked = spec.checks.is_empty() && was_done;
    let shows_end = was_done || shows_the_end(&spec.checks, |path| dispatcher.was_there(last, path));
    let refused = outside.as_ref().and_then(Outside::refusal);
    let decision = match refused {
        // What it must not have changed is not merged.
        Some(_) => Decision::Parked,
        None if unchecked => Decision::Verified,
        None => decide(spec.checks.len(), &checks, (shows_end, may_rerun)),
    };
    // Somebody moved the task, or took its locks: it is looked at again.
    let Ok(unseen) = land(dispatcher, task, last, decision)? else { return Ok(false) };
    let between = files::between(dispatcher, last, looked_at)?;
    let files = files::bring_back(
        dispatcher,
        task,
        last,
        &Need { decision, is_held, is_lost: lost_to.is_some(), between },
    )?;
    let decision = with_files(decision, !files.is_unfit);
    let why = Why { decision, has_checks: !spec.checks.is_empty() && shows_end, is_safe: spec.retry_safe };
    let reason = refused.unwrap_or_else(|| reason(&why, lost_to.as_ref(), &files));
    let recovered = recovered((last.state, decision), unchecked, dispatcher.unmerged(task).is_some());
    let withheld = together([changed, outside.as_ref().and_then(Outside::withheld), unseen]);
    let outside = outside.filter(|outside| !outside.is_empty());
    let decided = RecoveryDecision { decision, reason, files };
    let observed =
        Outcome { checks, outside, snapshot, recovery: Some(decided.recovery()), ..Outcome::default() };
    if !write(dispatcher, task, last, (decided, observed, withheld))? {
        return Ok(false);
    }
    dispatcher.observer.report(Progress::Recovered { task: &spec.id, told: &recovered });
    leave(dispatcher, task)?;
    Ok(true)
}

/// What was decided, and what became of the files.
struct RecoveryDecision {
    decision: Decision,
    reason: String,
    files: Files,
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
    dispatcher: &mut Dispatcher<'_>,
    task: usize,
    last: &Attempt,
    (decided, observed, withheld): (RecoveryDecision, Outcome, Option<String>),
) -> Result<bool> {
    let RecoveryDecision { decision, reason, mut files } = decided;
    let mark = dispatcher.pipeline.mark();
    files.entry.take().into_iter().for_each(|entry| dispatcher.note(entry));
    note_end(dispatcher, task, last, (decision.ends(), &reason), observed);
    match dispatcher.unmerged(task).filter(|_| decision == Decision::Verified) {
        Some(reason) => note_unmerged(dispatcher, task, reason),
        None => note_moves(dispatcher, task, decision, (&reason, withheld)),
    }
    dispatcher.note(Entry::LetGo { task_id: last.begun.task_id.clone() });
    note_decision(dispatcher, (decision, &reason), &files, last);
    dispatcher.commit_unless_moved(mark)
}

/// Forgets what only a task that is recovered needs.
fn leave(dispatcher: &mut Dispatcher<'_>, task: usize) -> Result<()> {
    dispatcher.held.remove(&task);
    dispatcher.create_conflict_task(task)?;
    dispatcher.reload(task)?;
    if dispatcher.tasks[task].status.is_terminal() {
        dispatcher.forget_watch(task);
        dispatcher.settings.sandbox.forget(dispatcher.tasks[task].id.as_str());
    }
    Ok(())
}

/// What is told about a task that was decided about.
fn recovered((was, decision): (AttemptState, Decision), unchecked: bool, is_unmerged: bool) -> String {
    match (was, decision) {
        (AttemptState::Succeeded, Decision::Verified) if is_unmerged => "still cannot be merged".to_owned(),
        (AttemptState::Succeeded, Decision::Verified) => "is merged now".to_owned(),
        (AttemptState::Succeeded, Decision::Rerun | Decision::Parked) => {
            format!("could not be merged, {}", decision.as_str())
        }
        (_, Decision::Verified) if unchecked => "was interrupted, and had finished".to_owned(),
        _ => format!("was interrupted, {}", decision.as_str()),
    }
}

/// What was only to be merged is done where there is nothing to check.
fn was_done(dispatcher: &Dispatcher<'_>, task: usize, last: &Attempt) -> bool {
    last.state == AttemptState::Succeeded || dispatcher.was_judged(task, &last.begun.id)
}

/// Merges the work of a task that had finished. Returns why its evidence is withheld; `Err` if it is not to be merged any more.
fn land(
    dispatcher: &mut Dispatcher<'_>,
    task: usize,
    last: &Attempt,
    decision: Decision,
) -> Result<std::result::Result<Option<String>, Committed>> {
    match decision {
        Decision::Verified => {
            let mut mark = dispatcher.pipeline.mark();
            dispatcher.land(task, &last.begun.id, &mut mark)
        }
        Decision::Rerun | Decision::Parked => Ok(Ok(None)),
    }
}

/// The pins that an attempt changed, and what it changed outside its scope. `None` if the task stays as it is: its clone cannot
/// be opened, or its work still cannot be merged.
fn left_behind(
    dispatcher: &mut Dispatcher<'_>,
    task: usize,
    last: &Attempt,
) -> Result<Option<(Option<String>, Option<Outside>)>> {
    if !dispatcher.is_isolated(task) {
        let changed = dispatcher.changed_pins(task);
        return Ok(Some((changed, dispatcher.outside_of_interrupted(task)?)));
    }
    if !dispatcher.return_to_clone(task, &last.begun.id)? {
        return Ok(None);
    }
    // Before the work of others comes in.
    let changed = dispatcher.changed_pins(task);
    dispatcher.bring_together(task, &last.begun.id);
    if last.state == AttemptState::Succeeded && dispatcher.unmerged(task).is_some() {
        dispatcher.create_conflict_task(task)?;
        return Ok(None);
    }
    Ok(Some((changed, dispatcher.outside_of_clone(task))))
}

fn note_decision(
    dispatcher: &mut Dispatcher<'_>,
    (decision, reason): (Decision, &str),
    files: &Files,
    last: &Attempt,
) {
    dispatcher.note(Entry::Envelope(Note {
        kind: Type::Event,
        from: None,
        to: "log.writ".to_owned(),
        intent: "writ.recovery".to_owned(),
        message: format!("{}: {}", decision.as_str(), reason),
        payload: json!({
            "decision": decision.as_str(), "reason": reason, "attempt": last.begun.number,
            "restored": files.restored, "left": files.left,
        }),
        task_id: Some(last.begun.task_id.clone()),
    }));
}

/// What a decision rests on.
struct Why {
    decision: Decision,
    has_checks: bool,
    /// The plan says that it may run again.
    is_safe: bool,
}

/// Why it was decided so, who has its locks by now, and what became of its files.
fn reason(why: &Why, lost_to: Option<&Held>, files: &Files) -> String {
    let unproved = if why.has_checks {
        "it was interrupted, and its checks do not pass"
    } else {
        "it was interrupted, and it has no checks that show whether it is done"
    };
    let told = match why.decision {
        Decision::Parked if files.is_unfit => {
            "it was interrupted, and what it changed was not taken back completely, so it is not run again"
                .to_owned()
        }
        Decision::Verified if !why.has_checks => "it had finished, and its work is merged".to_owned(),
        Decision::Verified => "its checks pass, so it had finished".to_owned(),
        Decision::Rerun if why.is_safe => format!("{unproved}; the plan says that it may run again"),
        Decision::Rerun => format!("{unproved}; it runs again because that was asked for"),
        Decision::Parked => format!("{unproved}; the plan does not say that it may run again"),
    };
    let lost = lost_to.map(|other| {
        let Held { reference, run_id, scope, .. } = other;
        format!("its locks were taken, and {reference} of {run_id} got {scope} since; ")
    });
    let files = files.told.as_ref().map(|told| format!("; {told}"));
    format!("{}{told}{}", lost.unwrap_or_default(), files.unwrap_or_default())
}

/// Runs the task's checks. `None` if a request to stop came before they had ended.
fn look(
    dispatcher: &mut Dispatcher<'_>,
    task: usize,
    spec: &PlanTask,
    last: &Attempt,
) -> Result<Option<Vec<CheckSeen>>> {
    let settings = dispatcher.settings;
    // Checks that the policy forbids by now are not started either; the walk will refuse the run.
    if ops::policy::of_run(&dispatcher.run.asked, &settings.policy) != Authorization::Allow {
        return Ok(Some(Vec::new()));
    }
    let workspace = dispatcher.directory(task).to_owned();
    let task_env = dispatcher.task_env(task).clone();
    let environment = dispatcher.run.asked.environment.clone();
    let origin = PathBuf::from(&dispatcher.run.asked.workspace);
    let origin = dispatcher.is_isolated(task).then_some(origin.as_path());
    let place = CheckLocation {
        launcher: &*settings.launcher,
        workspace: &workspace,
        index: &settings.index,
        environment: &settings.environment,
        author: environment.as_ref(),
        task_env: &task_env,
        scopes: &spec.writes,
        wanted: Wanted::of_task(spec, settings, origin),
        sandbox: &settings.sandbox,
        task: last.begun.task_id.as_str(),
    };
    let mut heard = Ok(());
    let seen = verify::run_all_while(&spec.checks, &place, &last.begun.id, &mut || {
        if heard.is_ok() {
            dispatcher.observer.tick();
            heard = dispatcher.heed_requests().map(drop);
        }
        heard.is_ok() && !dispatcher.is_stopping()
    });
    heard.map(|()| seen)
}

fn close(dispatcher: &mut Dispatcher<'_>, task: usize, last: &Attempt) -> Result<bool> {
    let lost_to = ops::lock::list::lost_to(dispatcher.cx, &last.begun.task_id)?;
    let looked_at = dispatcher.cx.now().at;
    let (mut rolled, mut snapshot) = (None, None);
    if last.state == AttemptState::Started && lost_to.is_none() {
        snapshot = dispatcher.finish_snapshot(task, &last.begun.id).map(noted);
        if files::is_wanted_back(dispatcher, task, last) && matches!(hold(dispatcher, task)?, Hold::Held) {
            let mark = dispatcher.pipeline.mark();
            let between = files::between(dispatcher, last, looked_at)?;
            rolled = dispatcher.roll_back_between(task, mark, (Trigger::TaskInterrupted, between))?.ok();
        }
    }
    let mark = dispatcher.pipeline.mark();
    let more = rolled.as_ref().map(|rolled| rolled.told.clone()).or_else(|| dispatcher.merged_before(task));
    let told = more.map(|more| format!("; {more}")).unwrap_or_default();
    rolled.and_then(|rolled| rolled.entry).into_iter().for_each(|entry| dispatcher.note(entry));
    let end = format!("canceled after its engine had ended{told}");
    dispatcher.held.remove(&task);
    let observed = Outcome { snapshot, ..Outcome::default() };
    note_end(dispatcher, task, last, (AttemptState::Interrupted, &end), observed);
    if !dispatcher.commit_unless_moved(mark)? {
        return Ok(false);
    }
    dispatcher.reload(task)?;
    Ok(true)
}

/// What is recorded about a snapshot whose end is not known.
fn noted(note: String) -> Taken {
    Taken { notes: vec![note], ..Taken::default() }
}

/// Whether the locks on what a task writes are held while its checks run.
enum Hold {
    Held,
    GivenUp,
    Stopping,
}

/// Takes over the locks that the task had when its engine died, or takes new ones, with a higher token either way:
/// checks that run while others write there prove nothing. Waits for other holders as a task does.
fn hold(dispatcher: &mut Dispatcher<'_>, task: usize) -> Result<Hold> {
    let has_checks = !dispatcher.part(task).spec.checks.is_empty();
    let last = dispatcher.attempts[task].last();
    let needs_locks = has_checks || last.is_some_and(|last| files::needs_locks(dispatcher, task, last));
    // A scope that cannot be locked is refused when the task starts.
    let is_isolated = dispatcher.is_isolated(task);
    let wants = if is_isolated { Ok(dispatcher.landing_wants(task)) } else { dispatcher.wants(task) };
    let wants = wants.unwrap_or_default();
    if !(needs_locks || is_isolated) || wants.scopes.is_empty() {
        return Ok(Hold::Held);
    }
    loop {
        let mark = dispatcher.pipeline.mark();
        let task_id = dispatcher.tasks[task].id.clone();
        dispatcher.note(Entry::Hold { task_id, wants: wants.clone() });
        match dispatcher.try_commit(mark)? {
            Committed::All(token) => {
                dispatcher.held.extend(token.map(|token| (task, token)));
                dispatcher.waits_no_more(task);
                return Ok(Hold::Held);
            }
            Committed::Hindered(mut hindrance) => {
                dispatcher.look_at_holder(&mut hindrance);
                dispatcher.wait_for(task, hindrance);
            }
            Committed::Moved | Committed::Fenced => {}
        }
        if dispatcher.has_waited_enough(task) {
            dispatcher.waits_no_more(task);
            return Ok(Hold::GivenUp);
        }
        dispatcher.settings.launcher.pause(limits::HINDRANCE_POLL);
        dispatcher.observer.tick();
        dispatcher.heed_requests()?;
        if dispatcher.is_stopping() {
            return Ok(Hold::Stopping);
        }
    }
}

fn let_go(dispatcher: &mut Dispatcher<'_>, task: usize) -> Result<()> {
    dispatcher.waits_no_more(task);
    if dispatcher.held.remove(&task).is_some() {
        let mark = dispatcher.pipeline.mark();
        dispatcher.note(Entry::LetGo { task_id: dispatcher.tasks[task].id.clone() });
        dispatcher.commit_unless_moved(mark)?;
    }
    Ok(())
}

/// Ends an attempt that is open.
pub(crate) fn note_end(
    dispatcher: &mut Dispatcher<'_>,
    task: usize,
    last: &Attempt,
    (state, reason): (AttemptState, &str),
    observed: Outcome,
) {
    if last.state == AttemptState::Started {
        dispatcher.note(Entry::EndAttempt {
            task_id: last.begun.task_id.clone(),
            attempt_id: last.begun.id.clone(),
            state,
            outcome: Box::new(Outcome {
                message: reason.to_owned(),
                agent_session: last.begun.agent_session.clone(),
                ..observed
            }),
            token: dispatcher.held.get(&task).copied(),
        });
    }
}

fn note_moves(
    dispatcher: &mut Dispatcher<'_>,
    task: usize,
    decision: Decision,
    (reason, withheld): (&str, Option<String>),
) {
    for to in moves(decision, dispatcher.tasks[task].status) {
        let task_id = dispatcher.tasks[task].id.clone();
        if to == Status::Done {
            let withheld = withheld.clone();
            let verified = !dispatcher.part(task).spec.checks.is_empty();
            dispatcher.note(Entry::Finish { task_id, verified, withheld });
            continue;
        }
        let reason = Some(format!("unknown: {reason}"));
        dispatcher.note(Entry::MoveTask { task_id, to, reason, verified: false });
    }
}

/// Leaves a task whose work could not be merged to a person.
fn note_unmerged(dispatcher: &mut Dispatcher<'_>, task: usize, reason: String) {
    if dispatcher.tasks[task].status == Status::InProgress {
        let task_id = dispatcher.tasks[task].id.clone();
        let reason = Some(reason);
        dispatcher.note(Entry::MoveTask { task_id, to: Status::Blocked, reason, verified: false });
    }
}

/// The legal path from the state of an interrupted task to the state that was decided.
fn moves(decision: Decision, from: Status) -> Vec<Status> {
    let is_blocked = from == Status::Blocked;
    match (decision, is_blocked) {
        (Decision::Verified, true) => vec![Status::InProgress, Status::Done],
        (Decision::Verified, false) => vec![Status::Done],
        (Decision::Rerun, true) => vec![Status::Todo],
        (Decision::Rerun, false) => vec![Status::Blocked, Status::Todo],
        (Decision::Parked, true | false) => vec![Status::Blocked],
    }
}

#[cfg(test)]
mod tests;
