//! The sandbox of commands that no plan describes: what loops and workers start.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::domain::confinement::{Ceiling, GitUse, Namespace, SandboxMode};
use contract::domain::scope::Scope;
use engine::inside::{Inside, TaskDoor, TaskDoors, bind};
use engine::launcher::Launcher;
use engine::sandbox::{self, Private, SandboxSettings, Wanted, of_child};
use engine::supervisor::{InForce, Sandbox};
use ops::context::Key;
use ops::event::note;
use ops::inside::{Acts, InsideTask};
use ops::{Caller, Context, Error, Result};
use serde_json::{Value, json};

use crate::app::Globals;
use crate::inside::Answering;
use crate::output::{one_line, say};
use crate::{config, host};

/// The kind of the event that records what confined a child.
const SANDBOX_IN_FORCE: &str = "sandbox_in_force";

/// Only one child of a task runs at a time.
const ONLY_ATTEMPT: &str = "1";

/// What is the same for every child.
pub(crate) struct Sandboxes {
    settings: SandboxSettings,
    mode: SandboxMode,
    git: GitUse,
    namespace: Namespace,
    workspace: PathBuf,
    answering: Answering,
}

/// What a command line says about it.
pub(crate) struct Asked<'a> {
    /// The command, as people call it.
    pub(crate) what: &'a str,
    pub(crate) git: GitUse,
    pub(crate) namespace: Namespace,
}

/// A task whose child was confined.
pub(crate) struct Confined<'c> {
    /// As people know it.
    pub(crate) shown: &'c str,
    pub(crate) id: &'c str,
    pub(crate) project: Option<&'c str>,
}

/// The sandbox of one child. Its private directories and its socket go away with the value.
pub(crate) struct Opened<'s> {
    sandboxes: &'s Sandboxes,
    name: String,
    sandbox: Box<Sandbox>,
    /// Closed before the directories go away.
    door: Option<Box<dyn TaskDoor>>,
}

impl Sandboxes {
    /// `None` where the configuration says nothing of a sandbox, or turns it off. Refused where it demands one and this
    /// machine or the command line does not allow it.
    pub(crate) fn configured(globals: &Globals, workspace: &Path, asked: &Asked<'_>) -> Result<Option<Self>> {
        let mut config = config::load(&host::absolute(".".into()))?;
        config.heed_project(workspace)?;
        let mode = match config.policy.sandbox {
            None | Some(SandboxMode::Off) => return Ok(None),
            Some(mode) => mode,
        };
        let store = host::absolute(host::store_path(globals)?);
        let sandboxes = Self {
            settings: host::sandbox_settings(&store, &config.sandbox),
            mode,
            git: asked.git,
            namespace: asked.namespace,
            workspace: workspace.to_owned(),
            answering: Answering::new(globals, &store),
        };
        if mode == SandboxMode::Enforce {
            let lacks =
                || host::shim().sandbox_lacks().map(|lacks| format!("this machine does not have: {lacks}"));
            let everything = [Scope::everything()];
            if let Some(reason) = sandboxes.wanted(&everything).refusal(workspace).or_else(lacks) {
                let message = format!(
                    "the configuration demands a sandbox for the command of `{}`: {reason}",
                    asked.what
                );
                return Err(Error::new(ErrorCode::Denied, message)
                    .hint("`writ doctor` says what this machine enforces; `[sandbox] mode = \"prefer\"` takes what there is"));
            }
        }
        Ok(Some(sandboxes))
    }

    fn wanted<'w>(&self, scopes: &'w [Scope]) -> Wanted<'w> {
        Wanted { git: self.git, ..Wanted::plain(scopes, Some(self.mode), self.namespace) }
    }

    fn private_of(&self, task: &InsideTask) -> Private {
        self.settings.private_of_attempt(task.task_id.as_str(), ONLY_ATTEMPT).with_socket()
    }

    /// A directory that a child of this task can read and write, and nobody else.
    pub(crate) fn directory(&self, task: &InsideTask) -> Result<PathBuf> {
        let directory = self.private_of(task).temporary;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.and_then(|()| directory.canonicalize()).map_err(|error| {
            Error::new(ErrorCode::Io, format!("could not make {}: {error}", directory.display()))
        })
    }

    /// Confines a child that may write to these scopes, and opens its way to call writ about its task.
    pub(crate) fn open(
        &self,
        task: InsideTask,
        scopes: &[Scope],
        (argv, environment): (&[OsString], &mut BTreeMap<OsString, OsString>),
    ) -> Result<Opened<'_>> {
        let refused = |reason: String| {
            Error::new(ErrorCode::Denied, format!("could not confine the command: {reason}"))
        };
        let wanted = self.wanted(scopes);
        if let Some(reason) = wanted.refusal(&self.workspace) {
            return Err(refused(reason));
        }
        let private = self.private_of(&task);
        let confined = of_child(&self.settings, &wanted, (&self.workspace, &private), (argv, environment));
        let confined =
            confined.map_err(refused)?.ok_or_else(|| refused("no sandbox is wanted".to_owned()))?;
        let inside = inside(task, &wanted, &confined);
        let name = inside.task.task_id.to_string();
        let mut opened = Opened { sandboxes: self, name, sandbox: confined.sandbox, door: None };
        if let Some(socket) = opened.sandbox.socket.as_ref().map(PathBuf::from) {
            // A process that was killed may have left one.
            std::fs::remove_file(&socket).ok();
            let door = bind(&socket).and_then(|listener| self.answering.open(listener, inside));
            opened.door = Some(door.map_err(|error| refused(format!("its socket: {error}")))?);
        }
        Ok(opened)
    }

    /// Says and records what confines a child that was started.
    pub(crate) fn note(
        &self,
        cx: &mut Context,
        key: &Key,
        task: &Confined<'_>,
        in_force: &InForce,
    ) -> Result<()> {
        let (message, metadata) = self.told(in_force);
        say(&format!("{}  {message}\n", task.shown));
        let request = note::Request {
            kind: SANDBOX_IN_FORCE.to_owned(),
            message,
            metadata,
            project_id: task.project.map(str::to_owned),
            task_id: Some(task.id.to_owned()),
        };
        note::note(cx, key, &request).map(|_| ())
    }

    fn told(&self, in_force: &InForce) -> (String, Value) {
        let parts = in_force.sandbox.iter().flat_map(|sandbox| sandbox.parts());
        let parts: BTreeMap<&str, String> = parts.map(|(name, part)| (name, part.to_string())).collect();
        let missing = in_force.sandbox.as_ref().map(|sandbox| sandbox.missing()).unwrap_or_default();
        let message = match missing.as_slice() {
            [] => format!("sandbox {}: all of it is in force", self.mode.as_str()),
            missing => format!("sandbox {}: not in force: {}", self.mode.as_str(), missing.join("; ")),
        };
        (one_line(&message).into_owned(), json!({"mode": self.mode, "parts": parts}))
    }
}

impl Opened<'_> {
    pub(crate) fn sandbox(&self) -> Box<Sandbox> {
        self.sandbox.clone()
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.door = None;
        self.sandboxes.settings.forget(&self.name);
    }
}

/// The task of an agent that works on it outside any run.
pub(crate) fn task_of_agent(id: &str, name: &str, agent: &Caller) -> Result<InsideTask> {
    let task_id = contract::domain::id::Id::parse(id)
        .map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))?;
    let (name, reference) = (name.to_owned(), name.to_owned());
    Ok(InsideTask { task_id, name, reference, acts: Acts::ForAgent(agent.clone()) })
}

fn inside(task: InsideTask, wanted: &Wanted<'_>, confined: &sandbox::Confined) -> Inside {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Inside {
        task,
        attempt: None,
        ceiling: Ceiling {
            workspace: text(&confined.workspace),
            writes: confined.scopes.as_ref().map(|scopes| scopes.iter().map(|path| text(path)).collect()),
            mode: wanted.mode,
            network: wanted.network,
            network_allow: wanted.network_allow.to_vec(),
            git: wanted.git,
        },
        credentials: confined.credentials.clone(),
        endpoints: confined.sandbox.reachable.endpoints.clone(),
    }
}
