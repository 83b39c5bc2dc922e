//! What the task verbs answer and write down, word for word.

use contract::continuity::state::{CloseOutcome, StateFilter, TaskState};
use contract::domain::change::Change;
use contract::domain::id::mint;
use contract::domain::limits;
use ops::event::{self, envelope, view};
use ops::{Context, task};
use serde_json::{Value, json};
use store::{Store, Stream};
use testkit::SeededIds;

use crate::world::{World, begin, complete, create, key, set_status};

/// The events as the agent contract shows them, oldest first.
fn events(cx: &mut Context) -> Vec<Value> {
    let request = event::list::Request { ascending: true, ..event::list::Request::default() };
    let events = event::list::events(cx, &request).unwrap();
    events.iter().map(|event| serde_json::to_value(view(event)).unwrap()).collect()
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn a_created_task() {
    let mut world = World::new();
    let request = task::create::Request {
        title: "Write the parser".to_owned(),
        description: "All of it.".to_owned(),
        project_id: Some("p1".to_owned()),
        priority: 5,
        ..task::create::Request::default()
    };
    let given = task::create::create(&mut world.cx, &key("claude", "r-1"), &request).unwrap();
    insta::assert_snapshot!(pretty(&given.answer));
    insta::assert_snapshot!(pretty(&events(&mut world.cx)));
}

#[test]
fn a_begun_task() {
    let mut world = World::new();
    let id = world.task("one");
    world.clock().advance(std::time::Duration::from_secs(5));
    let given = task::begin::begin(&mut world.cx, &key("claude", "r-1"), &begin(&id)).unwrap();
    insta::assert_snapshot!(pretty(&given.answer));
    insta::assert_snapshot!(pretty(&events(&mut world.cx)[1..].to_vec()));
    let again = task::begin::begin(&mut world.cx, &key("claude", "r-2"), &begin(&id)).unwrap().answer;
    assert_eq!(again.status_event_id, None, "it was in progress already");
}

#[test]
fn a_blocked_task() {
    let mut world = World::new();
    let id = world.task("one");
    let mut request = set_status(&id, "blocked");
    request.blocked_reason = Some("waiting for review".to_owned());
    let given = task::set_status::set_status(&mut world.cx, &key("claude", "r-1"), &request).unwrap();
    insta::assert_snapshot!(pretty(&given.answer));
    insta::assert_snapshot!(pretty(&events(&mut world.cx)[1..].to_vec()));
}

#[test]
fn a_completed_task() {
    let mut world = World::new();
    let id = world.task("one");
    let given =
        task::complete::complete(&mut world.cx, &key("claude", "r-1"), &complete(&id, "done")).unwrap();
    insta::assert_snapshot!(pretty(&given.answer));
    insta::assert_snapshot!(pretty(&events(&mut world.cx)[1..].to_vec()));
}

#[test]
fn an_event_is_an_envelope() {
    let mut world = World::new();
    world.task("one");
    let list = event::list::events(&mut world.cx, &event::list::Request::default()).unwrap();
    insta::assert_snapshot!(pretty(&envelope(&list[0])));
}

#[test]
fn refusals_name_the_fault() {
    let mut world = World::new();
    let id = world.task("one");
    let long = "x".repeat(501);
    let mut refused = Vec::new();
    let mut note = |what: &str, error: ops::Error| {
        refused.push(json!({"what": what, "code": error.code, "message": error.message, "hint": error.hint,
            "details": error.details}));
    };
    for title in ["", " ", "two\nlines", &long] {
        let error = task::create::create(&mut world.cx, &key("a", "r"), &create(title)).unwrap_err();
        note("create", error);
    }
    let error = task::begin::begin(&mut world.cx, &key("a", "r"), &begin("task_unknown")).unwrap_err();
    note("begin", error);
    let error = task::begin::begin(&mut world.cx, &key("a", "r"), &begin("not an id")).unwrap_err();
    note("begin", error);
    note("set_status", TaskState::named("shiny").unwrap_err().into());
    note("complete", CloseOutcome::named("shiny").unwrap_err().into());
    let mut silent = complete(&id, "done");
    silent.summary = " ".to_owned();
    let error = task::complete::complete(&mut world.cx, &key("a", "r"), &silent).unwrap_err();
    note("complete", error);
    insta::assert_snapshot!(pretty(&refused));
}

#[test]
fn lists_are_ordered_narrowed_and_bounded() {
    let mut world = World::new();
    let mut ids = Vec::new();
    for (title, priority, project_id) in
        [("a", 0, None), ("b", 5, Some("p")), ("c", 5, None), ("d", -1, Some("p"))]
    {
        world.clock().advance(std::time::Duration::from_secs(1));
        let request =
            task::create::Request { priority, project_id: project_id.map(str::to_owned), ..create(title) };
        ids.push(task::create::create(&mut world.cx, &key("a", title), &request).unwrap().answer.task.id);
    }
    task::set_status::set_status(&mut world.cx, &key("a", "s"), &set_status(&ids[1], "blocked")).unwrap();
    let mut titles = |request: task::list::Request| -> String {
        let tasks = task::list::list(&mut world.cx, &request).unwrap();
        tasks.tasks.iter().flatten().map(|task| task.title.as_str()).collect()
    };
    let all = task::list::Request::default();
    let status = StateFilter::parse;
    assert_eq!(titles(all.clone()), "cbad", "highest priority first, then newest");
    assert_eq!(titles(task::list::Request { limit: Some(2), ..all.clone() }), "cb");
    assert_eq!(titles(task::list::Request { status: status("pending"), ..all.clone() }), "cad");
    assert_eq!(titles(task::list::Request { status: status("blocked"), ..all.clone() }), "b");
    assert_eq!(titles(task::list::Request { project_id: Some("p".to_owned()), ..all.clone() }), "bd");
    assert_eq!(titles(task::list::Request { priority: Some(5), ..all.clone() }), "cb");
    let narrow = task::list::Request { project_id: Some("p".to_owned()), status: status("pending"), ..all };
    assert_eq!(titles(narrow), "d");
    let ready = task::ready::ready(&mut world.cx, 10).unwrap();
    assert_eq!(ready.iter().map(|task| task.title.as_str()).collect::<String>(), "cad");
}

#[test]
fn a_list_that_is_not_the_whole_says_so() {
    let mut world = World::new();
    let most = limits::LIST_ROWS_MAX;
    let add = |world: &World, numbers: std::ops::Range<usize>| {
        let mut store = Store::open(&world.temp.path(), world.temp.now().at).unwrap();
        let tx = store.begin().unwrap();
        for number in numbers {
            let mut ids = SeededIds::new(u64::try_from(number).unwrap() + 9000);
            let created = Change::TaskCreated {
                task_id: mint(&mut ids, world.temp.now().at),
                title: format!("task {number}"),
                description: String::new(),
                priority: 0,
                project_id: None,
                part: None,
                depends_on: Vec::new(),
                checks: None,
            };
            let said = testkit::event(&mut ids, &world.temp.now(), "made");
            tx.change(&Stream::Store, said, &created).unwrap();
        }
        tx.commit().unwrap();
    };
    let page = |world: &mut World, limit| {
        let request = task::list::Request { limit, ..task::list::Request::default() };
        let answer = task::list::list(&mut world.cx, &request).unwrap();
        (answer.count, answer.more)
    };
    add(&world, 0..most);
    assert_eq!(page(&mut world, None), (most, false), "exactly as many as a list may have");
    assert_eq!(page(&mut world, Some(10)), (10, true));
    add(&world, most..most + 1);
    assert_eq!(page(&mut world, None), (most, true));
    assert_eq!(page(&mut world, Some(i64::MAX)), (most, true));
}
