//! What the author of a task can change so that it may do what the sandbox denied it.

use std::path::Path;

use contract::domain::run::DocumentKind;
use contract::domain::scope::Scope;

use super::engine_run::EngineRun;
use super::task_work::TaskWork;
use crate::executor::ChildEnd;
use crate::sandbox::Denials;

fn is_aop(engine: &EngineRun<'_>) -> bool {
    engine.run.asked.kind == DocumentKind::AopTask
}

/// What would let the task write where it was denied, if that is in the workspace.
pub(super) fn on_files(engine: &EngineRun<'_>, work: &TaskWork, denials: &Denials) -> Option<String> {
    let path = Path::new(denials.path()?);
    let directory = work.directory(&engine.run);
    let inside = directory.join(path);
    let inside = inside.strip_prefix(directory).ok()?.to_str()?.to_owned();
    let scope = Scope::parse(&inside, None).ok()?;
    match inside.split('/').next() {
        Some(".git") if is_aop(engine) => None,
        Some(".git") => Some("; `git = \"commit\"` lets the task commit".to_owned()),
        _ if work.spec().writes.iter().any(|writes| writes.contains(&scope)) => None,
        _ if is_aop(engine) => {
            Some(format!("; to allow it, add \"{scope}\" to `access.filesystem.write_paths` of the TASK"))
        }
        _ => Some(format!("; to allow it, add \"{scope}\" to the task's `writes`")),
    }
}

/// Adds what would let the task reach the first host that is not in its list.
pub(super) fn on_network(engine: &EngineRun<'_>, ended: &mut ChildEnd) {
    let (Some(to), Some(denied)) = (ended.unlisted_host(), &ended.denied) else { return };
    let advice = if is_aop(engine) {
        format!(
            "to allow it, add \"{to}\" to `task.extensions.x_network_allow`; `access.network` FULL allows all"
        )
    } else {
        format!("to allow it, add \"{to}\" to the task's `network_allow`")
    };
    ended.denied = Some(format!("{denied}; {advice}"));
}
