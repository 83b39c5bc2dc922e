//! Runs: submitted whole, worked by one engine at a time, canceled and retried without losing what is done.

use std::time::Duration;

use contract::domain::attempt::{AttemptState, NewAttempt};
use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::limits;
use contract::domain::run::{RunId, RunState};
use contract::domain::status::Status;
use ops::run::journal::{self, JournalEntry, JournalWritten, Wants};
use ops::run::own::{self, Owned};
use ops::run::{Liveness, cancel as end, retry, show};
use ops::{Error, run, task};
use serde_json::json;
use testkit::SeededIds;

use crate::world::{ALIVE, DEAD, UNSEEN, World, caller, cancel, key, owner, set_status, submit};

impl World {
    fn write(&mut self, run: &RunId, entries: &[JournalEntry]) -> Result<(), Error> {
        let written = journal::write(&mut self.cx, &caller("writ"), run, &owner(7), entries)?;
        assert!(matches!(written, JournalWritten::All { .. }), "{written:?}");
        Ok(())
    }

    /// The states of a run and of its tasks.
    fn states(&mut self, run: &RunId) -> String {
        let whole = show::show(&mut self.cx, &crate::world::reader(), run.as_str()).unwrap();
        let tasks = whole.tasks.iter().map(|(task, _)| task.status.as_str());
        std::iter::once(whole.run.state.as_str()).chain(tasks).collect::<Vec<_>>().join(" ")
    }

    fn moved(&mut self, run: &RunId, name: &str, to: Status) -> JournalEntry {
        JournalEntry::MoveTask { task_id: self.task_of(run, name).id, to, reason: None }
    }

    /// A worked run: its first task is done, its second has started and stands in the journal, the third waits.
    fn half_worked(&mut self) -> RunId {
        let run = self.run(&["a", "b", "c"]);
        self.own(&run, 7);
        let steps = [("a", Status::InProgress), ("a", Status::Done), ("b", Status::InProgress)];
        let mut entries: Vec<JournalEntry> = steps.map(|(name, to)| self.moved(&run, name, to)).into();
        let attempt = NewAttempt {
            id: mint(&mut SeededIds::new(77), self.temp.now().at),
            task_id: self.task_of(&run, "b").id,
            run_id: run.clone(),
            number: 1,
            executor: "shell".to_owned(),
            model: None,
            alternative: None,
            agent_session: None,
            owner: owner(7),
        };
        entries.push(JournalEntry::StartAttempt { attempt, dispatch: None, wants: Wants::default() });
        self.write(&run, &entries).unwrap();
        assert_eq!(self.states(&run), "running done in_progress todo");
        run
    }

    fn cancel(&mut self, id: &str, request: &str, liveness: Liveness) -> Result<String, Error> {
        self.host.liveness.set(liveness);
        let given = end::cancel(&mut self.cx, &key("a", request), &cancel(id))?;
        Ok(given.answer.state)
    }

    fn retry(&mut self, task_id: &str, request: &str, liveness: Liveness) -> Result<retry::Answer, Error> {
        let request_body = retry::Request { task_id: Some(task_id.to_owned()), run: None };
        self.host.liveness.set(liveness);
        Ok(retry::retry(&mut self.cx, &key("a", request), &request_body)?.answer)
    }

    fn take(&mut self, run: &RunId, pid: u32, liveness: Liveness) -> Owned {
        self.host.liveness.set(liveness);
        own::take(&mut self.cx, &caller("writ"), run, &owner(pid)).unwrap()
    }
}

#[test]
fn a_submitted_run_has_its_tasks_and_their_order() {
    let mut world = World::new();
    let mut request = submit(&["c", "b", "a"]);
    // In the plan's order a task may stand before what it needs, and name it twice.
    request.plan.tasks[0].depends_on = vec!["a".to_owned(), "b".to_owned(), "a".to_owned()];
    request.plan.tasks[1].depends_on = vec!["a".to_owned()];
    request.plan.tasks[2].depends_on = vec![];
    let run = run::accept::submit(&mut world.cx, &key("a", "r"), &request).unwrap().answer.run_id;
    let tasks = show::tasks(&mut world.cx, &run).unwrap();
    let titles: Vec<&str> = tasks.iter().map(|task| task.title.as_str()).collect();
    assert_eq!(titles, ["c", "b", "a"]);
    assert_eq!(tasks[0].depends_on.len(), 2);
    let ready = task::ready::ready(&mut world.cx, 10).unwrap();
    assert_eq!(ready.iter().map(|task| task.title.as_str()).collect::<Vec<_>>(), ["a"]);
    let trace = run::trace::events(&mut world.cx, &crate::world::reader(), run.as_str()).unwrap().events;
    let kinds: Vec<&str> = trace.iter().map(|event| event.record.kind.as_str()).collect();
    assert_eq!(kinds, ["writ.run.submit", "run_submitted", "task_created", "task_created", "task_created"]);
    assert!(trace[1..].iter().all(|event| event.record.reply_to.as_ref() == Some(&trace[0].record.event_id)));
}

#[test]
fn a_run_is_found_by_its_id_its_beginning_and_its_correlation() {
    let mut world = World::new();
    let run = world.run(&["a"]);
    let corr = show::state(&mut world.cx, &run).unwrap().asked.corr;
    for name in [run.as_str(), &run.as_str()[..12], &corr] {
        assert_eq!(
            show::show(&mut world.cx, &crate::world::reader(), name).unwrap().run.asked.id,
            run,
            "{name}"
        );
    }
    for name in ["run_", "run_zzz", "nothing", "", "%"] {
        let error = show::show(&mut world.cx, &crate::world::reader(), name).unwrap_err();
        assert_eq!(error.code, ErrorCode::NotFound, "{name}: {error}");
    }
}

#[test]
fn one_engine_at_a_time_works_a_run() {
    let mut world = World::new();
    let run = world.run(&["a"]);
    assert!(matches!(world.take(&run, 7, ALIVE), Owned::Mine(_)));
    assert!(matches!(world.take(&run, 8, ALIVE), Owned::Another(holder) if holder == owner(7)));
    assert!(matches!(world.take(&run, 8, UNSEEN), Owned::Another(_)), "its lease lives");
    world.clock().advance(limits::OWNER_LEASE.checked_sub(Duration::from_millis(1)).unwrap());
    own::renew(&mut world.cx, &run, &owner(7), &[]).unwrap();
    assert!(own::renew(&mut world.cx, &run, &owner(8), &[]).is_err(), "only the holder renews");
    world.clock().advance(Duration::from_secs(2));
    assert!(matches!(world.take(&run, 8, UNSEEN), Owned::Another(_)), "it was renewed");
    world.clock().jump_wall(86_400_000);
    assert!(matches!(world.take(&run, 8, UNSEEN), Owned::Another(_)), "a wall clock expires nothing");
    world.clock().advance(limits::OWNER_LEASE);
    assert!(matches!(world.take(&run, 8, ALIVE), Owned::Another(_)), "who is seen alive is alive");
    assert!(matches!(world.take(&run, 8, UNSEEN), Owned::Mine(_)));
    assert!(matches!(world.take(&run, 9, DEAD), Owned::Mine(_)), "a dead owner's lease counts for nothing");
    let before = world.state();
    let entry = world.moved(&run, "a", Status::InProgress);
    let error = world.write(&run, &[entry]).unwrap_err();
    assert_eq!(error.code, ErrorCode::VersionConflict, "who lost the run writes nothing");
    assert_eq!(world.state(), before);
}

#[test]
fn a_journal_is_written_whole_or_not_at_all() {
    let mut world = World::new();
    let run = world.run(&["a", "b"]);
    world.own(&run, 7);
    let before = world.state();
    let entries = [world.moved(&run, "a", Status::InProgress), world.moved(&run, "b", Status::Done)];
    let error = world.write(&run, &entries).unwrap_err();
    assert_eq!(error.code, ErrorCode::WrongState, "{error}");
    assert_eq!(world.state(), before);
}

#[test]
fn a_run_without_an_engine_is_canceled_at_once() {
    let mut world = World::new();
    let run = world.run(&["a", "b"]);
    assert_eq!(world.cancel(run.as_str(), "r-1", ALIVE).unwrap(), "canceled");
    assert_eq!(world.states(&run), "canceled canceled canceled");
    assert!(matches!(world.take(&run, 7, DEAD), Owned::Ended(_)));
    let before = world.state();
    let error = world.cancel(run.as_str(), "r-2", ALIVE).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::WrongState, "the run was canceled already"));
    assert_eq!(world.state(), before);
}

#[test]
fn a_worked_run_is_asked_to_stop() {
    for liveness in [ALIVE, UNSEEN] {
        let mut world = World::new();
        let run = world.half_worked();
        assert_eq!(world.cancel(run.as_str(), "r-1", liveness).unwrap(), "canceling");
        assert_eq!(world.states(&run), "running done in_progress todo");
        assert!(show::state(&mut world.cx, &run).unwrap().cancel_requested);
        // The engine dies before it sees the request. The engine that takes the run over sees it.
        let Owned::Mine(taken) = world.take(&run, 8, DEAD) else { panic!("its owner is dead") };
        assert!(taken.cancel_requested);
        assert_eq!(*taken, show::state(&mut world.cx, &run).unwrap());
    }
}

#[test]
fn a_run_whose_engine_died_is_canceled_with_everything_in_it() {
    let mut world = World::new();
    let run = world.half_worked();
    assert_eq!(world.cancel(run.as_str(), "r-1", DEAD).unwrap(), "canceled");
    assert_eq!(world.states(&run), "canceled done canceled canceled");
    let whole = show::show(&mut world.cx, &crate::world::reader(), run.as_str()).unwrap();
    let attempts: Vec<AttemptState> =
        whole.tasks.iter().flat_map(|(_, attempts)| attempts).map(|attempt| attempt.state).collect();
    assert_eq!(attempts, [AttemptState::Interrupted]);
    let result = whole.run.result.unwrap();
    assert_eq!((&result["state"], &result["reason"]), (&json!("canceled"), &json!("the run was canceled")));
    assert_eq!((whole.run.owner, whole.run.owner_lease), (None, None));
}

#[test]
fn a_task_is_canceled_alone() {
    let mut world = World::new();
    let run = world.half_worked();
    let id = world.task_of(&run, "b").id.to_string();
    assert_eq!(world.cancel(&id, "r-1", ALIVE).unwrap(), "canceled");
    assert_eq!(world.states(&run), "running done canceled todo");
    let error = world.cancel(&id, "r-2", ALIVE).unwrap_err();
    assert_eq!(error.code, ErrorCode::WrongState);
}

/// `a` done, `b` failed, `c` and `d` skipped because of it, as an engine leaves them.
fn failed(world: &mut World) -> RunId {
    let run = world.run(&["a", "b", "c", "d"]);
    world.own(&run, 7);
    let steps = [
        ("a", Status::InProgress),
        ("a", Status::Done),
        ("b", Status::InProgress),
        ("b", Status::Failed),
        ("c", Status::Canceled),
        ("d", Status::Canceled),
    ];
    let mut entries: Vec<JournalEntry> = steps.map(|(name, to)| world.moved(&run, name, to)).into();
    entries.push(JournalEntry::MoveRun { to: RunState::Failed, result: Some(json!({"state": "failed"})) });
    world.write(&run, &entries).unwrap();
    assert_eq!(world.states(&run), "failed done failed canceled canceled");
    run
}

#[test]
fn a_retry_resets_the_task_and_what_was_skipped_because_of_it() {
    let mut world = World::new();
    let run = failed(&mut world);
    let ids: Vec<String> = ["b", "c", "d"].map(|name| world.task_of(&run, name).id.to_string()).into();
    let answer = world.retry(&ids[0], "r-1", DEAD).unwrap();
    assert_eq!(answer, retry::Answer { run_id: run.clone(), reset: ids.clone() });
    assert_eq!(world.states(&run), "stopped done todo todo todo");
    let state = show::state(&mut world.cx, &run).unwrap();
    assert_eq!((state.result, state.ended_at), (None, None), "it has no result any more");
    let ready = task::ready::ready(&mut world.cx, 10).unwrap();
    assert_eq!(ready.iter().map(|task| task.id.to_string()).collect::<Vec<_>>(), ids[..1]);
    assert!(matches!(world.take(&run, 8, DEAD), Owned::Mine(_)));
    let error = world.retry(&ids[0], "r-2", DEAD).unwrap_err();
    assert_eq!(error.code, ErrorCode::WrongState, "there is nothing to retry");
}

#[test]
fn a_retry_in_the_midst_resets_only_what_comes_after() {
    let mut world = World::new();
    let run = failed(&mut world);
    let id = world.task_of(&run, "c").id.to_string();
    assert_eq!(world.retry(&id, "r-1", DEAD).unwrap().reset.len(), 2);
    assert_eq!(world.states(&run), "stopped done failed todo todo");
}

#[test]
fn a_worked_run_is_not_retried() {
    for (liveness, held) in [(ALIVE, true), (UNSEEN, true), (DEAD, false)] {
        let mut world = World::new();
        let run = world.half_worked();
        let id = world.task_of(&run, "b").id.to_string();
        let parked = [world.moved(&run, "b", Status::Blocked)];
        world.write(&run, &parked).unwrap();
        let before = world.state();
        let answer = world.retry(&id, "r-1", liveness);
        if held {
            assert_eq!(answer.unwrap_err().code, ErrorCode::HeldByAnother);
            assert_eq!(world.state(), before);
        } else {
            assert_eq!(answer.unwrap().reset, [id]);
        }
    }
}

#[test]
fn a_task_with_checks_is_not_done_because_someone_says_so() {
    for (author, evidence) in [("planner", "verified"), ("a", "self-checked")] {
        let mut world = World::new();
        let mut request = submit(&["a"]);
        request.plan.tasks[0].checks = vec![serde_json::from_value(json!({"command": ["true"]})).unwrap()];
        let run = run::accept::submit(&mut world.cx, &key(author, "r"), &request).unwrap().answer.run_id;
        let id = world.task_of(&run, "a").id.to_string();
        let before = world.state();
        let asked = set_status(&id, "completed");
        let mut failed = crate::host::passed(&request.plan.tasks[0].checks[0]);
        failed.passed = false;
        world.host.paper.borrow_mut().checks = Some(vec![failed]);
        let error = task::set_status::set_status(&mut world.cx, &key("a", "r-1"), &asked).unwrap_err();
        assert_eq!(error.code, ErrorCode::CheckFailed);
        assert_eq!(world.state(), before);
        world.host.paper.borrow_mut().checks = None;
        let answer = task::set_status::set_status(&mut world.cx, &key("a", "r-1"), &asked).unwrap().answer;
        assert_eq!(answer.task.evidence.as_deref(), Some(evidence));
        // A repeated request gets the stored answer; its checks are not run again.
        let asked_before = world.host.asked();
        let again = task::set_status::set_status(&mut world.cx, &key("a", "r-1"), &asked).unwrap();
        assert!(again.replayed && again.answer.task.evidence.as_deref() == Some(evidence));
        assert_eq!(world.host.asked(), asked_before);
    }
}

#[test]
fn the_log_accounts_for_everything_that_runs_do() {
    let mut world = World::new();
    let run = failed(&mut world);
    let id = world.task_of(&run, "b").id.to_string();
    world.retry(&id, "r-1", DEAD).unwrap();
    world.cancel(run.as_str(), "r-2", DEAD).unwrap();
    assert_eq!(ops::audit::replay_differences(&mut world.cx).unwrap(), Vec::<String>::new());
    let found = ops::audit::verify(&mut world.cx, None).unwrap();
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(world.status(None).counts.unwrap().events, found.events);
}
