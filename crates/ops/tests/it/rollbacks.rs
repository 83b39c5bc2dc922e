//! Rollbacks as the store sees them: the journal before the files, the locks of a writer, one end.

use contract::domain::attempt::{AttemptOutcome, AttemptState, NewAttempt};
use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::rollback::{Direction, FileAction, FileResult, FileStatus, Rollback, Stage};
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use ops::rollback::undo::{Request, undo};
use ops::run::journal::{self, JournalEntry, JournalWritten, Wants};
use ops::{lock, run, task};
use testkit::SeededIds;

use crate::world::{ALIVE, DEAD, World, caller, key, owner, submit};

/// A task that wrote `src` and ended; its id. Each name gives another one.
pub(crate) fn ended_task(world: &mut World, name: &str) -> String {
    let (run, task_id) = started_task(world, name);
    let attempt_id = task::get::attempts(&mut world.cx, &task_id).unwrap().last().unwrap().begun.id.clone();
    let entries = [
        JournalEntry::EndAttempt {
            task_id: task_id.clone(),
            attempt_id,
            state: AttemptState::Succeeded,
            outcome: Box::new(AttemptOutcome::default()),
            token: None,
        },
        JournalEntry::MoveTask { task_id: task_id.clone(), to: Status::Done, reason: None },
    ];
    journal::write(&mut world.cx, &caller("writ"), &run, &owner(7), &entries).unwrap();
    task_id.to_string()
}

fn started_task(
    world: &mut World,
    name: &str,
) -> (contract::domain::run::RunId, contract::domain::task::TaskId) {
    let mut request = submit(&[name]);
    request.plan.tasks[0].writes = vec![Scope::parse("src", None).unwrap()];
    let submitted = key("setup", &format!("writing {name} {}", world.round));
    let run = run::accept::submit(&mut world.cx, &submitted, &request).unwrap().answer.run_id;
    world.own(&run, 7);
    let task_id = world.task_of(&run, name).id;
    let seed = 500 + u64::from(world.round) + name.bytes().map(u64::from).sum::<u64>();
    let attempt = NewAttempt {
        id: mint(&mut SeededIds::new(seed), world.temp.now().at),
        task_id: task_id.clone(),
        run_id: run.clone(),
        number: 1,
        executor: "shell".to_owned(),
        model: None,
        alternative: None,
        agent_session: None,
        owner: owner(7),
    };
    let scopes = vec![Scope::parse("src", None).unwrap()];
    let entries = [
        JournalEntry::MoveTask { task_id: task_id.clone(), to: Status::InProgress, reason: None },
        JournalEntry::StartAttempt { attempt, dispatch: None, wants: Wants { scopes, fold: false } },
    ];
    let written = journal::write(&mut world.cx, &caller("writ"), &run, &owner(7), &entries).unwrap();
    assert!(matches!(written, JournalWritten::All { .. }), "{written:?}");
    (run, task_id)
}

fn request(task: &str, redo: bool) -> Request {
    Request { task: task.to_owned(), redo }
}

fn recorded(world: &mut World, task: &str) -> Option<Rollback> {
    let id = task::get::get(&mut world.cx, &crate::world::reader(), task).unwrap().id;
    task::get::attempts(&mut world.cx, &id).unwrap().last().unwrap().rollback.clone()
}

fn locks(world: &mut World) -> usize {
    lock::list::list(&mut world.cx, &lock::list::Request::default()).unwrap().locks.len()
}

#[test]
fn a_rollback_is_recorded_and_lets_go_of_its_locks() {
    let mut world = World::new();
    let task = ended_task(&mut world, "a");
    let answer = undo(&mut world.cx, &key("ann", "r1"), &request(&task, false)).unwrap().answer;
    assert_eq!((answer.counts.done, answer.code), (1, None));
    let rollback = recorded(&mut world, &task).unwrap();
    assert_eq!((rollback.direction, rollback.stage), (Direction::Undo, Stage::Ended));
    assert_eq!(locks(&mut world), 0);
    let refused = undo(&mut world.cx, &key("ann", "r2"), &request(&task, false)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::WrongState);
    undo(&mut world.cx, &key("ann", "r3"), &request(&task, true)).unwrap();
    assert_eq!(recorded(&mut world, &task).unwrap().direction, Direction::Redo);
}

#[test]
fn what_was_left_is_kept_with_the_attempt() {
    let mut world = World::new();
    let task = ended_task(&mut world, "a");
    world.host.paper.borrow_mut().rolled = vec![FileResult {
        path: "src/a".to_owned(),
        action: FileAction::Restore,
        status: FileStatus::Conflict,
        reason: Some("it changed since the task ended".to_owned()),
    }];
    let answer = undo(&mut world.cx, &key("ann", "r1"), &request(&task, false)).unwrap().answer;
    assert_eq!(answer.code.as_deref(), Some("E_ROLLBACK_FAILED"));
    assert_eq!(recorded(&mut world, &task).unwrap().left[0].path, "src/a");
    // What is left can be tried again.
    world.host.paper.borrow_mut().rolled.clear();
    undo(&mut world.cx, &key("ann", "r2"), &request(&task, false)).unwrap();
    assert_eq!(recorded(&mut world, &task).unwrap().left, []);
}

#[test]
fn a_rollback_of_many_long_names_ends() {
    let mut world = World::new();
    let task = ended_task(&mut world, "a");
    let file = |number: usize| FileResult {
        path: format!("src/{number}/{}", "n".repeat(4000)),
        action: FileAction::Restore,
        status: if number == 900 { FileStatus::Conflict } else { FileStatus::Done },
        reason: None,
    };
    world.host.paper.borrow_mut().rolled = (0..1200).map(file).collect();
    let answer = undo(&mut world.cx, &key("ann", "r1"), &request(&task, false)).unwrap().answer;
    assert_eq!((answer.counts.done, answer.counts.conflicts), (1199, 1));
    assert_eq!(answer.files[0].status, FileStatus::Conflict, "what was left is listed first");
    assert_eq!(answer.files.len() as u64 + answer.files_not_listed, 1200);
    assert_eq!(recorded(&mut world, &task).unwrap().stage, Stage::Ended);
}

#[test]
fn a_task_that_is_worked_on_or_whose_scope_is_written_is_not_rolled_back() {
    let mut world = World::new();
    let task = ended_task(&mut world, "a");
    let (_, other) = started_task(&mut world, "b");
    let refused = undo(&mut world.cx, &key("ann", "r1"), &request(&task, false)).unwrap_err();
    assert!(refused.message.contains("conflicts with the lock on `src`"), "{refused:?}");
    let refused = undo(&mut world.cx, &key("ann", "r2"), &request(other.as_str(), false)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::WrongState);
    assert_eq!(recorded(&mut world, &task), None, "a refusal writes nothing");
}

#[test]
fn a_rollback_that_was_killed_is_finished_by_the_next_call() {
    let mut world = World::new();
    let task = ended_task(&mut world, "a");
    world.host.stop_at.set(Some("a rollback"));
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        undo(&mut world.cx, &key("ann", "r1"), &request(&task, false)).map(drop)
    }));
    assert!(killed.is_err());
    let begun = recorded(&mut world, &task).unwrap();
    assert_eq!(begun.stage, Stage::Started);
    // Its process holds the locks until it is gone.
    world.host.processes.borrow_mut().insert(9, DEAD);
    world.host.process.set(8);
    world.host.liveness.set(ALIVE);
    let answer = undo(&mut world.cx, &key("bob", "r2"), &request(&task, false)).unwrap().answer;
    assert_eq!(answer.counts.done, 1);
    let ended = recorded(&mut world, &task).unwrap();
    assert_eq!((ended.stage, ended.by), (Stage::Ended, begun.by), "it is the same rollback");
    assert_eq!(locks(&mut world), 0);
}
