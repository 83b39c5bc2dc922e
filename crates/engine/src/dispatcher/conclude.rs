//! The end of an attempt: the claim, the checks, the verdict, and what becomes of the task.

use std::time::Duration;

use contract::aee::Type;
use contract::aocl::intents;
use contract::aocl::payload::{Delegation, VerifyResult};
use contract::domain::attempt::{AttemptState, Outcome};
use contract::domain::check::CheckSeen;
use contract::domain::checkpoint::{self, Recovery};
use contract::domain::money::MicroUsd;
use contract::domain::rollback::Trigger;
use contract::domain::status::Status;
use contract::plan::choice::{Choice, GivenUp};
use ops::Result;
use ops::run::journal::{Entry, Note};
use serde_json::json;

use super::conclusion::{Conclusion, end_of, final_words, state_of};
use super::layers::TaskJudgment;
use super::leftovers::Leftover;
use super::limited::with_resource;
use super::rollback::Rolled;
use super::start::delegate;
use super::{Committed, Dispatcher, millis};
use crate::executor::{Stopped, forced_failure, with_denial};
use crate::live::{Live, Phase};
use crate::observer::Progress;
use crate::pipeline::l7_delegate::Claim;
use crate::pipeline::l8_verify::Verdict;
use crate::pipeline::layer::Judgment;
use crate::pipeline::{LayerResult, Mark};
use crate::sandbox::leave_repository;
use crate::scheduler::wait_after;
use crate::supervisor::logs::LogWriter;
use crate::verify::{self, Recorder};

impl Dispatcher<'_> {
    /// The executor and everything it started is gone. What does it claim?
    pub(super) fn executor_ended(&mut self, task: usize) -> Result<()> {
        self.end_delegated_of_stopped(task)?;
        self.close_door(task);
        let at = self.cx.now().at;
        let live = self.live.get_mut(&task).expect("BUG: reports come only for live tasks");
        (live.ended.stopped, live.ended.at) = (live.stopped, Some(at));
        let summary = live.log.take().map(LogWriter::finish);
        live.digests = summary.map(|summary| (summary.stdout_digest, summary.stderr_digest));
        let mut events = Vec::new();
        live.lines.finish(|line| events.extend(live.reader.line(line)));
        self.warn_of_unheeded(task, &events);
        self.warn_of_lines(task);
        let live = self.live_mut(task);
        let returned = live.reader.end(&live.ended);
        live.limited = returned.limited.and_then(|limited| with_resource(live, limited));
        live.agent_session = returned.agent_session;
        live.session_total = returned.session_total;
        live.reported = returned.reported;
        live.claims.report = returned.claims.report;
        live.claims.warnings.extend(returned.claims.warnings);
        self.find_cost(task);
        let live = self.live_mut(task);
        let is_sandboxed = live.ended.in_force.as_ref().is_some_and(|in_force| in_force.sandbox.is_some());
        let printed = is_sandboxed.then(|| live.denials.told()).flatten();
        let advice = printed.as_ref().and_then(|_| self.advice(task));
        let live = self.live.get_mut(&task).expect("BUG: reports come only for live tasks");
        let printed = printed.map(|told| format!("{told}{}", advice.unwrap_or_default()));
        live.ended.note_denied(printed.map(|told| live.hidden.one_line(&told)));
        self.advise_on_network(task);
        let live = self.live_mut(task);
        let returned = with_denial(returned.claim, &live.ended);
        let forced = forced_failure(&live.ended, live.timeout);
        let stopped = live.stopped;
        let claim = match forced {
            Some(claim) => claim,
            None => self.with_report(task, returned)?,
        };
        let claim = self.with_inputs(task, claim);
        self.warn_of_access(task);
        let succeeded = claim == Claim::Success;
        self.end_delegated_of_failed(task, &claim)?;
        self.live_mut(task).claim = Some(claim);
        self.leave_sandbox(task);
        // Before the checks: what they leave behind is not the task's.
        self.look_at_claims(task);
        let outside = self.end_watch(task, stopped)?;
        self.live_mut(task).outside = outside;
        if succeeded && self.is_isolated(task) {
            // Before the work of others comes in.
            let changed = self.changed_pins(task);
            self.live_mut(task).withheld.extend(changed);
            let attempt = self.live[&task].attempt.id.clone();
            self.bring_together(task, &attempt);
            let outside = self.outside_of_clone(task);
            self.live_mut(task).outside = outside;
        }
        if succeeded { self.check_next(task, 0) } else { self.conclude(task) }
    }

    /// Removes what an attempt's sandbox leaves behind.
    fn leave_sandbox(&mut self, task: usize) {
        let live = &self.live[&task];
        let (id, attempt) = (self.tasks[task].id.to_string(), live.attempt.id.to_string());
        self.leave(Leftover::OfAttempt { task: id, attempt });
        let shares = |other: &usize| {
            *other != task && self.directory(*other) == self.directory(task) && self.may_commit(*other)
        };
        let is_shared = self.live.keys().any(shares);
        if self.may_commit(task) && !is_shared && leave_repository(self.directory(task)) {
            let told = "it made git take its configuration from elsewhere, which was undone".to_owned();
            self.live_mut(task).withheld.push(told);
        }
    }

    /// The process of a check is gone.
    pub(super) fn check_ended(&mut self, task: usize) -> Result<()> {
        let live = self.live.get_mut(&task).expect("BUG: reports come only for live tasks");
        let Phase::Checking { index, mut watched } = std::mem::replace(&mut live.phase, Phase::Executing)
        else {
            return Ok(());
        };
        let stopped = live.stopped.is_some();
        let mut recorder = live.recorder.take();
        if let (Some(recorder), Some(ran)) = (&mut recorder, &mut watched.ran) {
            recorder.after(&self.place(task), ran);
        }
        self.live_mut(task).recorder = recorder;
        let seen = watched.finish(&self.part(task).spec.checks[index]);
        match self.keep_check(task, index, seen) {
            Some(next) if !stopped => self.check_next(task, next),
            _ => self.conclude(task),
        }
    }

    /// Keeps what a check showed. Returns the next one; `None` if this one decides the attempt.
    fn keep_check(&mut self, task: usize, index: usize, mut seen: CheckSeen) -> Option<usize> {
        if seen.passed {
            self.live_mut(task).seen.push(seen);
            return Some(index + 1);
        }
        let spec = &self.part(task).spec;
        let (goes_on, tolerated) = match checkpoint::recovery(&spec.checkpoints, index) {
            Recovery::Retry | Recovery::Abort => (false, false),
            Recovery::Continue => (true, true),
            Recovery::Report => (true, false),
        };
        let not_run = |check| CheckSeen { tolerated, ..CheckSeen::not_run(check, CHECKPOINT_OVER) };
        let rest = checkpoint::not_run(&spec.checkpoints, index, spec.checks.len());
        let rest = spec.checks[rest].iter().filter(|_| goes_on);
        let rest: Vec<CheckSeen> = rest.map(not_run).collect();
        let next = index + 1 + rest.len();
        seen.tolerated = tolerated;
        let live = self.live_mut(task);
        live.seen.push(seen);
        live.seen.extend(rest);
        goes_on.then_some(next)
    }

    fn check_next(&mut self, task: usize, mut index: usize) -> Result<()> {
        if self.live[&task].recorder.is_none() && !self.part(task).spec.checks.is_empty() {
            let recorder = Recorder::new(&self.place(task));
            let changed = if self.is_isolated(task) { None } else { self.changed_pins(task) };
            let live = self.live_mut(task);
            live.recorder = Some(recorder);
            live.withheld.extend(changed);
        }
        while let Some(check) = self.part(task).spec.checks.get(index) {
            let recorder = self.live[&task].recorder.as_ref().expect("BUG: it was made above");
            let Some(seen) = verify::look(check, &self.place(task), recorder) else {
                return self.launch_check(task, index);
            };
            match self.keep_check(task, index, seen) {
                Some(next) => index = next,
                None => break,
            }
        }
        if self.has_moved_on(task) {
            let live = self.live_mut(task);
            (live.seen, live.recorder) = (Vec::new(), None);
            return self.check_next(task, 0);
        }
        self.conclude(task)
    }

    pub(super) fn conclude(&mut self, task: usize) -> Result<()> {
        let mut live = self.live.remove(&task).expect("BUG: a task is concluded once");
        if live.stopped.is_none() && !self.may_land(task, &mut live)? {
            self.live.insert(task, live);
            return Ok(());
        }
        if live.stopped != Some(Stopped::Fenced)
            && let Some(note) = self.finish_snapshot(task, &live.attempt.id)
        {
            let notes = &mut live.snapshot.get_or_insert_default().notes;
            // An attempt whose judgment is awaited comes here again.
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        match live.stopped {
            Some(why @ (Stopped::Interrupted | Stopped::Canceled | Stopped::Fenced)) => {
                self.pipeline.forget_answers(Some(task));
                self.conclude_stopped(task, &live, why)
            }
            Some(Stopped::Timeout | Stopped::Silence) | None => {
                self.compare_claims(task, &mut live);
                live.delegated = ops::budget::delegated(self.cx, &self.tasks[task])?;
                match self.judge(task, &live) {
                    Some(results) => {
                        self.pipeline.forget_answers(Some(task));
                        self.conclude_judged(task, &live, results)
                    }
                    None => {
                        self.await_judgment(task, live);
                        Ok(())
                    }
                }
            }
        }
    }

    fn conclude_judged(&mut self, task: usize, live: &Live, results: Vec<LayerResult>) -> Result<()> {
        let mut mark = self.pipeline.mark();
        let id = self.tasks[task].id.clone();
        self.note_return(task, live);
        let Judgment { verdict, verification } = match self.record_judgment(&id, results)? {
            TaskJudgment::Verdict(judgment) => *judgment,
            TaskJudgment::Parked(reason) => return self.conclude_parked(task, live, reason, mark),
        };
        let verdict = match self.land_judged(task, live, verdict, &mut mark)? {
            Ok(verdict) => verdict,
            Err(unwritten) => return self.conclude_unwritten(task, live, &unwritten),
        };
        let result = VerifyResult { run_id: self.run.asked.id.to_string(), verification };
        self.pipeline.note(intents::VERIFY_RESULT, "Verification", &result, Some(&id));
        let checkpoints = checkpoint::seen(&self.part(task).spec.checkpoints, &live.seen);
        let conclusion = Conclusion::of(&verdict, live, checkpoints);
        let outcome = self.outcome_of(live, state_of(&verdict), conclusion);
        let choice = self.choice_after(task, live, &verdict, &outcome);
        let mut rolled = None;
        if matches!(verdict, Verdict::Failed { .. }) && self.may_roll_back(task, live)? {
            let is_aborted = choice == Some(Choice::GiveUp(GivenUp::Critical));
            let trigger = if is_aborted { Trigger::TaskAborted } else { Trigger::TaskFailed };
            match self.roll_back(task, mark, trigger)? {
                Ok(done) => rolled = Some(done),
                Err(unwritten) => return self.conclude_unwritten(task, live, &unwritten),
            }
            mark = self.pipeline.mark();
        }
        self.note_end(task, live, state_of(&verdict), outcome);
        self.note_verdict(task, (&verdict, choice.as_ref()), rolled);
        match self.try_commit(mark)? {
            Committed::All(_) => {}
            unwritten => return self.conclude_unwritten(task, live, &unwritten),
        }
        self.held.remove(&task);
        self.create_conflict_task(task)?;
        self.reload(task)?;
        self.follow_verdict(task, live, &verdict);
        Ok(())
    }

    /// Ends an attempt that a layer parked: a person decides about its work.
    fn conclude_parked(&mut self, task: usize, live: &Live, reason: String, mark: Mark) -> Result<()> {
        let state = AttemptState::Unknown;
        let outcome = self.outcome_of(live, state, Conclusion::of_parked(&reason));
        self.note_end(task, live, state, outcome);
        let task_id = self.tasks[task].id.clone();
        self.note(Entry::MoveTask { task_id, to: Status::Blocked, reason: Some(reason), verified: false });
        match self.try_commit(mark)? {
            Committed::All(_) => {}
            unwritten => return self.conclude_unwritten(task, live, &unwritten),
        }
        self.held.remove(&task);
        self.reload(task)?;
        self.tell_end(task, self.cx.now().at.since(live.started_at));
        Ok(())
    }

    /// Ends an attempt whose verdict was refused.
    fn conclude_unwritten(&mut self, task: usize, live: &Live, unwritten: &Committed) -> Result<()> {
        let why = match unwritten {
            Committed::Fenced => Stopped::Fenced,
            // Canceled by someone else in the last moment: that stands, and the attempt is only closed.
            Committed::All(_) | Committed::Moved | Committed::Hindered(_) => Stopped::Canceled,
        };
        self.conclude_stopped(task, live, why)
    }

    /// The executor's answer as an envelope to the delegation.
    fn note_return(&mut self, task: usize, live: &Live) {
        let (claim, reported) = (live.claimed(), &live.reported);
        let (kind, status, payload) = match claim {
            Claim::Success => {
                (Type::Result, "success", json!({"claim": "success", "summary": reported.summary}))
            }
            Claim::Failure { code, message } => {
                (Type::Error, "failure", json!({"code": code, "message": message, "retryable": false}))
            }
        };
        let (to, intent) = (delegate(&live.attempt), self.intent());
        self.pipeline.delegations.push(Delegation { to, intent: intent.clone(), status: status.to_owned() });
        self.note(Entry::Envelope(Note {
            kind,
            from: Some(delegate(&live.attempt)),
            to: "service.writ".to_owned(),
            intent,
            message: format!("Returned: {}", self.tasks[task].title),
            payload,
            task_id: Some(self.tasks[task].id.clone()),
        }));
    }

    /// Notes the end of an attempt, with the newest of its progress.
    fn note_end(&mut self, task: usize, live: &Live, state: AttemptState, outcome: Outcome) {
        self.note_last_progress(task);
        let token = self.held.get(&task).copied();
        self.note(end_of(live, state, outcome, token));
    }

    fn note_verdict(
        &mut self,
        task: usize,
        (verdict, choice): (&Verdict, Option<&Choice>),
        rolled: Option<Rolled>,
    ) {
        let told = final_words(verdict, choice);
        let told = rolled.as_ref().map_or_else(|| told.clone(), |rolled| format!("{told}; {}", rolled.told));
        // The next attempt must begin with the same files as this one did.
        let is_clean = rolled.as_ref().is_none_or(|rolled| rolled.is_whole);
        let goes_on = matches!(choice, Some(Choice::Retry | Choice::Alternative(_)));
        let goes_on = goes_on && is_clean && !verdict.is_aborted();
        let is_aborted = choice == Some(&Choice::GiveUp(GivenUp::Critical));
        rolled.and_then(|rolled| rolled.entry).into_iter().for_each(|entry| self.note(entry));
        let id = self.tasks[task].id.clone();
        let move_to =
            |to, reason: Option<String>| Entry::MoveTask { task_id: id.clone(), to, reason, verified: false };
        let is_done = !matches!(verdict, Verdict::Failed { .. });
        if let Some(reason) = self.unmerged(task).filter(|_| is_done) {
            self.note(move_to(Status::Blocked, Some(reason)));
            return;
        }
        match verdict {
            Verdict::Done { verified } => {
                self.note(Entry::Finish { task_id: id, verified: *verified, withheld: None });
            }
            Verdict::Withheld { checked, reason } => {
                self.note(Entry::Finish { task_id: id, verified: *checked, withheld: Some(reason.clone()) });
            }
            Verdict::Failed { .. } if goes_on => {
                self.note(move_to(Status::Blocked, Some(told)));
                self.note(move_to(Status::Todo, None));
            }
            Verdict::Failed { .. } if is_aborted => self.note(move_to(Status::Canceled, Some(told))),
            Verdict::Failed { .. } => self.note(move_to(Status::Failed, Some(told))),
        }
    }

    fn follow_verdict(&mut self, task: usize, live: &Live, verdict: &Verdict) {
        if self.tasks[task].status.is_terminal() {
            self.forget_watch(task);
            self.leave(Leftover::OfTask(self.tasks[task].id.to_string()));
            self.pipeline.task_ended(self.part(task).number);
        }
        if self.tasks[task].status == Status::Todo {
            let wait = wait_after(&self.part(task).spec, &self.attempts[task]);
            self.board.set_not_before(task, self.now_ms().saturating_add(millis(wait)));
            let reason = match verdict {
                Verdict::Failed { message, .. } => message.as_str(),
                Verdict::Done { .. } | Verdict::Withheld { .. } => "",
            };
            let cost = self.cost(task);
            let name = &self.board.slot(task).name;
            self.observer.report(Progress::Retrying { task: name, reason, wait, cost });
            return;
        }
        let took = self.cx.now().at.since(live.started_at);
        self.tell_end(task, took);
    }

    /// Ended by request, not by itself. A canceled task stays canceled; an interrupted one waits to be continued; one
    /// that lost its locks is left to a person.
    fn conclude_stopped(&mut self, task: usize, live: &Live, why: Stopped) -> Result<()> {
        let is_unstarted =
            matches!(why, Stopped::Interrupted) && self.starved.is_some() && live.spec.is_some();
        let (state, to, message) = match why {
            Stopped::Interrupted if is_unstarted => (
                AttemptState::Interrupted,
                Status::Blocked,
                "not started: the machine is short of what a process needs",
            ),
            Stopped::Interrupted => (AttemptState::Interrupted, Status::Blocked, "interrupted by a signal"),
            Stopped::Fenced => (
                AttemptState::Unknown,
                Status::Blocked,
                "unknown: its locks were taken back, so others may have written there while it ran",
            ),
            Stopped::Canceled | Stopped::Timeout | Stopped::Silence => {
                (AttemptState::Interrupted, Status::Canceled, "canceled")
            }
        };
        let mut rolled = None;
        if to == Status::Canceled && self.may_roll_back(task, live)? {
            let mark = self.pipeline.mark();
            // Where it cannot be written any more, others may write there.
            rolled = self.roll_back(task, mark, Trigger::TaskAborted)?.ok();
        }
        self.held.remove(&task);
        let more = rolled.as_ref().map(|rolled| rolled.told.clone()).or_else(|| self.merged_before(task));
        let aborted = self.aborted.as_ref().filter(|_| why == Stopped::Canceled && !self.canceled);
        let message = match (aborted, &self.cancel_reason) {
            (Some(reason), _) => self.aborted_by(task, reason),
            (None, Some(reason)) if why == Stopped::Canceled => reason.clone(),
            (None, _) => message.to_owned(),
        };
        let entry = rolled.and_then(|rolled| rolled.entry);
        let message = &more.map_or_else(|| message.clone(), |more| format!("{message}; {more}"));
        let outcome = self.outcome_of(live, state, Conclusion::of_stopped(why, message));
        loop {
            self.refresh(task)?;
            let mark = self.pipeline.mark();
            entry.iter().for_each(|entry| self.note(entry.clone()));
            self.note(end_of(live, state, outcome.clone(), None));
            if self.tasks[task].status == Status::InProgress {
                let task_id = self.tasks[task].id.clone();
                let move_to =
                    |to, reason| Entry::MoveTask { task_id: task_id.clone(), to, reason, verified: false };
                self.note(move_to(to, Some(message.to_owned())));
                // Nothing of it has run, so nobody has to decide whether it may run again.
                if is_unstarted {
                    self.note(move_to(Status::Todo, None));
                }
            }
            // Moved between the look and the writing: the next look finds it where it stays.
            if self.commit_unless_moved(mark)? {
                break;
            }
        }
        self.reload(task)?;
        if self.tasks[task].status.is_terminal() {
            self.forget_watch(task);
            self.leave(Leftover::OfTask(self.tasks[task].id.to_string()));
        }
        let took = self.cx.now().at.since(live.started_at);
        self.tell_end(task, took);
        Ok(())
    }

    pub(super) fn tell_end(&mut self, task: usize, took: Duration) {
        let ended = &self.tasks[task];
        let progress = Progress::Ended {
            task: &self.board.slot(task).name,
            status: ended.status,
            evidence: ended.evidence,
            reason: ended.blocked_reason.as_deref(),
            took,
            cost: self.cost(task),
        };
        self.observer.report(progress);
    }

    /// What the attempts of a task reported as their cost; `None` if none of them did.
    fn cost(&self, task: usize) -> Option<MicroUsd> {
        let outcomes = self.attempts[task].iter().filter_map(|attempt| attempt.outcome.as_ref());
        outcomes.filter_map(|outcome| outcome.cost).reduce(|sum, cost| MicroUsd(sum.0.saturating_add(cost.0)))
    }

    /// Reads a task and its attempts again.
    pub(crate) fn reload(&mut self, task: usize) -> Result<()> {
        self.refresh(task)?;
        self.attempts[task] = ops::task::get::attempts(self.cx, &self.tasks[task].id)?;
        Ok(())
    }

    pub(super) fn live_mut(&mut self, task: usize) -> &mut Live {
        self.live.get_mut(&task).expect("BUG: reports come only for live tasks")
    }
}

/// Why a check of a checkpoint was not run.
const CHECKPOINT_OVER: &str = "not run: another check of the checkpoint failed before";
