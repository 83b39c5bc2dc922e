//! Changes outside a task's scope, declared or not: what is attributed to whom, and what becomes of `verified`.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Cli, eventually};

use crate::documents::opened;

/// A task that runs a script, with a check that passes.
fn task(id: &str, writes: &str, script: &str) -> String {
    format!(
        "[[task]]\nid = {id:?}\ncommand = {script:?}\nshell = true\nwrites = {writes}\n[[task.checks]]\ncommand = [\"true\"]\n"
    )
}

fn plan(cli: &Cli, tasks: &[String]) {
    // What a sandbox stops cannot be seen afterwards.
    let plan = format!("objective = \"o\"\nworkspace = \".\"\nsandbox = \"off\"\n{}", tasks.concat());
    cli.scratch().write("project/plan.toml", plan);
}

/// Runs the plan and returns the lines of its tasks.
fn worked(cli: &Cli) -> Vec<Value> {
    let run = cli.call(["run", "plan.toml", "--output", "json"]).run().success().json();
    run["data"]["tasks"].as_array().unwrap().clone()
}

fn alone(script: &str) -> Value {
    alone_in(&Cli::writ(), script)
}

fn alone_in(cli: &Cli, script: &str) -> Value {
    plan(cli, &[task("a", "[\"src\"]", script)]);
    worked(cli)[0].clone()
}

#[test]
fn an_undeclared_change_outside_the_scope_withholds_verified_and_is_named() {
    let cli = Cli::writ();
    let line = alone_in(&cli, "mkdir -p src docs; echo 1 > src/in; echo 1 > docs/out; echo 1 > 'a b'");
    assert_eq!(json!([line["status"], line["evidence"]]), json!(["done", "claimed"]), "{line}");
    assert_eq!(line["reason"], "files outside its scope changed while it ran: a b, docs/out");
    assert_eq!(line["outside"], json!({"undeclared": ["a b", "docs/out"]}));
    let trace = cli.run(["trace", "@last"]).success().stdout.clone();
    assert!(
        trace.contains("WITHHELD: files outside its scope changed while it ran: a b, docs/out"),
        "{trace}"
    );
    let shown = cli.run(["runs", "show"]).success().stdout.clone();
    assert!(shown.contains("because files outside its scope changed"), "{shown}");
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn changes_in_the_scope_and_in_scratch_leave_verified_alone() {
    let cli = Cli::writ();
    let script = "mkdir -p src tmp target; echo 1 > src/in; echo 1 > tmp/t; echo 1 > target/o";
    cli.scratch().write("project/.gitignore", "target\n");
    plan(&cli, &[task("a", "[\"src\"]\nscratch = [\"tmp\"]", script)]);
    let line = &worked(&cli)[0];
    assert_eq!(json!([line["evidence"], line.get("outside")]), json!(["verified", null]), "{line}");
}

#[test]
fn a_store_in_the_workspace_is_nobodys_change() {
    let cli = Cli::writ();
    let writ = env!("CARGO_BIN_EXE_writ");
    let inside =
        format!("mkdir -p src; {writ} --db-path ./own.db memory set --key k --value $$ && echo 1 > src/in");
    plan(&cli, &[task("a", "[\"src\"]", &inside), task("b", "[]", &inside)]);
    let words = ["--db-path", "./own.db", "run", "plan.toml", "--output", "json"];
    let run = cli.call(words).run().success().json();
    for line in run["data"]["tasks"].as_array().unwrap() {
        assert_eq!(json!([line["evidence"], line.get("outside")]), json!(["verified", null]), "{line}");
    }
    cli.run(["--db-path", "./own.db", "audit", "verify"]).success();
}

#[test]
fn git_hides_no_change() {
    for (scopes, script, expected) in [
        // Its own rules, before they can hide something.
        ("[\"src\"]", "echo other >> .git/info/exclude", vec![".git/info/exclude"]),
        // Files that it tracks although a rule names them.
        (
            "[\"src\"]",
            "echo 2 > tracked.o; echo 2 > built/tracked; echo 2 > built/other; echo 2 > new.o",
            vec!["built/tracked", "tracked.o"],
        ),
        // Hooks and configuration, also where the task may write everywhere else.
        ("[\".\"]", "echo 2 > top; echo x > .git/hooks/pre-commit", vec![".git/hooks/pre-commit"]),
        ("[\".git\"]", "git config x.y z", vec![".git/config"]),
        ("[\".git/config\"]", "git config x.y z", vec![]),
        ("[\".\"]", "echo 2 > top; git add top; git -c user.name=n -c user.email=e commit -q -m 2", vec![]),
    ] {
        let cli = repository();
        plan(&cli, &[task("a", scopes, script)]);
        let line = &worked(&cli)[0];
        let found = line.get("outside").map_or(json!([]), |outside| outside["undeclared"].clone());
        assert_eq!(found, json!(expected), "{script}: {line}");
        assert_eq!(line["evidence"], if expected.is_empty() { "verified" } else { "claimed" }, "{line}");
    }
}

/// A project that is a repository, with files that are tracked although they are ignored.
fn repository() -> Cli {
    let cli = Cli::writ();
    let script = "git init -q . && echo '*.o' > .gitignore && echo built/ >> .gitignore && mkdir -p src sub built \
        && touch top src/a sub/a tracked.o built/tracked && git add -f . \
        && git -c user.name=n -c user.email=e commit -q -m 1";
    cli.call(["-c", script]).program("sh").run().success();
    cli
}

#[test]
fn hooks_and_configuration_count_wherever_the_repository_is() {
    let script = "echo x > $TOP/.git/hooks/pre-commit; git -C $TOP config x.y z; echo 1 > src/in";
    for (workspace, prepare) in [
        ("sub", "mkdir sub/src"),
        ("../tree", "git worktree add -q ../tree"),
        (".", "mv .git ../moved.git && ln -s ../moved.git .git"),
    ] {
        let cli = repository();
        cli.call(["-c", prepare]).program("sh").run().success();
        let top = cli.project().display().to_string();
        let script = script.replace("$TOP", &top);
        let plan = format!(
            "objective = \"o\"\nsandbox = \"off\"\nworkspace = {workspace:?}\n{}",
            task("a", "[\"src\"]", &script)
        );
        cli.scratch().write("project/plan.toml", plan);
        let line = &worked(&cli)[0];
        let found: Vec<String> = serde_json::from_value(line["outside"]["undeclared"].clone()).unwrap();
        let ends = |end: &str| found.iter().any(|path| path.ends_with(end));
        assert!(ends("git/hooks/pre-commit") && ends("git/config"), "{workspace}: {line}");
    }
}

#[test]
fn directories_count_too() {
    let cli = repository();
    plan(
        &cli,
        &[task("a", "[\"src/deep\"]", "mkdir -p src/deep new/empty; chmod 700 sub; touch src/deep/x")],
    );
    let line = &worked(&cli)[0];
    assert_eq!(line["outside"]["undeclared"], json!(["new/empty", "sub"]), "{line}");
}

#[test]
fn a_task_without_writes_has_no_scope() {
    let cli = Cli::writ();
    plan(&cli, &[task("a", "[]", "echo 1 > anything")]);
    let line = &worked(&cli)[0];
    assert_eq!(json!([line["evidence"], line.get("outside")]), json!(["verified", null]), "{line}");
}

#[test]
fn no_trick_hides_a_change() {
    let tricks = [
        ("echo two > kept; touch -d @1000000000 kept", "kept"),
        ("echo '*' > .gitignore; echo 1 > hidden", ".gitignore, hidden"),
        ("mkdir -p .git/hooks; echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("mkdir -p .git; echo x > .git/config", ".git/config"),
        ("mkdir -p src; ln -s ../kept src/link; echo two > src/link", "kept"),
        ("mkdir -p src; ln kept src/link; echo two > src/link", "kept"),
        ("mv kept moved", "kept, moved"),
        ("rm kept", "kept"),
        ("chmod 777 kept", "kept"),
        ("mkfifo pipe", "pipe"),
        ("rm kept; mkfifo kept", "kept"),
        ("setsid sh -c 'echo two > kept'; wait", "kept"),
    ];
    for (script, told) in tricks {
        let cli = Cli::writ();
        let kept = cli.scratch().write("project/kept", "one\n");
        let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(kept).unwrap().set_modified(old).unwrap();
        let line = alone_in(&cli, script);
        assert_eq!(line["evidence"], "claimed", "{script}: {line}");
        assert_eq!(
            line["reason"],
            format!("files outside its scope changed while it ran: {told}"),
            "{script}"
        );
    }
}

#[test]
fn a_retry_does_not_wash_away_what_the_first_attempt_changed() {
    let cli = Cli::writ();
    let script = "if [ -e stray ]; then exit 0; fi; echo 1 > stray; exit 1";
    plan(&cli, &[task("a", "[\"src\"]\nretries = 1", script)]);
    let line = &worked(&cli)[0];
    assert_eq!(json!([line["attempts"], line["evidence"]]), json!([2, "claimed"]), "{line}");
    assert_eq!(line["outside"]["undeclared"], json!(["stray"]));
}

#[test]
fn what_an_interrupted_task_changed_counts_when_its_run_is_continued() {
    let cli = Cli::writ();
    let script = "echo 1 > stray; touch ready; until [ -e go ]; do sleep 0.01; done";
    plan(&cli, &[task("a", "[\"src\", \"ready\", \"go\"]", script)]);
    let first = cli.spawn(["run", "plan.toml"]);
    eventually("the task runs", || cli.scratch().has("project/ready"));
    drop(first.kill_nine());
    let continued = cli.call(["run", "--continue", "@last", "--output", "json"]).run();
    let line = continued.success().json()["data"]["tasks"][0].clone();
    assert_eq!(json!([line["status"], line["evidence"]]), json!(["done", "claimed"]), "{line}");
    assert_eq!(line["reason"], "files outside its scope changed while it ran: stray");
}

/// A task that fails once, and one that runs while the first waits for its second attempt.
fn between_two_attempts(cli: &Cli, second_attempt: &str) {
    let fails_once =
        format!("mkdir -p a; if [ -e a/tried ]; then {second_attempt}; fi; touch a/tried; exit 1");
    let tasks = [
        task("a", "[\"a\"]\nretries = 1\nbackoff = [\"1s\"]", &fails_once),
        task("b", "[\"b\"]", "mkdir -p b; echo 1 > b/x"),
        task("c", "[]", "echo 1 > stray"),
    ];
    let head = "objective = \"o\"\nworkspace = \".\"\nmax_parallel = 1\n";
    cli.scratch().write("project/plan.toml", format!("{head}{}", tasks.concat()));
}

#[test]
fn a_retry_is_not_blamed_for_what_others_changed_before_it() {
    let cli = Cli::writ();
    between_two_attempts(&cli, "exit 0");
    let line = &worked(&cli)[0];
    assert_eq!(json!([line["attempts"], line["evidence"]]), json!([2, "verified"]), "{line}");
    let outside = json!({"unattributed": ["stray"], "covered": [{"path": "b/x", "by": "b"}]});
    assert_eq!(line["outside"], outside);
}

#[test]
fn a_retry_whose_engine_died_is_not_blamed_for_what_others_changed_before_it() {
    for (more, attempts) in [("", 2), ("retry_safe = true\n", 3)] {
        let cli = Cli::writ();
        // The check passes at once, or only after the third attempt.
        let is_rerun = !more.is_empty();
        let second = "if [ -e ../twice ]; then touch a/done; exit 0; fi; touch ../twice; sleep 600";
        between_two_attempts(&cli, second);
        let plan = fs::read_to_string(cli.project().join("plan.toml")).unwrap();
        let check =
            if is_rerun { "command = [\"test\", \"-e\", \"a/done\"]" } else { "command = [\"true\"]" };
        // The second attempt leaves a mark where nothing is restored.
        let plan = plan.replacen("max_parallel = 1", "max_parallel = 1\nsandbox = \"off\"", 1);
        let plan = plan.replacen("retries = 1", &format!("{more}retries = 1"), 1);
        cli.scratch().write("project/plan.toml", plan.replacen("command = [\"true\"]", check, 1));
        let first = cli.spawn(["run", "plan.toml"]);
        eventually("the second attempt runs", || cli.scratch().has("twice"));
        drop(first.kill_nine());
        let continued = cli.call(["run", "--continue", "@last", "--output", "json"]).run();
        let line = continued.success().json()["data"]["tasks"][0].clone();
        assert_eq!(json!([line["attempts"], line["evidence"]]), json!([attempts, "verified"]), "{line}");
        let outside = json!({"unattributed": ["stray"], "covered": [{"path": "b/x", "by": "b"}]});
        assert_eq!(line["outside"], outside, "{line}");
    }
}

/// Two tasks that wait for each other, and one of them for a person.
fn parallel(cli: &Cli, more_a: &str) -> Vec<Value> {
    let both = |own: &str, other: &str, more: &str| {
        format!("mkdir -p {own}; echo 1 > {own}/x; until [ -e {other}/x ]; do sleep 0.01; done; {more}")
    };
    let tasks = [
        task("a", "[\"a\"]", &both("a", "b", more_a)),
        task("b", "[\"b\"]", &both("b", "a", "until [ -e a/end ]; do sleep 0.01; done")),
    ];
    plan(cli, &tasks);
    let run = cli.spawn(["run", "plan.toml", "--output", "json"]);
    eventually("both run", || cli.scratch().has("project/a/x") && cli.scratch().has("project/b/x"));
    cli.scratch().write("project/a/person", "edited in the scope of a");
    let output = run.wait();
    output.success().json()["data"]["tasks"].as_array().unwrap().clone()
}

#[test]
fn of_parallel_tasks_each_owns_its_scope_and_the_rest_is_unattributed() {
    let cli = Cli::writ();
    let more = "echo 1 > stray; until [ -e a/person ]; do sleep 0.01; done; touch a/end";
    let lines = parallel(&cli, more);
    // The first one may have written before the second began.
    for (line, own, other, made) in [(&lines[0], "a", "b", "b/x"), (&lines[1], "b", "a", "a/end")] {
        assert_eq!(json!([line["name"], line["evidence"]]), json!([own, "verified"]), "{line}");
        assert_eq!(line["outside"]["unattributed"], json!(["stray"]), "{line}");
        let covered = line["outside"]["covered"].as_array().unwrap();
        assert!(covered.iter().all(|file| file["by"] == other), "{line}");
        assert!(covered.iter().any(|file| file["path"] == made), "{line}");
        assert_eq!(line["outside"].get("undeclared"), None, "{line}");
    }
    // What a person changed in a scope is its holder's.
    assert!(lines[1]["outside"]["covered"].to_string().contains("a/person"), "{}", lines[1]);
    let shown = cli.run(["runs", "show"]).success().stdout.clone();
    assert!(shown.contains("unattributed: changed while several tasks ran: stray"), "{shown}");
    let trace = cli.run(["trace", "@last"]).success().stdout.clone();
    assert!(trace.contains("UNATTRIBUTED: changed while several tasks ran: stray"), "{trace}");
}

#[test]
fn an_edit_by_a_person_while_one_task_runs_alone_is_named_and_withholds_verified() {
    let cli = Cli::writ();
    let script = "mkdir -p src; touch src/x; until [ -e edited ]; do sleep 0.01; done";
    plan(&cli, &[task("a", "[\"src\"]", script)]);
    let run = cli.spawn(["run", "plan.toml", "--output", "json"]);
    eventually("the task runs", || cli.scratch().has("project/src/x"));
    cli.scratch().write("project/edited", "by a person");
    let line = run.wait().success().json()["data"]["tasks"][0].clone();
    assert_eq!(line["evidence"], "claimed", "{line}");
    assert_eq!(line["outside"], json!({"undeclared": ["edited"]}));
}

#[test]
fn a_run_that_a_task_starts_is_no_other_task() {
    let cli = Cli::writ();
    let inner = task("inner", "[\"src/inner\"]", "mkdir -p src/inner; touch src/inner/x");
    cli.scratch().write("project/src/inner.toml", format!("objective = \"i\"\nworkspace = \"..\"\n{inner}"));
    let writ = env!("CARGO_BIN_EXE_writ");
    let line =
        alone_in(&cli, &format!("{writ} run src/inner.toml >/dev/null 2>&1 || exit 9; echo 1 > stray"));
    assert_eq!(line["evidence"], "claimed", "{line}");
    assert_eq!(line["outside"], json!({"undeclared": ["stray"]}));
}

#[test]
fn a_lost_or_damaged_index_costs_a_look_and_nothing_else() {
    let cli = Cli::writ();
    assert_eq!(alone_in(&cli, "mkdir -p src; echo 1 > src/x")["evidence"], "verified");
    for entry in fs::read_dir(cli.scratch().join("writ.db.index")).unwrap() {
        fs::write(entry.unwrap().path(), "damaged").unwrap();
    }
    assert_eq!(alone_in(&cli, "echo 2 > src/x")["evidence"], "verified");
    fs::remove_dir_all(cli.scratch().join("writ.db.index")).unwrap();
    assert_eq!(alone_in(&cli, "echo 3 > src/x; echo 3 > stray")["evidence"], "claimed");
}

#[test]
fn names_of_any_bytes_are_told() {
    let long = "n".repeat(255);
    let line =
        alone(&format!("touch {long}; touch \"$(printf 'a\\377b')\"; mkdir -p d/e; touch 'd/e/new\nline'"));
    assert_eq!(line["outside"]["undeclared"], json!([r"a\xffb", "d/e/new\nline", long]), "{line}");
}

#[test]
fn many_changes_are_counted_and_only_some_are_listed() {
    let line = alone("for n in $(seq 100 149); do touch f$n; done");
    let outside = &line["outside"];
    assert_eq!(outside["undeclared"].as_array().map(Vec::len), Some(20));
    assert_eq!(outside["left_out"], 30, "{line}");
    assert!(line["reason"].as_str().unwrap().ends_with("f119 and up to 30 more"), "{line}");
}

const CREW: &str = r#"
objective = "A crew"
workspace = "."

[[task]]
id = "a"
command = ["true"]
writes = ["a"]
scratch = ["tmp"]
[[task.checks]]
command = ["true"]

[[task]]
id = "b"
command = ["true"]
writes = ["b"]
[[task.checks]]
command = ["true"]
"#;

fn issued(cli: &Cli, run: &str, task: &str) -> Value {
    let words = ["assignment", "issue", "--run", run, "--task", task, "--owner", task, "--forbid", "secret"];
    cli.run(words).success().json()["data"]["packet"].clone()
}

fn submit(cli: &Cli, packet: &Value, status: &str) -> testkit::Output {
    let document = json!({
        "schema_version": "1.0.0", "run_id": packet["run_id"], "task_id": packet["task"]["task_id"],
        "status": status, "changes": [],
        "acceptance_check": [{
            "criterion": packet["task"]["acceptance_criteria"][0], "status": "pass", "evidence": "looked at it",
        }],
        "worklog_path": packet["task"]["worklog_path"], "notes_for_orchestrator": [],
        "x_token": packet["x_token"],
    });
    cli.call(["result", "submit"]).stdin(document.to_string()).run()
}

#[test]
fn a_workers_undeclared_change_outside_its_locks_withholds_verified() {
    let cli = Cli::writ();
    let run = opened(&cli, CREW);
    let packet = issued(&cli, &run, "T-1");
    for name in ["a/x", "tmp/x", "stray"] {
        cli.scratch().write(format!("project/{name}"), "1");
    }
    let done = submit(&cli, &packet, "done").success().json()["data"].clone();
    assert_eq!(json!([done["status"], done["evidence"]]), json!(["done", "claimed"]), "{done}");
    assert_eq!(done["changes"]["outside"], json!({"undeclared": ["stray"]}));
    let task = cli.run(["task", "get", "--id", "T-1", "--output", "json"]).success().json();
    let withheld = task["data"]["withheld"].as_str().unwrap_or_default();
    assert_eq!(withheld, "files outside its scope changed while it ran: stray", "{task}");
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn a_changed_forbidden_file_refuses_the_result_although_it_is_ignored_and_not_declared() {
    let cli = Cli::writ();
    cli.scratch().write("project/.gitignore", "secret\n");
    cli.scratch().write("project/secret/key", "one");
    let run = opened(&cli, CREW);
    let packet = issued(&cli, &run, "T-1");
    cli.scratch().write("project/a/x", "1");
    cli.scratch().write("project/secret/key", "two");
    let refused = submit(&cli, &packet, "done").fails_with(1).json();
    assert_eq!(refused["error_code"], "SCOPE_VIOLATION", "{refused}");
    assert!(refused.to_string().contains("forbidden files changed: secret/key"), "{refused}");
    assert!(refused.to_string().contains("in_forbidden_scope"), "{refused}");
    // Put back, it has not changed; the worker may also say that it failed.
    cli.scratch().write("project/secret/key", "one");
    let done = submit(&cli, &packet, "done").success().json()["data"].clone();
    assert_eq!(done["evidence"], "verified", "{done}");
}

#[test]
fn of_two_workers_in_one_tree_each_owns_what_it_locked() {
    let cli = Cli::writ();
    let run = opened(&cli, CREW);
    let a = issued(&cli, &run, "T-1");
    let b = issued(&cli, &run, "T-2");
    for name in ["a/x", "b/x", "stray"] {
        cli.scratch().write(format!("project/{name}"), "1");
    }
    for (packet, other) in [(a, "b"), (b, "a")] {
        let done = submit(&cli, &packet, "done").success().json()["data"].clone();
        assert_eq!(done["evidence"], "verified", "{done}");
        let path = format!("{other}/x");
        let expected = json!({"unattributed": ["stray"], "covered": [{"path": path, "by": other}]});
        assert_eq!(done["changes"]["outside"], expected, "{done}");
    }
}

#[test]
fn a_workspace_that_is_not_known_any_more_is_told_and_not_called_unchanged() {
    let cli = Cli::writ();
    let run = opened(&cli, CREW);
    let packet = issued(&cli, &run, "T-1");
    fs::remove_dir_all(cli.scratch().join("writ.db.index")).unwrap();
    cli.scratch().write("project/a/x", "1");
    let done = submit(&cli, &packet, "done").success().json()["data"].clone();
    let told = done["changes"]["outside"]["not_seen"].as_str().unwrap_or_default();
    assert_eq!(
        told, "changes outside the scope were not seen: what it was before the task is not kept",
        "{done}"
    );
}
