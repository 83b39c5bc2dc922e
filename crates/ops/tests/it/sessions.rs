//! Sessions: what one did is known to the next, however it ended.

use contract::continuity::brief::Brief;
use contract::domain::code::ErrorCode;
use contract::domain::process::Holder;
use ops::Session;
use ops::event::note::{self, note};
use ops::resume::{Answer, Request, peek, resume};
use ops::session::checkpoint;
use ops::{agent, task};
use serde_json::{Value, json};

use crate::world::{ALIVE, World, begin, create, key, owner, pushed, submit};

const PROJECT: &str = "/w/p";

impl World {
    fn project_task(&mut self, title: &str) -> String {
        let request = task::create::Request { project_id: Some(PROJECT.to_owned()), ..create(title) };
        let made = task::create::create(&mut self.cx, &key("setup", &format!("make {title}")), &request);
        made.unwrap().answer.task.id
    }

    #[track_caller]
    fn start(&mut self, agent: &str) -> Answer {
        let request = Request { project_dir: Some(PROJECT.to_owned()), ..Request::default() };
        resume(&mut self.cx, &key(agent, "start"), &request).unwrap().answer
    }

    #[track_caller]
    fn note(&mut self, agent: &str, request: &str, kind: &str, message: &str) -> i64 {
        let said = note::Request {
            kind: kind.to_owned(),
            message: message.to_owned(),
            metadata: Value::Null,
            project_id: Some(PROJECT.to_owned()),
            task_id: None,
        };
        note(&mut self.cx, &key(agent, request), &said).unwrap().answer.event_id
    }

    fn end(&mut self, agent: &str) {
        agent::leave(&mut self.cx, &key(agent, "end"), &agent::Request::default()).unwrap();
    }

    /// Kind, message and task of an event.
    fn event(&mut self, number: i64) -> (String, String, String) {
        let request = ops::event::list::Request {
            since_id: number - 1,
            ascending: true,
            limit: Some(1),
            ..ops::event::list::Request::default()
        };
        let answer =
            ops::verb::call::<ops::event::list::List>(&mut self.cx, &crate::world::reader(), &request)
                .unwrap()
                .answer;
        let event = answer.events.into_iter().next().unwrap();
        (event.kind, event.message, event.task_id)
    }
}

fn kinds(brief: &Brief) -> Vec<&str> {
    brief.recent_events.iter().map(|event| event.kind.as_str()).collect()
}

#[test]
fn what_hooks_record_belongs_to_the_task_in_focus() {
    let mut world = World::new();
    let early = world.note("a", "before", "user_prompt", "hello");
    assert_eq!(world.event(early).2, "", "there is no task yet");
    let id = world.project_task("one");
    world.start("a");
    for (number, kind) in ["user_prompt", "tool_failure", "tool_success", "last_words"].iter().enumerate() {
        let event = world.note("a", &format!("n{number}"), kind, "m");
        assert_eq!(world.event(event).2, id, "{kind}");
    }
    let other = world.task("elsewhere");
    let said = |task_id: Option<&str>, project: Option<&str>| note::Request {
        kind: "note".to_owned(),
        message: "m".to_owned(),
        metadata: Value::Null,
        project_id: project.map(str::to_owned),
        task_id: task_id.map(str::to_owned),
    };
    let named = note(&mut world.cx, &key("a", "named"), &said(Some(&other), None)).unwrap().answer.event_id;
    assert_eq!(world.event(named).2, other);
    let moved = note(&mut world.cx, &key("a", "moved"), &said(None, Some("/w/q"))).unwrap().answer.event_id;
    assert_eq!(world.event(moved).2, "", "the focus is in another project");
    let gone =
        note(&mut world.cx, &key("a", "gone"), &said(Some("task_gone"), None)).unwrap().answer.event_id;
    assert_eq!(world.event(gone).2, "task_gone");
    let error = note(&mut world.cx, &key("a", "bad"), &said(Some("one"), None)).unwrap_err();
    assert_eq!((error.code, &error.details), (ErrorCode::InvalidInput, &json!({"path": "$.task_id"})));
}

#[test]
fn the_next_session_is_told_what_was_tried_what_failed_and_what_was_said_last() {
    let mut world = World::new();
    let id = world.project_task("one");
    world.start("a");
    task::begin::begin(&mut world.cx, &key("a", "begin"), &begin(&id)).unwrap();
    for number in 0..20 {
        world.note("a", &format!("edit{number}"), "tool_success", "Edit: src/parser.rs");
    }
    world.note("a", "failed", "tool_failure", "Bash failed (exit 1): cargo test");
    world.note("a", "said", "last_words", "Escapes are missing.");
    let said = json!({"task_id": id, "event": {"kind": "decision", "message": "no tables", "metadata": {
        "next_action": "write the escapes"}}});
    ops::push::push(&mut world.cx, &key("a", "said-2"), &pushed(said)).unwrap();
    world.end("a");
    let answer = world.start("b");
    assert_eq!(answer.focus_task_id, id);
    let brief = &answer.brief;
    assert_eq!(brief.failures, ["Bash failed (exit 1): cargo test"]);
    assert_eq!(brief.touched_files, ["src/parser.rs"]);
    assert_eq!(brief.last_words, ["a: Escapes are missing."]);
    assert_eq!(brief.next_action, "write the escapes");
    assert_eq!(kinds(brief), ["decision", "last_words", "tool_failure", "tool_success"]);
    for told in ["(exit 1): cargo test", "src/parser.rs (20 times)", "Escapes are missing.", "no tables"] {
        assert!(answer.prompt.contains(told), "{told}: {}", answer.prompt);
    }
}

#[test]
fn however_many_idle_sessions_and_heartbeats_follow_the_one_note_is_still_told() {
    let mut world = World::new();
    let id = world.project_task("one");
    world.start("a");
    let said = json!({"task_id": id, "event": {"kind": "progress", "message": "half of the parser"}});
    ops::push::push(&mut world.cx, &key("a", "said"), &pushed(said)).unwrap();
    for number in 0..400 {
        world.note("a", &format!("beat{number}"), "heartbeat", "turn ended");
    }
    world.end("a");
    for session in 0..7 {
        let agent = format!("idle-{session}");
        let answer = world.start(&agent);
        assert_eq!(kinds(&answer.brief), ["progress"], "session {session}");
        assert!(answer.prompt.contains("half of the parser"), "{}", answer.prompt);
        for word in ["heartbeat", "task_claimed", "agent_focus", "task_released", "Claim"] {
            assert!(!answer.prompt.contains(word), "{word}: {}", answer.prompt);
        }
        world.end(&agent);
    }
}

#[test]
fn a_note_that_names_no_task_is_told_with_the_next_task_of_the_project() {
    let mut world = World::new();
    world.project_task("one");
    world.start("a");
    let said = json!({"event": {"kind": "progress", "message": "half of the parser"}});
    ops::push::push(&mut world.cx, &key("a", "said"), &pushed(said)).unwrap();
    world.end("a");
    let answer = world.start("b");
    assert!(answer.brief.task.is_some());
    assert!(answer.prompt.contains("half of the parser"), "{}", answer.prompt);
}

#[test]
fn without_a_task_the_last_session_of_the_project_is_told() {
    let mut world = World::new();
    world.start("a");
    world.note("a", "failed", "tool_failure", "Bash failed (exit 2): make");
    world.note("a", "said", "last_words", "The build is broken.");
    world.end("a");
    let answer = world.start("b");
    assert_eq!(answer.brief.task, None);
    assert_eq!(answer.brief.recent_events.len(), 2);
    assert!(answer.prompt.contains("The build is broken."), "{}", answer.prompt);
}

#[test]
fn a_task_of_another_session_is_named_with_its_holder_and_what_to_do() {
    let mut world = World::new();
    let id = world.project_task("one");
    world.host.liveness.set(ALIVE);
    world.start("a");
    task::begin::begin(&mut world.cx, &key("a", "begin"), &begin(&id)).unwrap();
    let answer = world.start("b");
    assert_eq!(answer.focus_task_id, "");
    let [held] = answer.brief.held.as_slice() else { panic!("{:?}", answer.brief.held) };
    let lease = contract::domain::limits::CLAIM_LEASE;
    assert_eq!((held.id.as_str(), held.agent.as_str(), held.is_alive), (id.as_str(), "a", false));
    assert_eq!((held.since, held.until), (world.temp.now().at, world.temp.now().at.plus(lease)));
    let next = &answer.brief.next_action;
    assert!(next.starts_with(&format!("{id} is held by a; take it when that claim ends")), "{next}");
    assert!(next.contains("task begin --output json --agent b"), "{next}");
    assert!(answer.prompt.contains(&format!("{id} [in_progress] one: a since")), "{}", answer.prompt);
    assert!(!answer.prompt.contains("no task is ready"), "{}", answer.prompt);
    // A process that is alive is left alone.
    let held_by = |key: Session| Session {
        caller: key.caller.clone().held_by(Some(Holder { program: "claude".to_owned(), process: owner(7) })),
        ..key
    };
    let more = create("more");
    task::create::create(&mut world.cx, &held_by(key("a", "more")), &more).unwrap();
    let prompt = world.start("c").prompt;
    assert!(prompt.contains("at work now; leave it to that agent"), "{prompt}");
}

#[test]
fn a_session_that_was_started_for_a_task_is_told_of_it_and_holds_nothing() {
    let mut world = World::new();
    world.project_task("ready");
    let mut request = submit(&["build"]);
    request.plan.tasks[0].checks = vec![serde_json::from_value(json!({"command": ["true"]})).unwrap()];
    let run = ops::run::accept::submit(&mut world.cx, &key("setup", "run"), &request).unwrap().answer.run_id;
    let id = world.task_of(&run, "build").id.to_string();
    let before = world.state();
    let request =
        Request { project_dir: Some(PROJECT.to_owned()), only_task: Some(id.clone()), ..Request::default() };
    let answer = resume(&mut world.cx, &key("a", "r"), &request).unwrap().answer;
    assert_eq!((answer.focus_task_id.as_str(), &answer.claim), (id.as_str(), &None));
    assert_eq!(answer.brief.checks, ["true (EXIT_CODE_0)"]);
    assert!(answer.brief.pipeline.is_empty() && answer.brief.held.is_empty());
    assert!(!answer.prompt.contains("ready"), "{}", answer.prompt);
    assert_eq!(world.state(), before, "nothing is claimed and no focus moves");
    let request = Request { only_task: Some("task_gone".to_owned()), ..Request::default() };
    let error = resume(&mut world.cx, &key("a", "r2"), &request).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[test]
fn a_checkpoint_keeps_what_was_done_and_is_in_the_next_brief() {
    let mut world = World::new();
    let id = world.project_task("one");
    world.start("a");
    world.note("a", "edit", "tool_success", "Edit: src/parser.rs");
    world.note("a", "failed", "tool_failure", "Bash failed (exit 1): cargo test");
    let request = checkpoint::Request { reason: Some("auto".to_owned()), ..checkpoint::Request::default() };
    let written = checkpoint::write(&mut world.cx, &key("a", "c"), &request).unwrap().answer;
    let expected = "Checkpoint: touched src/parser.rs; last failure: Bash failed (exit 1): cargo test";
    assert_eq!((written.task_id.as_str(), written.message.as_str()), (id.as_str(), expected));
    let event = world.event(written.event_id);
    assert_eq!(event, ("checkpoint".to_owned(), expected.to_owned(), id));
    let again = resume(&mut world.cx, &key("a", "again"), &Request::default()).unwrap().answer;
    assert!(again.prompt.contains(expected), "{}", again.prompt);
}

#[test]
fn a_subagents_brief_is_short_and_claims_nothing() {
    let mut world = World::new();
    let id = world.project_task("one");
    world.start("a");
    world.note("a", "failed", "tool_failure", "Bash failed (exit 1): cargo test");
    let before = world.state();
    let request = peek::Request { agent: "a".to_owned(), short: true, ..peek::Request::default() };
    let (answer, _) = peek::look(&mut world.cx, &crate::world::reader(), &request).unwrap();
    let prompt = answer.prompt.unwrap();
    assert!(prompt.contains(&id) && prompt.contains("(exit 1): cargo test"), "{prompt}");
    assert!(prompt.contains("LOG    writ push --output json --agent a"), "{prompt}");
    assert!(prompt.len() < 1800 && !prompt.contains("task complete"), "{prompt}");
    assert_eq!(world.state(), before);
}
