//! Runs that tasks of other runs started: they end with what started them, and only once.

use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::plan::policy::OnFailure;
use contract::domain::run::{Run, RunId, RunState};
use contract::domain::status::Status;
use ops::aop_session::abort::end_others;
use ops::run::accept::{Submission, submit as accept};
use ops::run::journal::{self, JournalEntry};
use ops::run::{cancel as end, show};
use serde_json::json;

use crate::world::{ALIVE, DEAD, World, caller, cancel, key, owner, submit};

impl World {
    #[track_caller]
    fn accepted(&mut self, request: &str, submission: &Submission) -> RunId {
        accept(&mut self.cx, &key("a", request), submission).unwrap().answer.run_id
    }

    /// A run that the first task of another one started. Its correlation is its own.
    fn child(&mut self, request: &str, parent: &RunId, session: Option<&str>) -> RunId {
        let parent_task = Some(self.task_of(parent, "a").id);
        let mut submission = Submission { parent_run: Some(parent.clone()), parent_task, ..submit(&["a"]) };
        submission.aop.session_id = session.map(str::to_owned);
        self.accepted(request, &submission)
    }

    fn state_of(&mut self, run: &RunId) -> Run {
        show::state(&mut self.cx, run).unwrap()
    }

    /// How often somebody asked to cancel the run.
    fn requests(&mut self, run: &RunId) -> usize {
        let trace = ops::run::trace::events(&mut self.cx, &crate::world::reader(), run.as_str()).unwrap();
        trace.events.iter().filter(|event| event.record.kind == "run_cancel_requested").count()
    }
}

#[test]
fn a_canceled_run_takes_its_children_with_it_and_asks_each_only_once() {
    let mut world = World::new();
    let parent = world.run(&["a"]);
    let child = world.child("child", &parent, None);
    let grandchild = world.child("grandchild", &child, None);
    world.own(&child, 7);
    world.host.liveness.set(ALIVE);
    end::cancel(&mut world.cx, &key("a", "first"), &cancel(child.as_str())).unwrap();
    assert_eq!((world.requests(&child), world.state_of(&grandchild).state), (1, RunState::Canceled));
    // Its engine has not stopped yet, and a task of it started one more.
    let late = world.child("late", &child, None);
    end::cancel(&mut world.cx, &key("a", "second"), &cancel(parent.as_str())).unwrap();
    assert_eq!(world.state_of(&parent).state, RunState::Canceled);
    assert_eq!((world.requests(&child), world.state_of(&child).state), (1, RunState::Running));
    assert_eq!(world.state_of(&late).state, RunState::Canceled);
}

#[test]
fn a_child_that_aborts_the_session_of_its_parent_is_not_canceled_itself() {
    let mut world = World::new();
    world.host.liveness.set(DEAD);
    let mut submission = submit(&["a"]);
    submission.aop.session_id = Some("S-1".to_owned());
    let parent = world.accepted("parent", &submission);
    let child = world.child("child", &parent, Some("S-1"));
    let sibling = world.child("sibling", &parent, None);
    let (failing, at) = (world.state_of(&child), world.temp.now().at);
    let ended = end_others(&mut world.cx, &caller("writ"), &failing, (at, "it failed".into())).unwrap();
    assert_eq!(ended, std::slice::from_ref(&parent));
    assert_eq!(world.state_of(&parent).state, RunState::Canceled);
    assert_eq!(world.state_of(&sibling).state, RunState::Canceled);
    let child = world.state_of(&child);
    assert_eq!((child.state, child.cancel_requested), (RunState::Submitted, false));
}

#[test]
fn a_session_is_aborted_by_the_newest_work_on_a_task_alone() {
    let mut world = World::new();
    let mut submission = submit(&["a", "b"]);
    submission.aop.session_id = Some("S-1".to_owned());
    submission.plan.tasks[0].policy.on_failure = OnFailure::AbortSession;
    let first = world.accepted("first", &submission);
    world.own(&first, 7);
    let task_id = world.task_of(&first, "a").id;
    let moved = |to| JournalEntry::MoveTask { task_id: task_id.clone(), to, reason: None };
    let entries = [moved(Status::InProgress), moved(Status::Failed)];
    journal::write(&mut world.cx, &caller("writ"), &first, &owner(7), &entries).unwrap();
    let refused = accept(&mut world.cx, &key("a", "second"), &submission).unwrap_err();
    assert_eq!(
        (refused.code, &refused.details["aop_code"]),
        (ErrorCode::WrongState, &json!("E_DEPENDENCY_FAILED"))
    );
    assert!(refused.message.contains("`a` failed"), "{refused:?}");
    world.clock().advance(Duration::from_secs(1));
    submission.aop.reopens = true;
    world.accepted("third", &submission);
    // The newer run has the same task, which has not failed.
    submission.aop.reopens = false;
    world.accepted("fourth", &submission);
}
