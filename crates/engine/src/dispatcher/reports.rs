//! What the processes of tasks report, and what happens when they take too long.

use ops::Result;
use ops::run::journal::Entry;

use super::{Dispatcher, millis};
use crate::executor::{Sign, Stdout, Stopped, sign_of};
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
        live.last_sign_ms = now_ms;
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
        if !signs.is_empty() {
            let attempt = live.attempt.id.clone();
            self.patiently(|engine| ops::run::journal::heartbeat(engine.cx, &attempt))?;
        }
        let name = &self.board.slot(task).name;
        for Sign { percentage, message } in signs {
            self.observer.report(Progress::Update { task: name, percentage, message: &message });
        }
        let live = self.live.get(&task).expect("BUG: still live");
        match live.stdout {
            Stdout::Text => show_line(self.observer, name, &text),
            Stdout::Messages => {}
        }
        self.grant_wishes(task)
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

    pub(super) fn enforce_deadlines(&mut self) {
        let now_ms = self.now_ms();
        for live in self.live.values_mut() {
            let silent = live.silence_max.is_some_and(|max| now_ms - live.last_sign_ms > millis(max));
            match live.phase {
                Phase::Executing if now_ms >= live.deadline_ms => {
                    live.stop(Stopped::Timeout, &*self.children);
                }
                Phase::Executing if silent => live.stop(Stopped::Silence, &*self.children),
                Phase::Checking { ref mut watched, .. } | Phase::Setup { ref mut watched, .. }
                    if now_ms >= live.deadline_ms =>
                {
                    watched.problem.get_or_insert_with(|| TOOK_TOO_LONG.to_owned());
                    self.children.kill(live.process);
                }
                Phase::Executing
                | Phase::Setup { .. }
                | Phase::Checking { .. }
                | Phase::Parked { .. }
                | Phase::Landing { .. }
                | Phase::Judging => {}
            }
        }
    }
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
