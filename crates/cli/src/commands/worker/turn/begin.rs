//! What is made before the command of an assignment is started: its files, its environment and its sandbox.

use contract::domain::crew::snapshot::Snapshot;
use contract::domain::limits;
use engine::sandbox::OpenSandbox;
use ops::assignment::show;
use ops::{Context, Result};

use super::{Turn, note};
use crate::child::Child;
use crate::commands::worker::Worker;
use crate::commands::worker::files::Files;
use crate::commands::worker::written;
use crate::confined::{self, task_of_agent};
use crate::env;

/// What is there before the command is started.
pub(super) struct PreparedAssignment<'w> {
    pub(super) before: Option<Snapshot>,
    pub(super) files: Files,
    pub(super) child: Child,
    /// Its sandbox, if it has one.
    pub(super) opened: Option<OpenSandbox<'w>>,
}

pub(super) fn begin<'w>(
    worker: &'w Worker<'_>,
    cx: &mut Context,
    turn: &Turn,
    command: &str,
) -> Result<PreparedAssignment<'w>> {
    let directories = match &worker.sandboxes {
        Some(sandboxes) => {
            Some(sandboxes.directories(task_of_agent(&turn.ids.1, &turn.task_id, &worker.caller)?))
        }
        None => None,
    };
    let files = Files::write(&confined::temporary(directories.as_ref())?, &turn.packet)?;
    let mut child = child(worker, turn, &files);
    let opened = directories.map(|directories| {
        confined::open(directories, &turn.scopes(), (&child.argv, &mut child.environment))
    });
    let opened = opened.transpose()?;
    child.sandbox = opened.as_ref().map(OpenSandbox::sandbox);
    note(worker, cx, turn, ("begin", written::begun(command)))?;
    Ok(PreparedAssignment { before: snapshot(worker, cx, turn)?, files, child, opened })
}

/// The files in scope before the command began.
fn snapshot(worker: &Worker<'_>, cx: &mut Context, turn: &Turn) -> Result<Option<Snapshot>> {
    let request = show::Request { run: worker.run.clone(), task: turn.task_id.clone() };
    Ok(show::show(cx, &request)?.snapshot)
}

fn child(worker: &Worker<'_>, turn: &Turn, files: &Files) -> Child {
    let mut environment = env::inherited();
    // What the command calls must find the same store, under the same identity.
    let own = [
        ("WRIT_DB", worker.store.clone().into_os_string()),
        ("WRIT_AGENT", worker.caller.agent.as_str().into()),
        ("WRIT_OUTPUT", "json".into()),
        ("WRIT_RUN", turn.ids.0.clone().into()),
        ("WRIT_TASK", turn.ids.1.clone().into()),
        ("WRIT_RUN_ID", worker.run.clone().into()),
        ("WRIT_TASK_ID", turn.task_id.clone().into()),
        ("WRIT_ASSIGNMENT", turn.token.to_string().into()),
        ("WRIT_PACKET", files.packet().into_os_string()),
        ("WRIT_RESULT", files.result().into_os_string()),
        ("WRIT_WORKSPACE", turn.workspace.clone().into()),
    ];
    environment.extend(own.map(|(name, value)| (name.into(), value)));
    Child {
        argv: worker.args.command.clone(),
        directory: worker.workspace.clone(),
        environment,
        input: format!("{}\n", turn.packet).into_bytes(),
        timeout: worker.args.timeout.unwrap_or(limits::TASK_TIMEOUT_MAX),
        namespace: worker.args.namespace,
        sandbox: None,
    }
}
