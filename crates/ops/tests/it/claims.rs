//! Claims: one holder at a time, for as long as its lease on the boot clock lasts.

use std::time::Duration;

use contract::continuity::focus::FocusRule;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::memory::Scope;
use contract::domain::process::Holder;
use contract::domain::task::Claim;
use ops::Session;
use ops::resume::{Request, peek, resume};
use ops::{Error, memory, push, task};
use serde_json::json;

use crate::world::{
    ALIVE, DEAD, UNSEEN, World, begin, complete, create, key, owner, pushed, remember, set_status,
};

impl World {
    fn try_begin(&mut self, agent: &str, request: &str, id: &str) -> Result<Claim, Error> {
        task::begin::begin(&mut self.cx, &key(agent, request), &begin(id))?;
        Ok(self.get(id).claim.unwrap())
    }

    /// The messages of a task's events.
    fn messages(&mut self, id: &str) -> Vec<String> {
        let request = ops::event::list::Request {
            task_id: Some(id.to_owned()),
            ..ops::event::list::Request::default()
        };
        let answer =
            ops::verb::call::<ops::event::list::List>(&mut self.cx, &crate::world::reader(), &request)
                .unwrap()
                .answer;
        answer.events.into_iter().map(|event| event.message).collect()
    }

    #[track_caller]
    fn is_held_from(&mut self, agent: &str, request: &str, id: &str) {
        let before = self.state();
        let error = self.try_begin(agent, request, id).expect_err("another holds it");
        assert_eq!(error.code, ErrorCode::HeldByAnother, "{error}");
        let claim = self.get(id).claim.unwrap();
        let left = claim.lease.left(&self.temp.now());
        assert_eq!(
            error.details,
            json!({
                "task_id": id,
                "holder": claim.agent,
                "lease_seconds": left.as_secs().to_string(),
                "lease_until": self.temp.now().at.plus(left).to_string(),
            })
        );
        assert_eq!(self.state(), before);
    }
}

const MOMENT: Duration = Duration::from_millis(1);

#[test]
fn a_claim_lasts_as_long_as_its_lease_and_no_longer() {
    let mut world = World::new();
    let id = world.task("one");
    let first = world.try_begin("a", "a-1", &id).unwrap();
    assert_eq!(first.agent, "a");
    world.is_held_from("b", "b-1", &id);
    world.clock().advance(limits::CLAIM_LEASE.checked_sub(MOMENT).unwrap());
    world.is_held_from("b", "b-1", &id);
    world.clock().advance(MOMENT);
    let second = world.try_begin("b", "b-1", &id).unwrap();
    assert_eq!(second.agent, "b");
    assert!(second.token > first.token, "a takeover gets a higher token");
    world.is_held_from("a", "a-2", &id);
}

#[test]
fn a_wall_clock_that_jumps_expires_nothing_and_extends_nothing() {
    let day = 86_400_000;
    for jump in [day, -day, 1000 * day] {
        let mut world = World::new();
        let id = world.task("one");
        world.try_begin("a", "a-1", &id).unwrap();
        world.clock().jump_wall(jump);
        world.is_held_from("b", "b-1", &id);
        world.clock().advance(limits::CLAIM_LEASE);
        assert_eq!(world.try_begin("b", "b-1", &id).unwrap().agent, "b", "jump of {jump}");
    }
}

#[test]
fn a_claim_ends_with_the_boot_it_was_made_in() {
    let mut world = World::new();
    let id = world.task("one");
    world.try_begin("a", "a-1", &id).unwrap();
    world.clock().reboot();
    assert_eq!(world.try_begin("b", "b-1", &id).unwrap().agent, "b");
}

#[test]
fn any_call_of_the_holder_renews_its_claims() {
    let mut world = World::new();
    let id = world.task("one");
    let first = world.try_begin("a", "a-1", &id).unwrap();
    let nearly = limits::CLAIM_LEASE.checked_sub(MOMENT).unwrap();
    for round in 0..3 {
        world.clock().advance(nearly);
        task::create::create(&mut world.cx, &key("a", &format!("a-{round}-more")), &create("more")).unwrap();
    }
    let claim = world.get(&id).claim.unwrap();
    assert_eq!((claim.agent.as_str(), claim.token), ("a", first.token));
    world.clock().advance(nearly);
    world.is_held_from("b", "b-1", &id);
    // Others' calls do not, and what has expired does not come back.
    task::create::create(&mut world.cx, &key("b", "b-more"), &create("more")).unwrap();
    world.clock().advance(MOMENT);
    task::create::create(&mut world.cx, &key("a", "a-late"), &create("more")).unwrap();
    assert_eq!(world.try_begin("b", "b-2", &id).unwrap().agent, "b");
}

#[test]
fn the_holder_may_begin_again() {
    let mut world = World::new();
    let id = world.task("one");
    let first = world.try_begin("a", "a-1", &id).unwrap();
    let second = world.try_begin("a", "a-2", &id).unwrap();
    assert!(second.token > first.token);
    assert_eq!(world.status(Some("a")).agent_state.unwrap().focus_task_id, id);
}

#[test]
fn a_claim_belongs_to_work_in_progress() {
    for (end, request) in [("pending", "s-1"), ("blocked", "s-2"), ("completed", "s-3")] {
        let mut world = World::new();
        let id = world.task("one");
        world.try_begin("a", "a-1", &id).unwrap();
        task::set_status::set_status(&mut world.cx, &key("a", request), &set_status(&id, end)).unwrap();
        assert_eq!(world.get(&id).claim, None, "{end}");
        assert_eq!(world.try_begin("b", "b-1", &id).unwrap().agent, "b", "{end}");
    }
    let mut world = World::new();
    let id = world.task("one");
    world.try_begin("a", "a-1", &id).unwrap();
    task::complete::complete(&mut world.cx, &key("a", "a-2"), &complete(&id, "done")).unwrap();
    assert_eq!(world.get(&id).claim, None);
}

/// What a claim protects is the task; what is said about it stands beside it.
#[test]
fn who_does_not_hold_a_task_may_speak_about_it_and_not_change_it() {
    let mut world = World::new();
    let [id, other] = ["one", "other"].map(|title| world.task(title));
    world.try_begin("a", "a-1", &id).unwrap();
    let before = world.state();
    let (id, other) = (id.as_str(), other.as_str());
    let cx = &mut world.cx;
    let dependency = task::add_dependency::Request { id: id.to_owned(), depends_on: other.to_owned() };
    let status = json!({"task_id": id, "task_status": {"status": "blocked"}});
    let changes = [
        task::set_status::set_status(cx, &key("b", "1"), &set_status(id, "pending")).map(drop),
        task::complete::complete(cx, &key("b", "2"), &complete(id, "done")).map(drop),
        task::set_priority::set_priority(
            cx,
            &key("b", "3"),
            &task::set_priority::Request { id: id.to_owned(), priority: 9 },
        )
        .map(drop),
        task::add_dependency::add(cx, &key("b", "4"), &dependency).map(drop),
        task::remove_dependency::remove(cx, &key("b", "5"), &dependency).map(drop),
        task::delete::delete(cx, &key("b", "6"), &task::delete::Request { id: id.to_owned() }).map(drop),
        task::begin::begin(cx, &key("b", "7"), &begin(id)).map(drop),
        push::push(cx, &key("b", "8"), &pushed(status)).map(drop),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert_eq!(change.unwrap_err().code, ErrorCode::HeldByAnother, "change {}", number + 1);
    }
    assert_eq!(world.state(), before);
    let cx = &mut world.cx;
    let said = json!({
        "task_id": id,
        "event": {"kind": "note", "message": "look at the log"},
        "artifacts": [{"file_path": "review.md"}],
        "memories": [{"key": "k", "value": "v", "scope": "task", "scope_id": id}],
    });
    push::push(cx, &key("b", "9"), &pushed(said)).unwrap();
    let mut note = remember("seen", "by b", None);
    (note.scope, note.scope_id) = (Scope::Task, Some(id.to_owned()));
    memory::set::set(cx, &key("b", "10"), &note).unwrap();
    assert_eq!(world.get(id).claim.unwrap().agent, "a");
}

fn holder(pid: u32) -> Holder {
    Holder { program: "claude".to_owned(), process: owner(pid) }
}

/// A key of an agent whose process is known.
fn held(agent: &str, request: &str, pid: u32) -> Session {
    let session = key(agent, request);
    Session { caller: session.caller.clone().held_by(Some(holder(pid))), ..session }
}

#[test]
fn a_dead_process_holds_nothing() {
    for (liveness, is_free) in [(DEAD, true), (ALIVE, false), (UNSEEN, false)] {
        let mut world = World::new();
        let id = world.task("one");
        world.host.liveness.set(liveness);
        task::begin::begin(&mut world.cx, &held("a", "a-1", 7), &begin(&id)).unwrap();
        let first = world.get(&id).claim.unwrap();
        assert_eq!(first.holder, Some(holder(7)));
        if is_free {
            let second = world.try_begin("b", "b-1", &id).unwrap();
            assert_eq!((second.agent.as_str(), second.holder), ("b", None));
            assert!(second.token > first.token, "a takeover gets a higher token");
            let said = world.messages(&id);
            assert!(said.contains(&"Claim ended: claude (pid 7) is dead".to_owned()), "{said:?}");
        } else {
            world.is_held_from("b", "b-1", &id);
            world.clock().advance(limits::CLAIM_LEASE);
            assert_eq!(world.try_begin("b", "b-1", &id).unwrap().agent, "b", "{liveness:?}");
        }
    }
}

#[test]
fn a_claim_without_a_process_is_held_until_its_lease_ends() {
    let mut world = World::new();
    let id = world.task("one");
    world.host.liveness.set(DEAD);
    world.try_begin("a", "a-1", &id).unwrap();
    world.is_held_from("b", "b-1", &id);
}

#[test]
fn every_call_refreshes_the_process_that_holds_a_claim() {
    let mut world = World::new();
    let id = world.task("one");
    world.host.liveness.set(ALIVE);
    world.host.processes.borrow_mut().insert(7, DEAD);
    world.try_begin("a", "a-1", &id).unwrap();
    // The claim was made by a command; the next hook knows the process.
    task::create::create(&mut world.cx, &held("a", "a-2", 7), &create("more")).unwrap();
    assert_eq!(world.get(&id).claim.unwrap().holder, Some(holder(7)));
    // The session goes on in another process, with the claim it had.
    let token = world.get(&id).claim.unwrap().token;
    task::create::create(&mut world.cx, &held("a", "a-3", 8), &create("still more")).unwrap();
    let claim = world.get(&id).claim.unwrap();
    assert_eq!((claim.holder, claim.token), (Some(holder(8)), token));
    world.is_held_from("b", "b-1", &id);
    // A call that knows no process keeps the one that is known.
    assert_eq!(world.try_begin("a", "a-4", &id).unwrap().holder, Some(holder(8)));
    ops::agent::renew(&mut world.cx, &held("a", "x", 7).caller).unwrap();
    assert_eq!(world.try_begin("b", "b-1", &id).unwrap().agent, "b");
}

#[test]
fn a_resuming_agent_gets_what_a_dead_one_left_and_a_peek_shows_it() {
    let mut world = World::new();
    let [left, other] = ["left", "other"].map(|title| world.task(title));
    world.host.liveness.set(ALIVE);
    world.host.processes.borrow_mut().insert(7, DEAD);
    task::begin::begin(&mut world.cx, &held("a", "a-1", 7), &begin(&left)).unwrap();
    task::begin::begin(&mut world.cx, &held("b", "b-1", 8), &begin(&other)).unwrap();
    let before = world.state();
    let request = peek::Request { agent: "c".to_owned(), ..peek::Request::default() };
    let shown = peek::look(&mut world.cx, &crate::world::reader(), &request).unwrap().0;
    assert_eq!((shown.brief.task.unwrap().id, shown.focus_rule), (left.clone(), FocusRule::Left));
    assert_eq!(world.state(), before, "a peek writes nothing");
    let answer = resume(&mut world.cx, &held("c", "c-1", 9), &Request::default()).unwrap().answer;
    assert_eq!((answer.focus_task_id, answer.focus_rule), (left.clone(), FocusRule::Left));
    assert_eq!(world.get(&left).claim.unwrap().holder, Some(holder(9)));
    assert_eq!(world.get(&other).claim.unwrap().agent, "b", "a living one keeps its task");
}

#[test]
fn a_dead_process_holds_no_task_of_another_project_either() {
    let mut world = World::new();
    let elsewhere =
        task::create::Request { project_id: Some("/elsewhere".to_owned()), ..create("of another project") };
    let id = task::create::create(&mut world.cx, &key("setup", "c"), &elsewhere).unwrap().answer.task.id;
    world.host.liveness.set(DEAD);
    task::begin::begin(&mut world.cx, &held("a", "a-1", 7), &begin(&id)).unwrap();
    let request =
        Request { project_dir: Some("/here".to_owned()), focus: Some(id.clone()), ..Request::default() };
    let answer = resume(&mut world.cx, &key("b", "b-1"), &request).unwrap().answer;
    assert_eq!(answer.focus_task_id, id);
    assert_eq!(world.get(&id).claim.unwrap().agent, "b");
}

#[test]
fn a_task_that_an_agent_holds_is_not_ready() {
    let mut world = World::new();
    let (one, two) = (world.task("one"), world.task("two"));
    let request = Request { focus: Some(one.clone()), ..Request::default() };
    resume(&mut world.cx, &key("a", "a-1"), &request).unwrap();
    let ready = |world: &mut World| -> Vec<String> {
        let found = task::ready::ready(&mut world.cx, 10).unwrap();
        found.into_iter().map(|task| task.id.to_string()).collect()
    };
    assert_eq!(ready(&mut world), std::slice::from_ref(&two));
    world.clock().advance(limits::CLAIM_LEASE);
    assert_eq!(ready(&mut world).len(), 2, "the lease of {one} is over");
}
