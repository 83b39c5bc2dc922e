//! The commands that prepare a clone before the first attempt of its task.

use std::ffi::OsString;

use contract::domain::limits;
use ops::Result;

use super::{Dispatcher, millis};
use crate::launcher::{Shortage, with_causes};
use crate::live::Phase;
use crate::observer::Progress;
use crate::supervisor::Stdin;
use crate::verify::Watched;

impl Dispatcher<'_> {
    /// Starts what a live task needs next: a setup command of its clone, or its executor.
    pub(super) fn begin_work(&mut self, task: usize) -> Result<()> {
        let setup = self.part(task).spec.worktree.as_ref().map(|worktree| worktree.setup.as_slice());
        let ended = self.clones.get(&task).map_or(0, |isolated| isolated.clone.record.set_up);
        match setup.and_then(|setup| setup.get(ended)).cloned() {
            Some(command) => self.launch_setup(task, &command, ended),
            None => {
                if let Some(isolated) = self.clones.get_mut(&task) {
                    isolated.setup_until_ms = None;
                }
                self.start_executor(task)
            }
        }
    }

    fn launch_setup(&mut self, task: usize, command: &[String], index: usize) -> Result<()> {
        let process = self.next_process();
        let shown = command.join(" ");
        if self.live[&task].parkings == 0 {
            let message = format!("setup: {shown}");
            let name = &self.board.slot(task).name;
            self.observer.report(Progress::Update { task: name, percentage: None, message: &message });
        }
        if let Err(short_of) = self.open_log(task) {
            self.park(task, None, short_of);
            return Ok(());
        }
        let now_ms = self.now_ms();
        // All commands together get the time that the task gets.
        let all_ms = now_ms.saturating_add(millis(self.live[&task].timeout));
        let all_ms = *self.isolated_mut(task).setup_until_ms.get_or_insert(all_ms);
        let deadline_ms = now_ms.saturating_add(millis(limits::SETUP_TIMEOUT)).min(all_ms);
        let live = self.live_mut(task);
        let mut spec = live.spec.as_deref().expect("BUG: kept until the executor has started").clone();
        spec.argv = command.iter().map(OsString::from).collect();
        spec.stdin = Stdin::Closed;
        live.process = process;
        live.deadline_ms = deadline_ms;
        live.phase = Phase::Setup { index, watched: Box::new(Watched::of_setup(&live.hidden)) };
        let Err(error) = self.children.start(process, spec) else { return Ok(()) };
        self.heed_signal();
        if let Some(short_of) = Shortage::of(error.errno())
            && self.live[&task].stopped.is_none()
        {
            self.park(task, None, short_of);
            return Ok(());
        }
        if let Phase::Setup { watched, .. } = &mut self.live_mut(task).phase {
            watched.problem = Some(with_causes(&error));
        }
        self.setup_ended(task)
    }

    /// The process of a setup command is gone.
    pub(super) fn setup_ended(&mut self, task: usize) -> Result<()> {
        let live = self.live_mut(task);
        let Phase::Setup { index, watched } = std::mem::replace(&mut live.phase, Phase::Executing) else {
            return Ok(());
        };
        if live.stopped.is_some() {
            return self.executor_ended(task);
        }
        let failure = watched.failure().or_else(|| {
            let noted = self.isolated_mut(task).clone.set_up(index + 1);
            noted.err().map(|fault| with_causes(&fault))
        });
        let Some(failure) = failure else { return self.begin_work(task) };
        let setup = self.part(task).spec.worktree.as_ref().map(|worktree| worktree.setup[index].join(" "));
        let fault = format!("setup command `{}` failed: {failure}", setup.unwrap_or_default());
        self.live_mut(task).ended.fault = Some(fault);
        self.executor_ended(task)
    }
}
