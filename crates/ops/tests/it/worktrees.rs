//! Clones that are discarded: which one a name means, and what happens if somebody or something comes in between.

use contract::domain::attempt::NewAttempt;
use contract::domain::code::ErrorCode;
use contract::domain::id::{Id, mint};
use contract::domain::run::RunId;
use contract::domain::status::Status;
use ops::run::journal::{self, JournalEntry, JournalWritten, Wants};
use ops::worktree::discard::{Answer, Request, discard};
use ops::{Error, event, run};
use testkit::SeededIds;

use crate::world::{World, caller, key, owner, submit};

impl World {
    /// The task `a` of a run, with a clone.
    fn run_with_clone(&mut self) -> RunId {
        let run = run::accept::submit(&mut self.cx, &key("setup", "run"), &submit(&["a"])).unwrap();
        let run = run.answer.run_id;
        let task_id = self.task_of(&run, "a").id;
        self.clone_of("a");
        let mut paper = self.host.paper.borrow_mut();
        let clone = paper.clone.as_mut().unwrap();
        (clone.run_id, clone.task_id) = (run.clone(), task_id);
        drop(paper);
        run
    }

    fn discard(&mut self, task: &str, request: &str) -> Result<Answer, Error> {
        let task = Request { task: task.to_owned() };
        Ok(discard(&mut self.cx, &key("ann", request), &task)?.answer)
    }

    fn kinds(&mut self) -> Vec<(String, String)> {
        let request = event::list::Request { limit: Some(1000), ..event::list::Request::default() };
        let list =
            ops::verb::call::<event::list::List>(&mut self.cx, &crate::world::reader(), &request).unwrap();
        let events = list.answer.events.into_iter().filter(|event| event.kind.starts_with("worktree_"));
        events.map(|event| (event.kind, event.message)).collect()
    }
}

#[test]
fn a_clone_stays_if_an_attempt_begins_just_before_it_is_taken_away() {
    let mut world = World::new();
    let run = world.run_with_clone();
    world.own(&run, 7);
    let task_id = world.task_of(&run, "a").id;
    let attempt = NewAttempt {
        id: mint(&mut SeededIds::new(77), world.temp.now().at),
        task_id: task_id.clone(),
        run_id: run.clone(),
        number: 1,
        executor: "shell".to_owned(),
        model: None,
        alternative: None,
        agent_session: None,
        owner: owner(7),
    };
    let entries = [
        JournalEntry::MoveTask { task_id, to: Status::InProgress, reason: None },
        JournalEntry::StartAttempt { attempt, wants: Wants::default(), dispatch: None },
    ];
    let elsewhere = world.elsewhere();
    world.host.while_discarding.replace(Some(Box::new(move || {
        let written = journal::write(&mut elsewhere(), &caller("writ"), &run, &owner(7), &entries).unwrap();
        assert!(matches!(written, JournalWritten::All { .. }), "{written:?}");
    })));
    let refused = world.discard("a", "one").unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (ErrorCode::WrongState, "`a` is being worked on"));
    assert!(world.host.paper.borrow().clone.is_some());
}

#[test]
fn a_discard_that_was_interrupted_is_finished_by_the_same_request() {
    let mut world = World::new();
    world.run_with_clone();
    world.host.paper.borrow_mut().dies_with_clone = true;
    assert_eq!(world.discard("a", "one").unwrap_err().code, ErrorCode::Io);
    // Another request does not take it for its own.
    assert_eq!(world.discard("a", "other").unwrap_err().code, ErrorCode::NotFound);
    // Nobody is asked again.
    world.host.paper.borrow_mut().person_says_no = true;
    let finished = world.discard("a", "one").unwrap();
    assert_eq!(finished.bundle.as_deref(), Some("/clones/one.1.bundle"));
    assert_eq!((finished.worktree.name.as_str(), finished.loss.all_files), ("a", 1));
    let events = world.kinds();
    let told = "The clone of a was discarded; its work is in /clones/one.1.bundle";
    assert_eq!(events[0], ("worktree_discarded".to_owned(), told.to_owned()), "{events:?}");
    assert_eq!(world.discard("a", "one").unwrap(), finished, "the stored answer");
    assert_eq!(world.kinds().len(), 2);
}

#[test]
fn a_name_that_means_a_task_without_a_clone_does_not_take_the_clone_of_another_run() {
    let mut world = World::new();
    world.run_with_clone();
    {
        let mut paper = world.host.paper.borrow_mut();
        let clone = paper.clone.as_mut().unwrap();
        (clone.run_id, clone.task_id) = (Id::from_bits(5), Id::from_bits(6));
    }
    assert_eq!(world.discard("a", "one").unwrap_err().code, ErrorCode::NotFound);
    assert!(world.host.paper.borrow().clone.is_some());
    // A store that does not have the task knows its clone by the name.
    world.host.paper.borrow_mut().clone.as_mut().unwrap().name = "elsewhere".to_owned();
    assert_eq!(world.discard("elsewhere", "two").unwrap().worktree.name, "elsewhere");
}
