//! One attempt from its journal entry to its end: what is fixed when it starts, its running executor, and what was
//! observed when the executor had ended. `life.rs` has its steps.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::domain::attempt::{CostBasis, Limited, NewAttempt, SessionTotal, Silences, Taken};
use contract::domain::check::CheckSeen;
use contract::domain::limits;
use contract::domain::outside::Outside;
use contract::domain::plan::PlanTask;
use contract::domain::reason::Warning;
use contract::domain::time::Timestamp;
use contract::secrets::Hidden;

use super::inputs::InputDigests;
use super::millis;
use super::processes::{Processes, RunningProcess};
use crate::beats::{Beats, Silence};
use crate::executor::{ChildEnd, Claims, LineBuffer, Reader, ResponseReport, Stdout, Stopped};
use crate::inside::{InsideCaller, TaskDoor};
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::sandbox::{Denials, Writable};
use crate::supervisor::LaunchSpec;
use crate::supervisor::SandboxPart;
use crate::supervisor::logs::LogWriter;
use crate::verify::{CheckOutput, Recorder, TOOK_TOO_LONG};

/// An attempt that has not ended.
pub(crate) struct Live {
    pub(super) start: AttemptStart,
    /// Why writ ends it. The first reason stays.
    pub(super) stopped: Option<Stopped>,
    /// Starts in a row that failed with a resource shortage.
    pub(super) parkings: u32,
    /// When its timeout ended, on the boot clock, if it was allowed to go on.
    pub(super) late_since_ms: Option<i64>,
    /// Warnings for its record; each is shown once.
    pub(super) warnings: Vec<Warning>,
    pub(super) phase: AttemptPhase,
}

/// What is fixed when an attempt starts.
pub(super) struct AttemptStart {
    pub(super) attempt: NewAttempt,
    pub(super) started_at: Timestamp,
    pub(super) timeout: Duration,
    pub(super) hidden: Hidden,
    /// Digests of its read-only inputs.
    pub(super) inputs: InputDigests,
    /// The holder that lost the locks it got.
    pub(super) took_over: Option<String>,
    /// The snapshot of its scope; `None` if it has no scope.
    pub(super) snapshot: Option<Taken>,
    /// What its sandbox leaves open for writing; `None` if its writing is not confined.
    pub(super) writable: Option<Writable>,
    /// The caller inside its sandbox; `None` without one.
    pub(super) inside: Option<InsideCaller>,
    /// What its plan asks for and does not get, by subject.
    pub(super) overruled: BTreeMap<String, String>,
}

pub(super) enum AttemptPhase {
    /// Until its executor has ended.
    Working(Box<ExecutorRun>),
    /// Its executor has ended; its work is checked, merged and judged.
    Returned(Box<AttemptReturn>),
}

/// The executor of an attempt, and how its output is read.
pub(super) struct ExecutorRun {
    pub(super) step: WorkStep,
    pub(super) launch: LaunchSpec,
    pub(super) reader: Box<dyn Reader>,
    pub(super) stdout: Stdout,
    pub(super) lines: LineBuffer,
    /// The signs of life that are expected of it; `None` if it may be silent.
    pub(super) beats: Option<Beats>,
    /// The last heartbeat that its program sent.
    pub(super) heartbeat: Option<Timestamp>,
    pub(super) denials: Denials,
    /// Open while a process of it runs, unless it cannot be written.
    pub(super) log: Option<LogWriter>,
    /// The socket of a sandboxed program.
    pub(super) door: Option<Box<dyn TaskDoor>>,
    /// What is known of its end so far.
    pub(super) ended: ChildEnd,
}

pub(super) enum WorkStep {
    /// The next step is decided now.
    Deciding,
    /// A setup command of its clone runs.
    Setup {
        process: RunningProcess,
        index: usize,
        watched: Box<CheckOutput>,
    },
    Executing {
        process: RunningProcess,
        last_sign_ms: i64,
    },
    /// Nothing runs, because of a resource shortage. It begins again when it is due.
    Parked {
        due_ms: i64,
    },
}

/// What was observed of an attempt when its executor had ended.
pub(super) struct AttemptReturn {
    pub(super) step: ReturnStep,
    pub(super) ended: ChildEnd,
    /// Of standard output and standard error; `None` without a log.
    pub(super) digests: Option<(String, String)>,
    pub(super) claim: ExecutorClaim,
    pub(super) claims: Claims,
    pub(super) reported: ResponseReport,
    /// How its cost is known; `None` if it is not.
    pub(super) cost_basis: Option<CostBasis>,
    /// The executor's own name for its conversation.
    pub(super) agent_session: Option<String>,
    /// What that conversation has used with all its attempts.
    pub(super) session_total: Option<SessionTotal>,
    /// The rate limit or usage window that ended it.
    pub(super) limited: Option<Limited>,
    pub(super) silences: Option<Silences>,
    /// What changed outside the task's scope; `None` if that does not matter.
    pub(super) outside: Option<Outside>,
    /// Why its evidence is withheld.
    pub(super) withheld: Vec<String>,
    pub(super) seen: Vec<CheckSeen>,
}

pub(super) enum ReturnStep {
    /// The next step is decided now.
    Deciding,
    Checking {
        process: RunningProcess,
        index: usize,
        watched: Box<CheckOutput>,
        recorder: Box<Recorder>,
    },
    /// Nothing runs, because of a resource shortage. The check is started when it is due.
    Parked {
        index: usize,
        recorder: Box<Recorder>,
        due_ms: i64,
    },
    /// Its merge waits for the locks of others.
    Landing {
        due_ms: i64,
    },
    /// A slow layer judges it.
    Judging {
        deadline_ms: i64,
    },
}

/// What a look at the deadlines of an attempt found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    Nothing,
    /// Its timeout is over, and it may go on.
    Late(Duration),
    /// It missed its heartbeats, and may go on.
    Silent(Duration),
    Stop(Stopped),
    /// A setup command or a check took too long.
    Kill(u64),
}

/// What an attempt waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    /// Nothing: its next step is decided now.
    Nothing,
    Process(RunningProcess),
    /// The end of a resource shortage, looked for at this time on the boot clock.
    Parked(i64),
    /// Locks for its merge, or its judgment, looked for at this time on the boot clock.
    Conclusion(i64),
}

impl Live {
    pub(super) fn pending(&self) -> Pending {
        match &self.phase {
            AttemptPhase::Working(executor) => match &executor.step {
                WorkStep::Deciding => Pending::Nothing,
                WorkStep::Setup { process, .. } | WorkStep::Executing { process, .. } => {
                    Pending::Process(*process)
                }
                WorkStep::Parked { due_ms } => Pending::Parked(*due_ms),
            },
            AttemptPhase::Returned(returned) => match &returned.step {
                ReturnStep::Deciding => Pending::Nothing,
                ReturnStep::Checking { process, .. } => Pending::Process(*process),
                ReturnStep::Parked { due_ms, .. } => Pending::Parked(*due_ms),
                ReturnStep::Landing { due_ms } => Pending::Conclusion(*due_ms),
                ReturnStep::Judging { deadline_ms } => Pending::Conclusion(*deadline_ms),
            },
        }
    }

    pub(super) fn process(&self) -> Option<u64> {
        if let Pending::Process(process) = self.pending() { Some(process.number) } else { None }
    }

    /// Asks its process to end. The first reason stays.
    pub(super) fn stop(&mut self, why: Stopped, processes: &Processes) {
        if self.stopped.is_none() {
            self.stopped = Some(why);
            self.process().into_iter().for_each(|process| processes.stop(process));
        }
    }

    /// Its executor is alive.
    pub(super) fn sign(&mut self, now_ms: i64) {
        if let AttemptPhase::Working(executor) = &mut self.phase
            && let WorkStep::Executing { last_sign_ms, .. } = &mut executor.step
        {
            *last_sign_ms = now_ms;
            executor.beats.iter_mut().for_each(Beats::sign);
        }
    }

    /// When it has to be looked at again, on the boot clock.
    pub(super) fn next_due_ms(&self) -> i64 {
        match self.pending() {
            Pending::Nothing => i64::MAX,
            Pending::Parked(due_ms) | Pending::Conclusion(due_ms) => due_ms,
            Pending::Process(process) => self.silent_at_ms().unwrap_or(i64::MAX).min(process.deadline_ms),
        }
    }

    /// When the silence of its executor means something new.
    fn silent_at_ms(&self) -> Option<i64> {
        let AttemptPhase::Working(executor) = &self.phase else { return None };
        let WorkStep::Executing { last_sign_ms, .. } = executor.step else { return None };
        Some(executor.beats.as_ref()?.due_ms(last_sign_ms))
    }

    /// Moves its deadlines: no time passed for it.
    pub(super) fn postpone(&mut self, longer_ms: i64) {
        let later = |at_ms: &mut i64| *at_ms = at_ms.saturating_add(longer_ms);
        self.late_since_ms.iter_mut().for_each(later);
        match &mut self.phase {
            AttemptPhase::Working(executor) => match &mut executor.step {
                WorkStep::Setup { process, .. } => later(&mut process.deadline_ms),
                WorkStep::Executing { process, last_sign_ms } => {
                    later(&mut process.deadline_ms);
                    later(last_sign_ms);
                }
                WorkStep::Deciding | WorkStep::Parked { .. } => {}
            },
            AttemptPhase::Returned(returned) => match &mut returned.step {
                ReturnStep::Checking { process, .. } => later(&mut process.deadline_ms),
                ReturnStep::Judging { deadline_ms } => later(deadline_ms),
                ReturnStep::Deciding | ReturnStep::Parked { .. } | ReturnStep::Landing { .. } => {}
            },
        }
    }

    /// Looks at its deadlines. Notes a lateness and a silence that are allowed, so that each is found once.
    pub(super) fn overdue(&mut self, spec: &PlanTask, timeout_max: Option<Duration>, now_ms: i64) -> Overdue {
        let timeout = self.start.timeout;
        match &mut self.phase {
            AttemptPhase::Working(executor) => match &mut executor.step {
                WorkStep::Executing { process, .. } if now_ms >= process.deadline_ms => {
                    let longest = timeout_max.unwrap_or(limits::TASK_TIMEOUT_MAX).max(timeout);
                    let more_ms = millis(longest.saturating_sub(timeout));
                    if !spec.policy.may_be_late || self.late_since_ms.is_some() || more_ms == 0 {
                        return Overdue::Stop(Stopped::Timeout);
                    }
                    self.late_since_ms = Some(process.deadline_ms);
                    process.deadline_ms = process.deadline_ms.saturating_add(more_ms);
                    Overdue::Late(timeout)
                }
                WorkStep::Executing { last_sign_ms, .. } => {
                    let silent_ms = now_ms.saturating_sub(*last_sign_ms);
                    match executor.beats.as_mut().map_or(Silence::Allowed, |beats| beats.look(silent_ms)) {
                        Silence::Allowed | Silence::Noted => Overdue::Nothing,
                        Silence::Warned => {
                            Overdue::Silent(Duration::from_millis(u64::try_from(silent_ms).unwrap_or(0)))
                        }
                        Silence::Failed => Overdue::Stop(Stopped::Silence),
                    }
                }
                WorkStep::Setup { process, watched, .. } => took_too_long(*process, watched, now_ms),
                WorkStep::Deciding | WorkStep::Parked { .. } => Overdue::Nothing,
            },
            AttemptPhase::Returned(returned) => match &mut returned.step {
                ReturnStep::Checking { process, watched, .. } => took_too_long(*process, watched, now_ms),
                ReturnStep::Deciding
                | ReturnStep::Parked { .. }
                | ReturnStep::Landing { .. }
                | ReturnStep::Judging { .. } => Overdue::Nothing,
            },
        }
    }

    /// How long after its timeout it is now.
    pub(super) fn late_ms(&self, now_ms: i64) -> Option<u64> {
        let late_ms = self.late_since_ms.map(|since_ms| now_ms.saturating_sub(since_ms).max(0));
        late_ms.and_then(|late_ms| u64::try_from(late_ms).ok())
    }
}

impl AttemptPhase {
    pub(super) fn executor(&mut self) -> &mut ExecutorRun {
        match self {
            AttemptPhase::Working(executor) => executor,
            AttemptPhase::Returned(_) => panic!("BUG: its executor has ended"),
        }
    }

    pub(super) fn returned(&self) -> &AttemptReturn {
        match self {
            AttemptPhase::Returned(returned) => returned,
            AttemptPhase::Working(_) => panic!("BUG: its executor has not ended"),
        }
    }

    pub(super) fn returned_mut(&mut self) -> &mut AttemptReturn {
        match self {
            AttemptPhase::Returned(returned) => returned,
            AttemptPhase::Working(_) => panic!("BUG: its executor has not ended"),
        }
    }
}

fn took_too_long(process: RunningProcess, watched: &mut CheckOutput, now_ms: i64) -> Overdue {
    if now_ms < process.deadline_ms {
        return Overdue::Nothing;
    }
    watched.problem.get_or_insert_with(|| TOOK_TOO_LONG.to_owned());
    Overdue::Kill(process.number)
}

impl AttemptStart {
    /// What the kernel let its executor write. `None` if it held nothing.
    pub(super) fn held_to(&self, ended: &ChildEnd) -> Option<&Writable> {
        let sandbox = ended.in_force.as_ref()?.sandbox.as_ref()?;
        self.writable.as_ref().filter(|_| sandbox.files == SandboxPart::On)
    }
}

impl AttemptReturn {
    /// Whether what is done is only a part: the executor reports it, or a checkpoint failed that may.
    pub(super) fn is_partial(&self) -> bool {
        self.claims.is_partial() || self.seen.iter().any(|check| check.tolerated)
    }

    /// Whether its executor was never started.
    pub(super) fn is_unstarted(&self) -> bool {
        self.ended.in_force.is_none()
    }
}

#[cfg(test)]
mod tests;
