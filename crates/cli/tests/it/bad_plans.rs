//! A document that cannot be run is refused by name and place, and the store is as it was.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use testkit::{Cli, Output};

use crate::documents::{aee, aop, plan, scripted, shell, with, writ};

/// The two verbs that read a document. Neither may write for a bad one.
const READERS: [&[&str]; 2] = [&["run"], &["plan", "check"]];

/// Every file of the store with its bytes; nothing where there is no store.
fn store_files(cli: &Cli) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(cli.scratch().path()).unwrap().map(|entry| entry.unwrap().path());
    let is_store = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("writ.db");
    let mut files: Vec<PathBuf> = entries.filter(is_store).filter(|path| path.is_file()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn with_a_store() -> Cli {
    let cli = writ();
    cli.run(["task", "create", "--title", "t", "--agent", "ann", "--request-id", "r1"]).success();
    cli
}

/// Calls both verbs without a store and with one, and gives every output after looking at the store.
#[track_caller]
fn refused(cli: &Cli, file: &str) -> Vec<Output> {
    let before = store_files(cli);
    let mut outputs = Vec::new();
    for words in READERS {
        for format in [&["--output", "text"], &["--output", "json"]] {
            let output = cli.run(words.iter().chain([&file]).chain(format));
            output.fails_with(1);
            assert_eq!(store_files(cli), before, "the store was touched by `{}`", output.line);
            outputs.push(output);
        }
    }
    assert!(!cli.scratch().has("project/mark.txt"), "something was run");
    outputs
}

/// Refused in every form with these words in it.
#[track_caller]
fn refused_saying(bytes: impl AsRef<[u8]>, words: &[&str]) {
    for cli in [writ(), with_a_store()] {
        cli.scratch().write("project/bad.toml", &bytes);
        for output in refused(&cli, "bad.toml") {
            // Text goes to standard error, JSON to standard output.
            let said = format!("{}{}", output.stdout, output.stderr).replace("\\\"", "\"");
            for word in words.iter().chain(&["bad.toml"]) {
                assert!(said.contains(word), "`{word}` is missing\n{output}");
            }
        }
    }
}

fn marks(id: &str) -> serde_json::Value {
    scripted(id, "write mark.txt ran")
}

#[test]
fn tasks_that_wait_for_each_other_are_named() {
    let tasks = [("a", "c"), ("b", "a"), ("c", "b")];
    let plan = plan(tasks.map(|(id, needs)| with(marks(id), json!({"depends_on": [needs]}))));
    refused_saying(plan.to_string(), &["$.task[0].depends_on: ", "a -> c -> b -> a"]);
}

#[test]
fn a_dependency_that_is_no_task_is_named() {
    let plan = plan([marks("build"), with(marks("test"), json!({"depends_on": ["biuld"]}))]);
    refused_saying(
        plan.to_string(),
        &["$.task[1].depends_on[0]: unknown task `biuld`; did you mean `build`?"],
    );
}

#[test]
fn two_writers_of_one_path_need_an_order() {
    let writes = |id: &str, path: &str| with(marks(id), json!({"writes": [path]}));
    let plan = plan([writes("a", "src"), writes("b", "src/main.rs")]);
    refused_saying(
        plan.to_string(),
        &[
            "$.task[1].writes: ",
            "`a` writes `src` and `b` writes `src/main.rs`, and neither waits for the other",
        ],
    );
}

#[test]
fn a_scope_outside_the_workspace_is_refused_wherever_it_stands() {
    for (line, words) in [
        ("scratch = [\"/tmp/zz\"]", ["$.task[0].scratch[0]", "leads out of the workspace"]),
        ("pins = [\"/etc/passwd\"]", ["$.task[0].pins[0]", "leads out of the workspace"]),
        ("writes = [\"~/x\"]", ["$.task[0].writes[0]", "`~` is not expanded"]),
    ] {
        let plan = format!("objective = \"o\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\n{line}\n");
        refused_saying(plan, &words);
    }
}

#[test]
fn an_unknown_field_is_named_with_its_nearest() {
    let plan = plan([with(marks("a"), json!({"timout": "5m"}))]);
    refused_saying(plan.to_string(), &["$.task[0].timout: unknown field `timout`; did you mean `timeout`?"]);
}

#[test]
fn a_value_of_the_wrong_type_is_named() {
    let plan = with(plan([with(marks("a"), json!({"retries": "often"}))]), json!({"max_parallel": 0}));
    refused_saying(plan.to_string(), &["$.task[0].retries", "$.max_parallel"]);
}

#[test]
fn every_fault_is_told_at_once() {
    let cli = writ();
    let plan = plan([with(marks("a"), json!({"timout": 1, "retris": 2, "prioriti": "x"}))]);
    cli.scratch().write("project/bad.json", plan.to_string());
    let output = cli.run(["plan", "check", "bad.json", "--output", "json"]);
    let said = output.fails_with(1).json();
    let paths: Vec<&str> = said["error_context"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["$.task[0].prioriti", "$.task[0].retris", "$.task[0].timout"]);
    assert_eq!((&said["error_code"], &said["retry"]), (&json!("INVALID_INPUT"), &json!("changed_request")));
}

#[test]
fn a_literal_secret_is_refused_and_repeated_nowhere() {
    // Written in pieces, so that secret scanners find nothing in this repository.
    let secrets = [
        ("API_TOKEN", ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ456789"].concat()),
        ("DB_PASSWORD", ["correct", "-horse-", "battery-9"].concat()),
    ];
    for (name, secret) in secrets {
        let plans = [
            plan([with(marks("a"), json!({"env": {name: secret}}))]),
            plan([shell("a", &format!("curl -H 'x: {name}={secret}' > mark.txt"))]),
            with(plan([marks("a")]), json!({"objective": format!("use {name}={secret} for it")})),
            aee("writ.run.plan", json!({"plan": plan([with(marks("a"), json!({"env": {name: secret}}))])})),
            aee("shop.order.ship", json!({name: secret})),
        ];
        for plan in plans {
            for cli in [writ(), with_a_store()] {
                cli.scratch().write("project/bad.toml", plan.to_string());
                for output in refused(&cli, "bad.toml") {
                    let said = format!("{}{}", output.stdout, output.stderr);
                    assert!(said.contains("looks like a secret"), "{output}");
                    assert!(!said.contains(&secret), "the secret was printed by `{}`", output.line);
                }
                assert_eq!(files_with(&cli, secret.as_bytes()), [cli.project().join("bad.toml")]);
            }
        }
    }
}

/// Every file of the test's world that holds these bytes.
fn files_with(cli: &Cli, needle: &[u8]) -> Vec<PathBuf> {
    let mut pending = vec![cli.scratch().path().to_owned()];
    let mut found = Vec::new();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if fs::read(&path).unwrap().windows(needle.len()).any(|part| part == needle) {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_secret_where_something_else_is_expected_is_not_quoted() {
    let secret = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ456789"].concat();
    let fields = [
        json!({"priority": secret}),
        json!({"depends_on": [secret]}),
        json!({"id": format!("{secret} ")}),
        json!({secret.as_str(): 1}),
        json!({"checks": [{"command": ["true"], "expects": secret}]}),
    ];
    for fields in fields {
        let cli = writ();
        cli.scratch().write("project/bad.json", plan([with(marks("a"), fields)]).to_string());
        for output in refused(&cli, "bad.json") {
            assert!(!format!("{}{}", output.stdout, output.stderr).contains(&secret), "{output}");
        }
    }
}

#[test]
fn a_secret_in_an_aop_task_is_refused_and_repeated_nowhere() {
    let secret = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ456789"].concat();
    for cli in [writ(), with_a_store()] {
        let mut task = aop(&cli, "write mark.txt ran; aop-success");
        task["task"]["objective"] = json!(format!("push with {secret}"));
        cli.scratch().write("project/bad.json", task.to_string());
        for output in refused(&cli, "bad.json") {
            assert!(!format!("{}{}", output.stdout, output.stderr).contains(&secret), "{}", output.line);
        }
        assert_eq!(files_with(&cli, secret.as_bytes()), [cli.project().join("bad.json")]);
    }
}

#[test]
fn a_file_over_the_limit_is_refused_by_the_limit() {
    let mut text = plan([marks("a")]).to_string();
    text.push_str(&" ".repeat(17 * 1024 * 1024));
    refused_saying(text, &["16777216"]);
}

#[test]
fn bytes_that_are_no_text_are_placed() {
    refused_saying(b"objective = \"o\"\nx = \"\xff\"\n", &["line 2, column 6", "not valid UTF-8"]);
}

#[test]
fn text_that_is_no_toml_and_no_json_is_placed() {
    refused_saying("objective = \"o\"\nmax = = 1\n", &["line 2, column 7"]);
    refused_saying(
        "{\"objective\": \"o\",\n \"objective\": \"p\"}",
        &["line 2, column 12", "duplicate key `objective`"],
    );
}

#[test]
fn an_empty_file_lacks_what_is_required() {
    refused_saying("", &["$.objective", "`objective` is required", "$.task"]);
}

#[test]
fn a_file_that_is_not_there_and_a_directory_are_named() {
    for cli in [writ(), with_a_store()] {
        for output in refused(&cli, "nowhere/plan.toml") {
            let said = format!("{}{}", output.stdout, output.stderr);
            assert!(said.contains("could not read nowhere/plan.toml: No such file"), "{output}");
        }
        cli.scratch().dir("project/folder");
        for output in refused(&cli, "folder") {
            let said = format!("{}{}", output.stdout, output.stderr);
            assert!(said.contains("could not read folder: Is a directory"), "{output}");
        }
    }
}

#[test]
fn a_bad_document_on_standard_input_is_refused_the_same_way() {
    let cli = writ();
    for words in READERS {
        let output = cli.call(words.iter().chain(&["-"])).stdin("objective = 1\n").run();
        assert!(output.fails_with(1).stderr.contains("$.objective"), "{output}");
        assert_eq!(store_files(&cli), []);
    }
}

#[test]
fn faults_of_other_contracts_have_their_place_too() {
    let cli = writ();
    let mut task = aop(&cli, "aop-success");
    task["task"]["budgets"] = json!({"max_tokens": "many"});
    cli.scratch().write("project/bad.json", task.to_string());
    for output in refused(&cli, "bad.json") {
        assert!(
            format!("{}{}", output.stdout, output.stderr).contains("$.task.budgets.max_tokens"),
            "{output}"
        );
    }
    let event = with(aee("aee.status.ping", json!({})), json!({"type": "event"}));
    cli.scratch().write("project/bad.json", event.to_string());
    for output in refused(&cli, "bad.json") {
        assert!(format!("{}{}", output.stdout, output.stderr).contains("$.type"), "{output}");
    }
}

#[test]
fn a_configuration_with_a_fault_stops_the_run_and_names_the_file_and_the_place() {
    let cli = writ();
    cli.scratch().write("project/good.json", plan([marks("a")]).to_string());
    for (text, word) in [
        ("[policy]\ndeny_shel = true\n", "$.policy.deny_shel"),
        ("[policy]\ntimeout_max = \"soon\"\n", "$.policy.timeout_max"),
        ("[policy\n", "line 1"),
    ] {
        cli.scratch().write("project/.writ/config.toml", text);
        for output in refused(&cli, "good.json") {
            let said = format!("{}{}", output.stdout, output.stderr);
            assert!(said.contains(".writ/config.toml") && said.contains(word), "{output}");
        }
    }
}

#[test]
fn a_plan_that_is_good_is_listed_and_nothing_is_written() {
    let cli = writ();
    let plan = plan([marks("a"), with(marks("b"), json!({"depends_on": ["a"]}))]);
    cli.scratch().write("project/good.json", plan.to_string());
    let checked = cli.run(["plan", "check", "good.json"]);
    assert_eq!(checked.success().stdout, "ok: plan with 2 tasks: a, b\nnext:\n  writ run good.json\n");
    let checked = cli.run(["plan", "check", "good.json", "--output", "json"]);
    assert_eq!(checked.success().json()["data"], json!({"kind": "plan", "tasks": ["a", "b"]}));
    let dry = cli.run(["run", "good.json", "--dry-run"]);
    assert!(dry.success().stdout.contains("b: ") && dry.stdout.contains("after a"), "{dry}");
    let dry = cli.run(["run", "good.json", "--dry-run", "--output", "json"]).success().json();
    assert_eq!(
        (&dry["data"]["tasks"][1]["id"], &dry["data"]["tasks"][1]["depends_on"]),
        (&json!("b"), &json!(["a"]))
    );
    assert_eq!(store_files(&cli), []);
    assert!(!cli.scratch().has("project/mark.txt"));
}
