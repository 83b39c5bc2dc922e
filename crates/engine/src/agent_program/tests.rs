use super::*;

fn words(line: &str) -> Vec<String> {
    contract::command_line::split(line).unwrap()
}

/// The whole command line of a call.
fn called(line: &str) -> String {
    let words = words(line);
    let (program, at) = recognize(&words).unwrap();
    let call = HeadlessCall {
        given: &words[at + 1..],
        store: Some(Path::new("/data/writ")),
        ..HeadlessCall::default()
    };
    let mut argv = words[..=at].to_vec();
    argv.extend((program.arguments)(&call));
    argv.join(" ")
}

#[test]
fn each_program_has_its_own_headless_call() {
    let tools = "Bash,Bash(writ:*),Edit,Glob,Grep,MultiEdit,NotebookEdit,Read,TodoWrite,Write";
    assert_eq!(
        called("claude"),
        format!(
            "claude -p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools {tools} \
             --add-dir /data/writ"
        )
    );
    assert_eq!(
        called("codex"),
        "codex exec --json -s workspace-write --skip-git-repo-check --add-dir /data/writ -c allow_login_shell=false -"
    );
    assert_eq!(
        called("gemini"),
        "gemini -o stream-json --approval-mode yolo --include-directories /data/writ"
    );
    assert_eq!(called("opencode"), "opencode run --format json --auto");
}

#[test]
fn the_users_own_arguments_win() {
    assert_eq!(
        called("claude --model opus --dangerously-skip-permissions --output-format=json"),
        "claude --model opus --dangerously-skip-permissions --output-format=json -p --verbose --add-dir /data/writ"
    );
    assert_eq!(
        called("codex -m gpt exec -s danger-full-access"),
        "codex exec --json --skip-git-repo-check --add-dir /data/writ -c allow_login_shell=false -m gpt \
         -s danger-full-access -"
    );
    assert_eq!(
        called("gemini -m pro -y"),
        "gemini -m pro -y -o stream-json --include-directories /data/writ"
    );
    assert_eq!(called("opencode run -m a/b"), "opencode run --format json --auto -m a/b");
}

#[test]
fn a_program_is_recognized_behind_paths_and_wrappers() {
    for (line, expected) in [
        ("claude", Some(("claude", 0))),
        ("/usr/local/bin/claude -x", Some(("claude", 0))),
        ("./bin/codex", Some(("codex", 0))),
        ("env X=1 Y=2 claude", Some(("claude", 3))),
        ("/usr/bin/env -u HOME -i X=1 gemini", Some(("gemini", 5))),
        ("nice -n 5 env X=1 opencode run", Some(("opencode", 5))),
        ("timeout -k 5 60 claude", Some(("claude", 4))),
        ("node --no-warnings /opt/gemini.js", Some(("gemini", 2))),
        ("npx -y codex", Some(("codex", 2))),
        ("env -- claude", Some(("claude", 2))),
        ("my-agent claude", None),
        ("env X=1 my-agent claude", None),
        ("claude-wrapper", None),
        ("env X=claude", None),
    ] {
        let found = recognize(&words(line)).map(|(program, at)| (program.name, at));
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn a_stream_is_shown_in_lines() {
    let shown = |name: &str, line: &str| (find(name).unwrap().shown)(&serde_json::from_str(line).unwrap());
    for (name, line, expected) in [
        (
            "claude",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":" Done. "}]}}"#,
            Some("Done."),
        ),
        (
            "claude",
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Edit","input":{"file_path":"src/a.rs"}}]}}"#,
            Some("Edit src/a.rs"),
        ),
        ("claude", r#"{"type":"system","subtype":"init","tools":[]}"#, None),
        (
            "claude",
            r#"{"type":"system","subtype":"api_retry","error":"rate_limit"}"#,
            Some("waiting for the model: rate_limit"),
        ),
        ("claude", r#"{"type":"result","is_error":true,"result":"no"}"#, Some("error: no")),
        (
            "codex",
            r#"{"type":"item.started","item":{"type":"command_execution","command":"cargo test"}}"#,
            Some("$ cargo test"),
        ),
        (
            "codex",
            r#"{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"a"},{"path":"b"}]}}"#,
            Some("edit a b"),
        ),
        ("codex", r#"{"type":"turn.completed","usage":{}}"#, None),
        ("codex", r#"{"type":"turn.failed","error":{"message":"401"}}"#, Some("error: 401")),
        (
            "gemini",
            r#"{"type":"tool_use","tool_name":"write_file","parameters":{"file_path":"x"}}"#,
            Some("write_file x"),
        ),
        ("gemini", r#"{"type":"result","status":"success","stats":{}}"#, None),
        ("opencode", r#"{"type":"text","part":{"text":"Hello"}}"#, Some("Hello")),
        (
            "opencode",
            r#"{"type":"tool_use","part":{"tool":"bash","state":{"input":{"command":"ls"}}}}"#,
            Some("bash ls"),
        ),
        ("opencode", r#"{"type":"step_start"}"#, None),
    ] {
        assert_eq!(shown(name, line).as_deref(), expected, "{name} {line}");
    }
}
