//! What the author of a task can change so that it may do what the sandbox denied it.

use std::path::Path;

use contract::domain::run::DocumentKind;
use contract::domain::scope::Scope;

use super::Dispatcher;

impl Dispatcher<'_> {
    fn is_aop(&self) -> bool {
        self.run.asked.kind == DocumentKind::AopTask
    }

    /// What would let the task write where it was denied, if that is in the workspace.
    pub(super) fn advice(&self, task: usize) -> Option<String> {
        let path = Path::new(self.live[&task].denials.path()?);
        let directory = self.directory(task);
        let inside = directory.join(path);
        let inside = inside.strip_prefix(directory).ok()?.to_str()?.to_owned();
        let scope = Scope::parse(&inside, None).ok()?;
        match inside.split('/').next() {
            Some(".git") if self.is_aop() => None,
            Some(".git") => Some("; `git = \"commit\"` lets the task commit".to_owned()),
            _ if self.part(task).spec.writes.iter().any(|writes| writes.contains(&scope)) => None,
            _ if self.is_aop() => {
                Some(format!("; to allow it, add \"{scope}\" to `access.filesystem.write_paths` of the TASK"))
            }
            _ => Some(format!("; to allow it, add \"{scope}\" to the task's `writes`")),
        }
    }

    /// Adds what would let the task reach the first host that is not in its list.
    pub(super) fn advise_on_network(&mut self, task: usize) {
        let is_aop = self.is_aop();
        let ended = &mut self.live_mut(task).ended;
        let (Some(to), Some(denied)) = (ended.unlisted_host(), &ended.denied) else { return };
        let advice = if is_aop {
            format!(
                "to allow it, add \"{to}\" to `task.extensions.x_network_allow`; `access.network` FULL allows all"
            )
        } else {
            format!("to allow it, add \"{to}\" to the task's `network_allow`")
        };
        ended.denied = Some(format!("{denied}; {advice}"));
    }
}
