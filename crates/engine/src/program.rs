//! Runs a program of a loop or a worker: started, sandboxed and logged as the attempts of plans.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::domain::attempt::AttemptId;
use contract::domain::code::ErrorCode;
use contract::domain::confinement::Namespace;
use contract::domain::id::{Id, mint};
use contract::domain::limits::POLL_INTERVAL;
use contract::domain::task::TaskId;
use contract::secrets::Hidden;
use ops::event::confined;
use ops::inside::{ActsFor, InsideTask};
use ops::{Caller, Context, Error, Result};
use serde_json::json;

use crate::StopSignal;
use crate::launcher::{self, ChildLimits, ChildOutput, Launcher, RunError, Wish};
use crate::sandbox::{CommandDirectories, CommandSandboxes};
use crate::supervisor::logs::{LogStream, LogWriter};
use crate::supervisor::{InForce, LaunchSpec, Marker, ProcessExit, Sandbox, Stdin};
use crate::transcript;

/// What all programs of a loop or a worker share.
pub struct ProgramSettings {
    pub launcher: Arc<dyn Launcher>,
    pub stop: StopSignal,
    /// The environment of the user.
    pub environment: BTreeMap<OsString, OsString>,
    pub store: PathBuf,
    /// The directory of the logs.
    pub logs: PathBuf,
    /// The directory for temporary files.
    pub temporary: PathBuf,
    pub namespace: Namespace,
    /// `None` where programs are not confined.
    pub sandboxes: Option<CommandSandboxes>,
}

/// One program to start.
pub(crate) struct ProgramLaunch {
    pub(crate) argv: Vec<OsString>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// For its standard input, which is closed afterwards.
    pub(crate) input: Vec<u8>,
    pub(crate) timeout: Duration,
    pub(crate) sandbox: Option<Box<Sandbox>>,
}

/// An attempt at a task outside any run.
pub(crate) struct ProgramAttempt {
    pub(crate) id: AttemptId,
    pub(crate) task: TaskId,
    /// Values that its transcript must not contain.
    pub(crate) hidden: Hidden,
}

/// How a program ended. Nothing of it is running.
pub(crate) struct ProgramEnd {
    pub(crate) end: std::result::Result<ProcessExit, RunError>,
    /// What confined it, if it was started.
    pub(crate) in_force: Option<InForce>,
}

/// A confined program of a task.
pub(crate) struct ConfinedProgram<'c> {
    /// The task as people know it.
    pub(crate) shown: &'c str,
    pub(crate) task_id: &'c str,
    pub(crate) project: Option<&'c str>,
    pub(crate) in_force: &'c InForce,
}

impl ProgramAttempt {
    pub(crate) fn new(cx: &mut Context, task: &str, hidden: Hidden) -> Result<Self> {
        let now = cx.now().at;
        Ok(Self { id: mint(cx.ids(), now), task: task_id(task)?, hidden })
    }
}

impl ProgramSettings {
    /// Runs a program to its end and keeps its transcript. `watch` sees what it prints.
    pub(crate) fn run(
        &self,
        attempt: &ProgramAttempt,
        launch: ProgramLaunch,
        watch: &mut dyn FnMut(ChildOutput<'_>) -> Wish,
    ) -> ProgramEnd {
        let mut log = transcript::create(&self.logs, &attempt.task, &attempt.id, &attempt.hidden);
        let mut in_force = None;
        let end = self.launch(&attempt.id, launch, &mut |seen| {
            let printed = match seen {
                ChildOutput::Started(confined) => {
                    in_force = Some(confined.clone());
                    None
                }
                ChildOutput::Stdout(bytes) => Some((LogStream::Stdout, bytes)),
                ChildOutput::Stderr(bytes) => Some((LogStream::Stderr, bytes)),
                ChildOutput::Tick => None,
            };
            if let (Some(log), Some((stream, bytes))) = (&mut log, printed) {
                log.write(stream, bytes);
            }
            match watch(seen) {
                Wish::GoOn => self.stop_wish(),
                wish => wish,
            }
        });
        // A log that could not be written whole is shown as far as it goes.
        log.map(LogWriter::finish);
        ProgramEnd { end, in_force }
    }

    /// Runs a program to its end. The length of its output is not limited.
    pub(crate) fn launch(
        &self,
        attempt: &AttemptId,
        launch: ProgramLaunch,
        watch: &mut dyn FnMut(ChildOutput<'_>) -> Wish,
    ) -> std::result::Result<ProcessExit, RunError> {
        let marker = Marker { attempt: attempt.clone(), owner: self.launcher.identity() };
        let mut spec = LaunchSpec::new(launch.argv, launch.directory, marker);
        spec.env = launch.environment;
        spec.stdin = if launch.input.is_empty() { Stdin::Closed } else { Stdin::Bytes(launch.input) };
        spec.confinement.namespace = self.namespace;
        spec.confinement.sandbox = launch.sandbox;
        let bounds =
            ChildLimits { timeout: launch.timeout, output_bytes_max: usize::MAX, beyond: Wish::Stop };
        launcher::run(&*self.launcher, spec, bounds, watch)
    }

    fn stop_wish(&self) -> Wish {
        match self.stop.raised() {
            None => Wish::GoOn,
            Some(_) if self.stop.insists() => Wish::Kill,
            Some(_) => Wish::Stop,
        }
    }

    /// Waits in small steps, so that a stop request is seen.
    pub(crate) fn pause(&self, length: Duration) {
        let until = Instant::now() + length;
        while Instant::now() < until && self.stop.raised().is_none() {
            self.launcher.pause(POLL_INTERVAL);
        }
    }

    /// The directories of a confined program that works on a task for an agent.
    pub(crate) fn directories(
        &self,
        task: &str,
        name: &str,
        agent: &Caller,
    ) -> Result<Option<CommandDirectories<'_>>> {
        let Some(sandboxes) = &self.sandboxes else { return Ok(None) };
        let (name, reference) = (name.to_owned(), name.to_owned());
        let acts = ActsFor::Agent(agent.clone());
        let inside = InsideTask { task_id: task_id(task)?, name, reference, acts };
        Ok(Some(sandboxes.directories(inside)))
    }

    /// A directory that the program can read and write: its own in a sandbox, or else the one for temporary files.
    pub(crate) fn temporary(&self, directories: Option<&CommandDirectories<'_>>) -> Result<PathBuf> {
        match directories {
            Some(directories) => {
                directories.temporary().map_err(|message| Error::new(ErrorCode::Io, message))
            }
            None => Ok(self.temporary.clone()),
        }
    }

    /// Records what confined a program, and returns it in lines for people. The work does not depend on the record.
    pub(crate) fn record_confinement(
        &self,
        cx: &mut Context,
        caller: &Caller,
        program: &ConfinedProgram<'_>,
    ) -> Vec<String> {
        let Some(sandboxes) = &self.sandboxes else { return Vec::new() };
        let mode = sandboxes.mode();
        let sandbox = program.in_force.sandbox.as_ref();
        let parts = sandbox.iter().flat_map(|sandbox| sandbox.parts());
        let parts: BTreeMap<&str, String> = parts.map(|(name, part)| (name, part.to_string())).collect();
        let message = match sandbox.map(|sandbox| sandbox.missing()).unwrap_or_default().as_slice() {
            [] => format!("sandbox {}: all of it is in force", mode.as_str()),
            missing => format!("sandbox {}: not in force: {}", mode.as_str(), missing.join("; ")),
        };
        let message = Hidden::default().one_line(&message);
        let metadata = json!({"mode": mode, "parts": parts});
        let (project_id, task_id) = (program.project, program.task_id);
        let request = confined::Request { message: message.clone(), metadata, project_id, task_id };
        let fault = confined::record(cx, caller, &request).err();
        let fault = fault.map(|error| format!("what confined the command could not be recorded: {error}"));
        std::iter::once(format!("{}  {message}", program.shown)).chain(fault).collect()
    }
}

pub(crate) fn not_confined(reason: &str) -> Error {
    Error::new(ErrorCode::Denied, format!("could not confine the command: {reason}"))
}

fn task_id(text: &str) -> Result<TaskId> {
    Id::parse(text).map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))
}
