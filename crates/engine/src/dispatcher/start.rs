//! Starting a task: brief, shape, journal, then the child. The journal comes first, so that nothing runs unknown.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use contract::aee::Type;
use contract::aop::effective;
use contract::domain::attempt::NewAttempt;
use contract::domain::id::mint;
use contract::domain::limits;
use contract::domain::status::Status;
use ops::Result;
use ops::run::journal::{Entry, Note};
use serde_json::json;

use super::layers::Preparation;
use super::{Committed, Dispatcher, Message, millis};
use crate::executor::Ended;
use crate::executor::aop_stdio::Conversation;
use crate::live::{Live, Phase};
use crate::observer::Progress;
use crate::pipeline::Mark;
use crate::pipeline::l6_shape::Shaped;
use crate::supervisor::logs::{LogWriter, Scrub};
use crate::supervisor::{LaunchSpec, Marker, Stdin, Supervisor, own_identity};

impl Dispatcher<'_> {
    pub(super) fn start(&mut self, task: usize) -> Result<()> {
        if !self.still_waits(task)? {
            self.pipeline.forget_answers(Some(task));
            return Ok(());
        }
        let number = i64::try_from(self.attempts[task].len()).unwrap_or(i64::MAX) + 1;
        let mark = self.pipeline.mark();
        let wants = match self.wants(task) {
            Ok(wants) => wants,
            Err(error) => {
                return self.refuse(task, &format!("{}: {}", error.code.as_str(), error.message), mark);
            }
        };
        let shaped = match self.prepare(task, number)? {
            Preparation::Ready(shaped) => *shaped,
            Preparation::Refused(reason) => return self.refuse(task, &reason, mark),
            Preparation::Awaited => return Ok(()),
        };
        let attempt = self.new_attempt(task, number);
        let task_id = self.tasks[task].id.clone();
        self.note(Entry::MoveTask {
            task_id: task_id.clone(),
            to: Status::InProgress,
            reason: None,
            verified: false,
        });
        self.note(Entry::StartAttempt { attempt: attempt.clone(), wants });
        let part = self.part(task);
        let payload = json!({
            "task_id": task_id, "name": part.spec.id, "attempt": number,
            "timeout_ms": u64::try_from(shaped.timeout.as_millis()).unwrap_or(u64::MAX), "writes": part.spec.writes,
        });
        self.note(Entry::Envelope(Note {
            kind: Type::Task,
            from: None,
            to: self.delegate(task),
            intent: self.intent(),
            message: format!("Delegated: {}", self.tasks[task].title),
            payload,
            task_id: Some(task_id),
        }));
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
        self.observer.report(Progress::Started { task: &self.board.slots[task].name, attempt: number });
        self.launch(task, attempt, shaped)
    }

    /// The entity a task is delegated to.
    pub(super) fn delegate(&self, task: usize) -> String {
        format!("agent.{}", self.part(task).spec.executor.as_str())
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
    fn refuse(&mut self, task: usize, reason: &str, mark: Mark) -> Result<()> {
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
            self.tell_end(task, Duration::ZERO);
        }
        Ok(())
    }

    fn new_attempt(&mut self, task: usize, number: i64) -> NewAttempt {
        let now = self.cx.now().at;
        NewAttempt {
            id: mint(self.cx.ids(), now),
            task_id: self.tasks[task].id.clone(),
            run_id: self.run.asked.id.clone(),
            number,
            executor: self.part(task).spec.executor.as_str().to_owned(),
            owner: self.owner.clone(),
        }
    }

    fn launch(&mut self, task: usize, attempt: NewAttempt, shaped: Shaped) -> Result<()> {
        let now = self.cx.now();
        let marker = Marker { attempt: attempt.id.clone(), owner: own_identity() };
        let argv = shaped.argv.iter().map(OsString::from).collect();
        let mut spec = LaunchSpec::new(argv, PathBuf::from(&self.run.asked.workspace), marker);
        spec.env = self.child_environment(&shaped.env);
        spec.stdin = shaped.stdin.map_or(Stdin::Closed, Stdin::Bytes);
        let log_path = self.settings.logs.join(format!("{}.log", attempt.id));
        let silence_max =
            shaped.aop.as_ref().and_then(|t| effective::heartbeat(t)).map(|beat| beat.silence_max());
        let hidden = shaped.hidden.clone();
        let scrub: Scrub = Box::new(move |line| hidden.clean(line));
        let mut live = Live {
            attempt,
            generation: self.next_generation(),
            handle: None,
            phase: Phase::Executing,
            started_at: now.at,
            timeout: shaped.timeout,
            deadline_ms: now.boot.millis.saturating_add(millis(shaped.timeout)),
            silence_max,
            last_sign_ms: now.boot.millis,
            stopped: None,
            log: LogWriter::create(&log_path, scrub).ok(),
            digests: None,
            ended: Ended::default(),
            conversation: shaped.aop.map(|task| Conversation::new(task, shaped.hidden.clone())),
            hidden: shaped.hidden,
            claim: None,
            seen: Vec::new(),
        };
        match Supervisor::start(&self.settings.shim, spec, self.sink(task, live.generation)) {
            Ok(handle) => {
                live.handle = Some(handle);
                self.live.insert(task, live);
                Ok(())
            }
            Err(error) => {
                live.ended.fault = Some(with_causes(&error));
                self.live.insert(task, live);
                self.heed_signal();
                self.executor_ended(task)
            }
        }
    }

    /// Starts a check of a task that has returned.
    pub(super) fn launch_check(&mut self, task: usize, index: usize) -> Result<()> {
        let generation = self.next_generation();
        let check = self.part(task).spec.checks[index].clone();
        let deadline_ms = self.now_ms().saturating_add(millis(limits::CHECK_TIMEOUT));
        let shown = check.command.join(" ");
        self.observer.report(Progress::Checking { task: &self.board.slots[task].name, command: &shown });
        let attempt = self.live[&task].attempt.id.clone();
        let marker = Marker { attempt, owner: own_identity() };
        let spec = crate::verify::launch(&check, &self.place(task), marker);
        let started = Supervisor::start(&self.settings.shim, spec, self.sink(task, generation));
        let mut watched = Box::<crate::verify::Watched>::default();
        let live = self.live.get_mut(&task).expect("BUG: a task is checked while it is live");
        live.generation = generation;
        live.deadline_ms = deadline_ms;
        match started {
            Ok(handle) => {
                live.handle = Some(handle);
                live.phase = Phase::Checking { index, watched };
                Ok(())
            }
            Err(error) => {
                watched.problem = Some(with_causes(&error));
                live.phase = Phase::Checking { index, watched };
                self.heed_signal();
                self.check_ended(task)
            }
        }
    }

    fn sink(&self, task: usize, generation: u64) -> impl FnMut(crate::supervisor::Report) + Send + 'static {
        let sender = self.sender.clone();
        move |report| {
            // The loop outlives every child it started; if it is gone, so is this process.
            sender.send(Message { task, generation, report }).ok();
        }
    }

    fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    fn child_environment(&self, extra: &BTreeMap<String, String>) -> BTreeMap<OsString, OsString> {
        let mut env = self.settings.environment.clone();
        env.extend(extra.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        env
    }
}

/// An error and everything behind it, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
