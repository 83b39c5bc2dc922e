//! Calls of a task's program from inside its sandbox: the socket it has, and what it reports over it.

use std::io;
use std::path::PathBuf;

use contract::continuity::state::CloseOutcome;
use contract::domain::attempt::NewAttempt;
use contract::domain::crew::reference_of;
use ops::Result;
use ops::inside::{ActsFor, InsideTask};

use super::Dispatcher;
use crate::executor::{Stopped, failure};
use crate::inside::Inside;
use crate::pipeline::l7_delegate::Claim;
use crate::sandbox::{Confined, Wanted};

impl Dispatcher<'_> {
    /// Who calls from inside a task's sandbox, and what it can pass on.
    pub(super) fn inside(
        &self,
        task: usize,
        attempt: &NewAttempt,
        wanted: &Wanted<'_>,
        confined: &Confined,
    ) -> Inside {
        let part = self.part(task);
        let caller = InsideTask {
            task_id: attempt.task_id.clone(),
            name: part.spec.id.clone(),
            reference: reference_of(part.number).to_string(),
            acts: ActsFor::Run { run_id: attempt.run_id.clone(), depth: self.run.asked.depth },
        };
        Inside::of(caller, Some(attempt.id.clone()), wanted, confined)
    }

    /// Opens the socket of a sandboxed task, so that its program can call writ from the start.
    pub(super) fn open_door(&mut self, task: usize) -> io::Result<()> {
        let Some(doors) = self.settings.doors.as_ref() else { return Ok(()) };
        let live = self.live.get_mut(&task).expect("BUG: it is live before it is started");
        let sandbox = live.spec.as_ref().and_then(|spec| spec.confinement.sandbox.as_ref());
        let socket = sandbox.and_then(|sandbox| sandbox.socket.as_ref()).map(PathBuf::from);
        let (Some(socket), Some(inside)) = (socket, live.inside.clone()) else { return Ok(()) };
        // One that was parked had it open before.
        live.door = None;
        live.door = Some(doors.open(self.settings.sandbox.prepared.bind(&socket)?, inside)?);
        Ok(())
    }

    /// Closes the socket of a task whose program has ended: what it called is ended too.
    pub(super) fn close_door(&mut self, task: usize) {
        self.live_mut(task).door = None;
    }

    /// Cancels what the program delegated if it was stopped for good. A signal to writ only stops it all, to be continued.
    pub(super) fn end_delegated_of_stopped(&mut self, task: usize) -> Result<()> {
        let ended = match self.live[&task].stopped {
            Some(Stopped::Canceled) => "was canceled",
            Some(Stopped::Timeout) => "ran into its timeout",
            Some(Stopped::Silence) => "gave no sign of life",
            Some(Stopped::Fenced) => "lost its locks",
            Some(Stopped::Interrupted) | None => return Ok(()),
        };
        self.end_delegated(task, ended)
    }

    /// The same for a program that failed.
    pub(super) fn end_delegated_of_failed(&mut self, task: usize, claim: &Claim) -> Result<()> {
        match (self.live[&task].stopped, claim) {
            (None, Claim::Failure { code, .. }) => self.end_delegated(task, &format!("failed with {code}")),
            _ => Ok(()),
        }
    }

    fn end_delegated(&mut self, task: usize, ended: &str) -> Result<()> {
        let id = self.tasks[task].id.clone();
        self.patiently(|engine| ops::run::cancel::delegated(engine.cx, &engine.caller, &id, ended))?;
        Ok(())
    }

    /// What the program reported with `writ task complete` while it ran. It is no more than a claim.
    pub(super) fn with_report(&mut self, task: usize, claim: Claim) -> Result<Claim> {
        let live = &self.live[&task];
        let (id, attempt) = (live.attempt.task_id.clone(), live.attempt.id.clone());
        let Some(report) = ops::task::complete::reported(self.cx, &id, &attempt)? else { return Ok(claim) };
        let live = self.live_mut(task);
        live.reported.summary.get_or_insert(report.summary);
        Ok(match (report.outcome, claim) {
            (CloseOutcome::Blocked, Claim::Success) => {
                failure("E_UNKNOWN", format!("reported as blocked: {}", report.reason))
            }
            (_, claim) => claim,
        })
    }

    /// Counts heartbeats that programs sent with `writ heartbeat`.
    pub(super) fn hear_heartbeats(&mut self, now_ms: i64) -> Result<()> {
        for live in self.live.values_mut().filter(|live| live.beats.is_some()) {
            let last = ops::run::journal::last_heartbeat(self.cx, &live.attempt.id)?;
            if last.is_some() && last != live.heartbeat {
                live.heartbeat = last;
                live.sign(now_ms);
            }
        }
        Ok(())
    }
}
