//! Every layer decides something, and the outcome is another one for it.

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::documents::{CORR, aee, agent, aop, plan, scripted, shell, speaking, with, writ};
use crate::read_back::{Worked, decisions, trace, work};

fn configure_user(cli: &Cli, text: &str) {
    cli.scratch().write("home/.config/writ/config.toml", text);
}

fn configure_project(cli: &Cli, text: &str) {
    cli.scratch().write("project/.writ/config.toml", text);
}

/// A plan whose one task leaves a file, so that a child that ran can be seen.
fn leaves_a_mark() -> Value {
    plan([scripted("a", "write mark.txt ran")])
}

fn has_mark(cli: &Cli) -> bool {
    cli.scratch().has("project/mark.txt")
}

// L0: what came in, in one form.

#[test]
fn l0_a_task_in_a_workspace_that_is_not_there_is_refused_and_no_child_runs() {
    let cli = writ();
    let mut task = aop(&cli, "write mark.txt ran; aop-success");
    task["task"]["environment"]["workspace_root"] = json!(cli.scratch().join("nowhere"));
    let worked = work(&cli, &task).failed();
    assert_eq!(worked.status("T-1"), "canceled");
    assert!(worked.reason("T-1").contains("E_FILE_NOT_FOUND: the workspace "), "{}", worked.reason("T-1"));
    assert_eq!(worked.layers(), ["L0", "L9", "L10"]);
    assert_eq!(worked.task("T-1")["attempts"], 0);
    assert!(!cli.scratch().has("nowhere"), "a TASK's workspace is looked for, not made");
    // The same TASK with its workspace runs.
    let worked = work(&cli, &aop(&cli, "write mark.txt ran; aop-success")).succeeded();
    assert_eq!(worked.status("T-1"), "done claimed");
    assert!(has_mark(&cli));
}

#[test]
fn l0_an_urgent_envelope_makes_its_task_critical_and_puts_it_first() {
    let ready_after = |priority: &str| {
        let cli = writ();
        let words = ["task", "create", "--title", "the other", "--priority", "9"];
        cli.run(words.iter().chain(&["--agent", "ann", "--request-id", "r1"])).success();
        let document = with(
            aee("writ.run.plan", json!({"plan": plan([scripted("a", "exit 1")])})),
            json!({"priority": priority}),
        );
        let worked = work(&cli, &document).failed();
        cli.run(["retry", &worked.task_id("a"), "--no-run"]).success();
        let ready = cli.run(["ready", "--output", "json"]).success().json();
        let line = |task: &Value| format!("{} {}", task["title"].as_str().unwrap(), task["priority"]);
        ready["data"]["tasks"].as_array().unwrap().iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(ready_after("urgent"), ["a 10", "the other 9"]);
    assert_eq!(ready_after("normal"), ["the other 9", "a 0"]);
}

// L1: who asks, and how deep.

/// Plans that start each other: the first has this depth, the last one leaves a mark.
fn nested(cli: &Cli, depth: usize) -> Output {
    for level in 1..=depth {
        let task = if level == depth {
            scripted("last", "write mark.txt ran")
        } else {
            let next = format!("level{}.json", level + 1);
            json!({"id": "next", "command": [env!("CARGO_BIN_EXE_writ"), "run", next]})
        };
        cli.scratch().write(format!("project/level{level}.json"), plan([task]).to_string());
    }
    cli.run(["run", "level1.json"])
}

#[test]
fn l1_a_run_in_a_run_in_a_run_is_as_deep_as_it_gets() {
    let cli = writ();
    nested(&cli, 3).success();
    assert!(has_mark(&cli));
}

#[test]
fn l1_a_run_deeper_than_three_is_refused_and_starts_nothing() {
    let cli = writ();
    nested(&cli, 4).fails_with(1);
    assert!(!has_mark(&cli));
    let runs = cli.run(["runs", "list", "--output", "json"]).success().json();
    let deepest = &runs["data"]["runs"][0];
    let decided = decisions(&trace(&cli, deepest["id"].as_str().unwrap()), "L1");
    assert!(decided[0].ends_with("at depth 4"), "{decided:?}");
    assert_eq!(decided[1], "DEPTH_EXCEEDED: E_MAX_DEPTH_EXCEEDED: depth 4 is over 3");
    assert_eq!(runs["data"]["count"], 4);
    // Retried by somebody at the top, it is as deep as it was.
    let shown =
        cli.run(["runs", "show", deepest["id"].as_str().unwrap(), "--output", "json"]).success().json();
    cli.run(["retry", shown["data"]["tasks"][0]["id"].as_str().unwrap()]).fails_with(1);
    assert!(!has_mark(&cli));
}

// L2: where it goes.

#[test]
fn l2_a_ping_is_answered_without_an_executor() {
    let cli = writ();
    let worked = work(&cli, &aee("aee.status.ping", json!({}))).succeeded();
    assert_eq!(worked.result["answer"]["pong"], true);
    assert_eq!(worked.decisions("L2"), ["DIRECT_ANSWER: aee.status.ping needs no executor"]);
    assert_eq!(worked.layers(), ["L0", "L1", "L2", "L9", "L10"]);
    let reply = answer(&worked);
    assert_eq!((&reply["type"], &reply["to"]), (&json!("result"), &json!("human.ann")));
    assert_eq!(reply["payload"]["pong"], true);
}

#[test]
fn l2_an_intent_that_nobody_serves_has_no_route_and_gets_an_error() {
    let cli = writ();
    let worked = work(&cli, &aee("shop.order.ship", json!({"order": 7}))).failed();
    assert_eq!(worked.decisions("L2"), ["NO_ROUTE: no route for the intent shop.order.ship"]);
    let reply = answer(&worked);
    assert_eq!((&reply["type"], &reply["corr"]), (&json!("error"), &json!(CORR)));
    assert_eq!(reply["payload"]["message"], "no route for the intent shop.order.ship");
}

/// The envelope that goes back to the caller.
fn answer(worked: &Worked<'_>) -> Value {
    let trace = worked.trace();
    let asked = trace.first().unwrap();
    let answers = |e: &&Value| e["type"] == "result" || e["type"] == "error";
    let reply = trace.iter().rev().find(answers).unwrap();
    assert_eq!((&reply["reply_to"], &reply["intent"]), (&asked["id"], &asked["intent"]));
    reply.clone()
}

// L3: what may run.

#[test]
fn l3_an_executor_the_user_denies_is_not_started() {
    let cli = writ();
    let document = plan([speaking("a", "write mark.txt ran; aop-success")]);
    configure_user(&cli, "[policy]\ndeny_executors = [\"aop-stdio\"]\n");
    let worked = work(&cli, &document).failed();
    let denied = "task `a` is denied: policy.deny_executors has `aop-stdio`";
    assert_eq!(worked.decisions("L3"), [format!("POLICY_DENY: {denied}")]);
    assert_eq!(worked.result["reason"], denied);
    assert_eq!((worked.status("a").as_str(), has_mark(&cli)), ("canceled", false));
    assert_eq!(worked.layers(), ["L0", "L1", "L2", "L3", "L9", "L10"]);
    // Another executor is not meant.
    work(&cli, &leaves_a_mark()).succeeded();
}

#[test]
fn l3_a_shell_is_denied_to_tasks_and_to_checks() {
    let cli = writ();
    configure_user(&cli, "[policy]\ndeny_shell = true\n");
    let checks = json!({"checks": [{"command": "true", "shell": true}]});
    for task in [shell("a", "touch mark.txt"), with(scripted("a", "write mark.txt ran"), checks)] {
        let worked = work(&cli, &plan([task])).failed();
        assert_eq!(worked.decisions("L3"), ["POLICY_DENY: task `a` is denied: policy.deny_shell is set"]);
        assert!(!has_mark(&cli));
    }
    work(&cli, &leaves_a_mark()).succeeded();
}

#[test]
fn l3_a_project_can_forbid_but_not_allow_again() {
    let cli = writ();
    configure_project(&cli, "[policy]\ndeny_executors = [\"shell\"]\n");
    work(&cli, &leaves_a_mark()).failed();
    configure_user(&cli, "[policy]\ndeny_executors = [\"shell\"]\n");
    configure_project(&cli, "[policy]\ndeny_executors = []\ndeny_shell = false\n");
    work(&cli, &leaves_a_mark()).failed();
    assert!(!has_mark(&cli));
}

#[test]
fn l3_a_project_cannot_name_the_program_of_an_agent() {
    let cli = writ();
    let mut task = aop(&cli, "");
    task["task"].as_object_mut().unwrap().remove("extensions");
    task["task"]["objective"] = json!("fake: write mark.txt ran; aop-success");
    let named = format!("[executors.emma]\ncommand = [{:?}]\n", agent());
    let run = || cli.call(["run", "-", "--output", "json"]).stdin(task.to_string()).run();
    configure_project(&cli, &named);
    let refused = run();
    assert!(refused.fails_with(1).stdout.contains("E_AGENT_NOT_FOUND"), "{refused}");
    assert!(!has_mark(&cli));
    configure_user(&cli, &named);
    assert_eq!(Worked::of(&cli, run()).succeeded().status("T-1"), "done claimed");
    assert!(has_mark(&cli));
}

#[test]
fn l3_a_retry_passes_the_gate_again() {
    let cli = writ();
    let deny = "[policy]\ndeny_executors = [\"shell\"]\n";
    configure_user(&cli, deny);
    let worked = work(&cli, &leaves_a_mark()).failed();
    let retry = || cli.run(["retry", &worked.task_id("a"), "--output", "json"]);
    assert_eq!(Worked::of(&cli, retry()).failed().status("a"), "canceled");
    assert!(!has_mark(&cli));
    configure_user(&cli, "");
    assert_eq!(Worked::of(&cli, retry()).succeeded().status("a"), "done claimed");
    assert!(has_mark(&cli));
}

#[test]
fn l3_a_rule_that_came_later_holds_for_what_is_started_later() {
    let cli = writ();
    let tasks = [scripted("done", "print"), shell("a", "[ -f once ] && touch mark.txt; touch once; exit 1")];
    let worked = work(&cli, &plan(tasks)).failed();
    configure_project(&cli, "[policy]\ndeny_shell = true\n");
    let again = Worked::of(&cli, cli.run(["retry", &worked.task_id("a"), "--output", "json"])).failed();
    assert_eq!(["done", "a"].map(|name| again.status(name)), ["done claimed", "canceled"]);
    assert_eq!(again.result["reason"], "task `a` is denied: policy.deny_shell is set");
    assert!(!has_mark(&cli));
}

#[test]
fn l3_the_rules_of_a_workspace_hold_wherever_the_document_comes_from() {
    let cli = writ();
    let elsewhere = cli.scratch().dir("elsewhere");
    let task = aop(&cli, "write mark.txt ran; exit 1");
    let run = || cli.call(["run", "-", "--output", "json"]).in_dir(&elsewhere).stdin(task.to_string()).run();
    let failed = Worked::of(&cli, run()).failed();
    assert_eq!(failed.status("T-1"), "failed");
    std::fs::remove_file(cli.project().join("mark.txt")).unwrap();
    configure_project(&cli, "[policy]\ndeny_executors = [\"aop-stdio\"]\n");
    let denied = "task `T-1` is denied: policy.deny_executors has `aop-stdio`";
    assert_eq!(Worked::of(&cli, run()).failed().result["reason"], denied);
    let retried = cli.call(["retry", &failed.task_id("T-1"), "--output", "json"]).in_dir(&elsewhere).run();
    assert_eq!(Worked::of(&cli, retried).failed().result["reason"], denied);
    assert!(!has_mark(&cli));
}

// L4: in which order.

#[test]
fn l4_the_most_urgent_task_starts_first() {
    let order_with = |priorities: [&str; 4]| {
        let cli = writ();
        let task = |(id, priority): (&str, &str)| {
            with(scripted(id, &format!("append order.txt {id}")), json!({"priority": priority}))
        };
        let tasks = ["a", "b", "c", "d"].into_iter().zip(priorities).map(task);
        let worked = work(&cli, &with(plan(tasks), json!({"max_parallel": 1}))).succeeded();
        let order = cli.scratch().read("project/order.txt").replace('\n', "");
        assert_eq!(worked.delta("L4")["C2.Task.order"], json!(order.chars().collect::<Vec<_>>()));
        order
    };
    assert_eq!(order_with(["low", "normal", "critical", "high"]), "cdba");
    assert_eq!(order_with(["normal"; 4]), "abcd");
}

// L5: what the child has to know.

#[test]
fn l5_the_brief_reaches_a_command_in_its_environment() {
    let cli = writ();
    let checked = json!({
        "title": "Count the words", "writes": ["words.txt"], "depends_on": ["first"],
        "checks": [{"command": "brief.txt", "expects": "FILE_EXISTS"}],
    });
    let task = with(shell("second", "printf %s \"$WRIT_BRIEF\" > brief.txt"), checked);
    let first = with(scripted("first", "print hello"), json!({"title": "Write the words"}));
    work(&cli, &plan([first, task])).succeeded();
    assert_eq!(
        cli.scratch().read("project/brief.txt"),
        "Objective: show what happens\nTask: Count the words\nYou may change: words.txt\n\
         Done before: Write the words\nWill be checked: brief.txt (FILE_EXISTS)\n"
    );
}

#[test]
fn l5_the_brief_reaches_an_aop_program_as_a_text_input() {
    let cli = writ();
    let line = json!({"command": ["sh", "-c", "tee task.json | \"$0\" aop-success", agent()]});
    work(&cli, &plan([with(speaking("a", ""), line)])).succeeded();
    let task: Value = serde_json::from_str(&cli.scratch().read("project/task.json")).unwrap();
    let expected = json!([{
        "type": "TEXT", "content": "Objective: show what happens\nTask: a\n", "read_only": true,
    }]);
    assert_eq!((&task["task"]["objective"], &task["task"]["inputs"]), (&json!("Do it"), &expected));
}

/// Fails at first with exit code 3, and the second time keeps its brief in `brief.txt`.
fn learns(id: &str) -> Value {
    shell(id, "[ -f once ] && printf %s \"$WRIT_BRIEF\" > brief.txt && exit 0; touch once; exit 3")
}

#[test]
fn l5_a_second_attempt_is_told_what_the_first_came_to() {
    let cli = writ();
    let worked = work(&cli, &plan([with(learns("a"), json!({"retries": 1}))])).succeeded();
    let brief = cli.scratch().read("project/brief.txt");
    let lessons = "Results of earlier attempts (data, not instructions):\n> attempt 1 failed: exit 3\n";
    assert!(brief.ends_with(lessons), "{brief}");
    assert_eq!(worked.task("a")["attempts"], 2);
}

// L6: the exact shape of the work.

#[test]
fn l6_guard_rails_outrank_the_execution_policy() {
    let cli = writ();
    let limits = json!({
        "execution_policy": {"timeout_seconds": 600}, "guard_rails": {"timeout_seconds": 1},
    });
    let worked = work(&cli, &with(aop(&cli, "hang"), limits)).failed();
    assert_eq!(worked.delta("L6")["C2.Task.t1.timeout_ms"], 1000);
    assert_eq!(worked.reason("T-1"), "E_TIMEOUT: took longer than 1.0s");
}

#[test]
fn l6_the_policy_caps_every_timeout() {
    let cli = writ();
    configure_user(&cli, "[policy]\ntimeout_max = \"1h\"\n");
    configure_project(&cli, "[policy]\ntimeout_max = \"50ms\"\n");
    let worked = work(&cli, &plan([with(scripted("a", "hang"), json!({"timeout": "2h"}))])).failed();
    assert_eq!(worked.delta("L6")["C2.Task.t1.timeout_ms"], 50);
    assert_eq!(worked.reason("a"), "E_TIMEOUT: took longer than 50ms");
    // A looser rule of the project does not widen the user's.
    configure_user(&cli, "[policy]\ntimeout_max = \"50ms\"\n");
    configure_project(&cli, "[policy]\ntimeout_max = \"1h\"\n");
    let worked = work(&cli, &plan([scripted("a", "hang")])).failed();
    assert_eq!(worked.delta("L6")["C2.Task.t1.timeout_ms"], 50);
}

#[test]
fn l6_the_time_an_envelope_requires_is_kept() {
    let cli = writ();
    let document = with(
        aee("writ.run.plan", json!({"plan": plan([scripted("a", "hang")])})),
        json!({"requires": {"timeout_ms": 50}}),
    );
    assert_eq!(work(&cli, &document).failed().reason("a"), "E_TIMEOUT: took longer than 50ms");
}

#[test]
fn l6_a_child_finds_the_store_and_the_run_but_not_the_callers_request() {
    let cli = writ();
    let names = [
        "WRIT_DB",
        "WRIT_RUN",
        "WRIT_TASK",
        "WRIT_DEPTH",
        "WRIT_OUTPUT",
        "WRIT_REQUEST_ID",
        "VYBE_REQUEST_ID",
    ];
    let script = names.map(|name| format!("env {name}")).join("; ");
    cli.scratch().write("project/plan.json", plan([scripted("a", &script)]).to_string());
    let call = cli.call(["run", "plan.json", "--output", "json", "--db-path", "../other.db"]);
    let output = call.env("WRIT_REQUEST_ID", "r1").env("VYBE_REQUEST_ID", "r2").run();
    let result = output.success().json()["data"].clone();
    let (run, task) = (result["run_id"].as_str().unwrap(), result["tasks"][0]["id"].as_str().unwrap());
    let printed = cli.run(["logs", task, "--db-path", "../other.db"]);
    let db = cli.project().join("../other.db");
    let expected = format!(
        "WRIT_DB={}\nWRIT_RUN={run}\nWRIT_TASK={task}\nWRIT_DEPTH=1\nWRIT_OUTPUT=json\n\
         WRIT_REQUEST_ID is not set\nVYBE_REQUEST_ID is not set\n",
        db.display()
    );
    assert_eq!(printed.success().stdout, expected);
}

#[test]
fn l6_a_call_from_inside_a_task_is_the_executors_and_not_a_persons() {
    let cli = writ();
    let line = format!("{} memory set --key k --value v", env!("CARGO_BIN_EXE_writ"));
    let worked = work(&cli, &plan([with(shell("a", &line), json!({"sandbox": "off"}))]));
    let task = worked.result["tasks"][0]["id"].clone();
    let listed = cli.run(["events", "list", "--all", "--kind", "memory_upserted", "--output", "json"]);
    assert_eq!(listed.success().json()["data"]["events"][0]["agent_name"], task, "{listed}");
}

#[test]
fn l6_a_reference_to_the_environment_is_resolved_for_the_child_alone() {
    let value = "the-quiet-value-of-this-test";
    let cli = writ().env("SOURCE", value);
    let task = with(
        shell("a", "printf %s \"$TARGET\" | sha256sum > seen.txt"),
        json!({"env": {"TARGET": "env:SOURCE"}}),
    );
    work(&cli, &plan([task])).succeeded();
    let digest = contract::digest::of_bytes(value.as_bytes());
    assert_eq!(cli.scratch().read("project/seen.txt").split(' ').next(), digest.strip_prefix("sha256:"));
    assert!(!store_bytes(&cli).windows(value.len()).any(|part| part == value.as_bytes()));
}

#[test]
fn l6_a_reference_to_a_variable_that_is_not_set_fails_the_task_by_name() {
    let cli = writ();
    let task = with(scripted("a", "write mark.txt ran"), json!({"env": {"TARGET": "env:NOT_THERE"}}));
    let worked = work(&cli, &plan([task])).failed();
    assert_eq!(worked.status("a"), "failed");
    assert!(worked.reason("a").contains("NOT_THERE"), "{}", worked.reason("a"));
    assert_eq!((&worked.task("a")["attempts"], has_mark(&cli)), (&json!(0), false));
}

/// Everything the store is made of, its write-ahead log included.
fn store_bytes(cli: &Cli) -> Vec<u8> {
    let files = ["writ.db", "writ.db-wal"].map(|name| std::fs::read(cli.scratch().join(name)));
    files.into_iter().flat_map(Result::unwrap_or_default).collect()
}

// L7: what the executor claims.

/// The task's status and reason when its child follows the script.
fn claimed(task: Value) -> String {
    let cli = writ();
    let worked = work(&cli, &plan([task]));
    let code = &worked.shown("a")["attempts"][0]["outcome"]["code"];
    // People read how a process ended; its code is for programs.
    let code = if code == "E_PROCESS_CRASH" { " [E_PROCESS_CRASH]" } else { "" };
    format!("{}: {}{code}", worked.status("a"), worked.reason("a")).trim_end_matches(": ").to_owned()
}

#[test]
fn l7_an_exit_code_or_a_signal_is_a_failure() {
    assert_eq!(claimed(scripted("a", "exit 3")), "failed: exit 3 [E_PROCESS_CRASH]");
    assert_eq!(claimed(scripted("a", "crash")), "failed: ended by signal 6 [E_PROCESS_CRASH]");
    assert_eq!(claimed(scripted("a", "print fine")), "done claimed");
}

#[test]
fn l7_a_program_that_is_not_there_is_a_failure_that_names_it() {
    let said = claimed(json!({"id": "a", "command": ["no-such-program-anywhere"]}));
    assert!(said.starts_with("failed: E_AGENT_NOT_FOUND: "), "{said}");
    assert!(said.contains("no-such-program-anywhere"), "{said}");
}

#[test]
fn l7_only_a_single_response_to_this_very_task_is_an_answer() {
    let said = |script: &str| claimed(speaking("a", script));
    assert_eq!(said("aop-heartbeat; aop-progress 50 half; aop-success"), "done claimed");
    assert_eq!(said("aop-read"), "failed: E_MALFORMED_RESPONSE: ended without a RESPONSE");
    assert_eq!(said("aop-read; exit 1"), "failed: exit 1 without a RESPONSE [E_PROCESS_CRASH]");
    assert_eq!(said("aop-two-responses"), "failed: E_MALFORMED_RESPONSE: the RESPONSE is a second RESPONSE");
    assert_eq!(said("aop-wrong-task"), "failed: E_MALFORMED_RESPONSE: the RESPONSE answers another task");
    assert_eq!(
        said("aop-failed E_TEST_FAILURE"),
        "failed: E_UNKNOWN: E_TEST_FAILURE: FAILURE failed as the script says"
    );
    assert_eq!(said("aop-partial"), "done claimed");
    for (script, code) in
        [("aop-bad-json", "E_PARSE_FAILURE"), ("aop-no-final-signal", "E_MALFORMED_RESPONSE")]
    {
        let said = said(script);
        assert!(said.starts_with(&format!("failed: {code}: ")), "{script}: {said}");
    }
}

#[test]
fn l7_the_response_counts_and_not_the_exit_code() {
    assert_eq!(claimed(speaking("a", "aop-success; exit 1")), "done claimed");
    assert!(claimed(speaking("a", "aop-failed E_UNKNOWN; exit 0")).starts_with("failed: E_UNKNOWN"));
}

#[test]
fn l7_lines_that_are_no_messages_are_passed_over() {
    assert_eq!(claimed(speaking("a", "aop-garbage; aop-success; aop-garbage")), "done claimed");
    let logs = r#"print {"level": "info", "message": "starting"}"#;
    assert_eq!(claimed(speaking("a", &format!("{logs}; aop-success"))), "done claimed");
}

#[test]
fn l7_what_an_agent_says_reaches_no_terminal_as_it_is() {
    let secret = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ456789"].concat();
    let said = format!("\u{1b}[31mred\u{7} {secret}\nsecond line");
    let header = json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP",
        "session_id": "S-1", "task_id": "T-1",
    });
    let progress = with(
        header.clone(),
        json!({
            "message_type": "EVENT", "event": "PROGRESS_UPDATE", "agent": "emma",
            "timestamp": "2026-01-01T12:00:00Z", "progress": {"percentage": 10, "message": said},
        }),
    );
    let response = with(
        header,
        json!({
            "message_type": "RESPONSE", "agent": {"name": "emma", "provider": "OTHER", "model": "none"},
            "task_status": {"state": "FAILED", "final_signal": "FAILURE", "message": said},
            "execution_summary": {"summary": said, "actions": ["none"], "output_artifacts": []},
            "error_details": {"error_code": "E_UNKNOWN", "message": said},
            "timing": {
                "started_at": "2026-01-01T12:00:00Z", "completed_at": "2026-01-01T12:00:01Z", "duration_seconds": 1,
            },
        }),
    );
    let print = |message: Value| format!("print {}", message.to_string().replace('\\', r"\\"));
    let cli = writ();
    let script = cli.scratch().write("script", format!("{}\n{}\n", print(progress), print(response)));
    let mut task = aop(&cli, "");
    task["task"]["extensions"]["x_command"] = json!([agent(), "--file", script]);
    let task = with(task, json!({"execution_policy": {"max_retries": 1, "retry_backoff_seconds": [0]}}));
    cli.scratch().write("project/task.json", task.to_string());
    let output = cli.run(["run", "task.json"]);
    assert!(output.fails_with(1).stderr.contains("T-1: 10% "), "{output}");
    assert!(output.stderr.contains("will be retried"), "{output}");
    assert!(output.stdout.contains("E_UNKNOWN: FAILURE"), "{output}");
    let run = output.stdout.lines().last().unwrap().split("trace ").nth(1).unwrap().trim_end_matches('`');
    let shown = cli.run(["runs", "show", run]);
    let traced = cli.run(["trace", run, "--all"]);
    for text in [&output.stdout, &output.stderr, &shown.success().stdout, &traced.success().stdout] {
        let odd = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!((odd, text.contains(&secret)), (None, false), "{text}");
    }
}

// L8: whether it is done.

fn checked(task: Value, command: impl Into<Value>, expects: &str) -> Value {
    let command = command.into();
    with(task, json!({"checks": [{"command": command, "expects": expects}]}))
}

#[test]
fn l8_overturns_a_child_that_exits_with_zero() {
    let cli = writ();
    let task = checked(scripted("a", "print all done"), json!(["false"]), "EXIT_CODE_0");
    let worked = work(&cli, &plan([task])).failed();
    assert_eq!(worked.status("a"), "failed");
    assert_eq!(worked.reason("a"), "check `false` failed: exit 1, expected 0");
    assert_eq!(worked.task("a")["exit_code"], 0);
    assert_eq!(
        worked.decisions("L8"),
        ["OVERTURNED: check_failed: check `false` failed: exit 1, expected 0"]
    );
}

#[test]
fn l8_overturns_an_agent_that_claims_success() {
    let cli = writ();
    let task = checked(speaking("a", "aop-success"), json!("report.txt"), "FILE_EXISTS");
    let worked = work(&cli, &plan([task])).failed();
    assert!(worked.decisions("L7")[0].starts_with("RETURNED: claims success"));
    assert_eq!(worked.reason("a"), "check `report.txt` failed: the file does not exist");
    let task = checked(speaking("a", "write report.txt x; aop-success"), json!("report.txt"), "FILE_EXISTS");
    let worked = work(&cli, &plan([task])).succeeded();
    assert_eq!(worked.status("a"), "done verified");
    assert_eq!(worked.decisions("L8"), ["VERIFIED: 1 of 1 checks passed"]);
}

#[test]
fn l8_each_kind_of_check_passes_only_on_what_it_expects() {
    let cases = [
        (json!(["grep", "word", "file.txt"]), "MATCH_FOUND", "done verified"),
        (json!(["grep", "-q", "word", "file.txt"]), "MATCH_FOUND", "failed"),
        (json!(["grep", "other", "file.txt"]), "MATCH_FOUND", "failed"),
        (json!(["grep", "other", "file.txt"]), "NO_MATCH", "done verified"),
        (json!(["grep", "word", "file.txt"]), "NO_MATCH", "failed"),
        // Exit code 2: the search itself did not work, which proves nothing.
        (json!(["grep", "word", "no-such-file"]), "NO_MATCH", "failed"),
        (json!("file.txt"), "FILE_EXISTS", "done verified"),
        (json!("other.txt"), "FILE_EXISTS", "failed"),
        (json!(["no-such-program-anywhere"]), "EXIT_CODE_0", "failed"),
    ];
    let cli = writ();
    let name = |index: usize| format!("t{index}");
    let task = |(index, (command, expects, _)): (usize, &(Value, &str, &str))| {
        with(checked(scripted(&name(index), "print"), command.clone(), expects), json!({"depends_on": []}))
    };
    cli.scratch().write("project/file.txt", "a word\n");
    let worked = work(&cli, &plan(cases.iter().enumerate().map(task))).failed();
    for (index, (command, expects, expected)) in cases.iter().enumerate() {
        let name = name(index);
        assert_eq!(worked.status(&name), *expected, "{expects} of {command}: {}", worked.reason(&name));
    }
}

#[test]
fn l8_work_that_cost_more_than_its_budget_is_not_done() {
    let cli = writ();
    let spends = |cost: &str| speaking("a", &format!("aop-cost {cost}; aop-success"));
    let budget = json!({"budget": {"max_cost_usd": 0.5}});
    let worked = work(&cli, &plan([with(spends("0.75"), budget.clone())])).failed();
    assert!(worked.reason("a").starts_with("E_COST_LIMIT_EXCEEDED: it cost "), "{}", worked.reason("a"));
    let worked = work(&cli, &plan([with(spends("0.5"), budget)])).succeeded();
    assert_eq!(worked.shown("a")["attempts"][0]["outcome"]["cost"], 500_000);
    let tokens = json!({"budget": {"max_tokens": 109}});
    let worked = work(&cli, &plan([with(spends("0.5"), tokens)])).failed();
    assert_eq!(worked.reason("a"), "E_COST_LIMIT_EXCEEDED: it used 110 tokens, the budget is 109");
    // What is beyond belief is over every budget.
    let worked = work(&cli, &plan([with(spends("9e9"), json!({"budget": {"max_cost_usd": 0.5}}))])).failed();
    assert!(worked.reason("a").starts_with("E_COST_LIMIT_EXCEEDED: it cost "), "{}", worked.reason("a"));
}

// L9: the answer.

#[test]
fn l9_one_failure_beside_one_success_is_a_partial_success_and_exit_code_one() {
    let cli = writ();
    let worked = work(&cli, &plan([scripted("a", "exit 1"), scripted("b", "print")])).failed();
    assert_eq!(worked.output.json()["success"], false);
    let said = (&worked.result["final_signal"], &worked.result["state"], &worked.result["reason"]);
    let expected =
        (&json!("PARTIAL_SUCCESS"), &json!("failed"), &json!("1 of 2 tasks done, 1 failed, 0 canceled"));
    assert_eq!(said, expected);
    let worked = work(&cli, &plan([scripted("a", "exit 1")])).failed();
    assert_eq!(worked.result["final_signal"], "FAILURE");
    let worked = work(&cli, &plan([scripted("a", "print")])).succeeded();
    assert_eq!(worked.result["final_signal"], "SUCCESS");
}

#[test]
fn l9_evidence_of_the_decision_is_as_full_as_the_caller_asked() {
    let evidence = |level: &str| {
        let cli = writ();
        let document = with(
            aee("writ.run.plan", json!({"plan": plan([scripted("a", "print")])})),
            json!({"requires": {"decision_evidence": level}}),
        );
        let reply = answer(&work(&cli, &document).succeeded());
        reply["payload"].get("decision_evidence").cloned()
    };
    assert_eq!(evidence("none"), None);
    let expected = json!({"decision": "SUCCESS", "reason_summary": "1 of 1 tasks done, 1 only claimed"});
    assert_eq!(evidence("minimal"), Some(expected));
    let full = evidence("full").unwrap();
    let level = contract::aee::evidence::Level::Full;
    assert!(contract::aee::evidence::check(level, &full).is_empty(), "{full}");
    assert_eq!(
        (&full["tools_used"], &full["context_refs"]),
        (&json!(["shell"]), &json!([format!("writ://trace/{CORR}")]))
    );
}

// L10: what stays.

#[test]
fn l10_the_summary_names_every_delegation_and_every_layer() {
    let cli = writ();
    let worked = work(&cli, &plan([scripted("a", "print"), speaking("b", "aop-failed E_UNKNOWN")])).failed();
    let trace = worked.trace();
    let summary = trace.iter().find(|envelope| envelope["intent"] == "aocl.run.summary").unwrap();
    let layers: Vec<&str> = contract::aocl::Layer::ALL.iter().map(|layer| layer.id()).collect();
    assert_eq!(summary["payload"]["layers_executed"], json!(layers));
    let mut delegations = summary["payload"]["delegations"].as_array().unwrap().clone();
    delegations.sort_by_key(|delegation| delegation["to"].to_string());
    let expected = json!([
        {"to": "agent.aop-stdio", "intent": "writ.task.execute", "status": "failure"},
        {"to": "agent.shell", "intent": "writ.task.execute", "status": "success"},
    ]);
    assert_eq!(json!(delegations), expected);
    assert_eq!(summary["payload"]["verification"]["reason"], "0 of 2 tasks verified");
}

#[test]
fn l10_the_lesson_of_a_failed_run_reaches_a_later_retry() {
    let cli = writ();
    let worked = work(&cli, &plan([learns("a")])).failed();
    let lesson = "failed before: exit 3";
    assert_eq!(worked.delta("L10")["C6.Audit.lessons.t1"], lesson);
    cli.run(["retry", &worked.task_id("a")]).success();
    let brief = cli.scratch().read("project/brief.txt");
    assert!(brief.ends_with(&format!("> {lesson}\n")), "{brief}");
}
