//! A task of a run becomes more urgent: the change, the event of the contract, and what the answer says.

use contract::domain::attempt::NewAttempt;
use contract::domain::code::ErrorCode;
use contract::domain::executor::ExecutorName;
use contract::domain::id::mint;
use contract::domain::priority::Priority;
use contract::domain::run::RunId;
use contract::domain::status::Status;
use ops::run::escalate::{Answer, CountsFrom, Request, escalate};
use ops::run::journal::{self, JournalEntry, JournalWritten, Wants};
use ops::{Error, event, run};
use serde_json::{Value, json};
use testkit::SeededIds;

use crate::world::{ALIVE, DEAD, World, call_from, caller, cancel, key, owner, submit};

impl World {
    /// A run of tasks for `claude` that each depend on the one before.
    fn run_of_agents(&mut self, names: &[&str]) -> RunId {
        let mut request = submit(names);
        for task in &mut request.plan.tasks {
            task.executor = ExecutorName::parse("claude").unwrap();
            task.prompt = Some("do it".to_owned());
        }
        run::accept::submit(&mut self.cx, &key("setup", "run of agents"), &request).unwrap().answer.run_id
    }

    fn escalate(&mut self, task: &str, to: Priority, reason: Option<&str>) -> Result<Answer, Error> {
        self.round += 1;
        let request = Request { task: task.to_owned(), to, reason: reason.map(str::to_owned) };
        Ok(escalate(&mut self.cx, &key("ann", &format!("escalate {}", self.round)), &request)?.answer)
    }

    /// The events about priorities, oldest first: the kind, and the EVENT where it is one.
    fn escalations(&mut self) -> Vec<(String, Value)> {
        let request =
            event::list::Request { ascending: true, limit: Some(1000), ..event::list::Request::default() };
        let list = ops::verb::call::<event::list::List>(&mut self.cx, &crate::world::reader(), &request);
        let events = list.unwrap().answer.events;
        let kinds = ["task_priority_changed", "priority_escalation"];
        events
            .into_iter()
            .filter(|event| kinds.contains(&event.kind.as_str()))
            .map(|event| (event.kind.clone(), serde_json::to_value(&event).unwrap()))
            .collect()
    }

    /// Starts an attempt at the task.
    fn begin(&mut self, run: &RunId, name: &str) {
        self.own(run, 7);
        let task_id = self.task_of(run, name).id;
        let attempt = NewAttempt {
            id: mint(&mut SeededIds::new(77), self.temp.now().at),
            task_id: task_id.clone(),
            run_id: run.clone(),
            number: 1,
            executor: "claude".to_owned(),
            model: None,
            alternative: None,
            agent_session: None,
            owner: owner(7),
        };
        call_from(Some(attempt.id.clone()));
        let entries = [
            JournalEntry::MoveTask { task_id, to: Status::InProgress, reason: None },
            JournalEntry::StartAttempt { attempt, dispatch: None, wants: Wants::default() },
        ];
        let written = journal::write(&mut self.cx, &caller("writ"), run, &owner(7), &entries).unwrap();
        assert!(matches!(written, JournalWritten::All { .. }), "{written:?}");
    }
}

#[test]
fn an_escalation_changes_the_task_and_leaves_the_event_of_the_contract() {
    let mut world = World::new();
    let run = world.run_of_agents(&["a", "b"]);
    let answer = world.escalate("b", Priority::Critical, Some("the release waits")).unwrap();
    assert_eq!((answer.old_priority, answer.new_priority), (Priority::Normal, Priority::Critical));
    assert_eq!((answer.name.as_str(), &answer.run_id), ("b", &run));
    assert_eq!(answer.counts_from, CountsFrom::Continued);
    assert_eq!((answer.waits_for, answer.warnings), (vec!["a".to_owned()], Vec::<String>::new()));
    assert_eq!(world.task_of(&run, "b").priority, Priority::Critical.number());
    let events = world.escalations();
    let kinds: Vec<&str> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["task_priority_changed", "priority_escalation"]);
    assert_eq!(events[0].1["id"], json!(answer.event_id));
    let told = events[1].1["message"].as_str().unwrap();
    assert_eq!(told, "PRIORITY_ESCALATION: normal to critical by agent.ann: the release waits");
    let said = &events[1].1["metadata"]["event"];
    let expected = json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "EVENT",
        "event": "PRIORITY_ESCALATION", "session_id": run.as_str(), "task_id": "b",
        "timestamp": said["timestamp"], "old_priority": "NORMAL", "new_priority": "CRITICAL",
        "reason": "the release waits", "escalated_by": "agent.ann",
    });
    assert_eq!(*said, expected, "the session of a plan's task is its run");
    let verified =
        ops::audit::verify::verify(&mut world.cx, &ops::audit::verify::Request::default()).unwrap();
    assert!(verified.is_clean(), "{verified:?}");
}

#[test]
fn the_answer_warns_where_a_task_does_not_become_more_urgent() {
    let mut world = World::new();
    let run = world.run_of_agents(&["a"]);
    let same = world.escalate("a", Priority::Normal, None).unwrap();
    assert_eq!(same.warnings, ["the priority is normal already; nothing changed"]);
    assert_eq!((same.event_id, world.escalations().len()), (None, 0));
    let lower = world.escalate("a", Priority::Low, None).unwrap();
    assert_eq!(lower.warnings, ["low is lower than normal; the task now waits for more urgent ones"]);
    assert_eq!(world.task_of(&run, "a").priority, Priority::Low.number());
}

#[test]
fn an_attempt_that_runs_goes_on_and_the_next_one_counts() {
    let mut world = World::new();
    let run = world.run_of_agents(&["a", "b"]);
    world.begin(&run, "a");
    call_from(None);
    world.host.liveness.set(ALIVE);
    assert_eq!(world.escalate("a", Priority::High, None).unwrap().counts_from, CountsFrom::NextAttempt);
    assert_eq!(world.escalate("b", Priority::High, None).unwrap().counts_from, CountsFrom::Now);
    world.host.liveness.set(DEAD);
    assert_eq!(world.escalate("b", Priority::Critical, None).unwrap().counts_from, CountsFrom::Continued);
}

#[test]
fn the_answer_says_which_model_the_next_attempt_uses() {
    let mut world = World::new();
    world.run_of_agents(&["a"]);
    let stays = world.escalate("a", Priority::High, None).unwrap().model;
    let expected = "the model stays, because none is configured for claude under [escalation.high]";
    assert_eq!((stays.upgraded_to, stays.told.as_str()), (None, expected));
    let models = |upgrades: &mut contract::plan::upgrade::Upgrades| {
        upgrades.set(Priority::Critical, "claude".to_owned(), "opus".to_owned());
    };
    models(&mut world.host.paper.borrow_mut().upgrades);
    let upgraded = world.escalate("a", Priority::Critical, None).unwrap().model;
    assert_eq!(upgraded.upgraded_to.as_deref(), Some("opus"));
    assert_eq!(upgraded.told, "the next attempt uses opus with claude");
    let lowered = world.escalate("a", Priority::Normal, None).unwrap().model;
    assert_eq!(lowered.told, "the model stays, because the plan's own priority is normal");
    world.run(&["s"]);
    assert_eq!(world.escalate("s", Priority::Critical, None).unwrap().model.told, "shell uses no model");
}

#[test]
fn a_task_cannot_escalate_itself_or_others_of_its_run() {
    let mut world = World::new();
    let run = world.run_of_agents(&["a", "b"]);
    world.begin(&run, "a");
    let before = world.state();
    for name in ["a", "b"] {
        let refused = world.escalate(name, Priority::Critical, None).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Denied, "{name}: {refused:?}");
    }
    assert_eq!(world.state(), before, "a refusal writes nothing");
    world.run(&["c"]);
    world.escalate("c", Priority::Critical, None).unwrap();
}

#[test]
fn tasks_that_ended_or_that_no_run_has_are_refused() {
    let mut world = World::new();
    let run = world.run(&["a"]);
    let id = world.task_of(&run, "a").id.to_string();
    ops::run::cancel::cancel(&mut world.cx, &key("ann", "cancel"), &cancel(&id)).unwrap();
    let alone = world.task("alone");
    let before = world.state();
    let cases = [(id, "the task is canceled already"), (alone, "the task is not part of a run")];
    for (task, message) in cases {
        let refused = world.escalate(&task, Priority::Critical, None).unwrap_err();
        assert_eq!((refused.code, refused.message.as_str()), (ErrorCode::WrongState, message));
    }
    let missing = world.escalate("nobody", Priority::Critical, None).unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
    assert_eq!(world.state(), before);
}
