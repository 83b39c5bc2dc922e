//! The inputs of a TASK: they exist and can be read before it starts, and read-only ones are unchanged afterwards. Also what
//! else it needs of this machine.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use contract::aop::needs::{self, Found, InputFound, Judged};
use contract::aop::task::Task as AopTask;
use contract::domain::id::mint;

use super::Dispatcher;
use crate::claimed_file;
use crate::executor::failure;
use crate::git::Git;
use crate::pipeline::l7_delegate::Claim;
use crate::verify::find_program;

/// Read-only inputs by their paths in the TASK, each with what was there.
pub(crate) type InputDigests = BTreeMap<String, Option<String>>;

impl Dispatcher<'_> {
    /// Whether this machine has what the TASK of a task needs. Nothing is needed without a TASK.
    pub(super) fn needs(&mut self, task: usize) -> Judged {
        let Some(asked) = self.aop(task).cloned() else { return Judged::default() };
        let found = Found {
            os: std::env::consts::OS.to_owned(),
            has_shell: asked
                .task
                .environment
                .shell
                .as_deref()
                .is_none_or(|shell| self.has_shell(task, shell)),
            branch: asked.task.environment.git_branch.as_ref().map(|_| self.branch(task)),
            inputs: self.found_inputs(task, &asked),
            is_mapped: self.part(task).spec.is_mapped,
        };
        needs::judge(&asked, &found)
    }

    fn has_shell(&self, task: usize, shell: &str) -> bool {
        let path = self.settings.environment.get(std::ffi::OsStr::new("PATH"));
        find_program(&needs::shell_program(shell), path, self.directory(task)).is_some()
    }

    /// The branch that is checked out where the task works, or why there is none.
    fn branch(&mut self, task: usize) -> Result<String, String> {
        let now = self.cx.now().at;
        let mark = mint(self.cx.ids(), now);
        let git = Git { runner: self.runner(&mark), workspace: self.directory(task) };
        git.branch().map_err(|fault| format!("git does not know it: {fault}"))
    }

    fn found_inputs(&self, task: usize, asked: &AopTask) -> Vec<(String, InputFound)> {
        let look = |(path, _): (&str, _)| (path.to_owned(), readable(&self.input_path(task, path)));
        needs::files(asked).map(look).collect()
    }

    /// Where an input is. One in the workspace is looked at where the task works.
    fn input_path(&self, task: usize, path: &str) -> PathBuf {
        let relative = Path::new(path).strip_prefix(&self.run.asked.workspace).unwrap_or(Path::new(path));
        self.directory(task).join(relative)
    }

    /// What the read-only inputs are before the executor starts.
    pub(super) fn look_at_inputs(&self, task: usize) -> InputDigests {
        let Some(asked) = self.aop(task) else { return InputDigests::new() };
        let kept = needs::kept_inputs(asked).into_iter();
        kept.map(|path| (path.to_owned(), self.input_digest(task, path))).collect()
    }

    /// The read-only inputs that a sandbox can hold.
    pub(super) fn held_inputs(&self, task: usize) -> Vec<PathBuf> {
        let Some(asked) = self.aop(task) else { return Vec::new() };
        let kept = needs::kept_inputs(asked).into_iter().map(|path| self.input_path(task, path));
        kept.filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_file()).collect()
    }

    fn input_digest(&self, task: usize, path: &str) -> Option<String> {
        let path = self.input_path(task, path).canonicalize().ok()?;
        let name = path.file_name()?.to_str()?.to_owned();
        match claimed_file::look(path.parent()?, &name) {
            Ok(claimed_file::Found::File { digest, .. }) => Some(digest),
            Ok(claimed_file::Found::Nothing) | Err(_) => None,
        }
    }

    /// The same claim, or that a read-only input was changed.
    pub(super) fn with_inputs(&self, task: usize, claim: Claim) -> Claim {
        let is_changed =
            |(path, before): &(&String, &Option<String>)| self.input_digest(task, path) != **before;
        let changed = self.live[&task].inputs.iter().filter(is_changed).map(|(path, _)| format!("`{path}`"));
        let changed: Vec<String> = changed.collect();
        match claim {
            Claim::Success if !changed.is_empty() => failure(
                "E_PERMISSION_DENIED",
                format!("read-only inputs were changed: {}", changed.join(", ")),
            ),
            claim => claim,
        }
    }

    /// Says which limits on files had no effect, because no sandbox was on.
    pub(super) fn warn_of_access(&mut self, task: usize) {
        let files = &self.part(task).spec.files;
        let in_force = self.live[&task].ended.in_force.as_ref();
        let is_open = in_force.is_some_and(|in_force| in_force.sandbox.is_none());
        if files.reads.is_some() && is_open {
            let told = "access.filesystem.read_paths has no effect: no sandbox is on".to_owned();
            self.live_mut(task).claims.warnings.push(told);
        }
    }
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
