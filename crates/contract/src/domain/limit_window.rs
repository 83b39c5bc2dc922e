//! Limit windows: a model's provider refuses work until a reset time, and everything that uses it waits for that.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attempt::{AttemptId, AttemptState, Limited};
use super::limits;
use super::run::RunId;
use super::task::TaskId;
use super::time::{Now, Timestamp, typed_duration};
use crate::domain::executor::ExecutorName;
use crate::shape::words;

words! {
    /// Where a reset time comes from.
    ResetBasis {
        /// The provider named it.
        Provider = "provider",
        /// The provider named none. Each further refusal doubles the wait.
        Estimate = "estimate",
    }
}

/// A resource that its provider refuses for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitWindow {
    /// The executor, or `EXECUTOR/MODEL` where only that model is limited.
    pub resource: String,
    pub reset: Reset,
    pub basis: ResetBasis,
    /// In the provider's words.
    pub reason: String,
    pub seen: Sighting,
    /// How often in a row the resource was refused after a reset time had passed, with this time.
    pub times: u32,
    /// Who has begun since the reset time; `None` until the first one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resuming: Option<Resumption>,
}

/// A time to wait for. The wall clock may be set at any time, so that on the same boot the boot clock counts as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reset {
    pub at: Timestamp,
    pub boot_id: String,
    pub boot_millis: i64,
}

/// The attempt that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sighting {
    pub run_id: RunId,
    pub task_id: TaskId,
    pub attempt_id: AttemptId,
    pub at: Timestamp,
}

/// How work is taken up again after a reset time: one attempt first, then the others with a distance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumption {
    /// The attempt that goes alone.
    pub probe: AttemptId,
    /// When the others follow although the probe has not ended.
    pub quiet: Reset,
    /// How many have begun, with the probe.
    pub begun: u32,
    /// When the next one may begin, once the probe has not been refused.
    pub next: Reset,
}

/// Whether an attempt may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WindowAdmission {
    /// Not yet.
    Wait(WaitReason),
    /// It begins, and this is the window from then on.
    Start(Box<LimitWindow>),
    /// The window is over for everybody.
    Over,
}

/// What an attempt waits for, and how long at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    Reset(Duration),
    /// The first attempt after the reset.
    Probe(Duration),
    /// The attempts before it.
    Turn(Duration),
}

impl WaitReason {
    pub fn left(self) -> Duration {
        match self {
            WaitReason::Reset(left) | WaitReason::Probe(left) | WaitReason::Turn(left) => left,
        }
    }
}

impl Reset {
    pub fn after(now: &Now, wait: Duration) -> Self {
        let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self {
            at: now.at.plus(wait),
            boot_id: now.boot.boot_id.clone(),
            boot_millis: now.boot.millis.saturating_add(millis),
        }
    }

    /// The time until then, by whichever clock comes first: too early costs one refused call, too late costs hours.
    pub fn left(&self, now: &Now) -> Duration {
        let wall = self.at.since(now.at);
        if self.boot_id != now.boot.boot_id {
            return wall;
        }
        let boot = u64::try_from(self.boot_millis.saturating_sub(now.boot.millis)).unwrap_or(0);
        wall.min(Duration::from_millis(boot))
    }
}

/// What is limited when an attempt with this executor and model is refused in these words: the model alone if the words
/// name it, else everything of the executor. Tasks of `aop-stdio` have programs of their own, so that they share a model at
/// most.
pub fn resource(executor: &str, model: Option<&str>, said: &str) -> Option<String> {
    let of_model = model.map(|model| format!("{executor}/{model}"));
    if executor == ExecutorName::aop_stdio().as_str() {
        return of_model;
    }
    let said = said.to_lowercase();
    let is_named = model.is_some_and(|model| said.contains(&model.to_lowercase()));
    of_model.filter(|_| is_named).or_else(|| Some(executor.to_owned()))
}

/// The resources that an attempt with this executor and model uses. A command of a plan uses none.
pub fn resources(executor: &str, model: Option<&str>) -> Vec<String> {
    if executor == ExecutorName::shell().as_str() {
        return Vec::new();
    }
    let of_model = model.map(|model| format!("{executor}/{model}"));
    std::iter::once(executor.to_owned()).chain(of_model).collect()
}

/// The window after an attempt was refused that had begun at `began`. `None` if what is known stays.
pub fn opened(
    known: Option<&LimitWindow>,
    limited: &Limited,
    (seen, began): (Sighting, Timestamp),
    now: &Now,
) -> Option<LimitWindow> {
    let named = limited.until.filter(|until| *until > now.at);
    let open = known.filter(|known| known.is_shut(now));
    if let Some(open) = open {
        let is_asked_later = began >= open.seen.at;
        let replaces = match (named, open.basis) {
            (Some(_), ResetBasis::Estimate) => true,
            // Attempts that ran side by side may hear of a short and of a long limit; the long one holds.
            (Some(until), ResetBasis::Provider) => until > open.reset.at || is_asked_later,
            (None, ResetBasis::Estimate) => is_asked_later,
            (None, ResetBasis::Provider) => false,
        };
        if !replaces {
            return None;
        }
    }
    let times = match (known, open) {
        (Some(known), Some(_)) if began < known.seen.at => known.times,
        (Some(known), _) if known.is_recent(now) => known.times.saturating_add(1),
        _ => 1,
    };
    let wait = named.map_or_else(|| estimate(times), |until| until.since(now.at));
    Some(LimitWindow {
        resource: limited.resource.clone(),
        reset: Reset { at: named.unwrap_or_else(|| now.at.plus(wait)), ..Reset::after(now, wait) },
        basis: if named.is_some() { ResetBasis::Provider } else { ResetBasis::Estimate },
        reason: limited.reason.clone(),
        seen,
        times,
        resuming: None,
    })
}

/// How long a resource is left alone whose provider says nothing about it, at the `times`-th refusal.
pub fn estimate(times: u32) -> Duration {
    let doublings = times.saturating_sub(1);
    let wait = 1_u32.checked_shl(doublings).and_then(|factor| limits::LIMIT_ESTIMATE_MIN.checked_mul(factor));
    wait.map_or(limits::LIMIT_ESTIMATE_MAX, |wait| wait.min(limits::LIMIT_ESTIMATE_MAX))
}

/// The distance between the attempt at this position and the one before it. The probe has position 0. It differs with the
/// attempt that saw the window, so that several stores with one provider do not begin at the same moments.
pub fn spacing(window: &LimitWindow, position: u32) -> Duration {
    let bytes = window.seen.attempt_id.as_str().bytes().chain(position.to_le_bytes());
    // FNV-1a: the same on every machine and in every version.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let spread = u64::try_from(limits::LIMIT_SPREAD_MAX.as_millis()).unwrap_or(1).max(1);
    limits::LIMIT_SPACING + Duration::from_millis(hash % spread)
}

impl LimitWindow {
    /// The time until the reset; zero once it has passed.
    pub fn left(&self, now: &Now) -> Duration {
        let is_other_boot = self.reset.boot_id != now.boot.boot_id;
        // Seen in what is the future by now: the clock was set back, and how far is unknown.
        if is_other_boot && now.at < self.seen.at { Duration::ZERO } else { self.reset.left(now) }
    }

    pub fn is_shut(&self, now: &Now) -> bool {
        !self.left(now).is_zero()
    }

    /// Whether it is open or ended a short time ago, so that a further refusal belongs to the same trouble.
    pub fn is_recent(&self, now: &Now) -> bool {
        self.is_shut(now) || now.at.since(self.reset.at) < limits::LIMIT_WINDOW_KEPT
    }

    /// Whether this attempt may begin. `probe` is the state of the attempt that went first, if one did and is known.
    pub fn admission(&self, attempt: &AttemptId, probe: Option<AttemptState>, now: &Now) -> WindowAdmission {
        let left = self.left(now);
        if !left.is_zero() {
            return WindowAdmission::Wait(WaitReason::Reset(left));
        }
        if !self.is_recent(now) {
            return WindowAdmission::Over;
        }
        let Some(resuming) = &self.resuming else { return self.start(attempt, None, now) };
        match probe {
            Some(AttemptState::Started) if !resuming.quiet.left(now).is_zero() => {
                return WindowAdmission::Wait(WaitReason::Probe(resuming.quiet.left(now)));
            }
            // It showed nothing, so another one goes first.
            Some(AttemptState::Interrupted | AttemptState::Unknown) if resuming.begun == 1 => {
                return self.start(attempt, None, now);
            }
            Some(
                AttemptState::Started
                | AttemptState::Interrupted
                | AttemptState::Unknown
                | AttemptState::Succeeded
                | AttemptState::Failed,
            )
            | None => {}
        }
        if resuming.begun >= limits::LIMIT_RESUMING_MAX {
            return WindowAdmission::Over;
        }
        let left = resuming.next.left(now);
        if !left.is_zero() {
            return WindowAdmission::Wait(WaitReason::Turn(left));
        }
        self.start(attempt, Some(resuming), now)
    }

    fn start(&self, attempt: &AttemptId, after: Option<&Resumption>, now: &Now) -> WindowAdmission {
        let begun = after.map_or(0, |resuming| resuming.begun).saturating_add(1);
        let first = after.map(|resuming| (resuming.probe.clone(), resuming.quiet.clone()));
        let (probe, quiet) =
            first.unwrap_or_else(|| (attempt.clone(), Reset::after(now, limits::LIMIT_PROBE_QUIET)));
        let next = Reset::after(now, spacing(self, begun));
        let resuming = Some(Resumption { probe, quiet, begun, next });
        WindowAdmission::Start(Box::new(Self { resuming, ..self.clone() }))
    }

    /// What it is for people: `rate limit` or `usage limit`, and whether its end is an estimate.
    pub fn kind(&self) -> &'static str {
        let reason = self.reason.to_lowercase();
        let is_usage = ["usage limit", "quota", "weekly limit"].iter().any(|sign| reason.contains(sign));
        match (is_usage, self.basis) {
            (true, ResetBasis::Provider) => "usage limit",
            (true, ResetBasis::Estimate) => "usage limit, estimated",
            (false, ResetBasis::Provider) => "rate limit",
            (false, ResetBasis::Estimate) => "rate limit, estimated",
        }
    }

    /// What a task waits for: `claude until 14:05:00Z (rate limit)`.
    pub fn awaited(&self, waits: WaitReason, now: &Now) -> String {
        let (resource, kind) = (&self.resource, self.kind());
        match waits {
            WaitReason::Reset(_) => format!("{resource} until {} ({kind})", clock(self.reset.at, now.at)),
            WaitReason::Probe(_) => format!("{resource}: another task tries it first after its limit"),
            WaitReason::Turn(_) => format!("{resource}: its turn after the limit ended"),
        }
    }

    /// Why a task does not wait for it any longer.
    pub fn given_up(&self, longest: Duration) -> String {
        let (reason, resource, at) = (&self.reason, &self.resource, self.reset.at);
        let about = match self.basis {
            ResetBasis::Provider => "",
            ResetBasis::Estimate => "about ",
        };
        let longest = typed_duration(longest);
        format!("{reason}; {resource} is limited until {about}{at}, which exceeds --limit-wait ({longest})")
    }
}

/// How many tasks wait: `1 task waits`, `2 tasks wait`.
pub fn waiting(tasks: u64) -> String {
    match tasks {
        1 => "1 task waits".to_owned(),
        tasks => format!("{tasks} tasks wait"),
    }
}

/// A time for people: without the day if it is within a day.
fn clock(at: Timestamp, now: Timestamp) -> String {
    const DAY: Duration = Duration::from_hours(24);
    let text = at.to_string();
    // `2026-01-26T12:00:00.000Z`
    let whole = text.split_once('.').map(|(whole, _)| whole);
    match whole.and_then(|whole| whole.split_once('T')) {
        Some((_, time)) if at.since(now) < DAY => format!("{time}Z"),
        Some((day, time)) => format!("{day} {time}Z"),
        None => text,
    }
}

#[cfg(test)]
mod tests;
