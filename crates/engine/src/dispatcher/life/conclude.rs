//! The end of an attempt: its merge, its judgment, its last journal entries, and what becomes of the task.

use std::time::Duration;

use contract::aee::Type;
use contract::aocl::intents;
use contract::aocl::payload::{Delegation, VerifyResult};
use contract::domain::attempt::AttemptState;
use contract::domain::checkpoint;
use contract::domain::crew::budget::Delegated;
use contract::domain::reason::Reason;
use contract::domain::rollback::Trigger;
use contract::domain::status::Status;
use contract::plan::choice::{Choice, GivenUp};
use ops::Result;
use ops::run::journal::{JournalEntry, JournalNote};
use serde_json::json;

use super::AttemptStep;
use super::conclusion::{Concluded, Conclusion, StoppedEnd, rule_of};
use super::conclusion::{choice_after, end_of, moves_after, outcome_of, state_of, stopped_end};
use crate::dispatcher::engine_run::{Committed, EngineRun};
use crate::dispatcher::isolated;
use crate::dispatcher::isolated::landing::{self, MergeEnd};
use crate::dispatcher::layers::TaskJudgment;
use crate::dispatcher::leftovers::Leftover;
use crate::dispatcher::live::{Live, ReturnStep};
use crate::dispatcher::rollback::{RollbackEnd, Rolled};
use crate::dispatcher::start::delegate;
use crate::dispatcher::task_work::TaskWork;
use crate::dispatcher::{aborts, claims, layers, millis, progress, rollback, watching};
use crate::executor::Stopped;
use crate::observer::TaskProgress;
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::pipeline::l8_verify::AttemptVerdict;
use crate::pipeline::layer::Judgment;
use crate::pipeline::{LayerResult, Mark};
use crate::scheduler::wait_after;

pub(super) fn conclude(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &mut Live,
) -> Result<AttemptStep> {
    if live.stopped.is_none() && !landing::may_land(engine, work, live)? {
        return Ok(AttemptStep::Wait);
    }
    if live.stopped != Some(Stopped::Fenced)
        && let Some(note) = rollback::finish_snapshot(engine, work, &live.start.attempt.id)
    {
        let notes = &mut live.start.snapshot.get_or_insert_default().notes;
        // An attempt that awaits its judgment comes here again.
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    match live.stopped {
        Some(why @ (Stopped::Interrupted | Stopped::Canceled | Stopped::Fenced)) => {
            engine.pipeline.forget_answers(Some(work.index));
            conclude_stopped(engine, work, live, why)
        }
        Some(Stopped::Timeout | Stopped::Silence) | None => {
            claims::compare(engine, work, live);
            let delegated = ops::budget::delegated(engine.cx, &work.task)?;
            match layers::judge(engine, work, live, delegated) {
                Some(results) => {
                    engine.pipeline.forget_answers(Some(work.index));
                    conclude_judged(engine, work, live, results, delegated)
                }
                None => {
                    let deadline_ms = layers::awaited_until_ms(engine, work);
                    live.phase.returned_mut().step = ReturnStep::Judging { deadline_ms };
                    Ok(AttemptStep::Wait)
                }
            }
        }
    }
}

fn conclude_judged(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &Live,
    results: Vec<LayerResult>,
    delegated: Delegated,
) -> Result<AttemptStep> {
    let mut mark = engine.pipeline.mark();
    let id = work.task.id.clone();
    note_return(engine, work, live);
    let Judgment { verdict, verification } = match layers::record_judgment(engine, &id, results)? {
        TaskJudgment::Verdict(judgment) => *judgment,
        TaskJudgment::Parked(reason) => return conclude_parked(engine, work, live, reason, mark),
    };
    let verdict = match landing::land_judged(engine, work, live, &verdict, &mut mark)? {
        MergeEnd::Ended { withheld } => verdict.withheld(withheld),
        MergeEnd::Unwritten(unwritten) => return conclude_unwritten(engine, work, live, &unwritten),
    };
    let result = VerifyResult { run_id: engine.run.asked.id.to_string(), verification };
    engine.pipeline.note(intents::VERIFY_RESULT, "Verification", &result, Some(&id));
    let returned = live.phase.returned();
    let checkpoints = checkpoint::seen(&work.spec().checkpoints, &returned.seen);
    let conclusion = Conclusion::of(&verdict, returned, checkpoints);
    let outcome = outcome_of(live, state_of(&verdict), conclusion, engine.now_ms());
    let choice = choice_after(work, live, &verdict, &outcome, delegated);
    let mut rolled = None;
    if matches!(verdict, AttemptVerdict::Failed(_)) && rollback::is_possible(engine, work, live)? {
        let is_aborted = choice == Some(Choice::GiveUp(GivenUp::Critical));
        let trigger = if is_aborted { Trigger::TaskAborted } else { Trigger::TaskFailed };
        match rollback::roll_back(engine, work, mark, trigger, None)? {
            RollbackEnd::Done(done) => rolled = Some(*done),
            RollbackEnd::Unwritten(unwritten) => return conclude_unwritten(engine, work, live, &unwritten),
        }
        mark = engine.pipeline.mark();
    }
    let now_ms = engine.now_ms();
    engine.note_all(progress::last(work, now_ms));
    engine.note(end_of(live, state_of(&verdict), outcome, work.grant));
    let unmerged = landing::unmerged(work);
    let concluded = Concluded { verdict: &verdict, choice: choice.as_ref(), rolled, unmerged };
    engine.note_all(moves_after(work, concluded));
    match engine.try_commit(mark)? {
        Committed::All(_) => {}
        unwritten => return conclude_unwritten(engine, work, live, &unwritten),
    }
    work.grant = None;
    isolated::create_conflict_task(engine, work)?;
    work.reload(engine)?;
    Ok(follow_verdict(engine, work, live, &verdict))
}

/// Ends an attempt that a layer parked: a person decides about its work.
fn conclude_parked(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &Live,
    reason: String,
    mark: Mark,
) -> Result<AttemptStep> {
    let (state, now_ms) = (AttemptState::Unknown, engine.now_ms());
    let outcome = outcome_of(live, state, Conclusion::of_parked(&reason), now_ms);
    engine.note_all(progress::last(work, now_ms));
    engine.note(end_of(live, state, outcome, work.grant));
    engine.note(work.move_to(Status::Blocked, Some(reason.into())));
    match engine.try_commit(mark)? {
        Committed::All(_) => {}
        unwritten => return conclude_unwritten(engine, work, live, &unwritten),
    }
    work.grant = None;
    work.reload(engine)?;
    report_end(engine, work, engine.cx.now().at.since(live.start.started_at));
    Ok(AttemptStep::Ended { not_before_ms: None })
}

/// Ends an attempt with a verdict that could not be written.
fn conclude_unwritten(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &Live,
    unwritten: &Committed,
) -> Result<AttemptStep> {
    let why = match unwritten {
        Committed::Fenced => Stopped::Fenced,
        // Canceled by another process in the last moment: that stands, and the attempt is only closed.
        Committed::All(_) | Committed::Moved | Committed::Hindered(_) => Stopped::Canceled,
    };
    conclude_stopped(engine, work, live, why)
}

/// Notes the executor's answer as an envelope to the delegation.
fn note_return(engine: &mut EngineRun<'_>, work: &TaskWork, live: &Live) {
    let returned = live.phase.returned();
    let (kind, status, payload) = match &returned.claim {
        ExecutorClaim::Success => {
            let summary = &returned.reported.summary;
            (Type::Result, "success", json!({"claim": "success", "summary": summary}))
        }
        ExecutorClaim::Failure { code, message } => {
            (Type::Error, "failure", json!({"code": code, "message": message, "retryable": false}))
        }
    };
    let (to, intent) = (delegate(&live.start.attempt), engine.intent());
    let delegation = Delegation { to: to.clone(), intent: intent.clone(), status: status.to_owned() };
    engine.pipeline.delegations.push(delegation);
    engine.note(JournalEntry::Envelope(JournalNote {
        kind,
        from: Some(to),
        to: "service.writ".to_owned(),
        intent,
        message: format!("Returned: {}", work.task.title),
        payload,
        task_id: Some(work.task.id.clone()),
    }));
}

/// Reports the end of an attempt, or when the next one begins.
fn follow_verdict(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &Live,
    verdict: &AttemptVerdict,
) -> AttemptStep {
    if work.task.status.is_terminal() {
        forget(engine, work);
        engine.pipeline.task_ended(work.part().number);
    }
    if work.task.status != Status::Todo {
        report_end(engine, work, engine.cx.now().at.since(live.start.started_at));
        return AttemptStep::Ended { not_before_ms: None };
    }
    let wait = wait_after(work.spec(), &work.attempts);
    let reason = match verdict {
        AttemptVerdict::Failed(reason) => reason.text.as_str(),
        AttemptVerdict::Done { .. } | AttemptVerdict::Withheld { .. } => "",
    };
    let retrying = TaskProgress::Retrying { task: work.name(), reason, wait, cost: work.cost() };
    engine.observer.report(retrying);
    AttemptStep::Ended { not_before_ms: Some(engine.now_ms().saturating_add(millis(wait))) }
}

/// Forgets what only a task needs that will run again.
fn forget(engine: &mut EngineRun<'_>, work: &mut TaskWork) {
    watching::forget(engine, work);
    engine.leave(Leftover::OfTask(work.task.id.to_string()));
}

/// Ends an attempt that was ended by request, not by itself.
fn conclude_stopped(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &Live,
    why: Stopped,
) -> Result<AttemptStep> {
    let is_unstarted = engine.ends_early.starved.is_some() && live.phase.returned().is_unstarted();
    let end = stopped_end(why, is_unstarted);
    let mut rolled = None;
    if end.to == Status::Canceled && rollback::is_possible(engine, work, live)? {
        let mark = engine.pipeline.mark();
        // If its start cannot be written, others may write there.
        rolled = rollback::roll_back(engine, work, mark, Trigger::TaskAborted, None)?.done();
    }
    work.grant = None;
    let reason = stopped_reason(engine, work, why, end, rolled.as_ref());
    let entry = rolled.and_then(|rolled| rolled.entry);
    let conclusion = Conclusion::of_stopped(&reason);
    let outcome = outcome_of(live, end.state, conclusion, engine.now_ms());
    loop {
        work.refresh(engine)?;
        let mark = engine.pipeline.mark();
        engine.note_all(entry.clone());
        engine.note(end_of(live, end.state, outcome.clone(), None));
        engine.note_all(end.moves(work, &reason));
        // Moved between the look and the writing: the next look finds it where it stays.
        if engine.commit_unless_moved(mark)? {
            break;
        }
    }
    work.reload(engine)?;
    if work.task.status.is_terminal() {
        forget(engine, work);
    }
    report_end(engine, work, engine.cx.now().at.since(live.start.started_at));
    Ok(AttemptStep::Ended { not_before_ms: None })
}

/// Why an attempt was ended, and what became of its work.
fn stopped_reason(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    why: Stopped,
    end: StoppedEnd,
    rolled: Option<&Rolled>,
) -> Reason {
    let early = &engine.ends_early;
    let aborted = early.aborted.as_ref().filter(|_| why == Stopped::Canceled && !early.is_canceled);
    let reason = match (aborted, &early.cancel_reason) {
        (Some(reason), _) => aborts::aborted_by(work, reason),
        (None, Some(reason)) if why == Stopped::Canceled => reason.clone(),
        (None, _) => Reason::new(end.message),
    };
    let more = rolled.map(|rolled| rolled.told.clone()).or_else(|| landing::merged_before(work));
    let reason = reason.with_rule(rule_of(why));
    more.map_or_else(|| reason.clone(), |more| reason.clone().and(&more))
}

pub(in crate::dispatcher) fn report_end(engine: &mut EngineRun<'_>, work: &TaskWork, took: Duration) {
    let reason = work.task.blocked_reason.as_ref().map(ToString::to_string);
    engine.observer.report(TaskProgress::Ended {
        task: work.name(),
        status: work.task.status,
        evidence: work.task.evidence,
        reason: reason.as_deref(),
        took,
        cost: work.cost(),
    });
}
