//! What the processes of tasks report, and what happens when they take too long.

use std::time::Duration;

use contract::aee::Type;
use contract::aop::event::Body;
use contract::domain::limits;
use contract::domain::time::human_duration;
use contract::plan::PlanTask;
use ops::Result;
use ops::run::journal::{Entry, Note};
use serde_json::json;

use super::{Dispatcher, millis};
use crate::beats::Silence;
use crate::executor::{Sign, Stdout, Stopped, progress_of, sign_of, without_effect};
use crate::live::{Live, Phase};
use crate::observer::{Observer, Progress};
use crate::sandbox::Network;
use crate::supervisor::logs::Stream;
use crate::supervisor::{Exit, Report};
use crate::verify::TOOK_TOO_LONG;

impl Dispatcher<'_> {
    /// Takes a report of a process. One of a process that nobody waits for is ignored.
    pub(super) fn take_report(&mut self, process: u64, report: Report) -> Result<()> {
        let now_ms = self.now_ms();
        let found = self.live.iter().find(|(_, live)| live.process == process);
        let Some((&task, _)) = found else { return Ok(()) };
        if self.parks_for(task, &report) {
            return Ok(());
        }
        let live = self.live.get_mut(&task).expect("BUG: found above");
        if let Phase::Checking { watched, .. } = &mut live.phase {
            let last = watched.take(report);
            return if last { self.check_ended(task) } else { Ok(()) };
        }
        if let (Phase::Setup { .. }, Some(log)) = (&live.phase, &mut live.log) {
            match &report {
                Report::Stdout(bytes) => drop(log.write(Stream::Stdout, bytes)),
                Report::Stderr(bytes) => drop(log.write(Stream::Stderr, bytes)),
                _ => {}
            }
        }
        if let Phase::Setup { watched, .. } = &mut live.phase {
            let last = watched.take(report);
            return if last { self.setup_ended(task) } else { Ok(()) };
        }
        live.sign(now_ms);
        match report {
            Report::Started { in_force, .. } => {
                live.denials.watch_network(match &in_force {
                    proxied if proxied.is_proxied() => Network::Proxied,
                    closed if closed.is_closed() => Network::Closed,
                    _ => Network::Open,
                });
                live.ended.in_force = Some(in_force);
                (live.spec, live.parkings) = (None, 0);
            }
            Report::Stdout(bytes) => return self.take_stdout(task, &bytes),
            Report::Stderr(bytes) => {
                live.denials.push(&bytes);
                live.reader.error_output(&bytes);
                let text = keep(live, Stream::Stderr, &bytes);
                show_line(self.observer, &self.board.slot(task).name, &text);
            }
            Report::Visited(visit) => live.ended.note_visit(&visit, &live.hidden),
            Report::Exceeded(what) => live.ended.exceeded = Some(what),
            Report::Exited(Exit::Code(code)) => live.ended.exit_code = Some(code),
            Report::Exited(Exit::Signal(signal)) => live.ended.signal = Some(signal),
            Report::Gone(gone) => {
                live.ended.leftovers_killed = gone.killed;
                live.ended.survivors = gone.survivors;
                return self.executor_ended(task);
            }
            Report::Fault(fault) => {
                live.ended.is_missing = fault.is_missing_program();
                live.ended.fault = Some(fault.message);
                return self.executor_ended(task);
            }
            Report::Lost(lost) => {
                live.ended.leftovers_killed = u32::try_from(lost.reaped.ended).unwrap_or(u32::MAX);
                live.ended.survivors = u32::try_from(lost.reaped.survivors).unwrap_or(u32::MAX);
                live.ended.fault = Some(format!("its supervisor was lost: {}", lost.message));
                return self.executor_ended(task);
            }
        }
        Ok(())
    }

    fn take_stdout(&mut self, task: usize, bytes: &[u8]) -> Result<()> {
        let live = self.live.get_mut(&task).expect("BUG: reports come only for live tasks");
        live.denials.push(bytes);
        let text = keep(live, Stream::Stdout, bytes);
        let mut events = Vec::new();
        live.lines.push(bytes, |line| events.extend(live.reader.line(line)));
        let signs: Vec<Sign> = events.iter().filter_map(|event| sign_of(event, &live.hidden)).collect();
        let updates: Vec<_> = events.iter().filter_map(|event| progress_of(event, &live.hidden)).collect();
        if !signs.is_empty() {
            let attempt = live.attempt.id.clone();
            self.patiently(|engine| ops::run::journal::heartbeat(engine.cx, &attempt))?;
        }
        self.warn_of_unheeded(task, &events);
        self.warn_of_lines(task);
        updates.into_iter().for_each(|update| self.take_progress(task, update));
        let name = &self.board.slot(task).name;
        for sign in signs {
            let (percentage, message) = (sign.percentage, &sign.told());
            self.observer.report(Progress::Update { task: name, percentage, message });
        }
        let live = self.live.get(&task).expect("BUG: still live");
        match live.stdout {
            Stdout::Text => show_line(self.observer, name, &text),
            Stdout::Messages => {}
        }
        self.grant_wishes(task)
    }

    /// Says once for each kind of event that it has no effect when an executor sends it.
    pub(super) fn warn_of_unheeded(&mut self, task: usize, events: &[Body]) {
        events.iter().filter_map(without_effect).for_each(|told| self.warn_once(task, told));
    }

    /// Says what the reader found in the lines that were read.
    pub(super) fn warn_of_lines(&mut self, task: usize) {
        let warnings = self.live_mut(task).reader.warnings();
        warnings.into_iter().for_each(|told| self.warn_once(task, told));
    }

    /// Says it once.
    fn warn_once(&mut self, task: usize, told: String) {
        let live = self.live.get_mut(&task).expect("BUG: reports come only for live tasks");
        if live.claims.warnings.contains(&told) {
            return;
        }
        let shown = told.split_once(": ").map_or(told.as_str(), |(_, shown)| shown);
        self.observer.report(Progress::Warned { task: &self.board.slot(task).name, told: shown });
        live.claims.warnings.push(told);
    }

    /// Does what the reader of a child wants done.
    fn grant_wishes(&mut self, task: usize) -> Result<()> {
        let wishes = self.live_mut(task).reader.wishes();
        if let Some(agent_session) = wishes.session {
            self.name_session(task, agent_session)?;
        }
        if !wishes.input.is_empty() {
            self.children.write(self.live[&task].process, &wishes.input);
        }
        let mut stop = wishes.stop;
        if wishes.look {
            let digest = self.settings.index.tree_digest(self.directory(task), &self.part(task).spec.writes);
            let live = self.live_mut(task);
            live.reader.seen(digest);
            stop |= live.reader.wishes().stop;
        }
        if stop {
            // Not by request: how it ended is for the reader to say.
            self.children.stop(self.live[&task].process);
        }
        Ok(())
    }

    /// Stores the name of the executor's conversation at once, so that it can go on wherever this process ends.
    fn name_session(&mut self, task: usize, agent_session: String) -> Result<()> {
        let live = self.live_mut(task);
        if live.attempt.agent_session.as_ref() == Some(&agent_session) {
            return Ok(());
        }
        live.attempt.agent_session = Some(agent_session.clone());
        let entry = Entry::NameSession { attempt_id: live.attempt.id.clone(), agent_session };
        self.patiently(|engine| {
            let id = &engine.run.asked.id;
            ops::run::journal::write(
                engine.cx,
                &engine.caller,
                id,
                &engine.owner,
                std::slice::from_ref(&entry),
            )
        })?;
        Ok(())
    }

    pub(super) fn enforce_deadlines(&mut self) -> Result<()> {
        let now_ms = self.now_ms();
        let mut tardy = Vec::new();
        for (task, live) in &mut self.live {
            match live.phase {
                Phase::Executing if now_ms >= live.deadline_ms => {
                    let spec = &self.tasks[*task].part.as_ref().expect("BUG: it is in a plan").spec;
                    let last_ms = latest(spec, live, self.settings.policy.timeout_max);
                    if spec.policy.may_be_late && live.late_since_ms.is_none() && last_ms > live.deadline_ms {
                        live.late_since_ms = Some(live.deadline_ms);
                        live.deadline_ms = last_ms;
                        tardy.push((*task, Tardy::Late(live.timeout)));
                    } else {
                        live.stop(Stopped::Timeout, &*self.children);
                    }
                }
                Phase::Executing => {
                    let silent_ms = now_ms.saturating_sub(live.last_sign_ms);
                    match live.beats.as_mut().map_or(Silence::Allowed, |beats| beats.look(silent_ms)) {
                        Silence::Allowed | Silence::Noted => {}
                        Silence::Warned => tardy.push((*task, Tardy::Silent(silent_ms))),
                        Silence::Failed => live.stop(Stopped::Silence, &*self.children),
                    }
                }
                Phase::Checking { ref mut watched, .. } | Phase::Setup { ref mut watched, .. }
                    if now_ms >= live.deadline_ms =>
                {
                    watched.problem.get_or_insert_with(|| TOOK_TOO_LONG.to_owned());
                    self.children.kill(live.process);
                }
                Phase::Setup { .. }
                | Phase::Checking { .. }
                | Phase::Parked { .. }
                | Phase::Landing { .. }
                | Phase::Judging => {}
            }
        }
        tardy.into_iter().try_for_each(|(task, tardy)| self.warn(task, &tardy))
    }

    /// Writes down that a task is late or silent, and tells it. The task goes on.
    fn warn(&mut self, task: usize, tardy: &Tardy) -> Result<()> {
        let (intent, told) = match tardy {
            Tardy::Late(timeout) => {
                let timeout = human_duration(*timeout);
                ("writ.task.late", format!("is late: its timeout of {timeout} is over, and it may go on"))
            }
            Tardy::Silent(silent_ms) => {
                let silent = Duration::from_millis(u64::try_from(*silent_ms).unwrap_or(0));
                let silent = human_duration(silent);
                ("writ.task.silent", format!("missed its heartbeats: no sign of life for {silent}"))
            }
        };
        let mark = self.pipeline.mark();
        self.note(Entry::Envelope(Note {
            kind: Type::Event,
            from: None,
            to: "log.writ".to_owned(),
            intent: intent.to_owned(),
            message: format!("{} {told}", self.board.slot(task).name),
            payload: json!({"told": told, "attempt": self.live[&task].attempt.number}),
            task_id: Some(self.tasks[task].id.clone()),
        }));
        self.commit_unless_moved(mark)?;
        self.observer.report(Progress::Warned { task: &self.board.slot(task).name, told: &told });
        Ok(())
    }
}

/// What a task is warned for.
enum Tardy {
    Late(Duration),
    Silent(i64),
}

/// When a task is ended that may be late: even then no attempt takes longer than any may.
fn latest(spec: &PlanTask, live: &Live, timeout_max: Option<Duration>) -> i64 {
    let longest = timeout_max.unwrap_or(limits::TASK_TIMEOUT_MAX).max(live.timeout);
    let more = longest.saturating_sub(live.timeout);
    if spec.policy.may_be_late { live.deadline_ms.saturating_add(millis(more)) } else { live.deadline_ms }
}

/// Stores what was printed. Returns it without its secrets; without a log there is nothing to show.
fn keep(live: &mut Live, stream: Stream, bytes: &[u8]) -> String {
    live.log.as_mut().map(|log| log.write(stream, bytes)).unwrap_or_default()
}

/// Shows the last line of some output as progress.
fn show_line(observer: &mut dyn Observer, task: &str, text: &str) {
    if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
        observer.report(Progress::Update { task, percentage: None, message: line.trim() });
    }
}
