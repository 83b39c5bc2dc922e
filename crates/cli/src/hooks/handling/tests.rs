use super::*;
use crate::hooks::adapter;

fn input_from(program: &str, value: &Value) -> HookInput {
    let input = HookInput::parse(adapter::find(program).unwrap(), value.to_string().as_bytes());
    HookInput { project: "/srv/fence".to_owned(), root: Some("/srv/fence".to_owned()), ..input }
}

fn input(value: Value) -> HookInput {
    input_from("claude", &value)
}

/// The event that a handler records.
#[track_caller]
fn noted(handler: Handler, input: &HookInput) -> HookNote {
    match handler.act(input) {
        Act::Note { note, .. } => note,
        act => panic!("{handler:?} does {act:?}"),
    }
}

#[test]
fn input_that_is_not_an_object_has_no_fields_and_breaks_nothing() {
    for bytes in [&b""[..], b"{", b"[1]", b"\xff\xfe", b"null"] {
        let input = HookInput::parse(adapter::usual(), bytes);
        assert!(input.raw.is_empty());
        assert!(input.agent().starts_with("claude-"));
        assert_eq!(Handler::Prompt.act(&input), Act::Renew);
        assert_eq!(Handler::SessionStart.act(&input), Act::Resume);
        for handler in Handler::ALL {
            handler.act(&input);
        }
    }
}

#[test]
fn what_has_an_id_is_the_same_however_often_it_is_told_and_everything_else_happens_again() {
    let told = input(json!({"session_id": "abcdefgh-1", "prompt": "yes"}));
    let key = Handler::Prompt.request_id(&told, "1");
    assert_ne!(Handler::Prompt.request_id(&told, "2"), key);
    assert_ne!(Handler::Stop.request_id(&told, "1"), key);
    assert!(key.starts_with("cc_prompt_") && key.len() < 64, "{key}");
    let named = input(json!({"session_id": "abcdefgh-1", "tool_use_id": 7}));
    let key = Handler::ToolSuccess.request_id(&named, "1");
    assert!(key.starts_with("cc_tool_success_"), "{key}");
    assert_eq!(Handler::ToolSuccess.request_id(&named, "2"), key);
    // A session that is compacted twice within one prompt gets its context twice.
    let start = input(json!({"session_id": "abcdefgh-1", "prompt_id": "p", "source": "compact"}));
    assert_ne!(Handler::SessionStart.request_id(&start, "1"), Handler::SessionStart.request_id(&start, "2"));
    let elsewhere = HookInput { project: "/elsewhere".to_owned(), ..named };
    assert_ne!(Handler::ToolSuccess.request_id(&elsewhere, "1"), key);
}

#[test]
fn sessions_that_begin_alike_and_projects_without_a_session_are_different_agents() {
    let agent =
        |value: Value, project: &str| HookInput { project: project.to_owned(), ..input(value) }.agent();
    assert_eq!(agent(json!({"session_id": "0A1b2c3d-1"}), "/w"), "claude-0a1b2c3d-1");
    let long = "x".repeat(100);
    let opencode = |session: &str| input_from("opencode", &json!({ "session_id": session })).agent();
    let agents = [
        agent(json!({"session_id": "0a1b2c3d-1"}), "/w"),
        agent(json!({"session_id": "0a1b2c3d-2"}), "/w"),
        agent(json!({"session_id": format!("{long}1")}), "/w"),
        agent(json!({"session_id": format!("{long}2")}), "/w"),
        agent(json!({}), "/w"),
        agent(json!({}), "/v"),
        opencode("ses_aB"),
        opencode("ses_Ab"),
    ];
    let distinct: std::collections::BTreeSet<&String> = agents.iter().collect();
    assert_eq!(distinct.len(), agents.len(), "{agents:?}");
    assert!(agents.iter().all(|agent| agent.len() <= 48), "{agents:?}");
    assert!(agents[6].starts_with("opencode-") && agents[6].len() == "opencode-".len() + 16, "{agents:?}");
}

#[test]
fn excerpts_of_what_an_agent_program_sends_are_bounded() {
    let long = "ü".repeat(10_000);
    let told =
        input(json!({"prompt": long, "tool_name": "Bash", "tool_input": {"command": long}, "error": long}));
    let Act::Note { note, then } = Handler::Prompt.act(&told) else { panic!("a prompt is noted") };
    assert_eq!((note.message.chars().count(), then), (500, Then::Remind));
    let note = noted(Handler::ToolFailure, &told);
    let length = |name: &str| note.metadata[name].as_str().unwrap().len();
    assert_eq!((note.kind, length("input") <= 2048, length("output")), ("tool_failure", true, 4096));
    assert!(note.message.chars().count() < 400, "{}", note.message);
    let todo = json!({"content": long, "status": long});
    let todos = noted(Handler::Todos, &input(json!({"todos": vec![todo; 1000]})));
    assert!(todos.metadata.to_string().len() < 16 * 1024 && todos.message.chars().count() < 200);
    let Act::Stop { last_words: Some(words), .. } =
        Handler::Stop.act(&input(json!({ "last_assistant_message": long })))
    else {
        panic!("last words are noted")
    };
    assert_eq!((words.kind, words.message.chars().count()), ("last_words", 2000));
}

/// The payloads that Claude Code 2.1 and our OpenCode plugin send.
#[test]
fn events_say_what_happened() {
    let claude = |handler, value: Value| noted(handler, &input(value)).message;
    let opencode = |handler, value: Value| noted(handler, &input_from("opencode", &value)).message;
    let failure = Handler::ToolFailure;
    let success = Handler::ToolSuccess;
    let told = [
        claude(
            success,
            json!({"tool_name": "Write", "tool_input": {"file_path": "/srv/fence/b.txt", "content": "x"}}),
        ),
        claude(
            success,
            json!({"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/srv/fence/n.ipynb"}}),
        ),
        claude(success, json!({"tool_name": "Bash", "tool_input": {"command": "cargo fmt"}})),
        claude(
            failure,
            json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "error": "Exit code 1", "is_interrupt": false}),
        ),
        claude(
            failure,
            json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "error": "Exit code 2\ncc a.c\na.c:1: error: expected ';'\nmake: *** [a.o] Error 1"}),
        ),
        claude(
            failure,
            json!({"tool_name": "Read", "tool_input": {"file_path": "/nope/none"}, "error": "File does not exist."}),
        ),
        claude(
            failure,
            json!({"tool_name": "Bash", "tool_input": {"command": "sleep"}, "error": "x", "is_interrupt": true}),
        ),
        opencode(success, json!({"tool_name": "edit", "tool_input": {"filePath": "/srv/fence/src/a.rs"}})),
        opencode(
            failure,
            json!({"tool_name": "bash", "tool_input": {"command": "false"}, "error": "", "exit_code": 1}),
        ),
        opencode(
            success,
            json!({"tool_name": "apply_patch", "tool_input": {"patchText": "*** Begin Patch\n*** Update File: a.rs\n@@\n*** Add File: b.rs\n*** End Patch"}}),
        ),
        opencode(
            Handler::Todos,
            json!({"todos": [{"content": "sand", "status": "completed"}, {"content": "paint", "status": "pending"}]}),
        ),
        claude(
            Handler::SubagentStop,
            json!({"agent_type": "reviewer", "last_assistant_message": "it is\nfine"}),
        ),
    ];
    assert_eq!(
        told,
        [
            "Write: b.txt",
            "NotebookEdit: n.ipynb",
            "Bash: cargo fmt",
            "Bash failed (exit 1): cargo test",
            "Bash failed (exit 2): make (a.c:1: error: expected ';')",
            "Read failed: /nope/none (File does not exist.)",
            "Bash interrupted: sleep",
            "Edit: src/a.rs",
            "Bash failed (exit 1): false",
            "Patch: a.rs, b.rs",
            "1 of 2 items done; next: paint",
            "subagent stopped: reviewer: it is fine",
        ]
    );
}

#[test]
fn a_tool_that_only_reads_is_noted_when_it_fails() {
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": "a"}, "error": "no"});
    assert_eq!(Handler::ToolSuccess.act(&input(read.clone())), Act::Renew);
    assert_eq!(noted(Handler::ToolFailure, &input(read)).kind, "tool_failure");
    let grep = json!({"tool_name": "grep", "tool_input": {"pattern": "x"}});
    assert_eq!(Handler::ToolSuccess.act(&input_from("opencode", &grep)), Act::Renew);
}

#[test]
fn only_a_task_of_ours_is_completed() {
    let ours = Handler::TaskCompleted.act(&input(json!({"task_id": "task_1", "task_subject": "it works"})));
    assert!(
        matches!(ours, Act::Complete { task_id, note } if task_id == "task_1" && note.message == "it works")
    );
    let theirs = noted(Handler::TaskCompleted, &input(json!({"task_id": "7"})));
    assert_eq!(theirs.kind, "task_completed_signal");
}

#[test]
fn a_person_who_asks_where_things_stand_gets_a_brief() {
    for words in ["brief", " Brief me ", "what's pending"] {
        let Act::Note { then, .. } = Handler::Prompt.act(&input(json!({"prompt": words}))) else {
            panic!("a prompt is noted")
        };
        assert_eq!(then, Then::Brief, "{words}");
    }
}

#[test]
fn every_handler_has_one_word() {
    for handler in Handler::ALL {
        assert_eq!(Handler::from_word(handler.word()), Some(handler));
    }
    assert_eq!(Handler::from_word("install"), None);
}
