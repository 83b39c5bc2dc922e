//! Limit windows: opened with the end of a refused attempt, waited for by the attempts of all runs, and cleared.

use std::time::Duration;

use contract::domain::attempt::{AttemptOutcome, AttemptState, Limited, NewAttempt};
use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::limit_window::{ResetBasis, WaitReason, spacing};
use contract::domain::limits;
use contract::domain::run::RunId;
use contract::domain::status::Status;
use contract::domain::task::Task;
use contract::domain::time::{Clock, Timestamp};
use ops::crew::Obstacle;
use ops::limit_window::{clear, conflict, list};
use ops::run::continue_run;
use ops::run::journal::{self, JournalEntry, JournalWritten, Wants};
use ops::run::retry;
use testkit::{Cli, SeededIds};

use crate::world::{World, caller, key, owner};

const SECOND: Duration = Duration::from_secs(1);

/// What a provider said.
fn limited(resource: &str, until: Timestamp) -> AttemptOutcome {
    let (resource, reason) = (resource.to_owned(), "rate limit: slow down".to_owned());
    AttemptOutcome {
        limited: Some(Limited { resource, until: Some(until), reason }),
        ..AttemptOutcome::default()
    }
}

/// Starts an attempt of a task with this executor.
fn start(world: &mut World, run: &RunId, task: &Task, executor: &str) -> JournalWritten {
    let attempts = ops::task::get::attempts(&mut world.cx, &task.id).unwrap().len();
    let seed = u64::try_from(attempts).unwrap() + 1000 * world.clock().now().boot.millis.unsigned_abs();
    let bits =
        task.id.as_str().bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let attempt = NewAttempt {
        id: mint(&mut SeededIds::new(bits), world.clock().now().at),
        task_id: task.id.clone(),
        run_id: run.clone(),
        number: i64::try_from(attempts).unwrap() + 1,
        executor: executor.to_owned(),
        model: None,
        alternative: None,
        agent_session: None,
        owner: owner(7),
    };
    let task_id = task.id.clone();
    let entries = [
        JournalEntry::MoveTask { task_id, to: Status::InProgress, reason: None },
        JournalEntry::StartAttempt { attempt, dispatch: None, wants: Wants::default() },
    ];
    journal::write(&mut world.cx, &caller("writ"), run, &owner(7), &entries).unwrap()
}

/// Ends the last attempt of a task, which can start again.
fn end(world: &mut World, run: &RunId, task: &Task, outcome: AttemptOutcome) {
    let attempts = ops::task::get::attempts(&mut world.cx, &task.id).unwrap();
    let state = if outcome.limited.is_some() { AttemptState::Failed } else { AttemptState::Succeeded };
    let to = |to| JournalEntry::MoveTask { task_id: task.id.clone(), to, reason: None };
    let entries = [
        JournalEntry::EndAttempt {
            task_id: task.id.clone(),
            attempt_id: attempts.last().unwrap().begun.id.clone(),
            state,
            outcome: Box::new(outcome),
            token: None,
        },
        to(Status::Blocked),
        to(Status::Todo),
    ];
    journal::write(&mut world.cx, &caller("writ"), run, &owner(7), &entries).unwrap();
}

/// A window of `claude` in the store, and the run and task that saw it.
fn window(world: &mut World, name: &str, wait: Duration) -> (RunId, Task) {
    window_of(world, name, "claude", wait)
}

/// The same of another resource.
pub(crate) fn window_of(world: &mut World, name: &str, resource: &str, wait: Duration) -> (RunId, Task) {
    let run = world.run(&[name]);
    world.own(&run, 7);
    let task = world.task_of(&run, name);
    assert!(matches!(start(world, &run, &task, resource), JournalWritten::All { .. }));
    let until = world.clock().now().at.plus(wait);
    end(world, &run, &task, limited(resource, until));
    (run, task)
}

fn open(world: &mut World) -> Vec<list::Limit> {
    list::list(&mut world.cx, &list::Request::default()).unwrap().limits
}

fn waits(written: &JournalWritten) -> WaitReason {
    match written {
        JournalWritten::Hindered(Obstacle::Limit(conflict)) => conflict.waits,
        other => panic!("expected a limit: {other:?}"),
    }
}

/// How long the attempt at this position waits for its turn.
#[track_caller]
fn distance(written: &JournalWritten, position: u32) -> Duration {
    let JournalWritten::Hindered(Obstacle::Limit(conflict)) = written else {
        panic!("expected a limit: {written:?}")
    };
    let distance = spacing(&conflict.window, position);
    assert_eq!(conflict.waits, WaitReason::Turn(distance));
    distance
}

fn wait_for_claude(world: &mut World, run: &RunId, task: &Task) {
    let entry = JournalEntry::WaitForLimit { task_id: task.id.clone(), resource: "claude".to_owned() };
    journal::write(&mut world.cx, &caller("writ"), run, &owner(7), &[entry]).unwrap();
}

fn is_sound(world: &mut World) {
    assert_eq!(ops::audit::replay_differences(&mut world.cx).unwrap(), Vec::<String>::new());
    assert!(ops::audit::verify(&mut world.cx, None).unwrap().is_clean());
}

#[test]
fn a_refused_attempt_opens_a_window_that_attempts_of_every_run_wait_for() {
    let mut world = World::new();
    let (run, task) = window(&mut world, "a", 60 * SECOND);
    let open = open(&mut world);
    assert_eq!(open.len(), 1);
    let limit = &open[0];
    assert_eq!(
        (limit.resource.as_str(), limit.basis, limit.seconds_left),
        ("claude", ResetBasis::Provider, 60)
    );
    assert_eq!((&limit.run_id, &limit.task_id, limit.waiting), (&run, &task.id, 0));
    let other = world.run(&["b", "c"]);
    world.own(&other, 7);
    let (b, c) = (world.task_of(&other, "b"), world.task_of(&other, "c"));
    let before = world.state();
    assert_eq!(waits(&start(&mut world, &other, &b, "claude")), WaitReason::Reset(60 * SECOND));
    assert_eq!(world.state(), before, "what cannot begin leaves nothing behind");
    assert!(matches!(start(&mut world, &other, &c, "codex"), JournalWritten::All { .. }), "others go on");
    // It is written down once, however often it is said.
    wait_for_claude(&mut world, &other, &b);
    let waiting = world.state();
    wait_for_claude(&mut world, &other, &b);
    assert_eq!(world.state(), waiting);
    assert_eq!(self::open(&mut world)[0].waiting, 1);
    let found = conflict(&mut world.cx, &b.id, ("claude", None)).unwrap().unwrap();
    assert_eq!((found.waits, found.since), (WaitReason::Reset(60 * SECOND), Some(world.clock().now().at)));
    assert!(
        found.exceeds(59 * SECOND, &world.clock().now()) && !found.exceeds(60 * SECOND, &world.clock().now())
    );
    world.clock().advance(60 * SECOND);
    assert!(matches!(start(&mut world, &other, &b, "claude"), JournalWritten::All { .. }));
    assert_eq!(self::open(&mut world), [], "it is over, and nobody waits");
    is_sound(&mut world);
}

#[test]
fn after_the_reset_a_probe_goes_alone_and_its_end_lets_the_others_follow() {
    let mut world = World::new();
    let (run, task) = window(&mut world, "a", SECOND);
    let other = world.run(&["b", "c"]);
    world.own(&other, 7);
    let (b, c) = (world.task_of(&other, "b"), world.task_of(&other, "c"));
    world.clock().advance(SECOND);
    assert!(matches!(start(&mut world, &run, &task, "claude"), JournalWritten::All { .. }));
    assert_eq!(waits(&start(&mut world, &other, &b, "claude")), WaitReason::Probe(limits::LIMIT_PROBE_QUIET));
    // It is refused again: the others wait until the new time.
    let until = world.clock().now().at.plus(5 * SECOND);
    end(&mut world, &run, &task, limited("claude", until));
    assert_eq!(open(&mut world)[0].times, 2);
    assert_eq!(waits(&start(&mut world, &other, &b, "claude")), WaitReason::Reset(5 * SECOND));
    world.clock().advance(5 * SECOND);
    assert!(matches!(start(&mut world, &run, &task, "claude"), JournalWritten::All { .. }));
    end(&mut world, &run, &task, AttemptOutcome::default());
    let distance = distance(&start(&mut world, &other, &b, "claude"), 1);
    world.clock().advance(distance);
    assert!(matches!(start(&mut world, &other, &b, "claude"), JournalWritten::All { .. }));
    self::distance(&start(&mut world, &other, &c, "claude"), 2);
    is_sound(&mut world);
}

#[test]
fn a_window_survives_a_restart_and_a_clock_that_is_set_back_does_not_prolong_it() {
    let mut world = World::new();
    let (run, task) = window(&mut world, "a", 3600 * SECOND);
    let clock = world.clock();
    world.cx = world.elsewhere()();
    clock.advance(3000 * SECOND);
    clock.jump_wall(-86_400_000);
    assert_eq!(waits(&start(&mut world, &run, &task, "claude")), WaitReason::Reset(600 * SECOND));
    clock.advance(600 * SECOND);
    assert!(matches!(start(&mut world, &run, &task, "claude"), JournalWritten::All { .. }));
}

#[test]
fn who_cleared_a_window_is_in_the_log_and_tasks_that_wait_go_on() {
    let mut world = World::new();
    let (run, task) = window(&mut world, "a", 3600 * SECOND);
    wait_for_claude(&mut world, &run, &task);
    let request = clear::Request { resource: "claude".to_owned() };
    let cleared = clear::clear(&mut world.cx, &key("human.ann", "clear"), &request).unwrap();
    assert_eq!((cleared.answer.resource.as_str(), cleared.answer.waiting), ("claude", 1));
    assert_eq!(open(&mut world), []);
    assert!(matches!(start(&mut world, &run, &task, "claude"), JournalWritten::All { .. }));
    let events = ops::event::list::Request { limit: Some(1000), ..ops::event::list::Request::default() };
    let events = ops::event::list::events(&mut world.cx, &events).unwrap();
    let ended: Vec<_> = events.iter().filter(|event| event.record.kind == "limit_window_ended").collect();
    assert_eq!(ended.len(), 1);
    assert!(ended[0].record.payload["by"].as_str().unwrap().contains("human.ann"), "{:?}", ended[0].record);
    let again = clear::clear(&mut world.cx, &key("human.ann", "again"), &request).unwrap_err();
    assert_eq!(again.code, ErrorCode::NotFound);
    is_sound(&mut world);
}

#[test]
fn windows_are_forgotten_long_after_their_end() {
    let mut world = World::new();
    let (run, task) = window(&mut world, "a", SECOND);
    world.clock().advance(limits::LIMIT_WINDOW_KEPT + 2 * SECOND);
    assert!(matches!(start(&mut world, &run, &task, "claude"), JournalWritten::All { .. }));
    let (mut rows, _) = world.state();
    rows.retain(|row| row.starts_with("limit_windows"));
    assert_eq!(rows, Vec::<String>::new());
    is_sound(&mut world);
}

#[test]
fn a_store_remembers_so_many_windows_and_forgets_the_one_that_ends_first() {
    let mut world = World::new();
    for number in 0..=limits::LIMIT_WINDOWS_MAX {
        let wait = Duration::from_secs(3600 - u64::try_from(number).unwrap());
        window_of(&mut world, &format!("t{number}"), &format!("x{number}"), wait);
    }
    let open = open(&mut world);
    let has = |number: usize| open.iter().any(|limit| limit.resource == format!("x{number}"));
    assert_eq!(open.len(), limits::LIMIT_WINDOWS_MAX);
    // The last one ends first of all, and was not there when there was no room.
    assert_eq!(
        (has(limits::LIMIT_WINDOWS_MAX), has(limits::LIMIT_WINDOWS_MAX - 1), has(0)),
        (true, false, true)
    );
    is_sound(&mut world);
}

#[test]
fn a_task_that_ends_while_it_waits_begins_to_wait_anew_when_it_is_retried() {
    for end in [Status::Canceled, Status::Blocked] {
        let mut world = World::new();
        let (run, task) = window(&mut world, "a", 3600 * SECOND);
        wait_for_claude(&mut world, &run, &task);
        world.clock().advance(600 * SECOND);
        let moved = JournalEntry::MoveTask { task_id: task.id.clone(), to: end, reason: None };
        journal::write(&mut world.cx, &caller("writ"), &run, &owner(7), &[moved]).unwrap();
        let request = retry::Request { task_id: Some(task.id.to_string()), run: None };
        retry::retry(&mut world.cx, &key("human.ann", "retry"), &request).unwrap();
        let found = conflict(&mut world.cx, &task.id, ("claude", None)).unwrap().unwrap();
        assert_eq!((found.waits, found.since), (WaitReason::Reset(3000 * SECOND), None), "{end}");
        assert_eq!(open(&mut world)[0].waiting, 0, "{end}");
        is_sound(&mut world);
    }
}

#[test]
fn an_interrupted_run_says_so_even_if_it_cannot_be_read_what_its_tasks_wait_for() {
    let mut world = World::new();
    let (run, task) = window(&mut world, "a", 3600 * SECOND);
    wait_for_claude(&mut world, &run, &task);
    world.host.paper.borrow_mut().signal = Some(2);
    let request = continue_run::Request { run: run.to_string(), ..continue_run::Request::default() };
    let interrupted = |world: &mut World| {
        let error =
            continue_run::continue_run(&mut world.cx, &crate::world::key("ann", "repeatable"), &request)
                .unwrap_err();
        (error.code, error.hint.unwrap())
    };
    let hint = format!("continue with `writ run --continue {run}`");
    let waits = "; 1 task waits for claude until ";
    let (code, told) = interrupted(&mut world);
    assert_eq!(code, ErrorCode::Interrupted);
    assert!(told.starts_with(&format!("{hint}{waits}")), "{told}");
    let damage = "UPDATE limit_windows SET limit_window = 'damaged'";
    Cli::new("sqlite3").run([world.temp.path().to_str().unwrap(), damage]).success();
    assert_eq!(interrupted(&mut world), (ErrorCode::Interrupted, hint));
}
