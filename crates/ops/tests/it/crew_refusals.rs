//! What neither an agent's word nor an orchestrator's may do to a ledger.

use contract::domain::code::ErrorCode;
use ops::{run, task};
use serde_json::json;

use crate::crew_world::{Crew, denied};
use crate::world::{World, begin, complete, key, pushed, set_status};

#[test]
fn an_assigned_task_cannot_be_moved_by_agent_verbs() {
    let mut crew = Crew::new();
    crew.task("T-1", &["src"], json!({}));
    crew.task("T-2", &["docs"], json!({}));
    crew.issue("T-1").unwrap();
    let ids = ["T-1", "T-2"].map(|name| crew.row(name)["x_task"].as_str().unwrap().to_owned());
    let before = crew.world.state();
    let cx = &mut crew.world.cx;
    for id in &ids {
        let id = id.as_str();
        let refused = [
            task::begin::begin(cx, &key("mallory", "a"), &begin(id)).err(),
            task::complete::complete(cx, &key("mallory", "b"), &complete(id, "done")).err(),
            task::set_status::set_status(cx, &key("mallory", "c"), &set_status(id, "blocked")).err(),
            run::retry::retry(
                cx,
                &key("mallory", "d"),
                &run::retry::Request { task_id: Some(id.to_owned()), run: None },
            )
            .err(),
            ops::push::push(
                cx,
                &key("mallory", "e"),
                &pushed(json!({"task_id": id, "task_status": {"status": "blocked", "summary": "s"}})),
            )
            .err(),
        ];
        for error in refused {
            assert_eq!(error.map(|error| error.code), Some(ErrorCode::WrongState), "{id}");
        }
    }
    assert_eq!(crew.world.state(), before);
    crew.submit(crew.result("T-1", 1, "done"), Vec::new()).unwrap();
    crew.holds();
}

#[test]
fn what_is_done_in_a_run_stays_done() {
    let mut world = World::new();
    let run = world.run(&["a"]);
    let id = world.task_of(&run, "a").id.to_string();
    // What waits may be done by hand.
    task::complete::complete(&mut world.cx, &key("ann", "done"), &complete(&id, "done")).unwrap();
    let before = world.state();
    for (request, status) in [("p", "pending"), ("i", "in_progress"), ("b", "blocked")] {
        let moved =
            task::set_status::set_status(&mut world.cx, &key("ann", request), &set_status(&id, status));
        assert_eq!(moved.unwrap_err().code, ErrorCode::WrongState, "{status}");
    }
    assert_eq!(world.state(), before);
}

#[test]
fn a_row_that_would_depend_on_itself_is_refused() {
    let mut crew = Crew::new();
    crew.task("T-1", &["src"], json!({}));
    crew.task("T-2", &["docs"], json!({"dependencies": ["T-1"]}));
    let new = |name: &str, needs: &[&str]| {
        json!({
            "task_id": name, "status": "todo", "owner": "", "reason": "new", "delta_id": format!("new {name}"),
            "x_intent": "create", "x_row": {"title": name, "lock_scope": [name], "dependencies": needs},
        })
    };
    let put_off = json!({
        "task_id": "T-1", "status": "blocked", "owner": "", "reason": "replanned", "delta_id": "d1",
    });
    let replanned = json!({
        "task_id": "T-1", "status": "todo", "owner": "", "reason": "replanned", "delta_id": "d2",
        "x_row": {"title": "T-1", "dependencies": ["T-2"]},
    });
    let before = crew.world.state();
    for deltas in [
        json!([new("T-9", &["T-9"])]),
        json!([new("T-8", &["T-9"]), new("T-9", &["T-8"])]),
        json!([put_off, replanned]),
    ] {
        denied(crew.apply(crew.envelope(deltas), false), "LEDGER_INCONSISTENT", "dependency_cycle");
    }
    assert_eq!(crew.world.state(), before);
    let both = json!([new("T-8", &["T-1"]), new("T-9", &["T-8"])]);
    assert_eq!(crew.apply(crew.envelope(both), false).unwrap().reconcile["allow"], true);
    crew.holds();
}
