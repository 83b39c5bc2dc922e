//! What the processes of attempts report, and what happens when they take too long.

use contract::aop::event::Body;
use contract::domain::time::human_duration;
use ops::Result;
use ops::run::journal::{JournalEntry, JournalNote};
use serde_json::json;

use super::AttemptStep;
use crate::dispatcher::Dispatcher;
use crate::dispatcher::engine_run::EngineRun;
use crate::dispatcher::live::{AttemptPhase, ExecutorRun, Live, Overdue, ReturnStep, WorkStep};
use crate::dispatcher::task_work::{TaskPhase, TaskWork};
use crate::executor::{Sign, Stdout, progress_of, sign_of, without_effect};
use crate::launcher::Shortage;
use crate::observer::{Observer, TaskProgress};
use crate::sandbox::Network;
use crate::supervisor::logs::LogStream;
use crate::supervisor::{ChildReport, ProcessExit};

impl Dispatcher<'_> {
    /// Takes a report of a process. One of a process that no attempt waits for is ignored.
    pub(in crate::dispatcher) fn take_report(&mut self, process: u64, report: ChildReport) -> Result<()> {
        let is_its = |live: &Live| live.process() == Some(process);
        let Some(&task) = self.tasks.live_where(is_its).first() else { return Ok(()) };
        if !matches!(report, ChildReport::Fault(_)) {
            self.starving = None;
        }
        let (engine, work) = (&mut self.engine, &mut self.tasks[task]);
        let Some(mut live) = work.take_live() else { return Ok(()) };
        let step = take(engine, work, &mut live, report)?;
        work.phase = TaskPhase::Live(live);
        self.advance(task, step)
    }

    pub(in crate::dispatcher) fn enforce_deadlines(&mut self) -> Result<()> {
        let now_ms = self.engine.now_ms();
        for task in self.tasks.live_where(|live| live.next_due_ms() <= now_ms) {
            let (engine, work) = (&mut self.engine, &mut self.tasks[task]);
            let Some(mut live) = work.take_live() else { continue };
            let overdue = live.overdue(work.spec(), engine.settings.policy.timeout_max, now_ms);
            let warned = match overdue {
                Overdue::Nothing => None,
                Overdue::Stop(why) => {
                    live.stop(why, &engine.processes);
                    None
                }
                Overdue::Kill(process) => {
                    engine.processes.kill(process);
                    None
                }
                Overdue::Late(timeout) => {
                    let timeout = human_duration(timeout);
                    let told = format!("is late: its timeout of {timeout} is over, and it may go on");
                    Some(("writ.task.late", told))
                }
                Overdue::Silent(silent) => {
                    let silent = human_duration(silent);
                    Some(("writ.task.silent", format!("missed its heartbeats: no sign of life for {silent}")))
                }
            };
            let number = live.start.attempt.number;
            work.phase = TaskPhase::Live(live);
            if let Some((intent, told)) = warned {
                let mark = engine.pipeline.mark();
                engine.note(tardiness(work, number, intent, &told));
                engine.commit_unless_moved(mark)?;
                engine.observer.report(TaskProgress::Warned { task: work.name(), told: &told });
            }
        }
        Ok(())
    }
}

/// The journal entry of a task that is late or silent and goes on.
fn tardiness(work: &TaskWork, attempt: i64, intent: &str, told: &str) -> JournalEntry {
    let (message, payload) = (format!("{} {told}", work.name()), json!({"told": told, "attempt": attempt}));
    JournalEntry::Envelope(JournalNote::event(intent, &message, payload, Some(&work.task.id)))
}

fn take(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &mut Live,
    report: ChildReport,
) -> Result<AttemptStep> {
    if let ChildReport::Fault(fault) = &report
        && let Some(shortage) = Shortage::of(fault.errno)
        && live.stopped.is_none()
    {
        return Ok(AttemptStep::Park(shortage));
    }
    match &mut live.phase {
        AttemptPhase::Returned(returned) => {
            let ReturnStep::Checking { watched, .. } = &mut returned.step else {
                return Ok(AttemptStep::Wait);
            };
            let is_last = watched.take(report);
            Ok(if is_last { AttemptStep::CheckEnded } else { AttemptStep::Wait })
        }
        AttemptPhase::Working(executor) => match &mut executor.step {
            WorkStep::Setup { watched, .. } => {
                if let (Some(log), Some((stream, bytes))) = (&mut executor.log, printed(&report)) {
                    log.write(stream, bytes);
                }
                let is_last = watched.take(report);
                Ok(if is_last { AttemptStep::SetupEnded } else { AttemptStep::Wait })
            }
            WorkStep::Deciding | WorkStep::Executing { .. } | WorkStep::Parked { .. } => {
                live.sign(engine.now_ms());
                take_of_executor(engine, work, live, report)
            }
        },
    }
}

fn printed(report: &ChildReport) -> Option<(LogStream, &[u8])> {
    match report {
        ChildReport::Stdout(bytes) => Some((LogStream::Stdout, bytes)),
        ChildReport::Stderr(bytes) => Some((LogStream::Stderr, bytes)),
        _ => None,
    }
}

fn take_of_executor(
    engine: &mut EngineRun<'_>,
    work: &mut TaskWork,
    live: &mut Live,
    report: ChildReport,
) -> Result<AttemptStep> {
    let AttemptPhase::Working(executor) = &mut live.phase else { return Ok(AttemptStep::Wait) };
    let ended = &mut executor.ended;
    match report {
        ChildReport::Started { in_force, .. } => {
            executor.denials.watch_network(match &in_force {
                proxied if proxied.is_proxied() => Network::Proxied,
                closed if closed.is_closed() => Network::Closed,
                _ => Network::Open,
            });
            ended.in_force = Some(in_force);
            live.parkings = 0;
        }
        ChildReport::Stdout(bytes) => take_stdout(engine, work, live, &bytes)?,
        ChildReport::Stderr(bytes) => {
            executor.denials.push(&bytes);
            executor.reader.error_output(&bytes);
            let text = keep(executor, LogStream::Stderr, &bytes);
            show_line(engine.observer, work.name(), &text);
        }
        ChildReport::Visited(visit) => ended.note_visit(&visit, &live.start.hidden),
        ChildReport::Exceeded(what) => ended.exceeded = Some(what),
        ChildReport::Exited(ProcessExit::Code(code)) => ended.exit_code = Some(code),
        ChildReport::Exited(ProcessExit::Signal(signal)) => ended.signal = Some(signal),
        ChildReport::Gone(gone) => {
            (ended.leftovers_killed, ended.survivors) = (gone.killed, gone.survivors);
            return Ok(AttemptStep::Return);
        }
        ChildReport::Fault(fault) => {
            ended.is_missing = fault.is_missing_program();
            ended.fault = Some(fault.message);
            return Ok(AttemptStep::Return);
        }
        ChildReport::Lost(lost) => {
            ended.leftovers_killed = u32::try_from(lost.reaped.ended).unwrap_or(u32::MAX);
            ended.survivors = u32::try_from(lost.reaped.survivors).unwrap_or(u32::MAX);
            ended.fault = Some(format!("its supervisor was lost: {}", lost.message));
            return Ok(AttemptStep::Return);
        }
    }
    Ok(AttemptStep::Wait)
}

fn take_stdout(engine: &mut EngineRun<'_>, work: &mut TaskWork, live: &mut Live, bytes: &[u8]) -> Result<()> {
    let AttemptPhase::Working(executor) = &mut live.phase else { return Ok(()) };
    executor.denials.push(bytes);
    let text = keep(executor, LogStream::Stdout, bytes);
    let mut events = Vec::new();
    executor.lines.push(bytes, |line| events.extend(executor.reader.line(line)));
    let hidden = &live.start.hidden;
    let signs: Vec<Sign> = events.iter().filter_map(|event| sign_of(event, hidden)).collect();
    events.iter().filter_map(|event| progress_of(event, hidden)).for_each(|it| work.progress.push(it));
    if !signs.is_empty() {
        let attempt = &live.start.attempt.id;
        engine.patiently(|engine| ops::run::journal::heartbeat(engine.cx, attempt))?;
    }
    let shows_text = executor.stdout == Stdout::Text;
    warn(engine.observer, work.name(), live, &events);
    for sign in signs {
        let (percentage, message) = (sign.percentage, &sign.told());
        engine.observer.report(TaskProgress::Update { task: work.name(), percentage, message });
    }
    if shows_text {
        show_line(engine.observer, work.name(), &text);
    }
    grant_wishes(engine, work, live)
}

/// Warns once of each kind of event that has no effect when an executor sends it, and of what the reader found in
/// the lines that were read.
pub(super) fn warn(observer: &mut dyn Observer, task: &str, live: &mut Live, events: &[Body]) {
    let found = live.phase.executor().reader.warnings();
    for warning in events.iter().filter_map(without_effect).chain(found) {
        if live.warnings.contains(&warning) {
            continue;
        }
        observer.report(TaskProgress::Warned { task, told: &warning.text });
        live.warnings.push(warning);
    }
}

/// Does what the reader of a child wants done.
fn grant_wishes(engine: &mut EngineRun<'_>, work: &TaskWork, live: &mut Live) -> Result<()> {
    let Some(process) = live.process() else { return Ok(()) };
    let wishes = live.phase.executor().reader.wishes();
    if let Some(agent_session) = wishes.session {
        name_session(engine, live, agent_session)?;
    }
    if !wishes.input.is_empty() {
        engine.processes.write(process, &wishes.input);
    }
    let mut stop = wishes.stop;
    if wishes.look {
        let index = &engine.settings.index;
        let digest = index.tree_digest(work.directory(&engine.run), &work.spec().writes);
        let reader = &mut live.phase.executor().reader;
        reader.seen(digest);
        stop |= reader.wishes().stop;
    }
    if stop {
        // Not by request: the reader decides how it ended.
        engine.processes.stop(process);
    }
    Ok(())
}

/// Stores the name of the executor's conversation at once, so that it can go on wherever this process ends.
fn name_session(engine: &mut EngineRun<'_>, live: &mut Live, agent_session: String) -> Result<()> {
    let attempt = &mut live.start.attempt;
    if attempt.agent_session.as_ref() == Some(&agent_session) {
        return Ok(());
    }
    attempt.agent_session = Some(agent_session.clone());
    let entry = [JournalEntry::NameSession { attempt_id: attempt.id.clone(), agent_session }];
    engine.patiently(|engine| {
        let id = &engine.run.asked.id;
        ops::run::journal::write(engine.cx, &engine.caller, id, &engine.owner, &entry)
    })?;
    Ok(())
}

/// Stores what was printed. Returns it without its secrets; without a log there is nothing to show.
fn keep(executor: &mut ExecutorRun, stream: LogStream, bytes: &[u8]) -> String {
    executor.log.as_mut().map(|log| log.write(stream, bytes)).unwrap_or_default()
}

/// Shows the last line of some output as progress.
fn show_line(observer: &mut dyn Observer, task: &str, text: &str) {
    if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
        observer.report(TaskProgress::Update { task, percentage: None, message: line.trim() });
    }
}
