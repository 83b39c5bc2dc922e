//! The inputs of a TASK: they exist and can be read before it starts, and read-only ones are unchanged afterwards. Also what
//! else it needs of this machine.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use contract::aop::needs::{self, InputFound, MachineFacts, NeedsJudgment};
use contract::aop::task::Task as AopTask;
use contract::domain::id::mint;
use contract::domain::plan::PlanTask;
use contract::domain::reason::Warning;

use super::engine_run::EngineRun;
use super::task_work::TaskWork;
use crate::claimed_file;
use crate::executor::{ChildEnd, failure};
use crate::git::Git;
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::verify::find_program;

/// Read-only inputs by their paths in the TASK, each with what was there.
pub(crate) type InputDigests = BTreeMap<String, Option<String>>;

/// Whether this machine has what the TASK of a task needs. Nothing is needed without a TASK.
pub(super) fn needs(engine: &mut EngineRun<'_>, work: &TaskWork) -> NeedsJudgment {
    let Some(asked) = work.asked().cloned() else { return NeedsJudgment::default() };
    let found = MachineFacts {
        os: std::env::consts::OS.to_owned(),
        has_shell: asked.task.environment.shell.as_deref().is_none_or(|shell| has_shell(engine, work, shell)),
        branch: asked.task.environment.git_branch.as_ref().map(|_| branch(engine, work)),
        inputs: found_inputs(engine, work, &asked),
        is_mapped: work.spec().is_mapped,
    };
    needs::judge(&asked, &found)
}

fn has_shell(engine: &EngineRun<'_>, work: &TaskWork, shell: &str) -> bool {
    let path = engine.settings.environment.get(std::ffi::OsStr::new("PATH"));
    find_program(&needs::shell_program(shell), path, work.directory(&engine.run)).is_some()
}

/// The branch that is checked out where the task works, or why there is none.
fn branch(engine: &mut EngineRun<'_>, work: &TaskWork) -> Result<String, String> {
    let now = engine.cx.now().at;
    let mark = mint(engine.cx.ids(), now);
    let git = Git { runner: engine.runner(&mark), workspace: work.directory(&engine.run) };
    git.branch().map_err(|fault| format!("git does not know it: {fault}"))
}

fn found_inputs(engine: &EngineRun<'_>, work: &TaskWork, asked: &AopTask) -> Vec<(String, InputFound)> {
    let look = |(path, _): (&str, _)| (path.to_owned(), readable(&input_path(engine, work, path)));
    needs::files(asked).map(look).collect()
}

/// Where an input is. One in the workspace is looked at where the task works.
fn input_path(engine: &EngineRun<'_>, work: &TaskWork, path: &str) -> PathBuf {
    let relative = Path::new(path).strip_prefix(&engine.run.asked.workspace).unwrap_or(Path::new(path));
    work.directory(&engine.run).join(relative)
}

/// What the read-only inputs are before the executor starts.
pub(super) fn look_at_inputs(engine: &EngineRun<'_>, work: &TaskWork) -> InputDigests {
    let Some(asked) = work.asked() else { return InputDigests::new() };
    let kept = needs::kept_inputs(asked).into_iter();
    kept.map(|path| (path.to_owned(), input_digest(engine, work, path))).collect()
}

/// The read-only inputs that a sandbox can hold.
pub(super) fn held_inputs(engine: &EngineRun<'_>, work: &TaskWork) -> Vec<PathBuf> {
    let Some(asked) = work.asked() else { return Vec::new() };
    let kept = needs::kept_inputs(asked).into_iter().map(|path| input_path(engine, work, path));
    kept.filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_file()).collect()
}

fn input_digest(engine: &EngineRun<'_>, work: &TaskWork, path: &str) -> Option<String> {
    let path = input_path(engine, work, path).canonicalize().ok()?;
    let name = path.file_name()?.to_str()?.to_owned();
    match claimed_file::look(path.parent()?, &name) {
        Ok(claimed_file::ClaimedFile::File { digest, .. }) => Some(digest),
        Ok(claimed_file::ClaimedFile::Nothing) | Err(_) => None,
    }
}

/// The same claim, or that a read-only input was changed.
pub(super) fn with_unchanged(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    inputs: &InputDigests,
    claim: ExecutorClaim,
) -> ExecutorClaim {
    let is_changed =
        |(path, before): &(&String, &Option<String>)| input_digest(engine, work, path) != **before;
    let changed = inputs.iter().filter(is_changed).map(|(path, _)| format!("`{path}`"));
    let changed: Vec<String> = changed.collect();
    match claim {
        ExecutorClaim::Success if !changed.is_empty() => {
            failure("E_PERMISSION_DENIED", format!("read-only inputs were changed: {}", changed.join(", ")))
        }
        claim => claim,
    }
}

/// The warning for limits on files that had no effect, because no sandbox was on.
pub(super) fn access_without_effect(spec: &PlanTask, ended: &ChildEnd) -> Option<Warning> {
    let is_open = ended.in_force.as_ref().is_some_and(|in_force| in_force.sandbox.is_none());
    (spec.files.reads.is_some() && is_open)
        .then(|| Warning::new("access.filesystem.read_paths has no effect: no sandbox is on"))
}

fn readable(path: &Path) -> InputFound {
    let looked = match fs::metadata(path) {
        Ok(found) if found.is_dir() => fs::read_dir(path).map(drop),
        Ok(found) if found.is_file() => File::open(path).map(drop),
        // Opening a pipe would wait for its other end.
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    match looked {
        Ok(()) => InputFound::Readable,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            InputFound::Missing
        }
        Err(error) => InputFound::Unreadable(error.to_string()),
    }
}
