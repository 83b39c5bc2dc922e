//! The signs of life that an executor owes, and what follows when they do not come.

use std::time::Duration;

use contract::domain::attempt::Silences;
use contract::domain::plan::policy::{HeartbeatPolicy, OnHeartbeatFailure};

use crate::dispatcher::millis;

/// What is expected of one executor, and what it missed so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beats {
    policy: HeartbeatPolicy,
    /// How many windows of the present silence were noted.
    noted: i64,
    missed: Silences,
}

/// What the silence of an executor means now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Nothing that was not noted before.
    Allowed,
    /// It is only recorded.
    Noted,
    Warned,
    Failed,
}

impl Beats {
    pub(crate) fn new(policy: HeartbeatPolicy) -> Self {
        Self { policy, noted: 0, missed: Silences::default() }
    }

    /// The silence limit of an executor, independent of its task.
    pub(crate) fn of_executor(silence_max: Duration) -> Self {
        let interval_ms = u64::try_from(silence_max.as_millis()).unwrap_or(u64::MAX);
        let on_failure = OnHeartbeatFailure::Abort;
        Self::new(HeartbeatPolicy { interval_ms, missed_max: 1, on_failure })
    }

    /// It gave a sign of life.
    pub(crate) fn sign(&mut self) {
        self.noted = 0;
    }

    /// Looks at a silence of this length. Each window of as many beats as may be missed is noted once.
    pub(crate) fn look(&mut self, silent_ms: i64) -> Silence {
        let window_ms = millis(self.policy.silence_max()).max(1);
        let windows = silent_ms.saturating_sub(1).max(0) / window_ms;
        if windows <= self.noted {
            return Silence::Allowed;
        }
        self.noted = windows;
        self.missed.windows = self.missed.windows.saturating_add(1);
        self.missed.longest_ms = self.missed.longest_ms.max(u64::try_from(silent_ms).unwrap_or(0));
        match self.policy.on_failure {
            OnHeartbeatFailure::Abort => Silence::Failed,
            OnHeartbeatFailure::Warn => Silence::Warned,
            OnHeartbeatFailure::Continue => Silence::Noted,
        }
    }

    /// When the silence since `last_sign_ms` means something new.
    pub(crate) fn due_ms(&self, last_sign_ms: i64) -> i64 {
        let window_ms = millis(self.policy.silence_max()).max(1);
        let silent_ms = window_ms.saturating_mul(self.noted.saturating_add(1)).saturating_add(1);
        last_sign_ms.saturating_add(silent_ms)
    }

    /// What was missed, if anything was and the executor was allowed to go on.
    pub(crate) fn missed(&self) -> Option<Silences> {
        (self.missed.windows > 0).then_some(self.missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beats(on_failure: OnHeartbeatFailure) -> Beats {
        Beats::new(HeartbeatPolicy { interval_ms: 100, missed_max: 3, on_failure })
    }

    #[test]
    fn silence_up_to_the_beats_that_may_be_missed_is_allowed() {
        for on_failure in OnHeartbeatFailure::ALL {
            assert_eq!(beats(*on_failure).look(300), Silence::Allowed);
        }
        assert_eq!(beats(OnHeartbeatFailure::Abort).look(301), Silence::Failed);
        assert_eq!(beats(OnHeartbeatFailure::Warn).look(301), Silence::Warned);
        assert_eq!(beats(OnHeartbeatFailure::Continue).look(301), Silence::Noted);
    }

    #[test]
    fn every_window_is_noted_once_and_a_sign_begins_anew() {
        let mut beats = beats(OnHeartbeatFailure::Warn);
        assert_eq!(beats.due_ms(1000), 1301);
        let seen: Vec<Silence> = [301, 400, 600, 601, 1500].map(|silent| beats.look(silent)).to_vec();
        let expected =
            [Silence::Warned, Silence::Allowed, Silence::Allowed, Silence::Warned, Silence::Warned];
        assert_eq!(seen, expected);
        beats.sign();
        assert_eq!((beats.look(300), beats.look(301)), (Silence::Allowed, Silence::Warned));
        assert_eq!(beats.missed(), Some(Silences { windows: 4, longest_ms: 1500 }));
    }
}
