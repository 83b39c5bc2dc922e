//! One running task: its process, what it printed, and how long it may take.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::domain::attempt::{CostBasis, Limited, NewAttempt, SessionTotal, Taken};
use contract::domain::check::CheckSeen;
use contract::domain::crew::budget::Delegated;
use contract::domain::outside::Outside;
use contract::domain::time::Timestamp;
use contract::secrets::Hidden;

use crate::beats::Beats;
use crate::dispatcher::inputs::InputDigests;
use crate::executor::{Claims, Ended, Lines, Reader, Reported, Stdout, Stopped};
use crate::inside::{Inside, TaskDoor};
use crate::launcher::Children;
use crate::pipeline::l7_delegate::Claim;
use crate::sandbox::{Denials, Writable};
use crate::supervisor::logs::LogWriter;
use crate::supervisor::{LaunchSpec, Part};
use crate::verify::{Recorder, Watched};

/// A task that is being worked on.
pub(crate) struct Live {
    pub(crate) attempt: NewAttempt,
    /// The number of its running process: the executor's, then one for each check.
    pub(crate) process: u64,
    pub(crate) phase: Phase,
    pub(crate) started_at: Timestamp,
    pub(crate) timeout: Duration,
    /// On the boot clock.
    pub(crate) deadline_ms: i64,
    /// The signs of life that are expected of it.
    pub(crate) beats: Option<Beats>,
    pub(crate) last_sign_ms: i64,
    /// When its timeout ended, on the boot clock, if it was allowed to go on.
    pub(crate) late_since_ms: Option<i64>,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) log: Option<LogWriter>,
    pub(crate) hidden: Hidden,
    pub(crate) digests: Option<(String, String)>,
    pub(crate) ended: Ended,
    pub(crate) stdout: Stdout,
    pub(crate) lines: Lines,
    pub(crate) reader: Box<dyn Reader>,
    pub(crate) claim: Option<Claim>,
    pub(crate) reported: Reported,
    /// What its read-only inputs were before it began.
    pub(crate) inputs: InputDigests,
    /// What its RESPONSE claims, beside what was seen.
    pub(crate) claims: Claims,
    /// What the runs that its task started had used when it ended.
    pub(crate) delegated: Delegated,
    /// How its cost is known; `None` if it is not.
    pub(crate) cost_basis: Option<CostBasis>,
    pub(crate) seen: Vec<CheckSeen>,
    /// What changed outside the task's scope. Known once the executor has ended.
    pub(crate) outside: Option<Outside>,
    /// What it prints about being denied something.
    pub(crate) denials: Denials,
    /// From the first check on.
    pub(crate) recorder: Option<Recorder>,
    /// From whom its locks were taken before it got them.
    pub(crate) took_over: Option<String>,
    /// What was kept of its scope; `None` if it has none.
    pub(crate) snapshot: Option<Taken>,
    /// Why its evidence is withheld.
    pub(crate) withheld: Vec<String>,
    /// The executor's own name for its conversation.
    pub(crate) agent_session: Option<String>,
    /// What that conversation has used with all its attempts.
    pub(crate) session_total: Option<SessionTotal>,
    /// The rate limit or usage window that ended it.
    pub(crate) limited: Option<Limited>,
    /// What to start, until it has started.
    pub(crate) spec: Option<Box<LaunchSpec>>,
    /// What its sandbox leaves open for writing; `None` if its writing is not confined.
    pub(crate) writable: Option<Writable>,
    /// Who calls from inside its sandbox; `None` without one.
    pub(crate) inside: Option<Inside>,
    /// Where its program can call writ while it runs.
    pub(crate) door: Option<Box<dyn TaskDoor>>,
    /// The last heartbeat that was heard.
    pub(crate) heartbeat: Option<Timestamp>,
    /// How often its executor or a check could not be started for want of something.
    pub(crate) parkings: u32,
    /// What its plan asks for and does not get, by what it is about.
    pub(crate) overruled: BTreeMap<String, String>,
}

pub(crate) enum Phase {
    Executing,
    /// Which command prepares its clone, and what it has printed.
    Setup {
        index: usize,
        watched: Box<Watched>,
    },
    /// Which check runs, and what it has printed.
    Checking {
        index: usize,
        watched: Box<Watched>,
    },
    /// Nothing runs: the machine is short of something. Then the executor is started, or this check.
    Parked {
        check: Option<usize>,
        due_ms: i64,
    },
    /// Nothing runs any more; its merge waits for the locks of others.
    Landing {
        due_ms: i64,
    },
    /// Nothing runs any more; a slow layer judges the attempt.
    Judging,
}

impl Live {
    /// What the kernel let its executor write. `None` if it held nothing.
    pub(crate) fn held_to(&self) -> Option<&Writable> {
        let sandbox = self.ended.in_force.as_ref()?.sandbox.as_ref()?;
        self.writable.as_ref().filter(|_| sandbox.files == Part::On)
    }

    /// Asks the process to end. The first reason stays.
    pub(crate) fn stop(&mut self, why: Stopped, children: &dyn Children) {
        if self.stopped.is_none() {
            self.stopped = Some(why);
            children.stop(self.process);
        }
    }

    /// Its executor is alive.
    pub(crate) fn sign(&mut self, now_ms: i64) {
        self.last_sign_ms = now_ms;
        self.beats.iter_mut().for_each(Beats::sign);
    }

    /// When it has to be looked at again, on the boot clock.
    pub(crate) fn next_due_ms(&self) -> i64 {
        match self.phase {
            Phase::Parked { due_ms, .. } | Phase::Landing { due_ms } => due_ms,
            Phase::Executing => {
                let silent_ms = self.beats.as_ref().map(|beats| beats.due_ms(self.last_sign_ms));
                silent_ms.map_or(self.deadline_ms, |silent_ms| silent_ms.min(self.deadline_ms))
            }
            Phase::Setup { .. } | Phase::Checking { .. } | Phase::Judging => self.deadline_ms,
        }
    }

    /// Whether what is done is only a part: the executor says so, or a checkpoint failed that may.
    pub(crate) fn is_partial(&self) -> bool {
        self.claims.is_partial() || self.seen.iter().any(|check| check.tolerated)
    }

    /// What the executor claimed. Known once it has ended.
    pub(crate) fn claimed(&self) -> &Claim {
        self.claim.as_ref().expect("BUG: an attempt is judged after its executor ended")
    }
}
