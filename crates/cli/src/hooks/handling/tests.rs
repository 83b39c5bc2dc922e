use super::*;

fn input(value: Value) -> Input {
    Input::parse(value.to_string().as_bytes())
}

#[test]
fn what_is_no_object_says_nothing_and_breaks_nothing() {
    for bytes in [&b""[..], b"{", b"[1]", b"\xff\xfe", b"null"] {
        let input = Input::parse(bytes);
        assert_eq!(input, Input::default());
        assert_eq!(input.agent(), "claude");
        assert_eq!(Handler::Prompt.act(&input), Act::Nothing);
        assert_eq!(Handler::SessionStart.act(&input), Act::Resume);
    }
}

#[test]
fn the_same_input_has_the_same_key_and_another_has_another() {
    let told = input(json!({"session_id": "abcdefgh-1", "prompt": "yes"}));
    let key = Handler::Prompt.request_id(&told);
    assert_eq!(Handler::Prompt.request_id(&told.clone()), key);
    assert_ne!(Handler::Stop.request_id(&told), key);
    // Said again later in the session: the transcript has grown.
    assert_ne!(Handler::Prompt.request_id(&Input { transcript_bytes: 7, ..told.clone() }), key);
    assert!(key.starts_with("cc_prompt_") && key.len() < 64, "{key}");
    assert_eq!(told.agent(), "claude-abcdefgh");
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
