use std::time::Duration;

use super::*;
use crate::domain::id::Id;
use crate::domain::time::BootTime;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// A clock whose two times can move apart.
#[derive(Clone)]
struct Clock(Now);

impl Clock {
    fn new() -> Self {
        let boot = BootTime { boot_id: "one".to_owned(), millis: 1_000_000 };
        Self(Now { at: Timestamp::from_millis(1_763_380_800_000), boot })
    }

    fn after(&self, length: Duration) -> Now {
        let mut now = self.0.clone();
        now.at = now.at.plus(length);
        now.boot.millis += i64::try_from(length.as_millis()).unwrap();
        now
    }
}

fn seen(number: u128, now: &Now) -> Sighting {
    Sighting {
        run_id: Id::from_bits(number),
        task_id: Id::from_bits(number),
        attempt_id: Id::from_bits(number),
        at: now.at,
    }
}

fn limited(until: Option<Timestamp>) -> Limited {
    Limited { resource: "claude".to_owned(), until, reason: "rate limit: slow down".to_owned() }
}

/// The window after an attempt that began with the clock was refused.
fn window(until: Option<Timestamp>, now: &Now) -> LimitWindow {
    opened(None, &limited(until), (seen(1, now), now.at), now).unwrap()
}

fn attempt(number: u128) -> AttemptId {
    Id::from_bits(number)
}

fn started(admission: WindowAdmission) -> LimitWindow {
    match admission {
        WindowAdmission::Start(window) => *window,
        WindowAdmission::Wait(_) | WindowAdmission::Over => panic!("{admission:?}"),
    }
}

#[test]
fn the_time_that_the_provider_names_is_waited_for() {
    let clock = Clock::new();
    let window = window(Some(clock.0.at.plus(MINUTE)), &clock.0);
    assert_eq!((window.basis, window.times), (ResetBasis::Provider, 1));
    let waits = |now: &Now| window.admission(&attempt(2), None, now);
    assert_eq!(waits(&clock.0), WindowAdmission::Wait(WaitReason::Reset(MINUTE)));
    assert_eq!(
        waits(&clock.after(MINUTE.saturating_sub(SECOND))),
        WindowAdmission::Wait(WaitReason::Reset(SECOND))
    );
    assert!(matches!(waits(&clock.after(MINUTE)), WindowAdmission::Start(_)));
}

#[test]
fn without_such_a_time_each_refusal_doubles_an_estimate_up_to_a_limit() {
    let clock = Clock::new();
    let mut known = window(None, &clock.0);
    assert_eq!((known.basis, known.left(&clock.0)), (ResetBasis::Estimate, limits::LIMIT_ESTIMATE_MIN));
    let mut now = clock.0;
    let mut waits = vec![known.left(&now)];
    for _ in 0..40 {
        now.at = known.reset.at;
        now.boot.millis = known.reset.boot_millis;
        known = opened(Some(&known), &limited(None), (seen(2, &now), now.at), &now).unwrap();
        waits.push(known.left(&now));
    }
    assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]), "{waits:?}");
    assert_eq!((waits[1], waits[40]), (limits::LIMIT_ESTIMATE_MIN * 2, limits::LIMIT_ESTIMATE_MAX));
    // A time that has passed already is none.
    assert_eq!(window(Some(now.at), &now).basis, ResetBasis::Estimate);
}

#[test]
fn a_longer_time_replaces_a_shorter_one_and_a_shorter_one_only_if_it_is_newer() {
    let clock = Clock::new();
    let known = window(Some(clock.0.at.plus(HOUR)), &clock.0);
    let later = clock.after(MINUTE);
    let again = |until: Option<Duration>, began: Timestamp| {
        let limited = limited(until.map(|until| later.at.plus(until)));
        let window = opened(Some(&known), &limited, (seen(2, &later), began), &later)?;
        Some((window.left(&later), window.basis, window.times))
    };
    let (before, after) = (known.seen.at.minus(SECOND), later.at);
    assert_eq!(again(Some(2 * HOUR), before), Some((2 * HOUR, ResetBasis::Provider, 1)));
    assert_eq!(again(Some(MINUTE), before), None);
    assert_eq!(again(None, before), None);
    assert_eq!(again(Some(MINUTE), after), Some((MINUTE, ResetBasis::Provider, 2)));
    assert_eq!(again(None, after), None, "an estimate does not replace what the provider says");
    // What the provider says replaces an estimate in any case.
    let guessed = window(None, &clock.0);
    let told = limited(Some(later.at.plus(SECOND)));
    let told = opened(Some(&guessed), &told, (seen(2, &later), before), &later).unwrap();
    assert_eq!((told.basis, told.left(&later)), (ResetBasis::Provider, SECOND));
}

#[test]
fn the_first_attempt_goes_alone_and_the_others_follow_at_a_distance() {
    let clock = Clock::new();
    let shut = window(Some(clock.0.at.plus(SECOND)), &clock.0);
    let reset = clock.after(SECOND);
    let probing = started(shut.admission(&attempt(1), None, &reset));
    assert_eq!(probing.resuming.as_ref().unwrap().probe, attempt(1));
    let other = |window: &LimitWindow, probe, now: &Now| window.admission(&attempt(2), Some(probe), now);
    let soon = clock.after(2 * SECOND);
    let left = limits::LIMIT_PROBE_QUIET.saturating_sub(SECOND);
    assert_eq!(other(&probing, AttemptState::Started, &soon), WindowAdmission::Wait(WaitReason::Probe(left)));
    // It ended well, or ran for long enough.
    let distance = spacing(&shut, 1);
    assert_eq!(
        other(&probing, AttemptState::Succeeded, &reset),
        WindowAdmission::Wait(WaitReason::Turn(distance)),
        "not at the same moment"
    );
    let turn = clock.after(SECOND + distance);
    assert!(matches!(other(&probing, AttemptState::Succeeded, &turn), WindowAdmission::Start(_)));
    assert!(matches!(other(&probing, AttemptState::Failed, &turn), WindowAdmission::Start(_)));
    let quiet = clock.after(SECOND + limits::LIMIT_PROBE_QUIET);
    let mut window = started(other(&probing, AttemptState::Started, &quiet));
    assert_eq!(window.resuming.as_ref().unwrap().probe, attempt(1), "the probe stays the same");
    // What was interrupted has shown nothing: the next one is a probe again.
    let again = started(other(&probing, AttemptState::Interrupted, &soon));
    assert_eq!(again.resuming.unwrap().probe, attempt(2));
    // After so many of them the window is over.
    let mut now = quiet;
    for begun in 3..=limits::LIMIT_RESUMING_MAX {
        now.at = window.resuming.as_ref().unwrap().next.at;
        window = started(other(&window, AttemptState::Succeeded, &now));
        assert_eq!(window.resuming.as_ref().unwrap().begun, begun);
    }
    assert_eq!(other(&window, AttemptState::Succeeded, &now), WindowAdmission::Over);
}

#[test]
fn a_probe_that_is_refused_extends_the_window() {
    let clock = Clock::new();
    let shut = window(Some(clock.0.at.plus(SECOND)), &clock.0);
    let reset = clock.after(SECOND);
    let probing = started(shut.admission(&attempt(1), None, &reset));
    let refused = opened(Some(&probing), &limited(None), (seen(1, &reset), reset.at), &reset).unwrap();
    assert_eq!((refused.times, refused.left(&reset), refused.resuming), (2, estimate(2), None));
}

#[test]
fn distances_are_spread_and_always_the_same() {
    let now = Clock::new().0;
    let (one, mut other) = (window(None, &now), window(None, &now));
    other.seen.attempt_id = attempt(9);
    let of = |window: &LimitWindow| (1..10).map(|position| spacing(window, position)).collect::<Vec<_>>();
    let allowed = limits::LIMIT_SPACING..limits::LIMIT_SPACING + limits::LIMIT_SPREAD_MAX;
    assert!(of(&one).iter().chain(&of(&other)).all(|distance| allowed.contains(distance)), "{:?}", of(&one));
    assert!(of(&one).windows(2).any(|pair| pair[0] != pair[1]), "{:?}", of(&one));
    assert_eq!(of(&one), of(&one.clone()));
    assert_ne!(of(&one), of(&other));
}

#[test]
fn a_clock_that_jumps_never_makes_a_task_wait_longer() {
    let clock = Clock::new();
    let window = window(Some(clock.0.at.plus(HOUR)), &clock.0);
    // Set back by a day: the boot clock still counts.
    let mut back = clock.after(HOUR.saturating_sub(MINUTE));
    back.at = clock.0.at.minus(24 * HOUR);
    assert_eq!(window.left(&back), MINUTE);
    // Set forward: a probe goes at once.
    let mut forward = clock.0.clone();
    forward.at = forward.at.plus(24 * HOUR);
    assert_eq!(window.left(&forward), Duration::ZERO);
    // After a restart of the machine only the wall clock is left.
    let mut restarted = clock.after(MINUTE);
    restarted.boot = BootTime { boot_id: "two".to_owned(), millis: 5 };
    assert_eq!(window.left(&restarted), HOUR.saturating_sub(MINUTE));
    restarted.at = clock.0.at.minus(SECOND);
    assert_eq!(window.left(&restarted), Duration::ZERO, "seen in the future: nobody knows how long it is");
}

#[test]
fn only_the_model_is_limited_where_the_words_name_it() {
    let of = |model: Option<&str>, said: &str| resource("claude", model, said).unwrap();
    assert_eq!(of(Some("opus"), "rate limit: Opus weekly limit reached"), "claude/opus");
    assert_eq!(of(Some("opus"), "rate limit: slow down"), "claude");
    assert_eq!(of(None, "rate limit: opus"), "claude");
    // Its tasks have programs of their own.
    assert_eq!(resource("aop-stdio", Some("opus"), "slow down").as_deref(), Some("aop-stdio/opus"));
    assert_eq!(resource("aop-stdio", None, "slow down"), None);
    assert_eq!(resources("claude", Some("opus")), ["claude", "claude/opus"]);
    assert_eq!(resources("claude", None), ["claude"]);
    assert_eq!(resources("shell", Some("opus")), Vec::<String>::new());
}

#[test]
fn people_read_what_is_waited_for() {
    let clock = Clock::new();
    let mut window = window(Some(clock.0.at.plus(5 * MINUTE)), &clock.0);
    let awaited = |window: &LimitWindow| window.awaited(WaitReason::Reset(MINUTE), &clock.0);
    assert_eq!(awaited(&window), "claude until 12:05:00Z (rate limit)");
    window.reset.at = window.reset.at.plus(48 * HOUR);
    window.reason = "rate limit: usage limit reached".to_owned();
    assert_eq!(awaited(&window), "claude until 2025-11-19 12:05:00Z (usage limit)");
    window.basis = ResetBasis::Estimate;
    assert_eq!(awaited(&window), "claude until 2025-11-19 12:05:00Z (usage limit, estimated)");
    assert_eq!(
        window.given_up(HOUR),
        "rate limit: usage limit reached; claude is limited until about 2025-11-19T12:05:00.000Z, which exceeds \
         --limit-wait (1h)"
    );
}
