//! Secrets are refused or scrubbed before anything is stored.

use contract::domain::attempt::{AttemptOutcome, AttemptState, NewAttempt};
use contract::domain::check::{CheckSeen, Expects};
use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::limits;
use contract::domain::run::{DocumentKind, Intent, RunState};
use contract::domain::status::Status;
use ops::run::journal::{self, JournalEntry, JournalNote, Wants};
use ops::{memory, push, run, task};
use serde_json::json;
use testkit::SeededIds;

use crate::world::{
    World, begin, caller, cancel, complete, create, key, owner, pushed, remember, set_status, submit,
};

const SECRET: &str = "hunter2hunter2";
const TEXT: &str = "the password=hunter2hunter2 is it";

impl World {
    /// Every byte that was written, in the store and in its log.
    #[track_caller]
    fn holds_no_secret(&self) {
        for ending in ["", "-wal"] {
            let mut path = self.temp.path().into_os_string();
            path.push(ending);
            let bytes = std::fs::read(&path).unwrap_or_default();
            let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
            assert!(!found, "a secret is in {}", path.display());
        }
    }
}

#[test]
fn a_task_that_holds_one_is_refused() {
    let mut world = World::new();
    let requests = [
        create(TEXT),
        task::create::Request { description: TEXT.to_owned(), ..create("one") },
        task::create::Request { project_id: Some(TEXT.to_owned()), ..create("one") },
    ];
    for request in requests {
        let error = task::create::create(&mut world.cx, &key("a", "r"), &request).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidInput, "{request:?}");
        assert!(!error.message.contains(SECRET), "{error}");
    }
    world.holds_no_secret();
}

#[test]
fn reasons_and_summaries_are_scrubbed() {
    let mut world = World::new();
    let (first, second, third) = (world.task("first"), world.task("second"), world.task("third"));
    let mut blocked = set_status(&first, "blocked");
    blocked.blocked_reason = Some(TEXT.to_owned());
    let answer = task::set_status::set_status(&mut world.cx, &key("a", "r-1"), &blocked).unwrap().answer;
    let reason = answer.task.blocked_reason.unwrap();
    assert_eq!(reason, "the [REDACTED:credential_assignment] is it");

    let mut closed = complete(&second, "blocked");
    TEXT.clone_into(&mut closed.summary);
    closed.label = Some(TEXT.to_owned());
    task::complete::complete(&mut world.cx, &key("a", "r-2"), &closed).unwrap();
    let mut canceled = cancel(&third);
    canceled.reason = Some(TEXT.to_owned());
    run::cancel::cancel(&mut world.cx, &key("a", "r-3"), &canceled).unwrap();
    let mut canceled = cancel(world.run(&["a"]).as_str());
    canceled.reason = Some(TEXT.to_owned());
    run::cancel::cancel(&mut world.cx, &key("a", "r-4"), &canceled).unwrap();
    world.holds_no_secret();
}

#[test]
fn what_is_pushed_is_scrubbed_where_it_is_said() {
    let mut world = World::new();
    let id = world.task("one");
    let whole = pushed(json!({
        "task_id": id,
        "event": {"kind": "note", "message": TEXT, "metadata": {"said": [TEXT]}},
        "task_status": {"status": "blocked", "summary": TEXT, "label": TEXT, "blocked_reason": TEXT},
    }));
    push::push(&mut world.cx, &key("a", "r-1"), &whole).unwrap();
    let inside =
        pushed(json!({"event": {"kind": "n", "message": "m", "metadata": json!({"a": TEXT}).to_string()}}));
    push::push(&mut world.cx, &key("a", "r-2"), &inside).unwrap();
    world.holds_no_secret();
}

#[test]
fn what_must_be_given_back_as_it_was_is_refused_with_one() {
    let mut world = World::new();
    let id = world.task("one");
    let memory = |field: &str| {
        let mut memory = json!({"key": "k", "value": "v", "scope": "project", "scope_id": "p"});
        memory[field] = json!(TEXT);
        pushed(json!({"memories": [memory]}))
    };
    let file = |field: &str| {
        let mut file = json!({"file_path": "f"});
        file[field] = json!(TEXT);
        pushed(json!({"task_id": id, "artifacts": [file]}))
    };
    let event = pushed(json!({"event": {"kind": TEXT, "message": "m"}}));
    let fields = ["key", "value", "scope_id", "source_task_id"].map(memory);
    for request in fields.into_iter().chain(["file_path", "content_type"].map(file)).chain([event]) {
        let error = push::push(&mut world.cx, &key("a", "r"), &request).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidInput, "{request:?}");
        assert!(!error.message.contains(SECRET), "{error}");
    }
    let error = memory::set::set(&mut world.cx, &key("a", "r"), &remember("k", TEXT, None)).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidInput);
    world.holds_no_secret();
}

#[test]
fn a_plan_that_holds_one_is_refused_and_an_intent_is_scrubbed() {
    let mut world = World::new();
    let mut planned = submit(&["a"]);
    planned.plan.tasks[0].aop = Some(json!({"task": {"notes": [TEXT]}}));
    let mut named = submit(&["a"]);
    TEXT.clone_into(&mut named.objective);
    for request in [planned, named] {
        let error = run::accept::submit(&mut world.cx, &key("a", "r"), &request).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidInput);
        assert!(!error.message.contains(SECRET), "{error}");
    }
    let mut request = submit(&[]);
    request.kind = DocumentKind::AeeTask;
    request.intent = Some(Intent {
        name: "some.intent".to_owned(),
        from: "agent.a".to_owned(),
        payload: json!({"text": TEXT}),
        requires: json!({"why": TEXT}),
    });
    run::accept::submit(&mut world.cx, &key("a", "r"), &request).unwrap();
    world.holds_no_secret();
}

#[test]
fn what_an_engine_writes_down_is_scrubbed() {
    let mut world = World::new();
    let run = world.run(&["a"]);
    world.own(&run, 7);
    let task_id = world.task_of(&run, "a").id;
    let id = mint(&mut SeededIds::new(9), world.temp.now().at);
    let attempt = NewAttempt {
        id,
        task_id: task_id.clone(),
        run_id: run.clone(),
        number: 1,
        executor: "shell".to_owned(),
        model: None,
        alternative: None,
        agent_session: None,
        owner: owner(7),
    };
    let seen = CheckSeen {
        command: vec!["true".to_owned()],
        expects: Expects::ExitCode0,
        passed: false,
        exit_code: Some(1),
        output_digest: String::new(),
        output_tail: TEXT.to_owned(),
        problem: Some(TEXT.to_owned()),
        ran: None,
        tolerated: false,
    };
    let outcome = AttemptOutcome {
        message: TEXT.to_owned(),
        code: Some(TEXT.to_owned()),
        checks: vec![seen],
        ..AttemptOutcome::default()
    };
    let attempt_id = attempt.id.clone();
    let entries = [
        JournalEntry::MoveTask { task_id: task_id.clone(), to: Status::InProgress, reason: None },
        JournalEntry::StartAttempt { attempt, dispatch: None, wants: Wants::default() },
        JournalEntry::Envelope(JournalNote {
            kind: contract::aee::Type::Event,
            from: None,
            to: "log.writ".to_owned(),
            intent: "aop.event".to_owned(),
            message: TEXT.to_owned(),
            payload: json!({"deep": [{"text": TEXT}]}),
            task_id: Some(task_id.clone()),
        }),
        JournalEntry::EndAttempt {
            task_id: task_id.clone(),
            attempt_id,
            state: AttemptState::Failed,
            outcome: Box::new(outcome),
            token: None,
        },
        JournalEntry::MoveTask { task_id, to: Status::Failed, reason: Some(TEXT.into()) },
        JournalEntry::MoveRun { to: RunState::Failed, result: Some(json!({"reason": TEXT})) },
    ];
    journal::write(&mut world.cx, &caller("writ"), &run, &owner(7), &entries).unwrap();
    world.holds_no_secret();
}

#[test]
fn texts_and_names_have_limits() {
    let mut world = World::new();
    let id = world.task("one");
    let long = "x".repeat(limits::EVENT_MESSAGE_BYTES_MAX + 1);
    let before = world.state();
    let mut blocked = set_status(&id, "blocked");
    blocked.blocked_reason = Some(long.clone());
    let error = task::set_status::set_status(&mut world.cx, &key("a", "r"), &blocked).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::TooLarge, "the reason is longer than 4096 bytes")
    );

    for field in ["summary", "label", "blocked_reason"] {
        let mut request = complete(&id, "blocked");
        match field {
            "summary" => request.summary.clone_from(&long),
            "label" => request.label = Some(long.clone()),
            _ => request.blocked_reason = Some(long.clone()),
        }
        let error = task::complete::complete(&mut world.cx, &key("a", "r"), &request).unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge, "{field}");
    }
    let mut canceled = cancel(&id);
    canceled.reason = Some(long);
    let error = run::cancel::cancel(&mut world.cx, &key("a", "r"), &canceled).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);

    for project in ["", " ", "a\nb", &"p".repeat(limits::PROJECT_ID_BYTES_MAX + 1)] {
        let request = task::create::Request { project_id: Some(project.to_owned()), ..create("one") };
        let error = task::create::create(&mut world.cx, &key("a", "r"), &request).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidInput, "{project:?}");
    }
    assert_eq!(world.state(), before);
    task::begin::begin(&mut world.cx, &key("a", "r"), &begin(&id)).expect("the id is still usable");
}
