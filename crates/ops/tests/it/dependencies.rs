//! Tasks that wait for others: refused cycles, unblocking in the log, deletion that leaves nothing dangling.

use contract::domain::code::ErrorCode;
use contract::domain::status::Status;
use ops::{Error, event, task};
use store::Store;

use crate::world::{World, complete, key, set_status};

impl World {
    fn wait(&mut self, id: &str, on: &str) -> Result<String, Error> {
        let request = task::add_dependency::Request { id: id.to_owned(), depends_on: on.to_owned() };
        let key = key("a", &format!("{id} waits for {on}"));
        Ok(task::add_dependency::add(&mut self.cx, &key, &request)?.answer.message)
    }

    fn wait_no_more(&mut self, id: &str, on: &str) -> Result<String, Error> {
        let request = task::remove_dependency::Request { id: id.to_owned(), depends_on: on.to_owned() };
        let key = key("a", &format!("{id} does not wait for {on}"));
        Ok(task::remove_dependency::remove(&mut self.cx, &key, &request)?.answer.message)
    }

    fn delete(&mut self, id: &str) -> Result<i64, Error> {
        let request = task::delete::Request { id: id.to_owned() };
        Ok(task::delete::delete(&mut self.cx, &key("a", &format!("delete {id}")), &request)?.answer.event_id)
    }

    fn done(&mut self, id: &str) {
        task::complete::complete(&mut self.cx, &key("a", &format!("{id} done")), &complete(id, "done"))
            .unwrap();
    }

    /// What was said about a task, oldest first.
    fn said(&mut self, id: &str) -> Vec<String> {
        let request = event::list::Request {
            task_id: Some(id.to_owned()),
            ascending: true,
            ..event::list::Request::default()
        };
        event::list::events(&mut self.cx, &request)
            .unwrap()
            .into_iter()
            .map(|event| event.record.message)
            .collect()
    }

    fn reason(&mut self, id: &str) -> (Status, Option<String>) {
        let task = self.get(id);
        (task.status, task.blocked_reason.map(|reason| reason.to_string()))
    }

    #[track_caller]
    fn log_accounts_for_all(&self) {
        let mut store = Store::open(&self.temp.path(), self.temp.now().at).unwrap();
        let rows = store.rows().unwrap();
        assert_eq!(store.rebuilt().unwrap().rows().unwrap(), rows);
    }
}

#[test]
fn a_task_waits_until_the_last_of_its_dependencies_is_done_and_the_log_says_why() {
    let mut world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|title| world.task(title));
    assert_eq!(world.wait(&a, &b).unwrap(), format!("Dependency added: {a} depends on {b}"));
    world.wait(&a, &c).unwrap();
    let waits = (Status::Blocked, Some("dependency".to_owned()));
    assert_eq!(world.reason(&a), waits);
    world.done(&b);
    assert_eq!(world.reason(&a), waits, "it still waits for one");
    world.done(&c);
    assert_eq!(world.reason(&a), (Status::Todo, None));
    assert_eq!(
        world.said(&a).last().map(String::as_str),
        Some("Status changed to: pending (Unblocked: c is done)")
    );
    world.log_accounts_for_all();
}

#[test]
fn a_dependency_that_is_there_is_not_added_twice() {
    let mut world = World::new();
    let [a, b] = ["a", "b"].map(|title| world.task(title));
    world.wait(&a, &b).unwrap();
    let before = world.get(&a);
    let request = task::add_dependency::Request { id: a.clone(), depends_on: b.clone() };
    task::add_dependency::add(&mut world.cx, &key("a", "again"), &request).unwrap();
    assert_eq!(world.get(&a), before);
}

#[test]
fn a_cycle_is_refused_however_long_it_is() {
    let mut world = World::new();
    let tasks: Vec<String> = (0..130).map(|number| world.task(&format!("task {number}"))).collect();
    for pair in tasks.windows(2) {
        world.wait(&pair[1], &pair[0]).unwrap();
    }
    let before = world.state();
    let error = world.wait(&tasks[0], tasks.last().unwrap()).expect_err("it would never end");
    assert_eq!(error.code, ErrorCode::WrongState);
    assert!(error.message.starts_with("dependency cycle detected: "), "{error}");
    assert_eq!(error.details["cycle"].as_array().unwrap().len(), 131, "every task on the way is named");
    let error = world.wait(&tasks[0], &tasks[0]).expect_err("it would wait for itself");
    assert_eq!(error.message, "task cannot depend on itself");
    assert_eq!(world.state(), before);
}

#[test]
fn a_diamond_is_no_cycle() {
    let mut world = World::new();
    let [top, left, right, bottom] = ["top", "left", "right", "bottom"].map(|title| world.task(title));
    for (id, on) in [(&top, &left), (&top, &right), (&left, &bottom), (&right, &bottom)] {
        world.wait(id, on).unwrap();
    }
    for id in [&bottom, &left, &right] {
        world.done(id);
    }
    assert_eq!(world.reason(&top), (Status::Todo, None));
}

#[test]
fn a_task_that_failed_does_not_become_ready_because_a_dependency_goes() {
    let mut world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|title| world.task(title));
    world.wait(&a, &b).unwrap();
    world.wait(&a, &c).unwrap();
    let mut blocked = set_status(&a, "blocked");
    blocked.blocked_reason = Some("failure:it broke".to_owned());
    task::set_status::set_status(&mut world.cx, &key("a", "broke"), &blocked).unwrap();
    world.wait_no_more(&a, &b).unwrap();
    world.wait_no_more(&a, &c).unwrap();
    assert_eq!(world.reason(&a), (Status::Blocked, Some("failure:it broke".to_owned())));
    let error = world.wait_no_more(&a, &b).map(drop);
    assert!(error.is_ok(), "the same request again is answered as before");
}

#[test]
fn a_removed_dependency_frees_the_task_that_waited_for_it_alone() {
    let mut world = World::new();
    let [a, b] = ["a", "b"].map(|title| world.task(title));
    world.wait(&a, &b).unwrap();
    world.wait_no_more(&a, &b).unwrap();
    assert_eq!(world.reason(&a), (Status::Todo, None));
    let request = task::remove_dependency::Request { id: a, depends_on: b };
    let before = world.said(&request.id);
    task::remove_dependency::remove(&mut world.cx, &key("a", "more"), &request).unwrap();
    assert_eq!(world.said(&request.id), before, "what is not there is removed without an event");
}

#[test]
fn a_deleted_task_takes_what_is_its_own_and_frees_who_waited() {
    let mut world = World::new();
    let [a, b] = ["a", "b"].map(|title| world.task(title));
    world.wait(&a, &b).unwrap();
    world.delete(&b).unwrap();
    assert_eq!(world.reason(&a), (Status::Todo, None));
    assert!(world.get(&a).depends_on.is_empty());
    assert_eq!(
        task::get::get(&mut world.cx, &crate::world::reader(), &b).unwrap_err().code,
        ErrorCode::NotFound
    );
    assert_eq!(world.said(&b).last().map(String::as_str), Some("Task deleted: b"), "the log keeps it");
    world.log_accounts_for_all();
}

#[test]
fn the_tasks_of_a_run_are_not_rearranged() {
    let mut world = World::new();
    let run = world.run(&["one", "two"]);
    let (inside, outside) = (world.task_of(&run, "one").id.to_string(), world.task("outside"));
    assert_eq!(world.delete(&inside).unwrap_err().code, ErrorCode::WrongState);
    assert_eq!(world.wait(&inside, &outside).unwrap_err().code, ErrorCode::WrongState);
}

#[test]
fn what_another_agent_holds_is_left_alone() {
    let mut world = World::new();
    let [a, b] = ["a", "b"].map(|title| world.task(title));
    let begin = task::begin::Request { id: a.clone() };
    task::begin::begin(&mut world.cx, &key("holder", "begin"), &begin).unwrap();
    let before = world.state();
    let refused = [
        world.delete(&a).map(drop),
        world.wait(&a, &b).map(drop),
        task::set_status::set_status(&mut world.cx, &key("a", "s"), &set_status(&a, "blocked")).map(drop),
        task::complete::complete(&mut world.cx, &key("a", "c"), &complete(&a, "done")).map(drop),
    ];
    for refusal in refused {
        assert_eq!(refusal.unwrap_err().code, ErrorCode::HeldByAnother);
    }
    assert_eq!(world.state(), before);
}
