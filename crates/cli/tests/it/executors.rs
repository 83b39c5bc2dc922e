//! Executors for agent programs: how each is called, and what its stream and its end mean. The programs are fakes with
//! the right names, which print streams such as the real ones print.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{plan, with, writ};
use crate::read_back::{Worked, work};

/// Notes how it was called, in a file for each call.
const RECORD: &str = "n=$(ls call.* 2>/dev/null | wc -l)\n{ for word; do echo \"<$word>\"; done; echo \"<INPUT>\"; cat; } > call.$n\n";

/// A runner of `writ` with this program in front of its `PATH`.
pub(crate) fn with_program(name: &str, script: &str) -> Cli {
    let cli = writ();
    let path = cli.scratch().write(format!("bin/{name}"), format!("#!/bin/sh\n{RECORD}{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the fakes need a shell")]
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(cli.scratch().join("bin")).chain(std::env::split_paths(&machine));
    let path = std::env::join_paths(path.collect::<Vec<PathBuf>>()).unwrap();
    cli.env("PATH", path)
}

/// A script that prints these events and ends with this code.
pub(crate) fn prints(events: &[Value], exit: i32) -> String {
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    format!("cat <<'END'\nnot an event\n{}\nEND\nexit {exit}", lines.join("\n"))
}

/// A task for an agent.
pub(crate) fn asked(executor: &str) -> Value {
    json!({"id": "a", "executor": executor, "prompt": "Paint the fence"})
}

/// The arguments of a call, and its standard input.
pub(crate) fn call(cli: &Cli, number: usize) -> (String, String) {
    let text = cli.scratch().read(cli.project().join(format!("call.{number}")));
    let (words, input) = text.split_once("<INPUT>\n").unwrap();
    let words = words.trim_end().trim_start_matches('<').trim_end_matches('>').replace(">\n<", " ");
    (words, input.to_owned())
}

#[track_caller]
fn outcome(worked: &Worked<'_>) -> String {
    let reason = worked.reason("a");
    // Until when it is limited is another test's.
    let reason = reason
        .split_once(" is limited until ")
        .and_then(|(told, _)| told.rsplit_once("; "))
        .map_or(reason, |(told, _)| told);
    format!("{}: {reason}", worked.status("a")).trim_end_matches(": ").to_owned()
}

/// A stream of Claude Code that ends well.
fn claude_events(session: &str, cost: f64) -> Vec<Value> {
    vec![
        json!({"type": "system", "subtype": "init", "session_id": session, "model": "opus", "claude_code_version": "2.1.325", "tools": []}),
        json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "fence"}}]},
            "parent_tool_use_id": null, "session_id": session}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "written"}]}, "session_id": session}),
        json!({"type": "an_event_of_tomorrow", "session_id": session}),
        json!({"session_id": session, "subtype": "success", "is_error": false, "result": "The fence is green.", "total_cost_usd": cost,
            "usage": {"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 7}, "type": "result"}),
    ]
}

/// What `writ runs show` has of the attempts of task `a`.
fn attempts(worked: &Worked<'_>) -> Vec<Value> {
    worked.shown("a")["attempts"].as_array().unwrap().clone()
}

/// How the task ends whose program prints these events, and the newest attempt.
#[track_caller]
fn ended(executor: &str, events: &[Value], exit: i32) -> (String, Value) {
    let cli = with_program(executor, &prints(events, exit));
    let words = ["run", "-", "--limit-wait", "0s", "--output", "json"];
    let output = cli.call(words).stdin(plan([asked(executor)]).to_string()).run();
    let worked = Worked::of(&cli, output);
    (outcome(&worked), attempts(&worked).pop().unwrap())
}

#[test]
fn claude_does_a_task_and_what_it_used_is_booked() {
    let cli = with_program("claude", &prints(&claude_events("s-1", 0.25), 0));
    let document = plan([with(asked("claude"), json!({"model": "opus", "checks": [{"command": ["true"]}]}))]);
    let worked = work(&cli, &document).succeeded();
    assert_eq!(worked.status("a"), "done verified");
    let (words, input) = call(&cli, 0);
    assert!(words.starts_with("-p --output-format stream-json --verbose"), "{words}");
    assert!(words.ends_with("--model opus"), "{words}");
    assert!(input.starts_with("Paint the fence\n"), "{input}");
    let attempt = &attempts(&worked)[0];
    assert_eq!((&attempt["agent_session"], &attempt["model"]), (&json!("s-1"), &json!("opus")), "{attempt}");
    let outcome = &attempt["outcome"];
    assert_eq!((&outcome["cost"], &outcome["tokens"]), (&json!(250_000), &json!(127)), "{attempt}");
    assert_eq!(outcome["message"], "The fence is green.", "{attempt}");
}

fn step(reason: &str) -> Value {
    json!({"type": "step_finish", "sessionID": "ses_1", "part": {"reason": reason, "cost": 0.01,
        "tokens": {"input": 10, "output": 2, "reasoning": 1, "cache": {"read": 5, "write": 0}}}})
}

/// A failed result of Claude Code.
fn claude_error(status: Value, words: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": status, "result": words,
        "terminal_reason": "api_error", "total_cost_usd": 0.0, "usage": {"input_tokens": 0, "output_tokens": 0}})
}

#[test]
fn a_rate_limit_names_its_resource_and_its_end() {
    let (_, attempt) =
        ended("claude", &[claude_error(json!(429), "Claude AI usage limit reached|1900000000")], 1);
    let limited = &attempt["outcome"]["limited"];
    assert_eq!(
        (&limited["resource"], &limited["until"]),
        (&json!("claude"), &json!("2030-03-17T17:46:40.000Z")),
        "{attempt}"
    );
}

#[test]
fn opencode_that_asks_again_without_end_is_ended() {
    let line = step("unknown").to_string();
    let cli = with_program("opencode", &format!("while :; do echo '{line}'; sleep 0.05; done"));
    let worked = work(&cli, &plan([asked("opencode")]));
    assert_eq!(outcome(&worked), "failed: E_MODEL_UNAVAILABLE: the model's answer broke off 5 times");
}

#[test]
fn the_same_call_over_and_over_is_ended_and_named() {
    let called = json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]}, "session_id": "s"});
    let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "a b"}]}, "session_id": "s"});
    let cli =
        with_program("claude", &format!("while :; do echo '{called}'; echo '{result}'; sleep 0.02; done"));
    let worked = work(&cli, &plan([asked("claude")]));
    let expected = "failed: E_UNKNOWN: repeats: called `Bash ls` 12 times in a row with the same result, and nothing changed";
    assert_eq!(outcome(&worked), expected);
}

#[test]
fn a_program_that_says_nothing_is_ended() {
    let cli = with_program("claude", "exec sleep 600");
    cli.scratch().write("home/.config/writ/config.toml", "[executor.claude]\nsilence = \"1s\"\n");
    let worked = work(&cli, &plan([asked("claude")]));
    assert_eq!(outcome(&worked), "failed: E_HEARTBEAT_FAILURE: sent no sign of life");
}

#[test]
fn a_program_that_is_not_there_is_an_agent_that_is_not_found() {
    let cli = writ();
    cli.scratch()
        .write("home/.config/writ/config.toml", "[executor.claude]\ncommand = [\"no-such-claude\"]\n");
    let worked = work(&cli, &plan([asked("claude")]));
    assert!(
        outcome(&worked).starts_with("failed: E_AGENT_NOT_FOUND: could not start no-such-claude"),
        "{}",
        outcome(&worked)
    );
}

#[test]
fn a_retry_goes_on_in_the_same_conversation_with_what_the_check_printed() {
    let script = format!(
        "case \"$*\" in *'-r s-1'*) touch proof\n{}\n;; *) {}\n;; esac",
        prints(&claude_events("s-1", 0.25), 0).replace("\nexit 0", ""),
        prints(&claude_events("s-1", 0.10), 0).replace("\nexit 0", ""),
    );
    let cli = with_program("claude", &script);
    let check = json!({"command": "echo the gate is open; test -e proof", "shell": true});
    let worked =
        work(&cli, &plan([with(asked("claude"), json!({"retries": 1, "checks": [check]}))])).succeeded();
    assert_eq!(worked.status("a"), "done verified");
    let (words, input) = call(&cli, 1);
    assert!(words.contains("-r s-1"), "{words}");
    assert!(!input.contains("Paint the fence"), "{input}");
    assert!(input.contains("> the gate is open") && input.contains("was not accepted"), "{input}");
    // The second report is that of the whole conversation.
    let costs: Vec<Value> =
        attempts(&worked).iter().map(|attempt| attempt["outcome"]["cost"].clone()).collect();
    assert_eq!(costs, [json!(100_000), json!(150_000)]);
}

#[test]
fn a_conversation_that_is_gone_is_begun_anew() {
    let script = format!(
        "case \"$*\" in *'-r s-1'*) echo 'No conversation found with session ID: s-1' >&2; exit 1;; esac\n[ -e call.1 ] && touch proof\n{}",
        prints(&claude_events("s-1", 0.1), 0)
    );
    let cli = with_program("claude", &script);
    let check = json!({"command": ["test", "-e", "proof"]});
    let worked =
        work(&cli, &plan([with(asked("claude"), json!({"retries": 2, "checks": [check]}))])).succeeded();
    assert!(call(&cli, 1).0.contains("-r s-1"));
    let (words, input) = call(&cli, 2);
    assert!(!words.contains("-r s-1") && input.starts_with("Paint the fence"), "{words}\n{input}");
    assert_eq!(worked.status("a"), "done verified");
}

#[test]
fn a_killed_engine_leaves_a_conversation_that_goes_on() {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s-9"});
    let script = format!(
        "case \"$*\" in *'-r s-9'*) {}\n;; *) echo '{init}'; touch ready; exec sleep 600;; esac",
        prints(&claude_events("s-9", 0.1), 0).replace("\nexit 0", "")
    );
    let cli = with_program("claude", &script);
    let document = plan([with(asked("claude"), json!({"retry_safe": true}))]);
    cli.scratch().write(cli.project().join("plan.json"), document.to_string());
    let engine = cli.spawn(["run", "plan.json"]);
    testkit::eventually("its conversation is stored", || {
        let shown = cli.run(["runs", "show", "@last", "--output", "json"]);
        shown.stdout.contains("s-9")
    });
    drop(engine.kill_nine());
    let worked = Worked::of(&cli, cli.run(["run", "--continue", "--output", "json"])).succeeded();
    let (words, input) = call(&cli, 1);
    assert!(words.contains("-r s-9"), "{words}");
    assert!(input.starts_with("Your work on this task was interrupted."), "{input}");
    assert_eq!(worked.status("a"), "done claimed");
}

#[test]
fn inside_a_sandbox_codex_needs_none_of_its_own() {
    for (sandbox, expected) in [("enforce", "-s danger-full-access"), ("off", "-s workspace-write")] {
        let cli = with_program("codex", &prints(&[json!({"type": "turn.completed", "usage": {}})], 0));
        let worked = work(&cli, &plan([with(asked("codex"), json!({"sandbox": sandbox, "writes": ["."]}))]));
        assert_eq!(outcome(&worked), "done claimed");
        assert!(call(&cli, 0).0.contains(expected), "{:?}", call(&cli, 0));
    }
}

#[test]
fn a_template_fills_its_placeholders_and_its_text_is_the_summary() {
    let cli = with_program("painter", "echo All done.");
    let configuration = "[executor.brush]\nkind = \"template\"\nmodel = \"m1\"\nenv = { COLOR = \"green\" }\n\
                         command = [\"painter\", \"--model={model}\", \"{task_id}\", \"{workspace}\", \"{prompt_file}\"]\n";
    cli.scratch().write("home/.config/writ/config.toml", configuration);
    let worked = work(&cli, &plan([asked("brush")])).succeeded();
    let (words, input) = call(&cli, 0);
    let (id, project) = (worked.task_id("a"), cli.project());
    assert_eq!(words, format!("--model=m1 {id} {} /dev/stdin", project.canonicalize().unwrap().display()));
    assert!(input.starts_with("Paint the fence"), "{input}");
    assert_eq!(attempts(&worked)[0]["outcome"]["message"], "All done.\n".trim());
}

#[test]
fn a_template_succeeds_with_exit_0_and_its_pattern() {
    for (script, expected) in [
        ("echo result: FINE", "done claimed"),
        ("echo result: BAD", "failed: E_UNKNOWN: its output does not match `^result: FINE$`"),
        ("echo result: FINE; echo no paint left >&2; exit 3", "failed: exit 3: no paint left"),
    ] {
        let cli = with_program("painter", script);
        let configuration = "[executor.brush]\nkind = \"template\"\nsuccess_pattern = \"^result: FINE$\"\ncommand = [\"painter\", \"-p\", \"{prompt}\"]\n";
        cli.scratch().write("home/.config/writ/config.toml", configuration);
        let worked = work(&cli, &plan([asked("brush")]));
        assert_eq!(outcome(&worked), expected);
        assert!(call(&cli, 0).0.starts_with("-p Paint the fence"));
    }
}

#[test]
fn an_executor_that_reads_only_v1_gets_a_v1_prompt_and_the_log_says_so() {
    let cli = with_program("oldie", "echo SUCCESS");
    let configuration = "[executor.oldie]\nkind = \"aop-stdio\"\nversions = [\"1\"]\ncommand = [\"oldie\"]\n";
    cli.scratch().write("home/.config/writ/config.toml", configuration);
    let worked = work(&cli, &plan([asked("oldie")])).succeeded();
    assert!(call(&cli, 0).1.starts_with("=== TASK (AOP v1 Compatibility Mode) ==="), "{:?}", call(&cli, 0));
    let events: Vec<String> = worked.trace().iter().map(Value::to_string).collect();
    assert!(events.iter().any(|event| event.contains("TARGET_V1_ONLY")), "{events:?}");
}

#[test]
fn a_v1_executor_without_a_closing_word_has_done_only_a_part_whichever_way_it_is_known_to_be_v1() {
    let warning = "the text does not end with SUCCESS or FAIL and counts as a partial success";
    for (script, expected) in [
        ("echo all is well", json!(["done", "PARTIAL_SUCCESS", null, [warning]])),
        ("echo SUCCESS", json!(["done", "SUCCESS", null, null])),
        ("echo FAIL", json!(["failed", "FAILURE", "E_UNKNOWN", null])),
        ("true", json!(["failed", "FAILURE", "E_MALFORMED_RESPONSE", null])),
    ] {
        for is_configured in [true, false] {
            let cli = with_program("oldie", script);
            let mut task = targeted(&cli, json!({"agent_name": "oldie"}));
            let versions = if is_configured { "versions = [\"1\"]\n" } else { "" };
            let configuration =
                format!("[executor.oldie]\nkind = \"aop-stdio\"\n{versions}command = [\"oldie\"]\n");
            cli.scratch().write("home/.config/writ/config.toml", configuration);
            if !is_configured {
                task["target"]["capabilities"] =
                    json!({"aop_versions_supported": ["1.x"], "network_access": "FULL"});
            }
            let worked = work(&cli, &task);
            let line = worked.task("T-1");
            let signal = &worked.shown("T-1")["attempts"][0]["outcome"]["report"]["final_signal"];
            let told = json!([line["status"], signal, line["code"], line["warnings"]]);
            assert_eq!(told, expected, "{script}, configured: {is_configured}\n{}", worked.output);
            assert_eq!(line["findings"], json!(null), "nobody claimed a model");
        }
    }
}

/// An agent that speaks the Agent Client Protocol, as far as these tests need it.
const ACP_AGENT: &str = r#"
import json, os, sys
def send(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def update(body): send({"method": "session/update", "params": {"sessionId": "acp-1", "update": body}})
log, loaded = open("acp.log", "a"), False
for line in sys.stdin:
    message = json.loads(line); log.write(line); log.flush()
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        print("a banner", flush=True)
        send({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}})
    elif method == "session/new":
        send({"id": number, "result": {"sessionId": "acp-1"}})
    elif method == "session/load":
        update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "what was said before"}})
        send({"id": number, "result": {}})
        loaded = True
    elif method == "session/set_model":
        send({"id": number, "error": {"code": -32601, "message": "unknown"}})
    elif method == "session/prompt":
        prompt = number
        for turn in range(2 if loaded else 0):  # late: the history, with a call, in pieces, and the same answer twice
            update({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "the task"}})
            update({"sessionUpdate": "tool_call", "toolCallId": "old", "title": "an old call", "status": "completed"})
            for word in ["permission ", "yes"]:
                update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": word}})
        send({"id": 99, "method": "session/request_permission", "params": {"sessionId": "acp-1",
            "toolCall": {"toolCallId": "c1", "title": "paint"},
            "options": [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]}})
    elif number == 99:
        chosen = message["result"]["outcome"]["optionId"]
        if "-r" in sys.argv or os.path.exists("acp.again"): open("proof", "w")
        open("acp.again", "w")
        if not loaded: update({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"})
        for word in ["permission ", chosen]:
            update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": word}})
        send({"id": prompt, "result": {"stopReason": os.environ.get("STOP", "end_turn"), "usage": {"inputTokens": 20, "outputTokens": 2}}})
"#;

fn acp(more: &str) -> Cli {
    let cli = writ();
    let agent = cli.scratch().write("agent.py", ACP_AGENT);
    let configuration = format!(
        "[executor.speaker]\nkind = \"acp\"\ncommand = [\"python3\", {:?}]\n{more}\n",
        agent.display().to_string()
    );
    cli.scratch().write("home/.config/writ/config.toml", configuration);
    cli
}

#[test]
fn an_agent_over_acp_does_a_task_and_is_permitted_what_the_sandbox_holds() {
    for (fields, expected) in [
        (json!({"sandbox": "off"}), "permission no"),
        (json!({"sandbox": "enforce", "writes": ["."]}), "permission yes"),
    ] {
        let cli = acp("");
        let worked = work(&cli, &plan([with(asked("speaker"), fields)]));
        assert_eq!(outcome(&worked), "done claimed");
        let attempt = &attempts(&worked)[0];
        assert_eq!(
            (&attempt["outcome"]["message"], &attempt["outcome"]["tokens"]),
            (&json!(expected), &json!(22)),
            "{attempt}"
        );
        assert_eq!(attempt["agent_session"], "acp-1");
        assert_eq!(cli.leftovers(), Vec::<u32>::new());
    }
}

#[test]
fn an_agent_over_acp_goes_on_in_its_conversation() {
    let cli = acp("permissions = \"allow\"\nmodel = \"m\"\n");
    let task =
        with(asked("speaker"), json!({"retries": 1, "checks": [{"command": ["test", "-e", "proof"]}]}));
    let worked = work(&cli, &plan([task])).succeeded();
    assert_eq!(worked.status("a"), "done verified");
    let log = cli.scratch().read(cli.project().join("acp.log"));
    assert!(log.contains("session/load") && log.contains("was not accepted"), "{log}");
    let outcome = &attempts(&worked)[1]["outcome"];
    assert_eq!(outcome["message"], "permission yes", "not the history");
    assert!(!outcome.to_string().contains("an old call"), "{outcome}");
}

#[test]
fn a_turn_over_acp_that_does_not_end_well_is_a_failure() {
    let cli = acp("env = { STOP = \"refusal\" }\n");
    let worked = work(&cli, &plan([asked("speaker")]));
    assert_eq!(outcome(&worked), "failed: E_UNKNOWN: the turn ended with refusal");
}

#[test]
fn faults_of_an_executor_are_reported_with_their_paths() {
    for (table, expected) in [
        ("[executor.x]\nkind = \"painter\"\n", "$.executor.x.kind"),
        ("[executor.x]\n", "$.executor.x.command"),
        ("[executor.x]\nkind = \"acp\"\n", "$.executor.x.command"),
        ("[executor.claude]\ncolour = \"green\"\n", "$.executor.claude.colour"),
        ("[executor.claude]\nsilence = \"soon\"\n", "$.executor.claude.silence"),
        ("[executor.claude]\nsuccess_pattern = \"x\"\n", "$.executor.claude.success_pattern"),
        (
            "[executor.x]\nkind = \"template\"\ncommand = [\"x\"]\nsuccess_pattern = \"(\"\n",
            "$.executor.x.success_pattern",
        ),
        (
            "[executor.x]\nkind = \"template\"\ncommand = [\"x\", \"-p={promt}\"]\n",
            "$.executor.x.command[1]: unknown placeholder `{promt}`; did you mean `{prompt}`?",
        ),
        (
            "[executor.x]\nkind = \"template\"\ncommand = [\"x\", \"{colour}\"]\n",
            "$.executor.x.command[1]: unknown placeholder `{colour}`; use one of {prompt}, ",
        ),
        ("[executor.shell]\ncommand = [\"x\"]\n", "$.executor.shell.command"),
        ("[executor.x]\ncommand = [\"x\"]\n[executors.x]\ncommand = [\"x\"]\n", "$.executors.x"),
        ("[executor.\"a b\"]\nkind = \"acp\"\ncommand = [\"x\"]\n", "$.executor.a b"),
    ] {
        let cli = writ();
        cli.scratch().write("home/.config/writ/config.toml", table);
        let refused = cli.run(["config", "show"]);
        assert!(refused.stderr.contains(expected), "{table}\n{refused}");
    }
}

#[test]
fn a_task_for_an_agent_has_a_prompt_and_no_command() {
    let cli = writ();
    for (task, path) in [
        (json!({"id": "a", "executor": "claude"}), "$.task[0].prompt"),
        (with(asked("claude"), json!({"command": ["x"]})), "$.task[0].command"),
        (json!({"id": "a"}), "$.task[0].command"),
        (json!({"id": "a", "command": ["x"], "model": "m"}), "$.task[0].model"),
    ] {
        let refused = cli.call(["run", "-", "--output", "json"]).stdin(plan([task]).to_string()).run();
        assert!(refused.stdout.contains(path) || refused.stderr.contains(path), "{path}\n{refused}");
    }
}

#[test]
fn executors_are_listed_with_their_programs() {
    let cli = with_program("claude", "exit 0");
    cli.scratch().write(
        "home/.config/writ/config.toml",
        "[executor.talker]\nkind = \"acp\"\ncommand = [\"no-such\"]\nmodel = \"m\"\n",
    );
    let listed = cli.run(["executors", "list", "--output", "json"]).success().json();
    let rows = listed["data"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!((&row("claude")["found"], &row("claude")["from"]), (&json!(true), &json!("built in")));
    assert_eq!((&row("talker")["found"], &row("talker")["model"]), (&json!(false), &json!("m")));
    assert_eq!(row("shell")["found"], Value::Null);
    let shown = cli.run(["executors", "list"]);
    let text = &shown.success().stdout;
    assert!(text.contains("no-such (not found)"), "{text}");
}

#[test]
fn an_executor_is_tested_step_by_step() {
    let cli = with_program("claude", &prints(&claude_events("s-1", 0.25), 0));
    let tested = cli.run(["executors", "test", "claude", "--output", "json"]).success().json();
    let steps: Vec<&str> = tested["data"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["told"].as_str().unwrap())
        .collect();
    assert_eq!(steps, ["claude", "The fence is green.", "conversation s-1", "127 tokens, $0.25"]);
    let cli = with_program("claude", &prints(&[claude_error(json!(401), "Invalid API key")], 1));
    let tested = cli.run(["executors", "test", "claude"]);
    let told = &tested.fails_with(1).stdout;
    assert!(told.contains("E_MODEL_UNAVAILABLE: authentication failed: Invalid API key"), "{tested}");
}

/// A TASK whose target is this agent and provider, without a command of its own.
fn targeted(cli: &Cli, target: Value) -> Value {
    let mut task = crate::documents::aop(cli, "");
    task["target"] = with(task["target"].take(), target);
    task["task"].as_object_mut().unwrap().remove("extensions");
    task["task"]["inputs"] = json!([{"type": "TEXT", "content": "The color is green."}]);
    task
}

#[test]
fn a_task_of_a_provider_is_worked_by_its_program_with_its_model_and_profile() {
    let cli = with_program("claude", &prints(&claude_events("s-1", 0.1), 0));
    let target = json!({"provider": "CLAUDE", "model": "opus", "execution_profile": "thorough"});
    let worked = work(&cli, &targeted(&cli, target)).succeeded();
    let (words, input) = call(&cli, 0);
    assert!(words.contains("--model opus --effort high"), "{words}");
    assert!(input.contains("Do it") && input.contains("The color is green."), "{input}");
    let shaped = worked.decisions("L6");
    assert!(
        shaped.iter().any(|line| line == "EXECUTION_PROFILE: thorough: passed on to claude"),
        "{shaped:?}"
    );
}

#[test]
fn a_profile_that_a_program_has_no_setting_for_is_said_to_have_no_effect() {
    let events = [json!({"type": "result", "status": "success", "stats": {}})];
    let cli = with_program("gemini", &prints(&events, 0));
    let target = json!({"provider": "GEMINI", "model": "default", "execution_profile": "fast"});
    let worked = work(&cli, &targeted(&cli, target)).succeeded();
    assert!(!call(&cli, 0).0.contains("-m "), "{:?}", call(&cli, 0));
    let expected = "EXECUTION_PROFILE: fast: has no effect, because gemini has no such setting";
    let shaped = worked.decisions("L6");
    assert!(shaped.iter().any(|line| line == expected), "{shaped:?}");
}

#[test]
fn a_task_is_worked_by_the_executor_that_is_configured_for_its_agent() {
    let cli = with_program("painter", "echo SUCCESS");
    let configuration = "[executor.emma]\nkind = \"template\"\ncommand = [\"painter\", \"{model}\"]\n";
    cli.scratch().write("home/.config/writ/config.toml", configuration);
    work(&cli, &targeted(&cli, json!({"model": "m7"}))).succeeded();
    assert_eq!(call(&cli, 0).0, "m7");
}

#[test]
fn braces_that_are_no_placeholder_are_left_alone() {
    let cli = with_program("painter", "echo SUCCESS");
    let configuration = "[executor.emma]\nkind = \"template\"\n\
                         command = [\"painter\", \"{\\\"a\\\":1}\", \"{ promt }\", \"awk '{print}'\", \"{}\"]\n";
    cli.scratch().write("home/.config/writ/config.toml", configuration);
    work(&cli, &targeted(&cli, json!({}))).succeeded();
    assert_eq!(call(&cli, 0).0, "{\"a\":1} { promt } awk '{print}' {}");
}

#[test]
fn a_model_and_a_profile_that_a_template_cannot_be_told_are_named_in_the_answer() {
    let cli = with_program("painter", "echo SUCCESS");
    let configured = |command: &str| {
        let table = format!("[executor.emma]\nkind = \"template\"\ncommand = {command}\n");
        cli.scratch().write("home/.config/writ/config.toml", table);
        let target = json!({"model": "m7", "execution_profile": "fast"});
        work(&cli, &targeted(&cli, target)).succeeded().task("T-1")["warnings"].clone()
    };
    let profile = "WITHOUT_EFFECT: target.execution_profile `fast`: emma has no such setting";
    let model = "WITHOUT_EFFECT: target.model `m7`: the command of emma has no {model}";
    assert_eq!(configured("[\"painter\"]"), json!([profile, model]));
    assert_eq!(configured("[\"painter\", \"{model}\"]"), json!([profile]));
}
