//! Resuming: one task for one agent, nothing lost, nothing handed out twice, the same bytes for the same state.

use std::collections::BTreeSet;
use std::time::Duration;

use contract::continuity::focus::FocusRule;
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::memory::{MemoryKind, MemoryScope, NewMemory, Scope, ValueType};
use contract::domain::retention::Retention;
use contract::domain::time::Timestamp;
use ops::resume::{Answer, Request, peek, resume};
use ops::{Error, agent, task};
use serde_json::json;
use store::{Store, Stream};
use testkit::{SeededIds, event};

use crate::world::{World, begin, complete, create, key, pushed, set_status};

impl World {
    fn try_resume(&mut self, agent: &str, request: &str, asked: &Request) -> Result<Answer, Error> {
        Ok(resume(&mut self.cx, &key(agent, request), asked)?.answer)
    }

    #[track_caller]
    fn resume(&mut self, agent: &str, request: &str) -> Answer {
        self.try_resume(agent, request, &Request::default()).unwrap()
    }

    #[track_caller]
    fn resume_in(&mut self, agent: &str, request: &str, project: &str) -> Answer {
        self.try_resume(agent, request, &in_project(project)).unwrap()
    }

    fn peek(
        &mut self,
        agent: &str,
        asked: &Request,
        as_of: Option<Timestamp>,
    ) -> Result<peek::Answer, Error> {
        self.look(agent, asked, as_of).map(|(answer, _)| answer)
    }

    fn look(
        &mut self,
        agent: &str,
        asked: &Request,
        as_of: Option<Timestamp>,
    ) -> Result<(peek::Answer, Option<String>), Error> {
        let Request { project_dir, limit, focus, budget, .. } = asked.clone();
        let agent = agent.to_owned();
        let request =
            peek::Request { agent, project_dir, limit, focus, budget, as_of, ..peek::Request::default() };
        peek::look(&mut self.cx, &crate::world::reader(), &request)
            .map(|(answer, aside)| (answer, aside.project))
    }

    fn task_in(&mut self, project: &str, title: &str) -> String {
        let mut request = create(title);
        request.project_id = Some(project.to_owned());
        let made = task::create::create(&mut self.cx, &key("setup", &format!("make {title}")), &request);
        made.unwrap().answer.task.id
    }

    /// Puts a memory into the store as the verb does.
    fn remember(&mut self, id: i64, place: MemoryScope, name: &str, value: &str) {
        let mut store = Store::open(&self.temp.path(), self.temp.now().at).unwrap();
        let tx = store.begin().unwrap();
        let memory = NewMemory {
            id,
            place,
            key: name.to_owned(),
            value: value.to_owned(),
            value_type: ValueType::String,
            kind: MemoryKind::Fact,
            half_life_days: None,
            pinned: false,
            expires_at: None,
            source_task_id: None,
        };
        let mut ids = SeededIds::new(u64::try_from(id).unwrap() + 5000);
        tx.change(&Stream::Store, event(&mut ids, &self.temp.now(), name), &Change::MemorySet { memory })
            .unwrap();
        tx.commit().unwrap();
    }
}

fn in_project(project: &str) -> Request {
    Request { project_dir: Some(project.to_owned()), ..Request::default() }
}

fn place(scope: Scope, id: &str) -> MemoryScope {
    MemoryScope { scope, scope_id: id.to_owned() }
}

const MOMENT: Duration = Duration::from_millis(1);

#[test]
fn two_agents_never_get_the_same_task() {
    let mut world = World::new();
    let tasks: BTreeSet<String> = (0..5).map(|number| world.task(&format!("task {number}"))).collect();
    let mut given = BTreeSet::new();
    for agent in ["a", "b", "c", "d", "e"] {
        let answer = world.resume(agent, "r-1");
        assert!(given.insert(answer.focus_task_id.clone()), "{agent} got {}", answer.focus_task_id);
        assert_eq!(answer.focus_rule, FocusRule::Next);
    }
    assert_eq!(given, tasks);
    let late = world.resume("f", "r-1");
    assert_eq!((late.focus_task_id.as_str(), late.focus_rule), ("", FocusRule::None));
}

#[test]
fn the_most_urgent_comes_first_then_the_oldest() {
    let mut world = World::new();
    let [first, second] = ["first", "second"].map(|title| world.task(title));
    world.clock().advance(MOMENT);
    let mut urgent = create("urgent");
    urgent.priority = 9;
    let urgent = task::create::create(&mut world.cx, &key("setup", "u"), &urgent).unwrap().answer.task.id;
    assert_eq!(world.resume("a", "r").focus_task_id, urgent);
    let rest: BTreeSet<String> = ["b", "c"].map(|agent| world.resume(agent, "r").focus_task_id).into();
    assert_eq!(rest, [first, second].into());
}

#[test]
fn an_agent_stays_with_its_task() {
    let mut world = World::new();
    let id = world.task("one");
    world.clock().advance(MOMENT);
    world.task("two");
    assert_eq!(world.resume("a", "r-1").focus_task_id, id);
    let again = world.resume("a", "r-2");
    assert_eq!((again.focus_task_id.as_str(), again.focus_rule), (id.as_str(), FocusRule::Kept));
    task::begin::begin(&mut world.cx, &key("a", "b"), &begin(&id)).unwrap();
    let working = world.resume("a", "r-3");
    assert_eq!((working.focus_task_id.as_str(), working.focus_rule), (id.as_str(), FocusRule::InProgress));
    task::complete::complete(&mut world.cx, &key("a", "c"), &complete(&id, "done")).unwrap();
    let next = world.resume("a", "r-4");
    assert_ne!(next.focus_task_id, id);
    assert_eq!(next.focus_rule, FocusRule::Next);
}

#[test]
fn a_task_marked_as_stuck_is_left_for_the_next() {
    let mut world = World::new();
    let stuck = world.task("one");
    world.clock().advance(MOMENT);
    let other = world.task("two");
    assert_eq!(world.resume("a", "r-1").focus_task_id, stuck);
    task::complete::complete(&mut world.cx, &key("a", "c"), &complete(&stuck, "blocked")).unwrap();
    assert_eq!(world.resume("a", "r-2").focus_task_id, other);
}

#[test]
fn an_agent_that_died_is_replaced_after_its_lease_with_a_higher_token_and_its_late_write_is_refused() {
    let mut world = World::new();
    let id = world.task("one");
    let dead = world.resume("dead", "r-1").claim.unwrap();
    task::begin::begin(&mut world.cx, &key("dead", "b"), &begin(&id)).unwrap();
    world.clock().advance(limits::CLAIM_LEASE.checked_sub(MOMENT).unwrap());
    assert_eq!(world.resume("heir", "r-1").focus_task_id, "", "it may still be alive");
    world.clock().advance(MOMENT);
    let heir = world.resume("heir", "r-2");
    assert_eq!((heir.focus_task_id.as_str(), heir.focus_rule), (id.as_str(), FocusRule::Left));
    assert!(heir.claim.unwrap().token > dead.token);
    let late = [
        task::complete::complete(&mut world.cx, &key("dead", "c"), &complete(&id, "done")).map(drop),
        task::set_status::set_status(&mut world.cx, &key("dead", "s"), &set_status(&id, "pending")).map(drop),
        world.try_resume("dead", "r-9", &Request { focus: Some(id.clone()), ..Request::default() }).map(drop),
    ];
    for refusal in late {
        assert_eq!(refusal.unwrap_err().code, ErrorCode::HeldByAnother);
    }
    assert_eq!(world.resume("dead", "r-10").focus_task_id, "", "it looks for other work");
}

#[test]
fn what_an_agent_gives_back_others_may_take_at_once() {
    let mut world = World::new();
    let id = world.task("one");
    world.resume("a", "r-1");
    task::begin::begin(&mut world.cx, &key("a", "b"), &begin(&id)).unwrap();
    let left = agent::leave(&mut world.cx, &key("a", "bye"), &agent::Request::default()).unwrap();
    assert_eq!(left.answer.released, std::slice::from_ref(&id));
    assert!(agent::leave(&mut world.cx, &key("a", "bye"), &agent::Request::default()).unwrap().replayed);
    assert_eq!(world.resume("b", "r-1").focus_task_id, id);
}

#[test]
fn every_event_of_every_project_is_delivered_once_whatever_the_order_of_the_calls() {
    let mut world = World::new();
    let mut seen: Vec<(String, i64)> = Vec::new();
    for round in 0..4 {
        for project in ["p", "q"] {
            world.task_in(project, &format!("{project} {round}"));
        }
        world.task(&format!("outside {round}"));
        let project = if round % 2 == 0 { "p" } else { "q" };
        let asked = Request { limit: Some(2), ..in_project(project) };
        let answer = world.try_resume("a", &format!("r-{round}"), &asked).unwrap();
        seen.extend(answer.deltas.into_iter().flatten().map(|event| (project.to_owned(), event.id)));
    }
    let last = world.state().1.events;
    for (round, project) in (0..40).zip(["p", "q"].iter().cycle()) {
        let answer = world.resume_in("a", &format!("more-{round}"), project);
        assert_eq!(
            answer.new_cursor,
            answer.deltas.as_ref().map_or(answer.old_cursor, |d| d.last().unwrap().id)
        );
        seen.extend(answer.deltas.into_iter().flatten().map(|event| ((*project).to_owned(), event.id)));
    }
    let distinct: BTreeSet<_> = seen.iter().cloned().collect();
    assert_eq!(distinct.len(), seen.len(), "nothing comes twice");
    let mut store = Store::open(&world.temp.path(), world.temp.now().at).unwrap();
    let tx = store.read().unwrap();
    for project in ["p", "q"] {
        let all = tx.events_since(0, Some(project), 1000).unwrap();
        assert!(all.len() >= 8);
        // Each change of project is an event too, which only a later call can see.
        for event in all.into_iter().filter(|event| event.id <= last) {
            assert!(distinct.contains(&(project.to_owned(), event.id)), "{project} misses {}", event.id);
        }
    }
}

#[test]
fn a_project_keeps_its_own_task() {
    let mut world = World::new();
    let (in_p, in_q) = (world.task_in("p", "in p"), world.task_in("q", "in q"));
    assert_eq!(world.resume_in("a", "r-1", "p").focus_task_id, in_p);
    assert_eq!(world.resume_in("a", "r-2", "q").focus_task_id, in_q);
    let back = world.resume("a", "r-3");
    assert_eq!(back.focus_project_id.as_deref(), Some("q"), "without a word it is where it was");
}

#[test]
fn an_assigned_task_comes_before_the_rest() {
    let mut world = World::new();
    world.task("first");
    let assigned = world.task("assigned");
    let mut store = Store::open(&world.temp.path(), world.temp.now().at).unwrap();
    let tx = store.begin().unwrap();
    let mut said = event(&mut SeededIds::new(77), &world.temp.now(), "yours");
    said.kind = "task_assigned".to_owned();
    said.task_id = Some(contract::domain::id::Id::parse(&assigned).unwrap());
    tx.append(&Stream::Store, said).unwrap();
    tx.commit().unwrap();
    let answer = world.resume("a", "r");
    assert_eq!((answer.focus_task_id, answer.focus_rule), (assigned, FocusRule::Assigned));
}

#[test]
fn memory_of_every_scope_is_told_and_one_that_is_too_long_hides_none() {
    let mut world = World::new();
    let id = world.task_in("p", "one");
    world.remember(1, place(Scope::Task, &id), "of-task", &"x".repeat(60_000));
    world.remember(2, place(Scope::Project, "p"), "of-project", "tabs");
    world.remember(3, place(Scope::Agent, "a"), "of-agent", "likes tests");
    world.remember(4, MemoryScope::global(), "of-all", "be kind");
    world.remember(5, place(Scope::Agent, "b"), "of-another", "secret");
    let answer = world.resume_in("a", "r", "p");
    for known in ["of-task", "of-project = tabs", "of-agent = likes tests", "of-all = be kind"] {
        assert!(answer.prompt.contains(known), "{known}: {}", answer.prompt);
    }
    assert!(!answer.prompt.contains("of-another"));
    assert_eq!(answer.brief.relevant_memory.len(), 4);
    assert!(answer.prompt.len() <= limits::BRIEF_TOKENS_DEFAULT * 4);
    let mut empty = World::new();
    empty.remember(1, MemoryScope::global(), "of-all", "be kind");
    assert!(empty.resume("a", "r").prompt.contains("be kind"), "without a task and without a project too");
}

#[test]
fn the_same_state_at_the_same_moment_gives_the_same_bytes() {
    let mut world = World::new();
    let id = world.task_in("p", "one");
    for number in 0..30 {
        world.remember(number + 1, place(Scope::Task, &id), &format!("k{number}"), "v");
    }
    let at = world.temp.now().at;
    let first = world.peek("a", &in_project("p"), Some(at)).unwrap();
    world.clock().advance(Duration::from_hours(48));
    let second = world.peek("a", &in_project("p"), Some(at)).unwrap();
    assert_eq!(serde_json::to_string(&first).unwrap(), serde_json::to_string(&second).unwrap());
    let later = world.peek("a", &in_project("p"), None).unwrap();
    assert_ne!(first.digest, later.digest, "memories fade");
}

#[test]
fn a_look_leaves_no_trace() {
    let mut world = World::new();
    world.task("one");
    let before = world.state();
    let seen = world.peek("a", &Request::default(), None).unwrap();
    assert_eq!(seen.brief.task.unwrap().title, "one");
    assert_eq!(world.state(), before);
    assert!(world.resume("b", "r").claim.is_some());
}

#[test]
fn refusals_name_the_fault_and_write_nothing() {
    let mut world = World::new();
    world.task("one");
    let before = world.state();
    let unknown = Request { focus: Some("task_nowhere".to_owned()), ..Request::default() };
    assert_eq!(world.try_resume("a", "r", &unknown).unwrap_err().code, ErrorCode::NotFound);
    for budget in [-1, 0, 10, 10_000_000] {
        let asked = Request { budget: Some(budget), ..Request::default() };
        assert_eq!(world.try_resume("a", "r", &asked).unwrap_err().code, ErrorCode::InvalidInput);
    }
    let asked = in_project("a\nb");
    assert_eq!(world.try_resume("a", "r", &asked).unwrap_err().code, ErrorCode::InvalidInput);
    assert_eq!(world.state(), before);
}

#[test]
fn the_log_accounts_for_what_resuming_does() {
    let mut world = World::new();
    world.task_in("p", "one");
    world.resume_in("a", "r-1", "p");
    world.clock().advance(limits::CLAIM_LEASE);
    world.resume_in("b", "r-1", "p");
    let mut store = Store::open(&world.temp.path(), world.temp.now().at).unwrap();
    let rows = store.rows().unwrap();
    assert_eq!(store.rebuilt().unwrap().rows().unwrap(), rows);
}

#[test]
fn an_agent_that_turns_to_another_task_gives_back_what_it_has_not_begun() {
    let mut world = World::new();
    let [one, two] = ["one", "two"].map(|title| world.task(title));
    let first = world.resume("x", "r-1").focus_task_id;
    let other = if first == one { two } else { one };
    task::begin::begin(&mut world.cx, &key("x", "b"), &begin(&other)).unwrap();
    assert_eq!(world.resume("y", "r-1").focus_task_id, first, "nobody works on it");
    let in_hand = world.resume("x", "r-2");
    assert_eq!((in_hand.focus_task_id, in_hand.focus_rule), (other, FocusRule::InProgress));
}

#[test]
fn a_look_at_what_another_holds_is_only_a_look() {
    let mut world = World::new();
    let id = world.task("one");
    task::begin::begin(&mut world.cx, &key("a", "b"), &begin(&id)).unwrap();
    let before = world.state();
    let asked = Request { focus: Some(id.clone()), ..Request::default() };
    let seen = world.peek("b", &asked, None).unwrap();
    assert_eq!((seen.brief.task.unwrap().id, seen.focus_rule), (id, FocusRule::Asked));
    let refused = world.try_resume("b", "r", &asked).unwrap_err();
    assert_eq!((refused.code, refused.details["holder"].as_str()), (ErrorCode::HeldByAnother, Some("a")));
    assert_eq!(world.state(), before);
}

#[test]
fn what_comes_next_is_what_the_agent_could_take() {
    let mut world = World::new();
    let [held, waiting, free, own] = ["held", "waiting", "free", "own"].map(|title| world.task(title));
    task::begin::begin(&mut world.cx, &key("other", "b"), &begin(&held)).unwrap();
    let claimed = world.try_resume("third", "r", &Request { focus: Some(waiting), ..Request::default() });
    assert!(claimed.unwrap().claim.is_some());
    let mine =
        world.try_resume("a", "r", &Request { focus: Some(own.clone()), ..Request::default() }).unwrap();
    let next: Vec<&str> = mine.brief.pipeline.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(next, [free.as_str()]);
}

#[test]
fn a_look_back_shows_nothing_that_was_written_later() {
    let mut world = World::new();
    let early = world.task_in("p", "early");
    world.remember(1, place(Scope::Project, "p"), "early-memory", "v");
    let then = world.temp.now().at;
    let asked = Request { focus: Some(early.clone()), ..in_project("p") };
    let before = world.peek("a", &asked, Some(then)).unwrap();
    world.clock().advance(MOMENT);
    let late = world.task_in("p", "late");
    world.remember(2, place(Scope::Project, "p"), "late-memory", "v");
    let said = json!({
        "task_id": early,
        "event": {"kind": "reasoning", "message": "late thought"},
        "artifacts": [{"file_path": "late.rs"}],
    });
    ops::push::push(&mut world.cx, &key("b", "p"), &pushed(said)).unwrap();
    let mut after = world.peek("a", &asked, Some(then)).unwrap();
    assert_eq!(after.brief.counts.pending, 2, "states and their numbers are those of now");
    after.brief.counts = before.brief.counts;
    assert_eq!(after.brief, before.brief);
    let asked = Request { focus: Some(late), ..in_project("p") };
    let unborn = world.peek("a", &asked, Some(then)).unwrap();
    assert_eq!((unborn.brief.task, unborn.focus_rule), (None, FocusRule::None));
}

#[test]
fn a_project_that_nobody_has_been_in_has_no_past() {
    let mut world = World::new();
    let (seen, project) = world.look("a", &in_project("/new"), None).unwrap();
    assert_eq!((seen.brief.project, project.as_deref()), (None, Some("/new")));
    let at = world.temp.now().at.to_string();
    assert_eq!(world.resume_in("a", "r", "/new").brief.project.unwrap().created_at, at);
}

#[test]
fn deltas_are_bounded_in_bytes_and_the_next_call_goes_on_where_they_ended() {
    let mut world = World::new();
    let metadata = "x".repeat(15_000);
    let mut pushed_ids = Vec::new();
    for number in 0..12 {
        let said = json!({"event": {"kind": "note", "message": "m", "metadata": metadata}});
        let request = key("b", &format!("p{number}"));
        pushed_ids
            .push(ops::push::push(&mut world.cx, &request, &pushed(said)).unwrap().answer.event_id.unwrap());
    }
    let mut seen = Vec::new();
    for round in 0..20 {
        let answer = world.resume("a", &format!("r{round}"));
        let deltas = answer.deltas.unwrap_or_default();
        let bytes: usize =
            deltas.iter().map(|event| event.message.len() + event.metadata.to_string().len()).sum();
        assert!(bytes <= limits::DELTA_BYTES_MAX, "{bytes}");
        assert_eq!(answer.new_cursor, deltas.last().map_or(answer.old_cursor, |event| event.id));
        seen.extend(deltas.into_iter().map(|event| event.id));
    }
    assert!(pushed_ids.iter().all(|id| seen.contains(id)), "{seen:?}");
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
}

#[test]
fn who_was_away_is_told_what_was_archived_meanwhile() {
    let mut world = World::new();
    world.resume_in("away", "r-1", "p");
    let tasks: Vec<String> = (0..30).map(|number| world.task_in("p", &format!("t{number}"))).collect();
    let retention =
        Retention { events_summarize_threshold: 20, events_summarize_keep_recent: 5, ..Retention::default() };
    let done = ops::gc::maintain(&mut world.cx, &key("b", "gc"), Some("p"), &retention).unwrap();
    assert!(done.answer.archived > 0, "{done:?}");
    let told = world.resume_in("away", "r-2", "p").deltas.unwrap();
    let told: BTreeSet<&str> = told.iter().map(|event| event.task_id.as_str()).collect();
    assert!(tasks.iter().all(|id| told.contains(id.as_str())), "{told:?}");
    // A list leaves them out unless it is asked for them, and page after page misses none.
    let mut walked = Vec::new();
    for include_archived in [false, true] {
        let mut after = 0;
        let mut found = Vec::new();
        loop {
            let request = ops::event::list::Request {
                since_id: after,
                ascending: true,
                include_archived,
                limit: Some(4),
                ..ops::event::list::Request::default()
            };
            let page = ops::event::list::events(&mut world.cx, &request).unwrap();
            let Some(last) = page.last() else { break };
            after = last.id;
            found.extend(page.iter().map(|event| event.id));
        }
        assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
        walked.push(found);
    }
    let events = usize::try_from(world.state().1.events).unwrap();
    assert_eq!((walked[1].len(), walked[0].len() < walked[1].len()), (events, true));
    assert!(walked[0].iter().all(|id| walked[1].contains(id)));
}
