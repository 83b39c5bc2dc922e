//! One task of a loop: taken, given to the agent program, judged by its state afterwards.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use contract::continuity::TaskView;
use contract::continuity::reason::without_failure;
use contract::continuity::state::TaskState;
use contract::domain::code::ErrorCode;
use contract::domain::scope::Scope;
use contract::domain::time::contract_duration;
use contract::secrets::Hidden;
use ops::resume::peek;
use ops::task::set_status::{Request as Move, set_status};
use ops::{Context, Error, Result};

use super::call::unstartable;
use super::lines::AgentLines;
use super::tally::LoopOutcome;
use super::verdict::{AttemptEnd, LoopVerdict, fault, judge};
use super::{LoopEvent, LoopObserver, LoopSettings, prompt};
use crate::launcher::{ChildOutput, RunError, Wish};
use crate::program::{ConfinedProgram, ProgramAttempt, ProgramEnd, ProgramLaunch, not_confined};
use crate::sandbox::OpenSandbox;
use crate::supervisor::logs::LogStream;

/// How often the claim is renewed while the agent works: well inside its lease.
const RENEWAL: Duration = Duration::from_secs(60);
/// Events that are handed over with a task.
const DELTAS_MAX: i64 = 100;

/// Takes the next task and works on it. `None` if no task is ready.
pub(super) fn take(
    settings: &LoopSettings,
    cx: &mut Context,
    number: u32,
    observe: &mut LoopObserver<'_>,
) -> Result<Option<LoopOutcome>> {
    let request = ops::resume::Request {
        project_dir: settings.project.clone(),
        limit: Some(DELTAS_MAX),
        ..ops::resume::Request::default()
    };
    let resumed = ops::resume::resume(cx, &settings.key(&number.to_string())?, &request)?.answer;
    let Some(task) = resumed.brief.task else { return Ok(None) };
    let begun = Instant::now();
    let turn = LoopTurn { settings, task: &task, context: &resumed.prompt, number };
    let (status, reason) = turn.attempts(cx, observe)?;
    let duration = contract_duration(begun.elapsed());
    let (task_id, task_title) = (task.id, task.title);
    Ok(Some(LoopOutcome { task_id, task_title, status, duration, argv: Vec::new(), reason }))
}

/// Whether a task is ready. Takes none.
pub(super) fn is_ready(settings: &LoopSettings, cx: &mut Context) -> Result<bool> {
    let request = peek::Request {
        agent: settings.session.caller.agent.as_str().to_owned(),
        project_dir: settings.project.clone(),
        limit: Some(DELTAS_MAX),
        ..peek::Request::default()
    };
    Ok(peek::look(cx, &settings.session, &request)?.0.brief.task.is_some())
}

/// A task that this loop holds.
struct LoopTurn<'t> {
    settings: &'t LoopSettings,
    task: &'t TaskView,
    context: &'t str,
    /// Of the loop's tasks, from 1.
    number: u32,
}

impl LoopTurn<'_> {
    /// Runs the agent until the task is closed or its attempts are used up. Returns the status, and why it is not done.
    fn attempts(
        &self,
        cx: &mut Context,
        observe: &mut LoopObserver<'_>,
    ) -> Result<(&'static str, Option<String>)> {
        let mut failed: Option<String> = None;
        let mut attempt = 1;
        loop {
            observe(LoopEvent::Started { task_id: &self.task.id, title: &self.task.title });
            let prompt = prompt::text(self.context, failed.as_deref());
            let mut lines = AgentLines::new(self.settings.command.program());
            let worked = self.work(cx, &prompt, &mut lines, observe);
            lines.finish(|line| observe(LoopEvent::Line(line)));
            observe(LoopEvent::Ended);
            let ended = self.started(cx, worked)?;
            self.tell_confinement(cx, &ended, observe);
            let step = format!("{}_{attempt}", self.number);
            let (task_id, last) = (self.task.id.as_str(), lines.last.as_str());
            match judge(self.settings, cx, &AttemptEnd { task_id, step: &step, end: &ended.end, last })? {
                LoopVerdict::Ended(status) => return Ok((status, None)),
                LoopVerdict::Blocked(reason) => return Ok(("blocked", reason)),
                LoopVerdict::Open { reason, may_retry: true, .. }
                    if attempt < self.settings.bounds.attempts_max && !self.is_stopped() =>
                {
                    let first = reason.lines().next().unwrap_or_default();
                    observe(LoopEvent::Notice(format!("{task_id}  attempt {attempt} failed: {first}")));
                    failed = Some(reason);
                    attempt += 1;
                }
                LoopVerdict::Open { status, reason, .. } => {
                    if status == "error" {
                        let program = self.settings.command.name();
                        let words = without_failure(&reason);
                        observe(LoopEvent::Notice(format!("{program}: {words}")));
                    }
                    self.block(cx, &reason, &step)?;
                    return Ok((status, Some(reason)));
                }
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.settings.programs.stop.raised().is_some()
    }

    /// The end of a program that was started. The task of one that was not is given back: another agent can take it.
    fn started(&self, cx: &mut Context, worked: Result<ProgramEnd>) -> Result<ProgramEnd> {
        let error = match worked {
            Ok(ProgramEnd { end: Err(error @ (RunError::Start(_) | RunError::NotStarted(_))), .. }) => {
                unstartable(self.settings.command.name(), &fault(&error))
            }
            Ok(ended) => return Ok(ended),
            Err(error) => error,
        };
        let key = self.settings.key(&format!("{}_leave", self.number))?;
        ops::agent::leave(cx, &key, &ops::agent::Request::default())?;
        Err(error)
    }

    fn tell_confinement(&self, cx: &mut Context, ended: &ProgramEnd, observe: &mut LoopObserver<'_>) {
        let Some(in_force) = &ended.in_force else { return };
        let (shown, project) = (self.task.id.as_str(), self.settings.project.as_deref());
        let program = ConfinedProgram { shown, task_id: shown, project, in_force };
        let lines = self.settings.programs.record_confinement(cx, &self.settings.session.caller, &program);
        lines.into_iter().for_each(|line| observe(LoopEvent::Notice(line)));
    }

    fn work(
        &self,
        cx: &mut Context,
        prompt: &str,
        lines: &mut AgentLines,
        observe: &mut LoopObserver<'_>,
    ) -> Result<ProgramEnd> {
        let Self { settings, task, .. } = self;
        let attempt = ProgramAttempt::new(cx, &task.id, Hidden::default())?;
        let directories = settings.programs.directories(&task.id, &task.id, &settings.session.caller)?;
        let asked = super::call::Asked { task_id: &task.id, attempt: &attempt.id, context: prompt };
        let call = settings.command.call(settings, &asked, directories.as_ref())?;
        let mut launch = ProgramLaunch {
            argv: call.argv.iter().map(Into::into).collect(),
            directory: settings.directory.clone(),
            environment: self.environment(),
            input: call.input.clone(),
            timeout: settings.bounds.task_timeout,
            sandbox: None,
        };
        let everything = [Scope::everything()];
        let opened = directories
            .map(|directories| directories.open(&everything, (&launch.argv, &mut launch.environment)));
        let opened = opened.transpose().map_err(|reason| not_confined(&reason))?;
        launch.sandbox = opened.as_ref().map(OpenSandbox::sandbox);
        let mut renewed = Instant::now();
        let ended = settings.programs.run(&attempt, launch, &mut |seen| {
            match seen {
                ChildOutput::Started(_) => {}
                ChildOutput::Stdout(bytes) => show(LogStream::Stdout, bytes, lines, observe),
                ChildOutput::Stderr(bytes) => show(LogStream::Stderr, bytes, lines, observe),
                ChildOutput::Tick => {
                    if renewed.elapsed() >= RENEWAL {
                        renewed = Instant::now();
                        // A renewal that fails is tried again a minute later, long before the lease is over.
                        ops::agent::renew(cx, &settings.session.caller).ok();
                    }
                    observe(LoopEvent::Tick);
                }
            }
            Wish::GoOn
        });
        // The prompt's file, the socket and the private directories are needed until here.
        drop((call.prompt, opened));
        Ok(ended)
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        let settings = self.settings;
        let mut environment = settings.programs.environment.clone();
        settings.command.add_environment(&mut environment);
        // The agent and its hooks must find the same store, under the same identity.
        for name in ["WRIT_DB", "VYBE_DB_PATH"] {
            environment.insert(name.into(), settings.programs.store.clone().into_os_string());
        }
        for name in ["WRIT_AGENT", "VYBE_AGENT"] {
            environment.insert(name.into(), settings.session.caller.agent.as_str().into());
        }
        if !settings.command.is_original() {
            environment.insert("WRIT_TASK".into(), self.task.id.clone().into());
            // Some agents run their tools on a terminal, where people get text.
            environment.insert("WRIT_OUTPUT".into(), "json".into());
        }
        if settings.without_hooks {
            for name in ["VYBE_RETRO_CHILD", "VYBE_DISABLE_EXTERNAL_LLM"] {
                environment.insert(name.into(), "1".into());
            }
        }
        environment
    }

    /// A task that was left open is marked, or the loop would take it again and again.
    fn block(&self, cx: &mut Context, reason: &str, step: &str) -> Result<()> {
        let request = Move {
            id: self.task.id.clone(),
            status: TaskState::Blocked,
            blocked_reason: Some(reason.to_owned()),
        };
        match set_status(cx, &self.settings.key(&format!("{step}_block"))?, &request) {
            // Another agent holds it by now and closes it.
            Ok(_) | Err(Error { code: ErrorCode::HeldByAnother, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn show(stream: LogStream, bytes: &[u8], lines: &mut AgentLines, observe: &mut LoopObserver<'_>) {
    observe(LoopEvent::Output(bytes));
    lines.push(stream, bytes, |line| observe(LoopEvent::Line(line)));
}
