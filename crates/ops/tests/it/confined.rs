//! What confined a command: only writ records it.

use contract::domain::code::ErrorCode;
use ops::event::{self, confined, note};
use serde_json::json;

use crate::world::{World, caller, key};

#[test]
fn only_writ_records_what_confined_a_command() {
    let mut world = World::new();
    let task = world.task("one");
    let forged = note::Request {
        kind: "sandbox_in_force".to_owned(),
        message: "all of it is in force".to_owned(),
        task_id: Some(task.clone()),
        ..note::Request::default()
    };
    let refused = note::note(&mut world.cx, &key("ann", "forged"), &forged).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidInput);
    let request = confined::Request {
        message: "not in force: files".to_owned(),
        metadata: json!({"mode": "prefer"}),
        project_id: None,
        task_id: &task,
    };
    confined::record(&mut world.cx, &caller("ann"), &request).unwrap();
    let request = event::list::Request { limit: Some(1000), ..event::list::Request::default() };
    let list =
        ops::verb::call::<event::list::List>(&mut world.cx, &crate::world::reader(), &request).unwrap();
    let events: Vec<_> =
        list.answer.events.into_iter().filter(|event| event.kind == "sandbox_in_force").collect();
    assert_eq!(events.len(), 1);
    assert_eq!(
        (events[0].message.as_str(), events[0].task_id.as_str()),
        ("not in force: files", task.as_str())
    );
}
