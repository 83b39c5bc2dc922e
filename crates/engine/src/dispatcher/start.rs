//! Starting a task: brief, shape, journal, then the child. The journal comes first, so that nothing runs unknown.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use contract::aee::Type;
use contract::aop::event::{Body, VersionFallback};
use contract::aop::fallback::FallbackReason;
use contract::aop::header::AOP_VERSION;
use contract::domain::attempt::{Dispatch, NewAttempt};
use contract::domain::failure_code::FailureCode;
use contract::domain::id::mint;
use contract::domain::reason::Reason;
use contract::domain::run::DocumentKind;
use contract::domain::status::Status;
use contract::domain::task::Task;
use ops::Result;
use ops::aop_event::AopEvent;
use ops::limit_window::LimitConflict;
use ops::run::journal::{JournalEntry, JournalNote, Wants};
use serde_json::json;

use super::engine_run::{Committed, EngineRun};
use super::isolated::CloneEntry;
use super::layers::{self, AttemptPreparation};
use super::life::AttemptStep;
use super::limited::Availability;
use super::live::{AttemptPhase, AttemptStart, ExecutorRun, Live, WorkStep};
use super::selection::{self, Selected};
use super::task_work::{TaskPhase, TaskWork};
use super::{Dispatcher, confined, inputs, isolated, limited, pins, rollback, waiting};
use crate::beats::Beats;
use crate::executor::{AttemptWork, ChildEnd, Executor, Free, LineBuffer, PreparedChild};
use crate::observer::TaskProgress;
use crate::pipeline::Mark;
use crate::pipeline::l6_shape::Shaped;
use crate::sandbox::{Denials, Writable};
use crate::supervisor::{LaunchSpec, Marker};

/// Whether a task can start now.
enum StartDecision<'d> {
    Ready(Box<ReadyStart<'d>>),
    /// It fails without an attempt.
    Refused(Reason),
    /// It is left to a person.
    Parked(String),
    /// Its provider refuses work for a while.
    Limited(Box<LimitConflict>),
    /// A slow layer has not answered; the task is offered again later.
    Awaited,
}

/// A task that can start, and what its next attempt is made with.
struct ReadyStart<'d> {
    number: i64,
    wants: Wants,
    selected: Selected,
    executor: &'d dyn Executor,
    shaped: Shaped,
}

/// An attempt that is in the journal.
struct Journaled<'d> {
    ready: Box<ReadyStart<'d>>,
    attempt: NewAttempt,
    dispatch: Option<Box<Dispatch>>,
    took_over: Option<String>,
}

impl<'d> Dispatcher<'d> {
    /// Starts a task, or decides why it does not start now.
    pub(super) fn start(&mut self, task: usize) -> Result<()> {
        if !self.still_waits(task)? {
            self.engine.pipeline.forget_answers(Some(task));
            return Ok(());
        }
        let work = &self.tasks[task];
        self.engine.pipeline.task_begins(work.part().number);
        let mark = self.engine.pipeline.mark();
        let needs = &self.board.slot(task).needs;
        let dependencies: Vec<&Task> = needs.iter().map(|&needed| &self.tasks[needed].task).collect();
        match decide(&mut self.engine, work, &dependencies)? {
            StartDecision::Ready(ready) => self.begin(task, ready, mark),
            StartDecision::Refused(reason) => self.refuse(task, reason, mark),
            StartDecision::Parked(reason) => self.leave_unstarted(task, reason.into(), mark),
            StartDecision::Limited(conflict) => self.wait_for_limit(task, conflict),
            StartDecision::Awaited => {
                let until_ms = layers::awaited_until_ms(&self.engine, work);
                self.board.set_not_before(task, until_ms);
                Ok(())
            }
        }
    }

    /// Writes the attempt into the journal, then starts its executor.
    fn begin(&mut self, task: usize, ready: Box<ReadyStart<'d>>, mark: Mark) -> Result<()> {
        let at = self.engine.cx.now().at;
        let attempt = new_attempt(&mut self.engine, &self.tasks[task], ready.number, &ready.selected);
        let dispatch =
            selection::dispatch(&self.tasks[task], ready.number, &ready.selected, &ready.shaped.brief);
        self.report_unmerged(task, &attempt.id);
        let (engine, work) = (&mut self.engine, &mut self.tasks[task]);
        let _hold = match isolated::enter_clone(engine, work, &attempt.id)? {
            CloneEntry::Entered(hold) => hold,
            CloneEntry::Refused(reason) => return self.leave_unstarted(task, reason, mark),
        };
        let took_over = waiting::takeover(engine, work)?;
        let started = Journaled { ready, attempt, dispatch, took_over };
        let entries = started.entries(engine, work);
        engine.note_all(entries);
        match engine.try_commit(mark)? {
            Committed::All(token) => work.grant = token,
            Committed::Hindered(hindrance) => return self.hindered(task, hindrance),
            // Moved while it was being prepared; the board knows it now and nothing is started.
            Committed::Moved | Committed::Fenced => {
                engine.pipeline.forget_answers(Some(task));
                return self.refresh(task);
            }
        }
        engine.pipeline.forget_answers(Some(task));
        work.clear_wait();
        self.refresh(task)?;
        started.report(&mut self.engine, &self.tasks[task]);
        // Before the look that the task is compared with: what a snapshot writes is not the task's.
        let snapshot = rollback::take_snapshot(&self.engine, &self.tasks[task], &started.attempt.id);
        self.begin_watch(task, at)?;
        let (engine, work) = (&mut self.engine, &mut self.tasks[task]);
        let (mut live, refused) = launch(engine, work, started);
        live.start.snapshot = snapshot;
        let step = first_step(work, &mut live, refused);
        work.phase = TaskPhase::Live(Box::new(live));
        self.follow(task);
        self.advance(task, step)
    }

    /// Leaves a task that cannot begin to a person.
    fn leave_unstarted(&mut self, task: usize, reason: Reason, mark: Mark) -> Result<()> {
        self.engine.pipeline.forget_answers(Some(task));
        self.settle(task, Status::Blocked, reason, mark).map(drop)
    }

    /// The task could not be prepared: it fails without an attempt.
    pub(super) fn refuse(&mut self, task: usize, reason: Reason, mark: Mark) -> Result<()> {
        self.engine.pipeline.forget_answers(Some(task));
        if self.settle(task, Status::Failed, reason, mark)? {
            self.engine.pipeline.task_ended(self.tasks[task].part().number);
        }
        Ok(())
    }
}

/// Decides whether a task can start now, and with what. Runs L5 and L6.
fn decide<'d>(
    engine: &mut EngineRun<'d>,
    work: &TaskWork,
    dependencies: &[&Task],
) -> Result<StartDecision<'d>> {
    let wants = match waiting::wants(engine, work) {
        Ok(wants) => wants,
        Err(error) => {
            return Ok(StartDecision::Refused(Reason::coded(error.code, error.message)));
        }
    };
    if let Some(overspent) = selection::overspent(engine.cx, work)? {
        return Ok(StartDecision::Refused(Reason::coded(FailureCode::CostLimitExceeded, overspent.told())));
    }
    let selected = match limited::available(engine, work)? {
        Availability::Available(selected) => selected,
        Availability::Limited(conflict) => return Ok(StartDecision::Limited(conflict)),
    };
    let name = &selected.executor;
    let Some(executor) = engine.settings.executors.find(name) else {
        let reason = Reason::coded(FailureCode::AgentNotFound, format!("there is no executor `{name}`"));
        return Ok(StartDecision::Refused(reason));
    };
    let number = i64::try_from(work.attempts.len()).unwrap_or(i64::MAX) + 1;
    Ok(match layers::prepare(engine, work, dependencies, number, &selected)? {
        AttemptPreparation::Ready(shaped) => {
            let shaped = *shaped;
            StartDecision::Ready(Box::new(ReadyStart { number, wants, selected, executor, shaped }))
        }
        AttemptPreparation::Refused(reason) => StartDecision::Refused(reason),
        AttemptPreparation::Parked(reason) => StartDecision::Parked(reason),
        AttemptPreparation::Awaited => StartDecision::Awaited,
    })
}

impl Journaled<'_> {
    /// What the journal has of the attempt before its child is started.
    fn entries(&self, engine: &EngineRun<'_>, work: &TaskWork) -> Vec<JournalEntry> {
        let Self { ready, attempt, dispatch, took_over } = self;
        let mut entries = Vec::new();
        entries.extend(took_over.as_ref().map(|told| takeover(work, told)));
        entries.extend(pins::entry(engine, work));
        entries.push(work.move_to(Status::InProgress, None));
        entries.push(JournalEntry::StartAttempt {
            attempt: attempt.clone(),
            dispatch: dispatch.clone(),
            wants: ready.wants.clone(),
        });
        entries.push(delegation(engine, work, attempt, ready.shaped.timeout));
        entries.extend(old_protocol(work, ready.executor));
        entries
    }

    fn report(&self, engine: &mut EngineRun<'_>, work: &TaskWork) {
        let task = work.name();
        engine.observer.report(TaskProgress::Started { task, attempt: self.ready.number });
        if let Some(told) = &self.took_over {
            engine.observer.report(TaskProgress::TookOver { task, told });
        }
        let selected = &self.ready.selected;
        for change in selected.fallback.iter().chain(&selected.escalated) {
            engine.observer.report(TaskProgress::Warned { task, told: &format!("uses {change}") });
        }
    }
}

fn delegation(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    attempt: &NewAttempt,
    timeout: Duration,
) -> JournalEntry {
    let (task_id, spec) = (work.task.id.clone(), work.spec());
    let payload = json!({
        "task_id": task_id, "name": spec.id, "attempt": attempt.number, "writes": spec.writes,
        "timeout_ms": u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
    });
    JournalEntry::Envelope(JournalNote {
        kind: Type::Task,
        from: None,
        to: delegate(attempt),
        intent: engine.intent(),
        message: format!("Delegated: {}", work.task.title),
        payload,
        task_id: Some(task_id),
    })
}

/// That an executor which reads only v1 gets a prompt of that version.
fn old_protocol(work: &TaskWork, executor: &dyn Executor) -> Option<JournalEntry> {
    let configured = executor.configured();
    if !configured.is_v1_only {
        return None;
    }
    let body = VersionFallback {
        agent: Some(configured.name.as_str().to_owned()),
        from_version: Some(AOP_VERSION.to_owned()),
        to_version: Some("1.x".to_owned()),
        reason: FallbackReason::TargetV1Only.as_str().to_owned(),
        error_code: None,
        validation_errors: Vec::new(),
        input_preview: None,
    };
    let told = format!("`{}` reads AOP v1 only and gets a v1 prompt", configured.name);
    let event = AopEvent { body: Body::VersionFallback(body), told, more: json!({}) };
    Some(JournalEntry::Aop { task_id: work.task.id.clone(), event: Box::new(event) })
}

/// That a lock was taken from another holder, with the attempt that gets it.
fn takeover(work: &TaskWork, told: &str) -> JournalEntry {
    let payload = json!({"told": told});
    JournalEntry::Envelope(JournalNote::event("writ.lock.taken_over", told, payload, Some(&work.task.id)))
}

fn new_attempt(engine: &mut EngineRun<'_>, work: &TaskWork, number: i64, selected: &Selected) -> NewAttempt {
    let now = engine.cx.now().at;
    NewAttempt {
        id: mint(engine.cx.ids(), now),
        task_id: work.task.id.clone(),
        run_id: engine.run.asked.id.clone(),
        number,
        executor: selected.executor.as_str().to_owned(),
        model: selected.model.clone(),
        alternative: selected.alternative,
        agent_session: selection::resumable(work, selected),
        owner: engine.owner.clone(),
    }
}

/// The attempt as it begins, and why it must not be started.
fn launch(engine: &EngineRun<'_>, work: &TaskWork, started: Journaled<'_>) -> (Live, Option<String>) {
    let now = engine.cx.now();
    let inputs = inputs::look_at_inputs(engine, work);
    let prepared = child_of(engine, work, &started);
    let Journaled { ready, attempt, took_over, .. } = started;
    let ReadyStart { shaped, .. } = *ready;
    let mut spec = launch_spec(engine, work, &attempt, &prepared.argv);
    spec.env.extend(child_environment(&[&shaped.env, &prepared.env, &isolated::clone_env(work)]));
    spec.stdin = prepared.stdin;
    let (inside, refused) = match confined::confine(engine, work, &attempt, &mut spec) {
        Ok(inside) => (inside, None),
        Err(reason) => (None, Some(reason)),
    };
    let executor = ExecutorRun {
        step: WorkStep::Deciding,
        reader: prepared.reader,
        stdout: prepared.stdout,
        lines: LineBuffer::default(),
        beats: beats(work, prepared.silence_max),
        heartbeat: None,
        denials: Denials::of_aop(engine.run.asked.kind == DocumentKind::AopTask),
        log: None,
        door: None,
        ended: ChildEnd::default(),
        launch: spec,
    };
    let start = AttemptStart {
        attempt,
        started_at: now.at,
        timeout: shaped.timeout,
        hidden: shaped.hidden,
        inputs,
        took_over,
        snapshot: None,
        writable: executor.launch.confinement.sandbox.as_deref().and_then(Writable::of),
        inside,
        overruled: confined::wanted(engine, work).overruled(work.spec()),
    };
    let live = Live {
        start,
        stopped: None,
        parkings: 0,
        late_since_ms: None,
        warnings: shaped.warnings,
        phase: AttemptPhase::Working(Box::new(executor)),
    };
    (live, refused)
}

/// The child that does the work of an attempt.
fn child_of(engine: &EngineRun<'_>, work: &TaskWork, started: &Journaled<'_>) -> PreparedChild {
    let Journaled { ready, attempt, dispatch, .. } = started;
    let resume = attempt.agent_session.as_deref();
    let prepared = ready.executor.prepare(&AttemptWork {
        run: &engine.run.asked,
        workspace: &work.directory(&engine.run).to_string_lossy(),
        task: &work.task,
        command: &ready.selected.command,
        model: ready.selected.model.as_deref(),
        alternative: ready.selected.alternative,
        dispatch: dispatch.as_deref(),
        resume,
        before: work.attempts.iter().rev().find(|before| before.begun.id != attempt.id),
        so_far: resume.and_then(|session| selection::session_total(work, session)),
        is_confined: &|| confined::is_confined(engine, work),
        attempt_number: attempt.number,
        brief: &ready.shaped.brief,
        hidden: &ready.shaped.hidden,
        now: engine.cx.now().at,
    });
    if ready.executor.configured().is_model_free {
        return PreparedChild { reader: Box::new(Free(prepared.reader)), ..prepared };
    }
    prepared
}

/// A child of a task, with what every child gets.
fn launch_spec(engine: &EngineRun<'_>, work: &TaskWork, attempt: &NewAttempt, argv: &[String]) -> LaunchSpec {
    let marker = Marker { attempt: attempt.id.clone(), owner: engine.settings.launcher.identity() };
    let argv = argv.iter().map(OsString::from).collect();
    let mut spec = LaunchSpec::new(argv, work.directory(&engine.run).to_owned(), marker);
    spec.env = engine.settings.environment.clone();
    spec.confinement.namespace = work.spec().namespace;
    spec
}

/// The signs of life that are expected of a task: as it demands itself, else as its executor does.
fn beats(work: &TaskWork, silence_max: Option<Duration>) -> Option<Beats> {
    let asked = work.spec().policy.heartbeat.map(Beats::new);
    asked.or_else(|| silence_max.map(Beats::of_executor))
}

/// An attempt begins unless it cannot be confined, or taken back where that was asked for.
fn first_step(work: &TaskWork, live: &mut Live, refused: Option<String>) -> AttemptStep {
    let snapshot = live.start.snapshot.as_ref();
    let failed = snapshot.and_then(|taken| taken.failed.as_ref().or(taken.broken.as_ref()));
    let ended = &mut live.phase.executor().ended;
    match (failed.filter(|_| work.spec().rollback), refused) {
        (Some(why), _) => ended.no_snapshot = Some(format!("no snapshot could be taken: {why}")),
        (None, Some(reason)) => ended.fault = Some(reason),
        (None, None) => return AttemptStep::Begin,
    }
    AttemptStep::Return
}

/// What this task, its executor and its clone add to what every child gets.
fn child_environment(added: &[&BTreeMap<String, String>]) -> BTreeMap<OsString, OsString> {
    let added = added.iter().flat_map(|added| added.iter());
    added.map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// The entity that an attempt is delegated to.
pub(super) fn delegate(attempt: &NewAttempt) -> String {
    format!("agent.{}", attempt.executor)
}
