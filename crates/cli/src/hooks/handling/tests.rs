use super::*;

fn input(value: Value) -> Input {
    Input::parse(value.to_string().as_bytes())
}

#[test]
fn what_is_no_object_says_nothing_and_breaks_nothing() {
    for bytes in [&b""[..], b"{", b"[1]", b"\xff\xfe", b"null"] {
        let input = Input::parse(bytes);
        assert_eq!(input, Input::default());
        assert!(input.agent().starts_with("claude-"));
        assert_eq!(Handler::Prompt.act(&input), Act::Nothing);
        assert_eq!(Handler::SessionStart.act(&input), Act::Resume);
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
    assert_eq!(Handler::ToolSuccess.request_id(&named, "2"), key);
    let elsewhere = Input { here: "/elsewhere".to_owned(), ..named };
    assert_ne!(Handler::ToolSuccess.request_id(&elsewhere, "1"), key);
}

#[test]
fn sessions_that_begin_alike_and_places_without_a_session_are_different_agents() {
    let agent = |value: Value, here: &str| Input { here: here.to_owned(), ..input(value) }.agent();
    assert_eq!(agent(json!({"session_id": "0A1b2c3d-1"}), "/w"), "claude-0a1b2c3d-1");
    let long = "x".repeat(100);
    let agents = [
        agent(json!({"session_id": "0a1b2c3d-1"}), "/w"),
        agent(json!({"session_id": "0a1b2c3d-2"}), "/w"),
        agent(json!({"session_id": format!("{long}1")}), "/w"),
        agent(json!({"session_id": format!("{long}2")}), "/w"),
        agent(json!({}), "/w"),
        agent(json!({}), "/v"),
        agent(json!({"cwd": "/u/"}), "/w"),
    ];
    let distinct: std::collections::BTreeSet<&String> = agents.iter().collect();
    assert_eq!(distinct.len(), agents.len(), "{agents:?}");
    assert_eq!(agent(json!({"cwd": "/u"}), "/v"), agents[6], "one place has one name");
    assert!(agents.iter().all(|agent| agent.len() <= 48), "{agents:?}");
}

#[test]
fn previews_are_bounded() {
    let long = "ü".repeat(10_000);
    let told =
        input(json!({"prompt": long, "tool_name": "Bash", "tool_input": {"command": long}, "error": long}));
    let Act::Note { message, then, .. } = Handler::Prompt.act(&told) else { panic!("a prompt is noted") };
    assert_eq!((message.chars().count(), then), (500, Then::Remind));
    let Act::Note { kind, metadata, .. } = Handler::ToolFailure.act(&told) else { panic!("it is noted") };
    let length = |name: &str| metadata[name].as_str().unwrap().len();
    assert_eq!((kind, length("input"), length("output")), ("tool_failure", 2048, 4096));
}

#[test]
fn only_a_task_of_ours_is_completed() {
    let ours = Handler::TaskCompleted.act(&input(json!({"task_id": "task_1", "task_subject": "it works"})));
    assert!(
        matches!(ours, Act::Complete { task_id, message, .. } if task_id == "task_1" && message == "it works")
    );
    let theirs = Handler::TaskCompleted.act(&input(json!({"task_id": "7"})));
    assert!(matches!(theirs, Act::Note { kind: "task_completed_signal", .. }), "{theirs:?}");
}

#[test]
fn who_asks_where_things_stand_is_briefed() {
    for words in ["brief", " Brief me ", "what's pending"] {
        let Act::Note { then, .. } = Handler::Prompt.act(&input(json!({"prompt": words}))) else {
            panic!("a prompt is noted")
        };
        assert_eq!(then, Then::Brief, "{words}");
    }
}
