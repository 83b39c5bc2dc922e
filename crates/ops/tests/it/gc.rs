//! Retention: what is old goes, what is needed stays, and the log stays true.

use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::retention::Retention;
use ops::gc::all;
use ops::gc::{Answer, Request, RetainedStream, gc, maintain};
use ops::{audit, event, task};

use crate::world::{World, create, key};

const DAY: Duration = Duration::from_hours(24);

fn settings() -> Retention {
    Retention { events_prune_batch: 100, ..Retention::default() }
}

/// A project's task from its beginning to its end: four events.
fn finish(world: &mut World, title: &str) -> String {
    let request = task::create::Request { project_id: Some("p".to_owned()), ..create(title) };
    let id = task::create::create(&mut world.cx, &key("ann", &format!("make {title}")), &request).unwrap();
    let id = id.answer.task.id;
    world.close(&id);
    id
}

fn run(world: &mut World, name: &str, retention: Retention) -> Answer {
    let request = Request { retention, after: None };
    gc(&mut world.cx, &key("ann", name), &request).unwrap().answer
}

fn listed(world: &mut World, include_archived: bool) -> Vec<String> {
    let request = event::list::Request {
        include_archived,
        ascending: true,
        limit: Some(1000),
        ..event::list::Request::default()
    };
    event::list::events(&mut world.cx, &request).unwrap().into_iter().map(|event| event.record.kind).collect()
}

#[track_caller]
fn is_sound(world: &mut World) {
    let found = audit::verify(&mut world.cx, None).unwrap();
    assert!(found.is_clean(), "{found:?}");
}

#[test]
fn a_young_log_is_left_alone() {
    let mut world = World::new();
    finish(&mut world, "a");
    let before = world.state().0;
    let done = run(&mut world, "gc", settings());
    assert_eq!(done, Answer { streams: 1, ..Answer::default() });
    assert_eq!(world.state().0, before);
}

#[test]
fn what_is_old_and_finished_is_removed_and_leaves_a_note_that_verification_starts_from() {
    let mut world = World::new();
    finish(&mut world, "a");
    let tip = audit::tip(&mut world.cx).unwrap();
    world.clock().advance(31 * DAY);
    finish(&mut world, "b");
    let rows = world.state().0;
    let done = run(&mut world, "gc", settings());
    assert_eq!((done.pruned, done.held.len(), done.next), (3, 0, None));
    assert_eq!(listed(&mut world, true), ["task_created", "task_status", "task_closed", "events_pruned"]);
    assert_eq!(world.state().0, rows, "no table changes");
    is_sound(&mut world);
    assert!(audit::verify(&mut world.cx, Some(&tip)).unwrap().is_clean(), "an old tip stays true");
    assert_eq!(audit::pruned(&mut world.cx).unwrap(), 3);
    // The note is not removed for its own sake, however old it is.
    world.clock().advance(90 * DAY);
    let waiting = run(&mut world, "unconfirmed", settings());
    assert_eq!((waiting.pruned, waiting.waiting > 4), (0, true), "no earlier event says that it is so late");
    assert_eq!(run(&mut world, "again", settings()).pruned, 4, "b's events, and the note between them");
    assert_eq!(listed(&mut world, true), ["gc_waiting", "events_pruned"]);
    world.clock().advance(90 * DAY);
    assert_eq!(run(&mut world, "and again", settings()).pruned, 0);
    is_sound(&mut world);
}

#[test]
fn an_open_task_holds_its_stream_and_is_named() {
    let mut world = World::new();
    finish(&mut world, "a");
    let request = task::create::Request { project_id: Some("p".to_owned()), ..create("open") };
    let open = task::create::create(&mut world.cx, &key("ann", "open"), &request).unwrap().answer.task.id;
    finish(&mut world, "c");
    world.clock().advance(31 * DAY);
    world.confirm_time();
    let done = run(&mut world, "gc", settings());
    assert_eq!(done.pruned, 3);
    assert_eq!(done.held, [RetainedStream { stream: "project:p".to_owned(), by: open.clone() }]);
    let done = run(&mut world, "again", settings());
    assert_eq!((done.pruned, done.held.len()), (0, 1));
    world.close(&open);
    let done = run(&mut world, "closed", settings());
    assert_eq!((done.pruned, done.held.len()), (4, 0), "all but what happened today");
    is_sound(&mut world);
}

#[test]
fn a_run_that_has_not_ended_keeps_everything() {
    let mut world = World::new();
    let run_id = world.run(&["a"]);
    world.clock().advance(400 * DAY);
    world.confirm_time();
    let before = listed(&mut world, true);
    let done = run(&mut world, "gc", settings());
    let by = "a run that has not ended".to_owned();
    assert_eq!((done.pruned, done.held), (0, vec![RetainedStream { stream: format!("run:{run_id}"), by }]));
    assert_eq!(listed(&mut world, true), before);
}

#[test]
fn the_work_is_done_in_pieces_and_each_piece_once() {
    let mut world = World::new();
    for number in 0..10 {
        finish(&mut world, &number.to_string());
    }
    world.clock().advance(31 * DAY);
    world.confirm_time();
    let retention = Retention { events_prune_batch: 7, ..Retention::default() };
    let mut total = Answer::default();
    let mut request = Request { retention, after: None };
    for piece in 1.. {
        let name = format!("piece {piece}");
        let first = gc(&mut world.cx, &key("ann", &name), &request).unwrap();
        assert!(first.answer.pruned <= 7);
        let again = gc(&mut world.cx, &key("ann", &name), &request).unwrap();
        assert_eq!((again.replayed, &again.answer), (true, &first.answer));
        request.after = first.answer.next.clone();
        total.add(first.answer);
        is_sound(&mut world);
        if request.after.is_none() {
            break;
        }
    }
    // Thirty events, and the notes that stood between them.
    assert!(total.pruned >= 30, "{total:?}");
    assert_eq!(listed(&mut world, true).iter().filter(|kind| *kind == "task_closed").count(), 0);
}

#[test]
fn a_long_stream_is_archived_and_lists_show_the_summary_instead() {
    let mut world = World::new();
    for number in 0..70 {
        finish(&mut world, &number.to_string());
    }
    let all = listed(&mut world, true);
    assert_eq!((all.len(), listed(&mut world, false).len()), (210, 210));
    let done = run(&mut world, "gc", settings());
    assert_eq!((done.archived, done.summaries, done.pruned), (160, 1, 0));
    let shown = listed(&mut world, false);
    assert_eq!((shown.len(), shown.last().unwrap().as_str()), (51, "events_summary"));
    assert_eq!(listed(&mut world, true).len(), 211);
    assert_eq!(run(&mut world, "again", settings()).summaries, 0);
    is_sound(&mut world);
    assert_eq!(audit::replay_differences(&mut world.cx).unwrap(), Vec::<String>::new());
}

#[test]
fn a_retention_out_of_bounds_is_refused() {
    let mut world = World::new();
    let usual = Retention::default();
    for retention in [
        Retention { events_retention_days: 0, ..usual },
        Retention { events_retention_days: 3651, ..usual },
        Retention { events_prune_batch: 0, ..usual },
        Retention { events_prune_batch: 10_001, ..usual },
        Retention { events_summarize_threshold: 19, ..usual },
    ] {
        let request = Request { retention, after: None };
        let refused = gc(&mut world.cx, &key("ann", "gc"), &request).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidInput, "{refused}");
    }
}

#[test]
fn a_preview_says_what_would_happen_and_writes_nothing() {
    let mut world = World::new();
    finish(&mut world, "a");
    world.clock().advance(31 * DAY);
    world.confirm_time();
    let request = Request { retention: settings(), after: None };
    let before = world.state();
    let would = all::preview(&mut world.cx, &all::Request { retention: request.retention }).unwrap().done;
    assert_eq!(world.state(), before);
    assert_eq!(run(&mut world, "gc", settings()), would);
    assert_eq!(would.pruned, 3);
}

#[test]
fn maintenance_of_one_project_leaves_the_others_alone() {
    let mut world = World::new();
    finish(&mut world, "a");
    let outside = world.task("outside");
    world.close(&outside);
    world.clock().advance(31 * DAY);
    world.confirm_time();
    let project = Some("p");
    let done = maintain(&mut world.cx, &key("ann", "m"), project, &settings()).unwrap().answer;
    assert_eq!((done.pruned, done.streams), (3, 1));
    let again = maintain(&mut world.cx, &key("ann", "m"), project, &settings()).unwrap();
    assert!(again.replayed);
    let unknown = maintain(&mut world.cx, &key("ann", "n"), Some("unknown"), &settings()).unwrap().answer;
    assert_eq!((unknown.pruned, unknown.streams), (0, 0));
    assert_eq!(maintain(&mut world.cx, &key("ann", "o"), None, &settings()).unwrap().answer.pruned, 3);
    is_sound(&mut world);
}
