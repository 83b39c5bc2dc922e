//! What becomes of tasks and runs, and how it is read back.

use serde_json::{Value, json};
use testkit::{Background, Cli, eventually};

use crate::documents::{plan, scripted, shell, with, writ};
use crate::read_back::{Worked, work};

fn needs(task: Value, others: &[&str]) -> Value {
    with(task, json!({"depends_on": others}))
}

/// A child that leaves `<id>.started` and ends when the test makes the file `go`.
fn waits(id: &str) -> Value {
    shell(id, &format!("touch {id}.started; until [ -f go ]; do sleep 0.01; done; echo {id} >> order.txt"))
}

/// Starts the plan and comes back when the child of this task runs.
#[track_caller]
fn underway<'c>(cli: &'c Cli, plan: &Value, task: &str) -> Background<'c> {
    let run = cli.call(["run", "-", "--output", "json"]).stdin(plan.to_string()).spawn();
    let mark = format!("project/{task}.started");
    eventually("the first child runs", || cli.scratch().has(&mark));
    run
}

/// The id of the newest run, and of its task with this name.
#[track_caller]
fn newest(cli: &Cli, task: &str) -> (String, String) {
    let list = cli.run(["runs", "list", "--output", "json"]).success().json();
    let run = list["data"]["runs"][0]["id"].as_str().unwrap().to_owned();
    let shown = cli.run(["runs", "show", &run, "--output", "json"]).success().json();
    let tasks = shown["data"]["tasks"].as_array().unwrap();
    let task = tasks.iter().find(|known| known["name"] == task).unwrap();
    (run, task["id"].as_str().unwrap().to_owned())
}

fn go(cli: &Cli) {
    cli.scratch().write("project/go", "");
}

/// The states a task went through, in the agent contract's words and with their reasons, oldest first.
fn moves(cli: &Cli, task: &str) -> Vec<String> {
    let words = ["events", "list", "--all", "--asc", "--limit", "1000", "--task-id", task];
    let events = cli.run(words.iter().chain(&["--kind", "task_status"])).success().json();
    let events = events["data"]["events"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let state = |event: &Value| text(&event["metadata"]["to"]) + " " + &text(&event["metadata"]["reason"]);
    events.iter().map(|event| state(event).trim().to_owned()).collect()
}

#[test]
fn a_task_whose_check_fails_was_never_done() {
    let cli = writ();
    let task = with(scripted("a", "print all is well"), json!({"checks": [{"command": ["false"]}]}));
    let worked = work(&cli, &plan([task])).failed();
    assert_eq!((worked.status("a").as_str(), &worked.result["state"]), ("failed", &json!("failed")));
    let moved = moves(&cli, &worked.task_id("a"));
    assert!(moved.len() == 2 && moved[0] == "in_progress", "{moved:?}");
    assert!(moved[1].starts_with("blocked failure:"), "{moved:?}");
    let check = &worked.shown("a")["attempts"][0]["outcome"]["checks"][0];
    assert_eq!((&check["passed"], &check["exit_code"]), (&json!(false), &json!(1)));
}

#[test]
fn a_person_reads_what_failed_and_why() {
    let cli = writ();
    let task = with(scripted("a", "print"), json!({"checks": [{"command": ["test", "-f", "out.txt"]}]}));
    cli.scratch().write("project/plan.json", plan([task, scripted("b", "print")]).to_string());
    let output = cli.run(["run", "plan.json"]);
    output.fails_with(1);
    let told = "a: failed after ";
    assert!(output.stderr.contains(told), "{output}");
    assert!(output.stdout.contains("check `test -f out.txt` failed: exit 1, expected 0"), "{output}");
    assert!(output.stdout.contains("run failed: 1 of 2 tasks done, 1 failed, 0 canceled"), "{output}");
}

#[test]
fn what_waits_for_a_failed_task_is_canceled_with_the_reason_and_the_rest_is_done() {
    let cli = writ();
    let tasks = [
        scripted("a", "exit 1"),
        needs(scripted("b", "append ran.txt b"), &["a"]),
        needs(scripted("c", "append ran.txt c"), &["b"]),
        scripted("d", "append ran.txt d"),
        needs(scripted("e", "append ran.txt e"), &["d"]),
    ];
    let worked = work(&cli, &plan(tasks)).failed();
    let outcome = ["a", "b", "c", "d", "e"].map(|name| worked.status(name));
    assert_eq!(outcome, ["failed", "canceled", "canceled", "done claimed", "done claimed"]);
    assert_eq!(worked.reason("b"), "dependency `a` is failed");
    assert_eq!(worked.reason("c"), "dependency `b` is canceled");
    assert_eq!(cli.scratch().read("project/ran.txt"), "d\ne\n");
    let view = cli.run(["task", "get", "--id", &worked.task_id("b")]).success().json();
    let said = (&view["data"]["status"], &view["data"]["blocked_reason"]);
    assert_eq!(said, (&json!("blocked"), &json!("canceled:dependency `a` is failed")));
}

/// Fails until it has been started so often.
fn succeeds_at(id: &str, attempt: u32) -> Value {
    let line = format!("echo x >> {id}.count; [ $(wc -l < {id}.count) -ge {attempt} ]");
    shell(id, &line)
}

#[test]
fn a_failed_attempt_is_repeated_after_its_wait() {
    let cli = writ();
    let task = with(succeeds_at("a", 3), json!({"retries": 5, "backoff": ["20ms", "40ms"]}));
    cli.scratch().write("project/plan.json", plan([task]).to_string());
    let output = cli.run(["run", "plan.json", "--output", "json"]);
    let worked = Worked::of(&cli, output).succeeded();
    let told: Vec<&str> = worked.output.stderr.lines().filter(|line| line.contains("retried")).collect();
    let expected = ["20ms", "40ms"].map(|wait| format!("a: failed, will be retried in {wait}: exit 1"));
    assert_eq!(told, expected);
    let shown = worked.shown("a");
    let attempts: Vec<&Value> =
        shown["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["state"]).collect();
    assert_eq!(attempts, ["failed", "failed", "succeeded"]);
}

#[test]
fn no_attempt_is_made_after_the_last_repetition() {
    let cli = writ();
    let task = with(succeeds_at("a", 100), json!({"retries": 2}));
    let worked = work(&cli, &plan([task])).failed();
    assert_eq!((worked.status("a").as_str(), &worked.task("a")["attempts"]), ("failed", &json!(3)));
    assert_eq!(cli.scratch().read("project/a.count"), "x\nx\nx\n");
}

#[test]
fn a_check_that_fails_is_a_reason_to_repeat() {
    let cli = writ();
    let line = json!({"retries": 1, "checks": [{"command": "[ $(wc -l < a.count) -eq 2 ]", "shell": true}]});
    let worked = work(&cli, &plan([with(shell("a", "echo x >> a.count"), line)])).succeeded();
    assert_eq!((worked.status("a").as_str(), &worked.task("a")["attempts"]), ("done verified", &json!(2)));
}

#[test]
fn a_retry_runs_the_failed_and_the_skipped_and_leaves_the_done_alone() {
    let cli = writ();
    let counts = |id: &str| shell(id, &format!("echo x >> {id}.count"));
    let tasks = [counts("done"), needs(succeeds_at("a", 2), &["done"]), needs(counts("behind"), &["a"])];
    let worked = work(&cli, &plan(tasks)).failed();
    let outcome = ["done", "a", "behind"].map(|name| worked.status(name));
    assert_eq!(outcome, ["done claimed", "failed", "canceled"]);
    let again = Worked::of(&cli, cli.run(["retry", &worked.task_id("a"), "--output", "json"])).succeeded();
    assert_eq!((again.id(), &again.result["state"]), (worked.id(), &json!("done")));
    assert_eq!(["done", "a", "behind"].map(|name| again.status(name)), ["done claimed"; 3]);
    let counted = ["done", "a", "behind"].map(|id| cli.scratch().read(format!("project/{id}.count")));
    assert_eq!(counted, ["x\n", "x\nx\n", "x\n"]);
}

#[test]
fn a_retry_can_be_left_for_later() {
    let cli = writ();
    let worked = work(&cli, &plan([succeeds_at("a", 2)])).failed();
    let reset = cli.run(["retry", &worked.task_id("a"), "--no-run", "--output", "json"]).success().json();
    assert_eq!(reset["data"], json!({"run_id": worked.id(), "reset": [worked.task_id("a")]}));
    assert_eq!(cli.scratch().read("project/a.count"), "x\n");
    let listed = cli.run(["runs", "list", "--state", "stopped", "--output", "json"]).success().json();
    assert_eq!(listed["data"]["runs"][0]["id"], worked.id());
    let shown = cli.run(["runs", "show"]).success().stdout.clone();
    assert!(shown.ends_with(&format!("\nnext:\n  writ run --continue {}\n", worked.id())), "{shown}");
    let continued = cli.run(["run", "--continue", worked.id(), "--output", "json"]);
    assert_eq!(Worked::of(&cli, continued).succeeded().status("a"), "done claimed");
}

#[test]
fn a_task_that_is_done_or_that_belongs_to_no_run_is_not_retried() {
    let cli = writ();
    let worked = work(&cli, &plan([scripted("a", "print")])).succeeded();
    let refused = cli.run(["retry", &worked.task_id("a"), "--output", "json"]).fails_with(1).json();
    assert_eq!(refused["error_code"], "WRONG_STATE");
    let made = cli.run(["task", "create", "--title", "t", "--agent", "ann", "--request-id", "r1"]).json();
    let alone = made["data"]["task"]["id"].as_str().unwrap();
    let refused = cli.run(["retry", alone, "--output", "json"]).fails_with(1).json();
    assert_eq!(refused["error"], "the task is not part of a run");
    let refused = cli.run(["retry", "task_nowhere", "--output", "json"]).fails_with(1).json();
    assert_eq!(refused["error_code"], "NOT_FOUND");
}

#[test]
fn a_canceled_task_that_waits_is_never_started() {
    let cli = writ();
    // Urgent, or it would come behind one that others wait for.
    let tasks = [
        with(waits("a"), json!({"priority": "high"})),
        scripted("b", "append order.txt b"),
        needs(scripted("c", "print"), &["b"]),
        scripted("d", "append order.txt d"),
    ];
    let run = underway(&cli, &with(plan(tasks), json!({"max_parallel": 1})), "a");
    let (_, waiting) = newest(&cli, "b");
    let answer = cli.run(["cancel", &waiting, "--reason", "not needed", "--output", "json"]).success().json();
    assert_eq!(answer["data"], json!({"id": waiting, "state": "canceled"}));
    go(&cli);
    let worked = Worked::of(&cli, run.wait()).failed();
    let outcome = ["a", "b", "c", "d"].map(|name| worked.status(name));
    assert_eq!(outcome, ["done claimed", "canceled", "canceled", "done claimed"]);
    assert_eq!((worked.reason("b"), worked.reason("c")), ("not needed", "dependency `b` is canceled"));
    assert_eq!(
        (&worked.task("b")["attempts"], cli.scratch().read("project/order.txt")),
        (&json!(0), "a\nd\n".to_owned())
    );
    let printed = cli.run(["trace", worked.id(), "--output", "ndjson"]);
    let verdict = contract::aocl::trace::validate(printed.success().stdout.as_bytes());
    assert!(verdict.allow, "{}", verdict.reason);
}

#[test]
fn a_run_with_a_canceled_task_can_be_taken_up_again() {
    let cli = writ();
    let plan = with(plan([waits("a"), scripted("b", "append order.txt b")]), json!({"max_parallel": 1}));
    let run = underway(&cli, &plan, "a");
    let (_, waiting) = newest(&cli, "b");
    cli.run(["cancel", &waiting]).success();
    go(&cli);
    Worked::of(&cli, run.wait()).failed();
    let again = Worked::of(&cli, cli.run(["retry", &waiting, "--output", "json"])).succeeded();
    assert_eq!(["a", "b"].map(|name| again.status(name)), ["done claimed"; 2]);
    assert_eq!(cli.scratch().read("project/order.txt"), "a\nb\n");
}

#[test]
fn a_task_that_a_person_completes_while_it_waits_is_not_run() {
    let cli = writ();
    let checks = json!({"checks": [{"command": "proof.txt", "expects": "FILE_EXISTS"}]});
    let by_hand = with(scripted("b", "append order.txt b"), checks);
    let urgent = with(waits("a"), json!({"priority": "high"}));
    let tasks = [urgent, by_hand, needs(scripted("c", "append order.txt c"), &["b"])];
    let run = underway(&cli, &with(plan(tasks), json!({"max_parallel": 1})), "a");
    let (_, waiting) = newest(&cli, "b");
    cli.scratch().write("project/proof.txt", "");
    let words = ["task", "complete", "--id", &waiting, "--outcome", "done", "--summary", "by hand"];
    cli.run(words.iter().chain(&["--agent", "ann", "--request-id", "r1"])).success();
    go(&cli);
    let worked = Worked::of(&cli, run.wait()).succeeded();
    assert_eq!(
        ["a", "b", "c"].map(|name| worked.status(name)),
        ["done claimed", "done verified", "done claimed"]
    );
    assert_eq!(cli.scratch().read("project/order.txt"), "a\nc\n");
}

#[test]
fn a_task_that_a_person_blocks_while_it_waits_keeps_the_run_open() {
    let cli = writ();
    let urgent = with(waits("a"), json!({"priority": "high"}));
    let tasks = [urgent, scripted("b", "append order.txt b"), needs(scripted("c", "print"), &["b"])];
    let run = underway(&cli, &with(plan(tasks), json!({"max_parallel": 1})), "a");
    let (_, waiting) = newest(&cli, "b");
    let words =
        ["task", "set-status", "--id", &waiting, "--status", "blocked", "--blocked-reason", "not yet"];
    cli.run(words.iter().chain(&["--agent", "ann", "--request-id", "r1"])).success();
    go(&cli);
    let worked = Worked::of(&cli, run.wait()).failed();
    assert_eq!(worked.result["state"], "stopped");
    assert_eq!(["a", "b", "c"].map(|name| worked.status(name)), ["done claimed", "blocked", "todo"]);
    let shown = cli.run(["runs", "show"]).success().stdout.clone();
    let next = format!("\nnext:\n  fix what blocks these tasks, then `writ retry {}`\n", worked.id());
    assert!(shown.ends_with(&next), "{shown}");
    let again = Worked::of(&cli, cli.run(["retry", &waiting, "--output", "json"])).succeeded();
    assert_eq!(["b", "c"].map(|name| again.status(name)), ["done claimed"; 2]);
}

#[test]
fn a_canceled_task_that_runs_is_ended_and_the_others_go_on() {
    let cli = writ();
    let run = underway(&cli, &plan([waits("a"), waits("b")]), "a");
    eventually("both run", || cli.scratch().has("project/b.started"));
    let (_, running) = newest(&cli, "a");
    cli.run(["cancel", &running]).success();
    eventually("its attempt is closed", || {
        let (run, _) = newest(&cli, "a");
        let shown = cli.run(["runs", "show", &run, "--output", "json"]).success().json();
        shown["data"]["tasks"][0]["attempts"][0]["state"] == "interrupted"
    });
    go(&cli);
    let worked = Worked::of(&cli, run.wait()).failed();
    assert_eq!(["a", "b"].map(|name| worked.status(name)), ["canceled", "done claimed"]);
    assert_eq!(cli.scratch().read("project/order.txt"), "b\n");
}

#[test]
fn a_canceled_run_ends_its_children_and_keeps_what_was_done() {
    let cli = writ();
    let tasks =
        [scripted("first", "print"), needs(waits("a"), &["first"]), needs(scripted("b", "print"), &["a"])];
    let run = underway(&cli, &plan(tasks), "a");
    let (id, _) = newest(&cli, "a");
    let answer = cli.run(["cancel", &id, "--output", "json"]).success().json();
    assert_eq!(answer["data"], json!({"id": id, "state": "canceling"}));
    let worked = Worked::of(&cli, run.wait()).failed();
    assert_eq!(
        (&worked.result["state"], &worked.result["final_signal"]),
        (&json!("canceled"), &json!("ABORTED"))
    );
    assert_eq!(["first", "a", "b"].map(|name| worked.status(name)), ["done claimed", "canceled", "canceled"]);
    assert_eq!((worked.layers().len(), cli.leftovers()), (11, Vec::new()));
    let refused = cli.run(["cancel", &id, "--output", "json"]).fails_with(1).json();
    assert_eq!(
        (&refused["error_code"], &refused["error"]),
        (&json!("WRONG_STATE"), &json!("the run was canceled already"))
    );
}

#[test]
fn a_canceled_run_can_be_taken_up_again() {
    let cli = writ();
    let run = underway(&cli, &plan([waits("a"), needs(scripted("b", "print"), &["a"])]), "a");
    let (id, task) = newest(&cli, "a");
    cli.run(["cancel", &id]).success();
    Worked::of(&cli, run.wait()).failed();
    go(&cli);
    let again = Worked::of(&cli, cli.run(["retry", &task, "--output", "json"])).succeeded();
    assert_eq!(["a", "b"].map(|name| again.status(name)), ["done claimed"; 2]);
}

#[test]
fn a_run_that_nobody_works_is_canceled_at_once() {
    let cli = writ();
    let worked = work(&cli, &plan([succeeds_at("a", 2), needs(scripted("b", "print"), &["a"])])).failed();
    cli.run(["retry", &worked.task_id("a"), "--no-run"]).success();
    let answer = cli.run(["cancel", worked.id(), "--reason", "enough", "--output", "json"]).success().json();
    assert_eq!(answer["data"]["state"], "canceled");
    let shown = worked.shown("b");
    assert_eq!((&shown["status"], &shown["reason"]), (&json!("canceled"), &json!("enough")));
    let ended = Worked::of(&cli, cli.run(["run", "--continue", worked.id(), "--output", "json"]));
    assert_eq!(ended.failed().result["state"], "canceled");
}

/// A shell line that waits until writ has kept the word in a log.
fn kept(word: &str) -> String {
    format!("until grep -qs {word} \"$WRIT_DB\".logs/*.log; do sleep 0.01; done")
}

#[test]
fn logs_keep_the_order_of_both_streams_and_can_show_one() {
    let cli = writ();
    let line = format!("echo one; {}; echo two >&2; {}; echo three", kept("one"), kept("two"));
    // The logs cannot be seen from a sandbox.
    let worked = work(&cli, &plan([with(shell("a", &line), json!({"sandbox": "off"}))])).succeeded();
    let task = worked.task_id("a");
    assert_eq!(worked.printed("a"), "one\ntwo\nthree\n");
    let only = |stream: &str| cli.run(["logs", &task, "--stream", stream]).success().stdout.clone();
    assert_eq!((only("stdout").as_str(), only("stderr").as_str()), ("one\nthree\n", "two\n"));
    assert_eq!(cli.run(["logs", &task[..task.len() - 1]]).success().stdout, "one\ntwo\nthree\n");
    cli.run(["logs", &task, "--stream", "stdin"]).fails_with(2);
}

#[test]
fn the_log_of_a_running_task_can_be_read() {
    let cli = writ();
    let task = shell("a", "echo working; touch a.started; until [ -f go ]; do sleep 0.01; done");
    let run = underway(&cli, &plan([task]), "a");
    let (_, task) = newest(&cli, "a");
    eventually("its output is shown", || cli.run(["logs", &task]).success().stdout == "working\n");
    go(&cli);
    Worked::of(&cli, run.wait()).succeeded();
}

#[test]
fn each_attempt_has_its_own_log() {
    let cli = writ();
    let line = "echo x >> count; echo attempt $(wc -l < count); [ $(wc -l < count) -eq 2 ]";
    let worked = work(&cli, &plan([with(shell("a", line), json!({"retries": 1}))])).succeeded();
    let task = worked.task_id("a");
    let of = |number: &str| cli.run(["logs", &task, "--attempt", number]).success().stdout.clone();
    assert_eq!([of("1"), of("2"), worked.printed("a")], ["attempt 1\n", "attempt 2\n", "attempt 2\n"]);
    let missing = cli.run(["logs", &task, "--attempt", "3"]);
    assert!(missing.fails_with(1).stderr.contains("it has 2 attempts"), "{missing}");
}

#[test]
fn a_flood_is_kept_at_both_ends_and_counted_between() {
    const BYTES: usize = 5_000_000;
    let cli = writ();
    let script = format!("print the beginning; flood {BYTES}; print the end");
    let worked = work(&cli, &plan([scripted("a", &script)])).succeeded();
    let logs = cli.run(["logs", &worked.task_id("a")]);
    let printed = &logs.success().stdout;
    assert!(printed.starts_with("the beginning\n") && printed.ends_with("\nthe end\n"));
    let dropped = logs.stderr.strip_prefix('[').and_then(|rest| rest.split(' ').next()).unwrap();
    let dropped: usize = dropped.parse().unwrap();
    assert_eq!(printed.len() + dropped, "the beginning\nthe end\n".len() + BYTES);
    assert!(printed.len() <= 1024 * 1024, "{} bytes were kept", printed.len());
}

#[test]
fn a_secret_that_a_child_prints_is_kept_nowhere() {
    let secret = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ456789"].concat();
    let cli = writ().env("SOURCE", &secret);
    let line = "echo \"the token is $GIVEN\"; echo \"GIVEN is $GIVEN\" >&2; echo $GIVEN > out.txt; exit 1";
    let details = json!({"env": {"GIVEN": "env:SOURCE"}, "retries": 1});
    let worked = work(&cli, &plan([with(shell("a", line), details)])).failed();
    assert_eq!(worked.printed("a").matches("[REDACTED:env]").count(), 2);
    assert!(!worked.output.stderr.contains(&secret));
    // Only the child's own file has it: not the store, not the logs, not what was printed.
    let holds = |path: &std::path::Path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(secret.len()).any(|part| part == secret.as_bytes())
    };
    let mut pending = vec![cli.scratch().path().to_owned()];
    let mut found = Vec::new();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if holds(&path) {
            found.push(path);
        }
    }
    assert_eq!(found, [cli.project().join("out.txt")]);
}

#[test]
fn runs_are_listed_newest_first_and_by_state() {
    let cli = writ();
    assert_eq!(cli.run(["runs", "list"]).success().stdout, "no runs\n");
    let one = work(&cli, &plan([scripted("a", "exit 1")])).failed();
    let two =
        work(&cli, &with(plan([scripted("a", "print")]), json!({"objective": "the second"}))).succeeded();
    let ids = |words: &[&str]| {
        let list = cli.run(["runs", "list", "--output", "json"].iter().chain(words)).success().json();
        assert_eq!(list["data"]["count"], list["data"]["runs"].as_array().unwrap().len());
        let runs = list["data"]["runs"].as_array().unwrap().clone();
        runs.iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), [two.id(), one.id()]);
    assert_eq!(ids(&["--limit", "1"]), [two.id()]);
    assert_eq!(ids(&["--state", "failed"]), [one.id()]);
    let text = cli.run(["runs", "list"]);
    assert!(text.success().stdout.lines().next().unwrap().ends_with("the second"), "{text}");
    let refused = cli.run(["runs", "list", "--state", "lost"]);
    assert!(refused.fails_with(1).stderr.contains("invalid state 'lost'"), "{refused}");
}

#[test]
fn a_run_is_shown_with_its_tasks_attempts_and_checks() {
    let cli = writ();
    let checks =
        json!({"retries": 1, "checks": [{"command": ["true"]}, {"command": ["test", "-f", "out.txt"]}]});
    let worked = work(&cli, &plan([with(scripted("a", "print"), checks)])).failed();
    let shown = cli.run(["runs", "show", worked.id(), "--output", "json"]).success().json();
    let data = &shown["data"];
    assert_eq!((&data["state"], &data["result"]), (&json!("failed"), &worked.result));
    assert_eq!(data["workspace"], json!(cli.project().canonicalize().unwrap()));
    let outcome = &data["tasks"][0]["attempts"][1]["outcome"];
    let checks: Vec<&Value> =
        outcome["checks"].as_array().unwrap().iter().map(|check| &check["passed"]).collect();
    assert_eq!(checks, [&json!(true), &json!(false)]);
    assert_eq!((&outcome["code"], &outcome["rule"]), (&json!("E_UNKNOWN"), &json!("check_failed")));
    for which in [worked.id(), &worked.id()[..10], worked.result["corr"].as_str().unwrap()] {
        let text = cli.run(["runs", "show", which]);
        for words in
            ["attempt 2: failed, exit 0", "check passed: true", "check `test -f out.txt` failed: exit 1"]
        {
            assert!(text.success().stdout.contains(words), "{text}");
        }
    }
    cli.run(["runs", "show", "run_nowhere"]).fails_with(1);
}

#[test]
fn an_id_that_fits_more_than_one_task_is_not_guessed() {
    let cli = writ();
    let worked = work(&cli, &plan([scripted("a", "print"), scripted("b", "print")])).succeeded();
    // Ids of tasks begin with the time.
    let beginning = &worked.task_id("a")[..8];
    for words in [&["logs", beginning][..], &["task", "get", "--id", beginning], &["cancel", beginning]] {
        let refused = cli.run(words.iter().chain(&["--output", "json"])).fails_with(1).json();
        assert_eq!(refused["error_code"], "AMBIGUOUS", "{words:?}");
    }
}

#[test]
fn only_what_waits_for_nothing_is_ready() {
    let cli = writ();
    let none = cli.run(["ready", "--output", "text"]);
    assert_eq!(none.success().stdout, "nothing is ready\n");
    let make = |title: &str, priority: &str, request: &str| {
        let words = ["task", "create", "--title", title, "--priority", priority];
        let made = cli.run(words.iter().chain(&["--agent", "ann", "--request-id", request])).success().json();
        made["data"]["task"]["id"].as_str().unwrap().to_owned()
    };
    let low = make("low", "-5", "r1");
    make("older", "0", "r2");
    make("newer", "0", "r3");
    make("urgent", "20", "r4");
    let held = make("held", "30", "r5");
    cli.run(["task", "begin", "--id", &held, "--agent", "bob", "--request-id", "b1"]).success();
    let worked =
        work(&cli, &plan([succeeds_at("first", 9), needs(scripted("second", "print"), &["first"])])).failed();
    cli.run(["retry", &worked.task_id("first"), "--no-run"]).success();
    let titles = || {
        let ready = cli.run(["ready", "--output", "json"]).success().json();
        let tasks = ready["data"]["tasks"].as_array().unwrap().clone();
        tasks.iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles(), ["urgent", "older", "newer", "first", "low"]);
    cli.run(["cancel", &low]).success();
    assert_eq!(titles(), ["urgent", "older", "newer", "first"]);
    let text = cli.run(["ready", "--limit", "1", "--output", "text"]);
    assert!(text.success().stdout.trim_end().ends_with("urgent"), "{text}");
}

#[test]
fn a_value_taken_from_the_environment_is_kept_nowhere() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let plan = "objective = \"o\"\n[[task]]\nid = \"a\"\ncommand = \"echo got $PHRASE; exit 3\"\nshell = true\n\
                env = { PHRASE = \"env:SOURCE\" }\n";
    std::fs::write(cli.project().join("plan.toml"), plan).unwrap();
    let value = "plain words that look like nothing";
    let ran = cli.call(["run", "plan.toml", "--output", "json"]).env("SOURCE", value).run();
    let id = ran.fails_with(1).json()["data"]["tasks"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(cli.run(["logs", &id]).success().stdout, "got [REDACTED:env]\n");
    let mut folders = vec![cli.scratch().path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                let found = bytes.windows(value.len()).any(|window| window == value.as_bytes());
                assert!(!found, "{}", path.display());
            }
        }
    }
}
