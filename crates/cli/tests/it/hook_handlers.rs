//! What hooks call: an agent's session is remembered, and nothing ever fails it.

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::bad_stores::sqlite;
use crate::documents::writ;

const SESSION: &str = "0a1b2c3d-0000-4000-8000-000000000000";
const AGENT: &str = "claude-0a1b2c3d-0000-4000-8000-000000000000";

/// Calls a handler as Claude Code does.
fn hook(cli: &Cli, handler: &str, fields: Value) -> Output {
    let mut input = json!({"session_id": SESSION, "cwd": cli.project(), "hook_event_name": "X"});
    input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    cli.call(["hook", handler]).stdin(input.to_string()).run()
}

/// A handler that worked and had nothing to say.
#[track_caller]
fn silent(output: &Output) {
    assert_eq!((output.success().stdout.as_str(), output.stderr.as_str()), ("", ""), "{output}");
}

/// What a handler gave its agent to read.
#[track_caller]
fn context(output: &Output, event: &str) -> String {
    let said = output.success().json();
    let context = said["hookSpecificOutput"]["additionalContext"].clone();
    let expected = json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}});
    assert_eq!((&said, output.stderr.as_str()), (&expected, ""), "{output}");
    context.as_str().unwrap().to_owned()
}

fn created(cli: &Cli, title: &str) -> String {
    let project = cli.project();
    let words =
        ["task", "create", "--title", title, "--project-id", project.to_str().unwrap(), "--agent", "p"];
    let made = cli.run(words.iter().chain(&["--request-id", title])).success().json();
    made["data"]["task"]["id"].as_str().unwrap().to_owned()
}

fn events(cli: &Cli, kind: &str) -> Vec<Value> {
    let listed = cli.run(["events", "list", "--all", "--asc", "--kind", kind]).success().json();
    listed["data"]["events"].as_array().unwrap().clone()
}

#[test]
fn a_session_is_told_where_the_work_stands_and_the_next_one_goes_on() {
    let cli = writ();
    let id = created(&cli, "Paint the fence");
    let first = context(&hook(&cli, "session-start", json!({"source": "startup"})), "SessionStart");
    assert!(first.contains("Paint the fence") && first.contains(&id), "{first}");
    let begun = cli.run(["task", "begin", "--id", &id, "--agent", AGENT, "--request-id", "b"]);
    assert_eq!(begun.success().json()["data"]["task"]["status"], "in_progress");
    // While the session lives, another is not given its task, but told about it.
    let other = json!({"session_id": "ffffffff-1", "source": "startup"});
    let busy = hook(&cli, "session-start", other.clone());
    let told = context(&busy, "SessionStart");
    assert!(told.contains("TASK none") && !told.contains(&format!("TASK {id}")), "{told}");
    assert!(told.contains(&id) && told.contains(AGENT), "it is told who has the task:\n{told}");
    silent(&hook(&cli, "session-end", json!({"reason": "other"})));
    let again = json!({"session_id": "ffffffff-1", "source": "resume", "transcript_path": cli.db()});
    let next = context(&hook(&cli, "session-start", again), "SessionStart");
    assert!(next.contains("Paint the fence"), "{next}");
}

#[test]
fn what_has_an_id_is_written_down_once_and_everything_else_as_often_as_it_happens() {
    let cli = writ();
    created(&cli, "Paint the fence");
    context(&hook(&cli, "session-start", json!({"source": "startup"})), "SessionStart");
    let bash = json!({"tool_name": "Bash", "tool_use_id": "u1", "tool_input": {"command": "ls"}});
    let failed = json!({"tool_name": "Bash", "tool_use_id": "u2", "error": "exit 1"});
    for _ in 0..3 {
        silent(&hook(&cli, "tool-success", bash.clone()));
        silent(&hook(&cli, "tool-failure", failed.clone()));
        let subagent = hook(&cli, "subagent-start", json!({"agent_type": "reviewer", "agent_id": "a1"}));
        assert!(context(&subagent, "SubagentStart").contains("Paint the fence"), "{subagent}");
        silent(&hook(&cli, "subagent-stop", json!({"agent_type": "reviewer", "agent_id": "a1"})));
        silent(&hook(&cli, "stop", json!({"stop_hook_active": false})));
        silent(&hook(&cli, "task-completed", json!({"task_id": "3", "task_subject": "read it"})));
        silent(&hook(&cli, "retrospective", json!({})));
        silent(&hook(&cli, "checkpoint", json!({"trigger": "auto"})));
        hook(&cli, "prompt", json!({"prompt": "make it green", "prompt_id": "p1"})).success();
    }
    for (kind, times) in [
        ("tool_success", 1),
        ("tool_failure", 1),
        ("user_prompt", 1),
        ("agent_spawned", 3),
        ("agent_completed", 3),
        ("heartbeat", 3),
        ("task_completed_signal", 3),
    ] {
        let found = events(&cli, kind);
        assert_eq!(found.len(), times, "{kind}: {found:?}");
        assert_eq!(
            (&found[0]["agent_name"], &found[0]["project_id"]),
            (&json!(AGENT), &json!(cli.project())),
            "{kind}"
        );
    }
    assert_eq!(events(&cli, "user_prompt")[0]["message"], "make it green");
    assert_eq!(events(&cli, "tool_failure")[0]["metadata"]["output"], "exit 1");
    // The same words under another id are said a second time.
    hook(&cli, "prompt", json!({"prompt": "make it green", "prompt_id": "p2"})).success();
    assert_eq!(events(&cli, "user_prompt").len(), 2);
    for _ in 0..2 {
        hook(&cli, "prompt", json!({"prompt": "yes"})).success();
    }
    assert_eq!(events(&cli, "user_prompt").len(), 4, "a person may say the same twice");
}

#[test]
fn a_session_that_begins_again_is_told_how_things_are_now() {
    let cli = writ();
    let first = created(&cli, "Paint the fence");
    let start = || context(&hook(&cli, "session-start", json!({"source": "startup"})), "SessionStart");
    assert!(start().contains("Paint the fence"));
    let done = ["task", "complete", "--id", &first, "--outcome", "done", "--summary", "s", "--agent", AGENT];
    cli.run(done.iter().chain(&["--request-id", "c"])).success();
    let second = created(&cli, "Mow the lawn");
    let told = start();
    assert!(told.contains(&format!("TASK {second}")) && !told.contains(&format!("TASK {first}")), "{told}");
    // It gives back what it holds each time it ends, not only the first.
    for round in ["1", "2"] {
        start();
        silent(&hook(&cli, "session-end", json!({"reason": "other"})));
        let taken = cli.run(["resume", "--agent", "b", "--request-id", round, "--project-dir", &place(&cli)]);
        assert_eq!(taken.success().json()["data"]["focus_task_id"], second.as_str(), "round {round}");
        silent(&cli.call(["hook", "session-end", "--agent", "b"]).stdin("{}").run());
    }
}

fn place(cli: &Cli) -> String {
    cli.project().to_str().unwrap().to_owned()
}

#[test]
fn a_prompt_is_answered_with_the_task_or_with_everything() {
    let cli = writ();
    let id = created(&cli, "Paint the fence");
    context(&hook(&cli, "session-start", json!({"source": "startup"})), "SessionStart");
    let reminded = context(&hook(&cli, "prompt", json!({"prompt": "go on"})), "UserPromptSubmit");
    assert!(
        reminded.contains(&id) && reminded.contains("Paint the fence") && reminded.len() < 600,
        "{reminded}"
    );
    let briefed = context(&hook(&cli, "prompt", json!({"prompt": "what's pending"})), "UserPromptSubmit");
    assert!(briefed.contains("Paint the fence"), "{briefed}");
    let done = ["task", "complete", "--id", &id, "--outcome", "done", "--summary", "s", "--agent", AGENT];
    cli.run(done.iter().chain(&["--request-id", "c"])).success();
    silent(&hook(&cli, "prompt", json!({"prompt": "and now"})));
}

#[test]
fn a_session_that_writ_started_is_told_about_its_task_alone() {
    let cli = writ();
    let id = created(&cli, "Paint the fence");
    let other = created(&cli, "Mow the lawn");
    let input = json!({"session_id": SESSION, "cwd": cli.project(), "prompt": "status"}).to_string();
    let asked = cli.call(["hook", "prompt"]).env("WRIT_TASK", &id).stdin(input).run();
    let told = context(&asked, "UserPromptSubmit");
    assert!(told.contains("Paint the fence") && told.contains(&id), "{told}");
    assert!(!told.contains(&other) && !told.contains("Mow the lawn") && !told.contains("pending,"), "{told}");
}

#[test]
fn a_task_of_ours_that_the_agent_calls_complete_is_closed() {
    let cli = writ();
    let id = created(&cli, "Paint the fence");
    silent(&hook(&cli, "task-completed", json!({"task_id": id, "task_subject": "it is green"})));
    let task = cli.run(["task", "get", "--id", &id]).success().json()["data"].clone();
    assert_eq!((&task["status"], &task["evidence"]), (&json!("completed"), &json!("claimed")));
    let gone = json!({"task_id": "task_ffffffffffff", "task_subject": "another"});
    // Exit 0 and nothing for the agent; a person may want to know.
    let output = hook(&cli, "task-completed", gone);
    assert_eq!((output.success().stdout.as_str(), output.stderr.lines().count()), ("", 1), "{output}");
    assert_eq!(events(&cli, "task_completed_signal").len(), 2);
}

#[test]
fn a_checkpoint_forgets_what_has_expired_and_is_silent_where_nothing_has() {
    let cli = writ();
    silent(&hook(&cli, "checkpoint", json!({"trigger": "auto"})));
    assert_eq!(events(&cli, "memory_gc").len(), 0);
    let set = [
        "memory",
        "set",
        "--key",
        "k",
        "--value",
        "v",
        "--expires-in=1ms",
        "--agent",
        "a",
        "--request-id",
        "m",
    ];
    cli.run(set).success();
    // An event that is past the expiry, so that it is not the clock of one call that decides.
    silent(&hook(&cli, "stop", json!({})));
    silent(&hook(&cli, "checkpoint", json!({"trigger": "manual"})));
    assert_eq!(events(&cli, "memory_gc").len(), 1);
    let status = cli.run(["status"]).success().json();
    assert_eq!(status["data"]["counts"]["memory"], 0);
}

#[test]
fn a_checkpoint_puts_a_summary_in_place_of_a_long_past() {
    let cli = writ();
    cli.scratch().write(
        "home/.config/writ/config.toml",
        "events_summarize_threshold = 20\nevents_summarize_keep_recent = 5\n",
    );
    context(&hook(&cli, "session-start", json!({"source": "startup"})), "SessionStart");
    for number in 0..20 {
        silent(&hook(&cli, "tool-success", json!({"tool_name": "Bash", "tool_use_id": number})));
    }
    silent(&hook(&cli, "session-end", json!({"reason": "other"})));
    let counts = cli.run(["status"]).success().json()["data"]["counts"]["events_detail"].clone();
    assert!(counts["archived"].as_i64().unwrap() >= 15, "{counts}");
    assert_eq!(events(&cli, "events_summary").len(), 1);
}

#[test]
fn an_agent_that_names_itself_acts_under_its_name() {
    let cli = writ().env("VYBE_AGENT", "Ann");
    silent(&hook(&cli, "stop", json!({})));
    assert_eq!(events(&cli, "heartbeat")[0]["agent_name"], "ann");
    silent(&cli.call(["hook", "stop", "--agent", "bob"]).stdin("{}").run());
    assert_eq!(events(&cli, "heartbeat")[1]["agent_name"], "bob");
    let child = cli.call(["hook", "stop"]).env("VYBE_RETRO_CHILD", "1").stdin(r#"{"session_id":"z"}"#).run();
    silent(&child);
    assert_eq!(events(&cli, "heartbeat").len(), 2);
}

#[test]
fn the_end_of_a_session_that_writ_started_releases_nothing() {
    let cli = writ();
    let id = created(&cli, "Paint the fence");
    cli.run(["task", "begin", "--id", &id, "--agent", "looper", "--request-id", "b"]).success();
    let claimed = || sqlite(&cli.db(), "SELECT claim_agent FROM tasks").trim().to_owned();
    let input = json!({"session_id": SESSION, "cwd": cli.project(), "reason": "other"}).to_string();
    let end = || cli.call(["hook", "session-end"]).env("WRIT_AGENT", "looper").stdin(input.clone());
    silent(&end().env("WRIT_TASK", &id).run());
    assert_eq!(claimed(), "looper");
    silent(&end().run());
    assert_eq!(claimed(), "", "a session of its own releases what it holds");
}

#[test]
fn nothing_makes_a_handler_fail() {
    let cli = writ();
    for handler in
        ["session-start", "prompt", "tool-failure", "checkpoint", "session-end", "stop", "retrospective-bg"]
    {
        for input in ["", "{", "[]", "null", "\"x\"", "{\"session_id\": 7, \"cwd\": {}}", "\u{0}"] {
            let output = cli.call(["hook", handler]).stdin(input).run();
            assert!(
                output.success().stdout.is_empty() || output.json()["hookSpecificOutput"].is_object(),
                "{output}"
            );
        }
        let huge = format!("{{\"prompt\": \"{}\"}}", "x".repeat(2 * 1024 * 1024));
        cli.call(["hook", handler]).stdin(huge).run().success();
    }
    // A store that is none of ours, words that are no words of ours: one line for a person, nothing for the agent.
    std::fs::write(
        cli.scratch().join("other.db"),
        "not a database, but somebody's notes about something else",
    )
    .unwrap();
    let other = cli.scratch().join("other.db");
    for words in [&["hook", "stop", "--db-path", other.to_str().unwrap()][..], &["hook", "stop", "--bogus"]] {
        let output = cli.call(words).stdin("{}").run();
        assert_eq!(output.success().stdout, "", "{output}");
        assert_eq!(output.stderr.lines().count(), 1, "{output}");
    }
}

#[test]
fn an_agent_that_says_nothing_is_not_waited_for() {
    let cli = writ();
    let waiting = cli.call(["hook", "stop"]).open_stdin().spawn();
    silent(&waiting.wait());
}

#[test]
fn a_project_is_a_directory_with_all_below_it_or_a_plain_word() {
    let cli = writ();
    cli.scratch().dir("project/.git");
    let below = cli.scratch().dir("project/src/deep");
    let file = cli.project().join("src/deep/a.rs");
    let edit =
        json!({"tool_name": "Edit", "tool_use_id": "u1", "cwd": below, "tool_input": {"file_path": file}});
    silent(&hook(&cli, "tool-success", edit));
    let word =
        json!({"tool_name": "Edit", "tool_use_id": "u2", "cwd": "fence", "tool_input": {"file_path": file}});
    silent(&hook(&cli, "tool-success", word));
    let told = events(&cli, "tool_success");
    let of = |index: usize| (told[index]["project_id"].clone(), told[index]["message"].clone());
    assert_eq!(of(0), (json!(cli.project()), json!("Edit: src/deep/a.rs")));
    assert_eq!(of(1), (json!("fence"), json!("Edit: src/deep/a.rs")));
    // A session in a project with a plain name gets that project's task.
    let words = ["task", "create", "--title", "Paint it", "--project-id", "fence", "--agent", "p"];
    cli.run(words.iter().chain(&["--request-id", "t"])).success();
    let started = hook(&cli, "session-start", json!({"source": "startup", "cwd": "fence"}));
    assert!(context(&started, "SessionStart").contains("Paint it"), "{started}");
}

#[test]
fn events_say_what_happened_and_belong_to_the_task_of_the_session() {
    let cli = writ();
    let id = created(&cli, "Paint the fence");
    context(&hook(&cli, "session-start", json!({"source": "startup"})), "SessionStart");
    let path = cli.project().join("src/parser.rs");
    let secret = format!("sk-ant-{}", "a1B2c3D4e5F6g7H8i9J0".repeat(3));
    let tool = |name: &str, input: Value, id: &str| json!({"tool_name": name, "tool_input": input, "tool_use_id": id});
    silent(&hook(&cli, "tool-success", tool("Edit", json!({"file_path": path}), "1")));
    silent(&hook(&cli, "tool-success", tool("Bash", json!({"command": format!("login {secret}")}), "2")));
    silent(&hook(&cli, "tool-success", tool("Read", json!({"file_path": path}), "3")));
    let mut failed = tool("Bash", json!({"command": "cargo test"}), "4");
    failed["error"] =
        json!(format!("Exit code 101\n{}\nerror: test failed\u{1b}[0m", "noise\n".repeat(5_000)));
    silent(&hook(&cli, "tool-failure", failed));
    silent(&hook(&cli, "stop", json!({"last_assistant_message": "Next: fix the lexer."})));
    let listed = |kind: &str| {
        let all =
            cli.run(["events", "list", "--all", "--asc", "--task-id", &id, "--kind", kind]).success().json();
        all["data"]["events"].as_array().unwrap().clone()
    };
    let messages = |kind: &str| listed(kind).iter().map(|event| event["message"].clone()).collect::<Vec<_>>();
    assert_eq!(messages("tool_success")[0], "Edit: src/parser.rs");
    let login = messages("tool_success")[1].as_str().unwrap().to_owned();
    assert!(login.starts_with("Bash: login ") && !login.contains("a1B2"), "{login}");
    assert_eq!(messages("tool_success").len(), 2, "a tool that only reads is not noted");
    assert_eq!(messages("tool_failure"), ["Bash failed (exit 101): cargo test (error: test failed[0m)"]);
    let failure = &listed("tool_failure")[0]["metadata"];
    let output = failure["output"].as_str().unwrap();
    assert!(output.len() <= 4096 && output.ends_with("error: test failed[0m"), "{output}");
    assert_eq!(failure["exit_code"], 101);
    assert_eq!(messages("last_words"), ["Next: fix the lexer."]);
}

#[test]
fn called_as_vybe_paths_are_noted_as_they_are() {
    let cli = writ();
    let path = cli.project().join("src/parser.rs");
    let told = json!({"session_id": SESSION, "cwd": cli.project(), "tool_name": "Write", "tool_input": {"file_path": path}});
    silent(&cli.call(["hook", "tool-success"]).named("vybe").stdin(told.to_string()).run());
    assert_eq!(events(&cli, "tool_success")[0]["message"], format!("Write: {}", path.display()));
}
