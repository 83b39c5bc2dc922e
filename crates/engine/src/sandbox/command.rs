//! The sandbox of commands that no plan describes: what loops and workers start.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use contract::domain::confinement::{GitUse, Namespace, SandboxMode};
use contract::domain::scope::Scope;
use ops::inside::InsideTask;

use super::private::{bind_anew, make};
use super::{Private, SandboxRequest, SandboxSettings, of_child};
use crate::inside::{InsideCaller, TaskDoor, TaskDoors};
use crate::supervisor::Sandbox;

/// Only one command of a task runs at a time.
const ONLY_ATTEMPT: &str = "1";

/// What is asked for every command of a loop or a worker.
#[derive(Debug, Clone, Copy)]
pub struct CommandWishes {
    /// The configured settings.
    pub mode: Option<SandboxMode>,
    pub git: GitUse,
    pub namespace: Namespace,
}

/// What is the same for every command.
pub struct CommandSandboxes {
    settings: SandboxSettings,
    mode: SandboxMode,
    git: GitUse,
    namespace: Namespace,
    workspace: PathBuf,
    doors: Box<dyn TaskDoors>,
}

/// The private directories of one command. They go away with the value.
pub struct CommandDirectories<'s> {
    sandboxes: &'s CommandSandboxes,
    task: InsideTask,
}

/// The sandbox of one command. Its private directories and its socket go away with the value.
pub struct OpenSandbox<'s> {
    sandbox: Box<Sandbox>,
    /// Closed before the directories go away.
    _door: Option<Box<dyn TaskDoor>>,
    _directories: CommandDirectories<'s>,
}

impl CommandSandboxes {
    /// `None` where the configuration says nothing of a sandbox, or turns it off. The error says why one that it demands
    /// cannot be had; `lacks` is what this machine does not have.
    pub fn new(
        settings: SandboxSettings,
        wishes: &CommandWishes,
        workspace: &Path,
        doors: Box<dyn TaskDoors>,
        lacks: impl FnOnce() -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let CommandWishes { git, namespace, mode } = *wishes;
        let mode = match mode {
            None | Some(SandboxMode::Off) => return Ok(None),
            Some(mode) => mode,
        };
        let sandboxes = Self { settings, mode, git, namespace, workspace: workspace.to_owned(), doors };
        if mode == SandboxMode::Enforce {
            let lacks = || lacks().map(|lacks| format!("this machine does not have: {lacks}"));
            let everything = [Scope::everything()];
            let reason = sandboxes.wanted(&everything).refusal(workspace).or_else(lacks);
            reason.map_or(Ok(()), Err)?;
        }
        Ok(Some(sandboxes))
    }

    pub fn mode(&self) -> SandboxMode {
        self.mode
    }

    /// What belongs to the command of this task.
    pub fn directories(&self, task: InsideTask) -> CommandDirectories<'_> {
        CommandDirectories { sandboxes: self, task }
    }

    fn wanted<'w>(&self, scopes: &'w [Scope]) -> SandboxRequest<'w> {
        SandboxRequest { git: self.git, ..SandboxRequest::plain(scopes, Some(self.mode), self.namespace) }
    }
}

impl<'s> CommandDirectories<'s> {
    fn private(&self) -> Private {
        let settings = &self.sandboxes.settings;
        settings.private_of_attempt(self.task.task_id.as_str(), ONLY_ATTEMPT).with_socket()
    }

    /// A private directory that the command can read and write.
    pub fn temporary(&self) -> Result<PathBuf, String> {
        let directory = self.private().temporary;
        make(&directory).map_err(|reason| format!("could not make {reason}"))
    }

    /// Confines a command that may write to these scopes, and opens its way to call writ about its task. The error says
    /// what cannot be had.
    pub fn open(
        self,
        scopes: &[Scope],
        (argv, environment): (&[OsString], &mut BTreeMap<OsString, OsString>),
    ) -> Result<OpenSandbox<'s>, String> {
        let sandboxes = self.sandboxes;
        let wanted = sandboxes.wanted(scopes);
        if let Some(reason) = wanted.refusal(&sandboxes.workspace) {
            return Err(reason);
        }
        let place = (sandboxes.workspace.as_path(), &self.private());
        let confined = of_child(&sandboxes.settings, &wanted, place, (argv, environment))?;
        let confined = confined.ok_or("no sandbox is wanted")?;
        let inside = InsideCaller::of(self.task.clone(), None, &wanted, &confined);
        let mut door = None;
        if let Some(socket) = confined.sandbox.socket.as_ref().map(PathBuf::from) {
            let bound = bind_anew(&socket);
            let opened = bound.and_then(|listener| sandboxes.doors.open(listener, inside));
            door = Some(opened.map_err(|error| format!("its socket: {error}"))?);
        }
        Ok(OpenSandbox { sandbox: confined.sandbox, _door: door, _directories: self })
    }
}

impl Drop for CommandDirectories<'_> {
    fn drop(&mut self) {
        self.sandboxes.settings.forget(self.task.task_id.as_str());
    }
}

impl OpenSandbox<'_> {
    pub fn sandbox(&self) -> Box<Sandbox> {
        self.sandbox.clone()
    }
}

#[cfg(test)]
mod tests;
