//! One child in flight: its process, what it printed, and how long it may take.

use std::time::Duration;

use contract::domain::attempt::NewAttempt;
use contract::domain::check::CheckSeen;
use contract::domain::time::Timestamp;

use crate::executor::aop_stdio::Conversation;
use crate::executor::{Ended, Stopped};
use crate::hidden::Hidden;
use crate::pipeline::l7_delegate::Claim;
use crate::supervisor::Handle;
use crate::supervisor::logs::LogWriter;
use crate::verify::Watched;

/// A task that is being worked on.
pub(crate) struct Live {
    pub(crate) attempt: NewAttempt,
    /// Reports of older processes of the same task carry an older number and are ignored.
    pub(crate) generation: u64,
    pub(crate) handle: Option<Handle>,
    pub(crate) phase: Phase,
    pub(crate) started_at: Timestamp,
    pub(crate) timeout: Duration,
    /// On the boot clock.
    pub(crate) deadline_ms: i64,
    pub(crate) silence_max: Option<Duration>,
    pub(crate) last_sign_ms: i64,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) log: Option<LogWriter>,
    pub(crate) hidden: Hidden,
    pub(crate) digests: Option<(String, String)>,
    pub(crate) ended: Ended,
    pub(crate) conversation: Option<Conversation>,
    pub(crate) claim: Option<Claim>,
    pub(crate) seen: Vec<CheckSeen>,
}

pub(crate) enum Phase {
    Executing,
    /// Which check runs, and what it has printed.
    Checking {
        index: usize,
        watched: Box<Watched>,
    },
    /// Nothing runs any more; a slow layer judges the attempt.
    Judging,
}

impl Live {
    /// Asks the process to end, for the first reason given.
    pub(crate) fn stop(&mut self, why: Stopped) {
        if self.stopped.is_none() {
            self.stopped = Some(why);
            if let Some(handle) = &self.handle {
                handle.stop();
            }
        }
    }

    /// What the executor claimed. Known once it has ended.
    pub(crate) fn claimed(&self) -> &Claim {
        self.claim.as_ref().expect("BUG: an attempt is judged after its executor ended")
    }

    pub(crate) fn kill(&self) {
        if let Some(handle) = &self.handle {
            handle.kill();
        }
    }
}
