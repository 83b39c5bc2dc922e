//! The sandbox of commands that loops and workers start: its flags, its messages and its records.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::domain::confinement::{GitUse, Namespace};
use contract::domain::scope::Scope;
use engine::launcher::Launcher;
use engine::sandbox::{CommandDirectories, CommandSandboxes, CommandWishes, OpenSandbox};
use engine::supervisor::InForce;
use ops::event::confined;
use ops::inside::{ActsFor, InsideTask};
use ops::{Caller, Context, Error, Result};
use serde_json::{Value, json};

use crate::app::Globals;
use crate::inside::Answering;
use crate::output::{one_line, say};
use crate::{config, host};

/// Its flags.
pub(crate) struct SandboxFlags<'a> {
    /// The command, as people call it.
    pub(crate) what: &'a str,
    pub(crate) git: GitUse,
    pub(crate) namespace: Namespace,
}

/// A task with a confined child.
pub(crate) struct ConfinedTask<'c> {
    /// As people know it.
    pub(crate) shown: &'c str,
    pub(crate) id: &'c str,
    pub(crate) project: Option<&'c str>,
}

/// `None` where the configuration sets no sandbox, or turns it off. Refused where it demands one and this
/// machine or the command line does not allow it.
pub(crate) fn configured(
    globals: &Globals,
    workspace: &Path,
    flags: &SandboxFlags<'_>,
) -> Result<Option<CommandSandboxes>> {
    let mut config = config::load(&host::absolute(".".into()))?;
    config.heed_project(workspace)?;
    let store = host::absolute(host::store_path(globals)?);
    let settings = host::sandbox_settings(&store, &config.sandbox);
    let wishes = CommandWishes { mode: config.policy.sandbox, git: flags.git, namespace: flags.namespace };
    let doors = Box::new(Answering::new(globals, &store));
    CommandSandboxes::new(settings, &wishes, workspace, doors, || host::shim().sandbox_lacks()).map_err(
        |reason| {
            let message =
                format!("the configuration demands a sandbox for the command of `{}`: {reason}", flags.what);
            Error::new(ErrorCode::Denied, message).hint(
                "`writ doctor` says what this machine enforces; `[sandbox] mode = \"prefer\"` takes what there is",
            )
        },
    )
}

/// A directory that the command can read and write: its own in a sandbox, or else the one for temporary files.
pub(crate) fn temporary(directories: Option<&CommandDirectories<'_>>) -> Result<PathBuf> {
    match directories {
        Some(directories) => directories.temporary().map_err(|message| Error::new(ErrorCode::Io, message)),
        None => Ok(std::env::temp_dir()),
    }
}

/// Confines a command that may write to these scopes.
pub(crate) fn open<'s>(
    directories: CommandDirectories<'s>,
    scopes: &[Scope],
    child: (&[OsString], &mut BTreeMap<OsString, OsString>),
) -> Result<OpenSandbox<'s>> {
    directories
        .open(scopes, child)
        .map_err(|reason| Error::new(ErrorCode::Denied, format!("could not confine the command: {reason}")))
}

/// Says and records what confines a child that was started. The work does not depend on the record.
pub(crate) fn tell(
    cx: &mut Context,
    caller: &Caller,
    task: &ConfinedTask<'_>,
    (sandboxes, in_force): (&CommandSandboxes, &InForce),
) {
    let (message, metadata) = told(sandboxes, in_force);
    say(&format!("{}  {message}\n", task.shown));
    let request = confined::Request { message, metadata, project_id: task.project, task_id: task.id };
    if let Err(error) = confined::record(cx, caller, &request) {
        say(&format!("what confined the command could not be recorded: {error}\n"));
    }
}

fn told(sandboxes: &CommandSandboxes, in_force: &InForce) -> (String, Value) {
    let mode = sandboxes.mode();
    let parts = in_force.sandbox.iter().flat_map(|sandbox| sandbox.parts());
    let parts: BTreeMap<&str, String> = parts.map(|(name, part)| (name, part.to_string())).collect();
    let missing = in_force.sandbox.as_ref().map(|sandbox| sandbox.missing()).unwrap_or_default();
    let message = match missing.as_slice() {
        [] => format!("sandbox {}: all of it is in force", mode.as_str()),
        missing => format!("sandbox {}: not in force: {}", mode.as_str(), missing.join("; ")),
    };
    (one_line(&message).into_owned(), json!({"mode": mode, "parts": parts}))
}

/// The task of an agent that works on it outside any run.
pub(crate) fn task_of_agent(id: &str, name: &str, agent: &Caller) -> Result<InsideTask> {
    let task_id = contract::domain::id::Id::parse(id)
        .map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))?;
    let (name, reference) = (name.to_owned(), name.to_owned());
    Ok(InsideTask { task_id, name, reference, acts: ActsFor::Agent(agent.clone()) })
}
