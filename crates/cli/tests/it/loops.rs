//! One task after the other, each in a process of its own, and nothing left behind.

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Cli, Output, eventually};

use crate::documents::writ;

fn ann() -> Cli {
    writ().env("WRIT_AGENT", "ann")
}

#[track_caller]
fn data(output: &Output) -> Value {
    let envelope = output.success().json();
    assert_eq!(output.stdout.lines().count(), 1, "{output}");
    assert_eq!(envelope["success"], true);
    envelope["data"].clone()
}

fn created(cli: &Cli, title: &str, priority: &str) -> String {
    let words = ["task", "create", "--title", title, "--priority", priority, "--request-id", title];
    data(&cli.run(words))["task"]["id"].as_str().unwrap().to_owned()
}

fn task(cli: &Cli, id: &str) -> Value {
    data(&cli.run(["task", "get", "--id", id]))
}

/// An agent program: a script that is given the words of the loop.
fn agent(cli: &Cli, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = cli.scratch().write("agent.sh", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What closes the task that the agent was started for.
fn closing() -> String {
    let writ = env!("CARGO_BIN_EXE_writ");
    format!(
        "{writ} task complete --id $WRIT_TASK --outcome done --summary ok --request-id c-$WRIT_TASK --output json >&2"
    )
}

/// The same for an agent that finds the task in the prompt's file, as the agent contract's original calls it.
fn closing_by_file() -> String {
    let writ = env!("CARGO_BIN_EXE_writ");
    format!(
        "for word; do case $word in @*) file=${{word#@}};; esac; done\n\
         id=$(grep -o 'task_[0-9a-z_]*' \"$file\" | head -1)\n\
         {writ} task complete --id $id --outcome done --summary ok --request-id c-$id >&2"
    )
}

/// The loop under the agent contract's own name.
fn looped_as_vybe(cli: &Cli, command: &str, more: &[&str]) -> Output {
    let words = ["loop", "--cooldown", "0", "--command", command].into_iter().chain(more.iter().copied());
    cli.call(words).named("vybe").run()
}

fn looped(cli: &Cli, command: &str, more: &[&str]) -> Output {
    cli.run(["loop", "--cooldown", "0", "--command", command].iter().chain(more))
}

#[test]
fn tasks_are_worked_on_until_there_is_none() {
    let cli = ann();
    let ids = [created(&cli, "low", "0"), created(&cli, "high", "5")];
    let agent = agent(&cli, &closing());
    let report = data(&looped(&cli, &format!("{agent} --extra 'two words'"), &[]));
    let results = report["results"].as_array().unwrap();
    let seen: Vec<(&str, &str)> = results
        .iter()
        .map(|row| (row["task_id"].as_str().unwrap(), row["status"].as_str().unwrap()))
        .collect();
    assert_eq!(seen, [(ids[1].as_str(), "completed"), (ids[0].as_str(), "completed")]);
    assert_eq!(
        (&report["completed"], &report["failed"], &report["total"]),
        (&json!(2), &json!(0), &json!(2))
    );
    assert!(report["duration_sec"].is_number() && results[0]["duration"].as_str().unwrap().ends_with('s'));
    assert_eq!(results[0]["task_title"], "high");
    let events = data(&cli.run(["events", "list", "--kind", "run_completed"]));
    assert_eq!((&events["count"], &events["events"][0]["metadata"]["completed"]), (&json!(1), &json!(2)));
    // The prompts are gone.
    assert_eq!(std::fs::read_dir(cli.scratch().join("tmp")).unwrap().count(), 0);
    let stats = data(&cli.run(["loop", "stats"]));
    assert_eq!(
        (&stats["runs"], &stats["avg_completed"], &stats["blocked_rate"]),
        (&json!(1), &json!(2.0), &json!(0.0))
    );
    assert_eq!(stats["history"][0]["agent_name"], "ann");
    assert_eq!(data(&looped(&cli, &agent, &[]))["results"], Value::Null);
}

#[test]
fn called_as_vybe_the_prompt_is_handed_over_as_the_original_does() {
    let cli = ann();
    let project = cli.project();
    let place = project.to_str().unwrap();
    created(&cli, "elsewhere", "0");
    let words = ["task", "create", "--title", "here", "--project-id", place, "--request-id", "here"];
    data(&cli.run(words));
    let script =
        format!("for word; do echo \"<$word>\"; done > words\ncp \"${{6#@}}\" prompt\n{}", closing_by_file());
    let command = format!("{} 'two words' '$HOME'", agent(&cli, &script));
    let report = data(&looped_as_vybe(&cli, &command, &["--project-dir", place]));
    assert_eq!((&report["total"], &report["results"][0]["task_title"]), (&json!(1), &json!("here")));
    let words = std::fs::read_to_string(project.join("words")).unwrap();
    assert!(words.starts_with(&format!("<two words>\n<$HOME>\n<--project>\n<{place}>\n<-p>\n<@")), "{words}");
    let prompt = std::fs::read_to_string(project.join("prompt")).unwrap();
    assert!(prompt.contains("here") && prompt.contains("nobody can answer"), "{prompt}");
    assert_eq!(std::fs::read_dir(cli.scratch().join("tmp")).unwrap().count(), 0, "the prompt's file is gone");
}

#[test]
fn a_task_that_is_left_open_is_blocked_and_enough_of_them_end_the_loop() {
    let cli = ann();
    let ids: Vec<String> = ["a", "b", "c"].iter().map(|title| created(&cli, title, "0")).collect();
    let report = data(&looped(&cli, "true", &["--max-fails", "2"]));
    assert_eq!(
        (&report["completed"], &report["failed"], &report["total"]),
        (&json!(0), &json!(2), &json!(2))
    );
    let first = task(&cli, &ids[0]);
    assert_eq!(
        (&first["status"], &first["blocked_reason"]),
        (&json!("blocked"), &json!("failure:agent exited without completing"))
    );
    assert_eq!(task(&cli, &ids[2])["status"], "pending");
    // An agent may call something of its own the same; only loops count.
    let own = r#"{"event":{"kind":"run_completed","message":"mine","metadata":{"completed":99,"total":99}}}"#;
    data(&cli.run(["push", "--request-id", "own", "--json", own]));
    let stats = data(&cli.run(["loop", "stats", "--last", "2"]));
    assert_eq!((&stats["runs"], &stats["blocked_rate"]), (&json!(1), &json!(1.0)));
}

#[test]
fn an_agent_that_cannot_be_started_ends_the_loop_and_no_task_is_touched() {
    let cli = ann();
    let id = created(&cli, "a", "0");
    let before = task(&cli, &id);
    let unreadable = cli.scratch().write("not-for-running", "notes");
    // Found and allowed to run, but nothing that can be run.
    let broken = agent(&cli, "");
    std::fs::write(&broken, "#!/nowhere/interpreter\n").unwrap();
    for command in ["/nowhere/agent", "no-such-agent", unreadable.to_str().unwrap(), &broken] {
        let refused = looped(&cli, command, &[]).fails_with(1).json();
        assert_eq!(refused["error_code"], "IO", "{refused}");
        assert!(refused["error"].as_str().unwrap().contains(command), "{refused}");
        let now = task(&cli, &id);
        assert_eq!((&now["status"], &now["blocked_reason"]), (&before["status"], &Value::Null), "{command}");
        // Nobody holds it.
        data(&cli.run(["task", "begin", "--id", &id, "--agent", "bob", "--request-id", command]));
        data(&cli.run([
            "task",
            "set-status",
            "--status",
            "pending",
            "--id",
            &id,
            "--agent",
            "bob",
            "--request-id",
            &format!("p {command}"),
        ]));
    }
    assert_eq!(data(&looped(&cli, "no-such-agent", &["--dry-run"]))["completed"], 1, "a look needs no agent");
}

#[test]
fn a_task_that_takes_too_long_is_ended_with_all_it_started() {
    let cli = ann();
    let id = created(&cli, "slow", "0");
    let script = "setsid sh -c 'echo $$ > orphan; exec sleep 600' &\nsleep 600";
    let report = data(&looped(&cli, &agent(&cli, script), &["--task-timeout", "1s"]));
    assert_eq!(report["results"][0]["status"], "timeout");
    assert_eq!(task(&cli, &id)["blocked_reason"], "failure:timed out after 1.0s");
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
}

#[test]
fn a_signal_ends_the_loop_and_everything_below_and_the_task_stays_open() {
    for signal in [Signal::INT, Signal::TERM] {
        let cli = ann();
        let id = created(&cli, "slow", "0");
        let agent = agent(&cli, "setsid sleep 600 &\necho here > started\nsleep 600");
        let running = cli.spawn(["loop", "--command", &agent]);
        let started = cli.project().join("started");
        eventually("the agent starts", || started.exists());
        running.signal(signal);
        let output = running.wait();
        let envelope = output.fails_with(1).json();
        assert_eq!(envelope["error_code"], "INTERRUPTED");
        let results = envelope["error_context"]["results"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(results).unwrap()[0]["status"], "interrupted");
        assert_eq!(cli.leftovers(), Vec::<u32>::new());
        assert_ne!(task(&cli, &id)["status"], "blocked");
        // Nobody holds it any more.
        cli.run(["task", "begin", "--id", &id, "--agent", "bob", "--request-id", "b"]).success();
    }
}

#[test]
fn a_loop_that_is_killed_leaves_no_process_behind() {
    let cli = ann();
    created(&cli, "slow", "0");
    let agent = agent(&cli, "setsid sleep 600 &\necho here > started\nsleep 600");
    let running = cli.spawn(["loop", "--command", &agent]);
    let started = cli.project().join("started");
    eventually("the agent starts", || started.exists());
    drop(running.kill_nine());
    eventually("everything below the loop ends", || cli.leftovers().is_empty());
}

#[test]
fn a_dry_run_names_each_task_once_and_changes_nothing() {
    let cli = ann();
    assert_eq!(data(&looped(&cli, "true", &["--dry-run"]))["results"], Value::Null);
    assert!(!cli.db().exists());
    for title in ["a", "b", "c"] {
        created(&cli, title, "0");
    }
    let rows = |cli: &Cli| data(&cli.run(["events", "list", "--all", "--asc"]));
    let before = rows(&cli);
    let one = data(&looped(&cli, "true", &["--dry-run", "--max-tasks=1"]));
    assert_eq!((&one["completed"], &one["results"][0]["status"]), (&json!(1), &json!("dry_run")));
    let all = data(&looped(&cli, "true", &["--dry-run"]));
    let titles: Vec<&str> =
        all["results"].as_array().unwrap().iter().map(|row| row["task_title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["a", "b", "c"]);
    assert_eq!(rows(&cli), before);
    let state = data(&cli.run(["status"]))["agent_state"].clone();
    assert_eq!((&state["version"], &state["focus_task_id"]), (&json!(0), &json!("")), "it did nothing");
}

#[test]
fn the_post_hook_reads_the_results_and_its_failure_is_only_said() {
    let cli = ann();
    created(&cli, "a", "0");
    let output = looped(&cli, "true", &["--post-hook", "cat > results.json; echo hooked; exit 3"]);
    let report = data(&output);
    let read: Value =
        serde_json::from_str(&std::fs::read_to_string(cli.project().join("results.json")).unwrap()).unwrap();
    assert_eq!(read, report);
    assert!(output.stderr.contains("hooked") && output.stderr.contains("post-hook failed"), "{output}");
}

#[test]
fn one_envelope_is_printed_whatever_goes_wrong() {
    let cli = ann();
    std::fs::write(cli.db(), "not a database, but somebody's notes about something else entirely").unwrap();
    let bad = cli.scratch().join("nowhere");
    let calls = [
        cli.run(["loop", "--command", "true"]),
        cli.run(["loop", "--command", ""]),
        cli.run(["loop", "--command", "'open"]),
        cli.run(["loop", "--cooldown", "soon"]),
        cli.run(["loop", "--max-tasks", "-1"]),
        cli.run(["loop", "--cooldown", "-1s"]),
        cli.run(["loop", "--project-dir", bad.to_str().unwrap()]),
        cli.call(["loop"]).without_env("WRIT_AGENT").named("vybe").run(),
        cli.run(["loop", "stats"]),
    ];
    for output in calls {
        assert_eq!(output.fails_with(1).stdout.lines().count(), 1, "{output}");
        assert_eq!(output.json()["success"], false);
    }
}

#[test]
fn a_loop_that_was_killed_is_replaced_at_once_and_its_late_write_is_refused() {
    let cli = ann();
    let id = created(&cli, "slow", "0");
    let writ = env!("CARGO_BIN_EXE_writ");
    let agent = agent(
        &cli,
        &format!(
            "{writ} task begin --id {id} --request-id begin >begun.json\nmv begun.json begun\nsleep 600"
        ),
    );
    let running = cli.spawn(["loop", "--command", &agent]);
    let begun = cli.project().join("begun");
    eventually("the agent has begun its task", || begun.exists());
    drop(running.kill_nine());
    eventually("everything below the loop ends", || cli.leftovers().is_empty());
    let token = || {
        let row = Cli::new("sqlite3").run([cli.db().as_os_str(), "SELECT claim_token FROM tasks".as_ref()]);
        row.success().stdout.trim().parse::<i64>().unwrap()
    };
    let dead = token();
    let heir = |request: &str| data(&cli.run(["resume", "--agent", "bob", "--request-id", request]));
    let taken = heir("r1");
    assert_eq!((&taken["focus_task_id"], &taken["focus_rule"]), (&json!(id), &json!("left")));
    assert!(token() > dead && taken["claim"]["token"] == token(), "{taken}");
    let late =
        ["task", "complete", "--id", &id, "--outcome", "done", "--summary", "late", "--request-id", "late"];
    let refused = cli.run(late).fails_with(1).json();
    assert_eq!(
        (&refused["error_code"], &refused["retry"], &refused["error_context"]["holder"]),
        (&json!("HELD_BY_ANOTHER"), &json!("later"), &json!("bob"))
    );
    assert_eq!(task(&cli, &id)["status"], "in_progress");
}

#[test]
fn each_attempt_of_a_loop_has_a_transcript() {
    let cli = ann();
    let id = created(&cli, "talks", "0");
    // The pattern of a token is in no file of the test.
    let script = "n=$(ls attempt.* 2>/dev/null | wc -l); touch attempt.$n; echo attempt $n; echo aside >&2\n\
                  printf 'gh'; printf 'p_'; for i in 1 2 3 4 5 6; do printf s3cret; done; echo";
    let agent = agent(&cli, script);
    looped(&cli, &agent, &[]).success();
    cli.run(["task", "set-status", "--id", &id, "--status", "pending", "--request-id", "again"]).success();
    looped(&cli, &agent, &[]).success();
    let logs = |more: &[&str]| data(&cli.run([&["logs", &id, "--output", "json"][..], more].concat()));
    let (first, last) = (logs(&["--attempt", "1"]), logs(&[]));
    assert_eq!((&first["attempt"], &last["attempt"]), (&json!(1), &json!(2)), "{first} {last}");
    assert_ne!(first["attempt_id"], last["attempt_id"]);
    assert!(first["output"].to_string().contains("attempt 0"), "{first}");
    assert!(last["output"].to_string().contains("attempt 1"), "{last}");
    assert!(!last["output"].to_string().contains("s3crets3cret"), "{last}");
    let stderr = logs(&["--stream", "stderr"])["output"].clone();
    assert_eq!(stderr, json!([{"stream": "stderr", "text": "aside\n"}]));
    let missing = cli.run(["logs", &id, "--attempt", "3", "--output", "json"]);
    assert!(missing.to_string().contains("the task has no such attempt"), "{missing}");
}
