//! Starting a task: brief, shape, journal, then the child. The journal comes first, so that nothing runs unknown.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::aee::Type;
use contract::aop::event::{Body, VersionFallback};
use contract::aop::fallback::Reason;
use contract::aop::header::AOP_VERSION;
use contract::domain::attempt::{Dispatch, NewAttempt, Taken};
use contract::domain::confinement::{GitUse, SandboxMode};
use contract::domain::crew::budget::Delegated;
use contract::domain::id::mint;
use contract::domain::limits;
use contract::domain::run::DocumentKind;
use contract::domain::status::Status;
use ops::Result;
use ops::aop_event::AopEvent;
use ops::run::journal::{Entry, Note};
use serde_json::json;

use super::inputs::InputDigests;
use super::layers::Preparation;
use super::selection::Selected;
use super::{Committed, Dispatcher, directories, millis};
use crate::beats::Beats;
use crate::executor::{Claims, Ended, Executor, Free, Lines, Prepared as Child, Reported, Work};
use crate::inside::Inside;
use crate::launcher::{Shortage, with_causes};
use crate::live::{Live, Phase};
use crate::observer::Progress;
use crate::pipeline::Mark;
use crate::pipeline::l6_shape::Shaped;
use crate::sandbox::{self, Denials, Wanted, Writable};
use crate::supervisor::logs::LogWriter;
use crate::supervisor::{LaunchSpec, Marker};
use crate::verify::{Prepared, Watched, prepare};

impl Dispatcher<'_> {
    pub(super) fn start(&mut self, task: usize) -> Result<()> {
        if !self.still_waits(task)? {
            self.pipeline.forget_answers(Some(task));
            return Ok(());
        }
        let number = i64::try_from(self.attempts[task].len()).unwrap_or(i64::MAX) + 1;
        self.pipeline.task_begins(self.part(task).number);
        let mark = self.pipeline.mark();
        let wants = match self.wants(task) {
            Ok(wants) => wants,
            Err(error) => {
                return self.refuse(task, &format!("{}: {}", error.code.as_str(), error.message), mark);
            }
        };
        if let Some(overspent) = self.overspent(task)? {
            return self.refuse(task, &format!("E_COST_LIMIT_EXCEEDED: {}", overspent.told()), mark);
        }
        let selected = match self.available(task)? {
            Ok(selected) => selected,
            Err(conflict) => return self.wait_for_limit(task, conflict),
        };
        let name = &selected.executor;
        let Some(executor) = self.settings.executors.find(name) else {
            return self.refuse(task, &format!("E_AGENT_NOT_FOUND: there is no executor `{name}`"), mark);
        };
        let shaped = match self.prepare(task, number, &selected)? {
            Preparation::Ready(shaped) => *shaped,
            Preparation::Refused(reason) => return self.refuse(task, &reason, mark),
            Preparation::Parked(reason) => return self.leave_unstarted(task, reason, mark),
            Preparation::Awaited => return Ok(()),
        };
        let at = self.cx.now().at;
        let attempt = self.new_attempt(task, number, &selected);
        let dispatch = self.dispatch(task, number, &selected, &shaped.brief);
        let _hold = match self.enter_clone(task, &attempt.id)? {
            Ok(hold) => hold,
            Err(reason) => return self.leave_unstarted(task, reason, mark),
        };
        let took_over = self.note_takeover(task)?;
        self.note_pins(task);
        let task_id = self.tasks[task].id.clone();
        self.note(Entry::MoveTask { task_id, to: Status::InProgress, reason: None, verified: false });
        self.note(Entry::StartAttempt { attempt: attempt.clone(), dispatch: dispatch.clone(), wants });
        self.note_delegation(task, &attempt, shaped.timeout);
        self.note_old_protocol(task, executor);
        match self.try_commit(mark)? {
            Committed::All(token) => drop(token.map(|token| self.held.insert(task, token))),
            Committed::Hindered(hindrance) => return self.hindered(task, hindrance),
            // Someone moved the task while it was being prepared; the board knows it now and nothing is started.
            Committed::Moved | Committed::Fenced => {
                self.pipeline.forget_answers(Some(task));
                return self.refresh(task);
            }
        }
        self.pipeline.forget_answers(Some(task));
        self.refresh(task)?;
        self.waits_no_more(task);
        self.observer.report(Progress::Started { task: &self.board.slot(task).name, attempt: number });
        if let Some(told) = &took_over {
            self.observer.report(Progress::TookOver { task: &self.board.slot(task).name, told });
        }
        for change in selected.fallback.iter().chain(&selected.escalated) {
            let told = &format!("uses {change}");
            self.observer.report(Progress::Warned { task: &self.board.slot(task).name, told });
        }
        // Before the look that the task is compared with: what a snapshot writes is not the task's.
        let snapshot = self.take_snapshot(task, &attempt.id);
        self.begin_watch(task, at)?;
        let inputs = self.look_at_inputs(task);
        self.launch(task, (attempt, dispatch), (executor, selected), (shaped, inputs, took_over, snapshot))
    }

    fn note_delegation(&mut self, task: usize, attempt: &NewAttempt, timeout: Duration) {
        let (task_id, spec) = (self.tasks[task].id.clone(), &self.part(task).spec);
        let payload = json!({
            "task_id": task_id, "name": spec.id, "attempt": attempt.number, "writes": spec.writes,
            "timeout_ms": u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        });
        self.note(Entry::Envelope(Note {
            kind: Type::Task,
            from: None,
            to: delegate(attempt),
            intent: self.intent(),
            message: format!("Delegated: {}", self.tasks[task].title),
            payload,
            task_id: Some(task_id),
        }));
    }

    /// Writes down that an executor which reads only v1 gets a prompt of that version.
    fn note_old_protocol(&mut self, task: usize, executor: &dyn Executor) {
        let configured = executor.configured();
        if !configured.is_v1_only {
            return;
        }
        let body = VersionFallback {
            agent: Some(configured.name.as_str().to_owned()),
            from_version: Some(AOP_VERSION.to_owned()),
            to_version: Some("1.x".to_owned()),
            reason: Reason::TargetV1Only.as_str().to_owned(),
            error_code: None,
            validation_errors: Vec::new(),
            input_preview: None,
        };
        let told = format!("`{}` reads AOP v1 only and gets a v1 prompt", configured.name);
        let event = AopEvent { body: Body::VersionFallback(body), told, more: json!({}) };
        let task_id = self.tasks[task].id.clone();
        self.note(Entry::Aop { task_id, event: Box::new(event) });
    }

    /// Writes down, with the attempt that gets it, that a lock was taken from somebody else.
    fn note_takeover(&mut self, task: usize) -> Result<Option<String>> {
        let took_over = self.takeover(task)?;
        if let Some(told) = &took_over {
            self.note(Entry::Envelope(Note {
                kind: Type::Event,
                from: None,
                to: "log.writ".to_owned(),
                intent: "writ.lock.taken_over".to_owned(),
                message: told.clone(),
                payload: json!({"told": told}),
                task_id: Some(self.tasks[task].id.clone()),
            }));
        }
        Ok(took_over)
    }

    /// A delegated task carries the caller's intent.
    pub(super) fn intent(&self) -> String {
        self.run
            .asked
            .intent
            .as_ref()
            .map_or_else(|| "writ.task.execute".to_owned(), |intent| intent.name.clone())
    }

    /// The task could not be prepared: it fails without an attempt.
    pub(super) fn refuse(&mut self, task: usize, reason: &str, mark: Mark) -> Result<()> {
        self.pipeline.forget_answers(Some(task));
        self.note(Entry::MoveTask {
            task_id: self.tasks[task].id.clone(),
            to: Status::Failed,
            reason: Some(reason.to_owned()),
            verified: false,
        });
        let refused = self.commit_unless_moved(mark)?;
        self.refresh(task)?;
        if refused {
            self.pipeline.task_ended(self.part(task).number);
            self.tell_end(task, Duration::ZERO);
        }
        Ok(())
    }

    fn new_attempt(&mut self, task: usize, number: i64, selected: &Selected) -> NewAttempt {
        let now = self.cx.now().at;
        NewAttempt {
            id: mint(self.cx.ids(), now),
            task_id: self.tasks[task].id.clone(),
            run_id: self.run.asked.id.clone(),
            number,
            executor: selected.executor.as_str().to_owned(),
            model: selected.model.clone(),
            alternative: selected.alternative,
            agent_session: self.resumable(task, selected),
            owner: self.owner.clone(),
        }
    }

    /// The child that does the work of an attempt.
    fn child_of(
        &self,
        task: usize,
        (attempt, dispatch): (&NewAttempt, Option<&Dispatch>),
        (executor, selected): (&dyn Executor, &Selected),
        shaped: &Shaped,
    ) -> Child {
        let resume = attempt.agent_session.as_deref();
        let prepared = executor.prepare(&Work {
            run: &self.run.asked,
            workspace: &self.directory(task).to_string_lossy(),
            task: &self.tasks[task],
            part: self.part(task),
            command: &selected.command,
            model: selected.model.as_deref(),
            alternative: selected.alternative,
            dispatch,
            resume,
            before: self.attempts[task].iter().rev().find(|before| before.begun.id != attempt.id),
            so_far: resume.and_then(|session| self.session_total(task, session)),
            is_confined: &|| self.is_confined(task),
            attempt_number: attempt.number,
            brief: &shaped.brief,
            hidden: &shaped.hidden,
            now: self.cx.now().at,
        });
        if executor.configured().is_model_free {
            return Child { reader: Box::new(Free(prepared.reader)), ..prepared };
        }
        prepared
    }

    fn launch(
        &mut self,
        task: usize,
        (attempt, dispatch): (NewAttempt, Option<Box<Dispatch>>),
        (executor, selected): (&dyn Executor, Selected),
        (shaped, inputs, took_over, snapshot): (Shaped, InputDigests, Option<String>, Option<Taken>),
    ) -> Result<()> {
        let now = self.cx.now();
        let prepared = self.child_of(task, (&attempt, dispatch.as_deref()), (executor, &selected), &shaped);
        let mut spec = self.launch_spec(task, &attempt, &prepared.argv);
        spec.env.extend(child_environment(&shaped.env, &prepared.env));
        let own = self.clone_env(task);
        spec.env.extend(own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        spec.stdin = prepared.stdin;
        let (inside, refused) = match self.confine(task, &attempt, &mut spec) {
            Ok(inside) => (inside, None),
            Err(reason) => (None, Some(reason)),
        };
        let live = Live {
            attempt,
            process: 0,
            phase: Phase::Executing,
            started_at: now.at,
            timeout: shaped.timeout,
            deadline_ms: now.boot.millis.saturating_add(millis(shaped.timeout)),
            beats: self.beats(task, prepared.silence_max),
            last_sign_ms: now.boot.millis,
            late_since_ms: None,
            stopped: None,
            log: None,
            digests: None,
            ended: Ended::default(),
            stdout: prepared.stdout,
            lines: Lines::default(),
            reader: prepared.reader,
            hidden: shaped.hidden,
            claim: None,
            reported: Reported::default(),
            claims: Claims { report: None, warnings: shaped.warnings },
            inputs,
            cost_basis: None,
            seen: Vec::new(),
            outside: None,
            recorder: None,
            denials: Denials::of_aop(self.run.asked.kind == DocumentKind::AopTask),
            took_over,
            snapshot,
            withheld: Vec::new(),
            agent_session: None,
            session_total: None,
            limited: None,
            writable: spec.confinement.sandbox.as_deref().and_then(Writable::of),
            spec: Some(Box::new(spec)),
            inside,
            door: None,
            heartbeat: None,
            parkings: 0,
            delegated: Delegated::default(),
            overruled: self.wanted(task).overruled(&self.part(task).spec),
        };
        self.live.insert(task, live);
        self.begin_unless(task, refused)
    }

    /// A child of a task, with what every child gets.
    fn launch_spec(&self, task: usize, attempt: &NewAttempt, argv: &[String]) -> LaunchSpec {
        let marker = Marker { attempt: attempt.id.clone(), owner: self.settings.launcher.identity() };
        let argv = argv.iter().map(OsString::from).collect();
        let mut spec = LaunchSpec::new(argv, self.directory(task).to_owned(), marker);
        spec.env = self.settings.environment.clone();
        spec.confinement.namespace = self.part(task).spec.namespace;
        spec
    }

    /// The signs of life that are expected of a task: as it says itself, else as its executor does.
    fn beats(&self, task: usize, silence_max: Option<Duration>) -> Option<Beats> {
        let asked = self.part(task).spec.policy.heartbeat.map(Beats::new);
        asked.or_else(|| silence_max.map(Beats::of_executor))
    }

    /// Starts what the task needs first, unless it cannot be confined or taken back as it was asked for.
    fn begin_unless(&mut self, task: usize, refused: Option<String>) -> Result<()> {
        // Who asked for a rollback does not want work that cannot be taken back.
        let snapshot = self.live[&task].snapshot.as_ref();
        let failed = snapshot.and_then(|taken| taken.failed.as_ref().or(taken.broken.as_ref()));
        if let Some(why) = failed.filter(|_| self.part(task).spec.rollback) {
            let told = format!("no snapshot could be taken: {why}");
            self.live_mut(task).ended.no_snapshot = Some(told);
            return self.executor_ended(task);
        }
        match refused {
            Some(reason) => {
                self.live_mut(task).ended.fault = Some(reason);
                self.executor_ended(task)
            }
            None => self.begin_work(task),
        }
    }

    /// What is asked for the sandbox of a task.
    pub(crate) fn wanted(&self, task: usize) -> Wanted<'_> {
        let origin = self.is_isolated(task).then_some(Path::new(&self.run.asked.workspace));
        Wanted::of_task(&self.part(task).spec, self.settings, origin)
    }

    /// Whether the task's processes will be in a sandbox.
    fn is_confined(&self, task: usize) -> bool {
        let wanted = self.wanted(task);
        match wanted.mode {
            SandboxMode::Off => false,
            SandboxMode::Enforce => true,
            SandboxMode::Prefer => {
                wanted.refusal(self.directory(task)).is_none()
                    && self.settings.launcher.sandbox_lacks().is_none()
            }
        }
    }

    /// Why a sandbox that is demanded for the task cannot be had on this machine.
    pub(super) fn sandbox_refusal(&self, task: usize) -> Option<String> {
        let wanted = self.wanted(task);
        if wanted.mode != SandboxMode::Enforce {
            return None;
        }
        let lacks = || {
            self.settings.launcher.sandbox_lacks().map(|lacks| format!("this machine does not have: {lacks}"))
        };
        let reason = wanted.refusal(self.directory(task)).or_else(lacks)?;
        Some(format!("E_PERMISSION_DENIED: sandbox = \"enforce\" is not possible here: {reason}"))
    }

    /// Makes its directories, adds the task's sandbox to the launch, and says who will call from inside it. The error is why it must not be
    /// started.
    fn confine(
        &self,
        task: usize,
        attempt: &NewAttempt,
        spec: &mut LaunchSpec,
    ) -> std::result::Result<Option<Inside>, String> {
        directories::make(self.directory(task), self.part(task).spec.directories())?;
        let settings = &self.settings.sandbox;
        let held = self.held_inputs(task);
        let wanted = Wanted { files: Some(&self.part(task).spec.files), held: &held, ..self.wanted(task) };
        let private = settings.private_of_attempt(attempt.task_id.as_str(), &attempt.id.to_string());
        let private = if self.settings.doors.is_some() { private.with_socket() } else { private };
        let directories = (self.directory(task), &private);
        let confined = sandbox::of_child(settings, &wanted, directories, (&spec.argv, &mut spec.env));
        let confined = confined.map_err(|reason| format!("could not confine the executor: {reason}"))?;
        let Some(confined) = confined else { return Ok(None) };
        let inside = self.inside(task, attempt, &wanted, &confined);
        spec.confinement.sandbox = Some(confined.sandbox);
        Ok(Some(inside))
    }

    /// Whether the task's sandbox is open for commits.
    pub(crate) fn may_commit(&self, task: usize) -> bool {
        let wanted = self.wanted(task);
        wanted.mode != SandboxMode::Off && wanted.git == GitUse::Commit
    }

    /// Starts the process of a live task, now or when the machine has what it needs.
    pub(super) fn start_executor(&mut self, task: usize) -> Result<()> {
        let (process, now_ms) = (self.next_process(), self.now_ms());
        let live = self.live_mut(task);
        live.process = process;
        live.phase = Phase::Executing;
        live.deadline_ms = now_ms.saturating_add(millis(live.timeout));
        live.last_sign_ms = now_ms;
        let spec = live.spec.as_deref().expect("BUG: kept until it has started").clone();
        if let Err(short_of) = self.open_log(task) {
            self.park(task, None, short_of);
            return Ok(());
        }
        if let Err(error) = self.open_door(task) {
            if let Some(short_of) = Shortage::of(error.raw_os_error()) {
                self.park(task, None, short_of);
                return Ok(());
            }
            self.live_mut(task).ended.fault = Some(format!("could not open its socket: {error}"));
            return self.executor_ended(task);
        }
        let Err(error) = self.children.start(process, spec) else { return Ok(()) };
        self.heed_signal();
        if let Some(short_of) = Shortage::of(error.errno())
            && self.live[&task].stopped.is_none()
        {
            self.park(task, None, short_of);
            return Ok(());
        }
        self.live_mut(task).ended.fault = Some(with_causes(&error));
        self.executor_ended(task)
    }

    /// Makes the log of a live task, if it has none. `Err` is what the machine is short of; without a log it runs too.
    pub(super) fn open_log(&mut self, task: usize) -> std::result::Result<(), Shortage> {
        let path = self.log_path(task);
        let live = self.live_mut(task);
        if live.log.is_some() {
            return Ok(());
        }
        match LogWriter::create(&path, &live.hidden) {
            Ok(log) => live.log = Some(log),
            Err(error) => {
                if let Some(short_of) = Shortage::of(error.raw_os_error()) {
                    return Err(short_of);
                }
            }
        }
        Ok(())
    }

    pub(super) fn log_path(&self, task: usize) -> PathBuf {
        self.settings.logs.join(format!("{}.log", self.live[&task].attempt.id))
    }

    /// Starts a check of a task that has returned.
    pub(super) fn launch_check(&mut self, task: usize, index: usize) -> Result<()> {
        let process = self.next_process();
        let check = self.part(task).spec.checks[index].clone();
        let deadline_ms = self.now_ms().saturating_add(millis(limits::CHECK_TIMEOUT));
        let shown = check.command.join(" ");
        if self.live[&task].parkings == 0 {
            self.observer.report(Progress::Checking { task: &self.board.slot(task).name, command: &shown });
        }
        let attempt = self.live[&task].attempt.id.clone();
        let marker = Marker { attempt, owner: self.settings.launcher.identity() };
        let recorder = self.live[&task].recorder.as_ref().expect("BUG: it is made before the first check");
        let Prepared { spec, mut hidden, ran, problem } =
            prepare(&check, &self.place(task), marker, recorder);
        // What the executor was given may be in files that a check prints.
        hidden.add_all(&self.live[&task].hidden);
        let mut watched = Box::new(Watched::new(&hidden, ran));
        if problem.is_some() {
            watched.problem = problem;
            let live = self.live_mut(task);
            live.phase = Phase::Checking { index, watched };
            return self.check_ended(task);
        }
        let started = self.children.start(process, spec);
        if let Err(error) = &started
            && let Some(short_of) = Shortage::of(error.errno())
            && self.live[&task].stopped.is_none()
        {
            self.park(task, Some(index), short_of);
            return Ok(());
        }
        let failed = started.is_err();
        watched.problem = started.err().map(|error| with_causes(&error));
        let live = self.live_mut(task);
        live.process = process;
        live.deadline_ms = deadline_ms;
        live.phase = Phase::Checking { index, watched };
        if failed {
            self.heed_signal();
            return self.check_ended(task);
        }
        Ok(())
    }

    pub(super) fn next_process(&mut self) -> u64 {
        self.processes += 1;
        self.processes
    }
}

/// What this task and its executor add to what every child gets.
fn child_environment(
    task: &BTreeMap<String, String>,
    executor: &BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let added = task.iter().chain(executor);
    added.map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// The entity that an attempt is delegated to.
pub(super) fn delegate(attempt: &NewAttempt) -> String {
    format!("agent.{}", attempt.executor)
}
