//! A task that changes what its checks use is only claimed, and what a check was when it ran is on record.

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::documents::{opened, writ};
use crate::run_view::RunView;

#[track_caller]
fn data(output: &Output) -> Value {
    output.success().json()["data"].clone()
}

/// A task that does this line and has this check.
fn plan(command: &str, check: &str, more: &str) -> String {
    format!(
        "objective = \"o\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\nshell = true\ncommand = '''{command}'''\n{more}\n\
         [[task.checks]]\ncommand = {check}\n"
    )
}

/// The evidence and the reason of the only task of a run of this plan.
#[track_caller]
fn ran(cli: &Cli, text: &str) -> (String, Option<String>) {
    cli.scratch().write("project/plan.toml", text);
    cli.run(["run", "plan.toml"]).success();
    let run = RunView::only(cli).unwrap();
    let task = run.task("a");
    (task.status.clone(), task.reason.clone())
}

fn changed(what: &str, since: &str) -> Option<String> {
    Some(format!("its checks use {what}, which changed since {since}"))
}

const BEGAN: &str = "the work began";
const FORGES: &str = "echo 'exit 0' > check.sh; mkdir -p tests; echo pass > tests/a; echo x > out";
const SCRIPT: &str = "[\"sh\", \"check.sh\"]";

#[test]
fn a_link_that_leads_elsewhere_and_another_name_of_the_workspace_hide_no_change() {
    for (check, pins) in [
        ("[\"sh\", \"run.sh\"]", ""),
        ("[\"sh\", \"-c\", \"sh run.sh\"]", ""),
        ("[\"true\"]", "pins = [\"run.sh\"]"),
    ] {
        let cli = writ();
        cli.scratch().write("fail.sh", "exit 1\n");
        cli.scratch().write("pass.sh", "exit 0\n");
        std::os::unix::fs::symlink("../fail.sh", cli.project().join("run.sh")).unwrap();
        let (status, reason) = ran(&cli, &plan("ln -sf ../pass.sh run.sh", check, pins));
        assert_eq!((&*status, reason), ("done, claimed", changed("`run.sh`", BEGAN)), "{check}");
    }
    let cli = writ();
    cli.scratch().write("project/check.sh", "exit 1\n");
    let alias = cli.scratch().join("alias");
    std::os::unix::fs::symlink(cli.project(), &alias).unwrap();
    let named = alias.join("check.sh").display().to_string();
    let (status, reason) = ran(&cli, &plan("echo exit 0 > check.sh", &format!("[\"sh\", {named:?}]"), ""));
    assert_eq!((&*status, reason), ("done, claimed", changed(&format!("`{named}`"), BEGAN)));
}

#[test]
fn a_task_that_changes_what_its_checks_use_is_only_claimed() {
    for (check, more, expected) in [
        (SCRIPT, "", changed("`check.sh`", BEGAN)),
        (SCRIPT, "pins = [\"tests\"]", changed("`check.sh`, `tests`", BEGAN)),
        ("[\"true\"]", "pins = [\"tests\"]", changed("`tests`", BEGAN)),
        ("[\"./check.sh\"]", "", changed("`check.sh`", BEGAN)),
        ("[\"grep\", \"--file=tests/a\", \"tests/a\"]", "", changed("`tests/a`", BEGAN)),
        ("'sh ./check.sh && true'\nshell = true", "", changed("`check.sh`", BEGAN)),
        ("[\"sh\", \"-ec\", \"sh 'check.sh'\"]", "", changed("`check.sh`", BEGAN)),
        ("[\"sh\", \"-c\", \". ./check.sh\"]", "", changed("`check.sh`", BEGAN)),
        ("[\"sh\", \"../project/check.sh\"]", "", changed("`check.sh`", BEGAN)),
        // What the author allows, and what is an output of the task.
        (SCRIPT, "pins = [\"tests\"]\nchecks_may_change = true", None),
        ("[\"test\", \"-e\", \"out\"]", "", None),
        ("[\"true\"]", "pins = [\"other\"]", None),
        ("\"check.sh\"\nexpects = \"FILE_EXISTS\"", "", None),
    ] {
        let cli = writ();
        let script = cli.scratch().write("project/check.sh", "#!/bin/sh\nexit 1\n");
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        cli.scratch().write("project/tests/a", "fail\n");
        let word = if expected.is_some() { "done, claimed" } else { "done, verified" };
        let forges = if check.contains("./check.sh\"") { "echo '#!/bin/sh' > check.sh" } else { FORGES };
        assert_eq!(ran(&cli, &plan(forges, check, more)), (word.to_owned(), expected), "{check} {more}");
        cli.run(["audit", "verify", "--replay"]).success();
    }
}

#[test]
fn a_task_that_writes_its_own_check_is_only_claimed() {
    let cli = writ();
    let (status, reason) = ran(&cli, &plan(FORGES, SCRIPT, ""));
    assert_eq!((status.as_str(), reason), ("done, claimed", changed("`check.sh`", BEGAN)));
}

#[test]
fn the_first_attempt_decides_what_the_checks_were() {
    let cli = writ();
    cli.scratch().write("project/check.sh", "exit 1\n");
    let text =
        plan("echo 'exit 0' > check.sh; test -e again || { touch again; exit 1; }", SCRIPT, "retries = 1");
    assert_eq!(ran(&cli, &text), ("done, claimed".to_owned(), changed("`check.sh`", BEGAN)));
}

#[test]
fn a_task_that_a_person_retries_is_judged_by_the_checks_before_its_first_attempt() {
    for (command, check, status) in [
        // The first attempt leaves an output with the wrong content.
        (
            "test -e out && echo right > out || echo wrong > out",
            "[\"grep\", \"-q\", \"right\", \"out\"]",
            "done, verified",
        ),
        // The first attempt changes its check and fails.
        ("test -e again || { touch again; echo exit 0 > check.sh; exit 1; }", SCRIPT, "done, claimed"),
    ] {
        let cli = writ();
        cli.scratch().write("project/check.sh", "exit 1\n");
        cli.scratch().write("project/plan.toml", plan(command, check, ""));
        cli.run(["run", "plan.toml"]).fails_with(1);
        cli.run(["retry"]).success();
        assert_eq!(RunView::only(&cli).unwrap().statuses(), [status], "{command}");
        cli.run(["audit", "verify", "--replay"]).success();
    }
}

#[test]
fn a_plan_whose_task_may_write_what_its_checks_use_gets_a_warning() {
    let cli = writ();
    cli.scratch().write("project/src/check.sh", "exit 1\n");
    let check = "[\"sh\", \"src/check.sh\"]";
    for (more, warned) in [
        ("writes = [\"src\"]", true),
        ("writes = [\"src/check.sh\"]", true),
        ("writes = [\"out\"]\npins = [\"out/x\"]", true),
        ("writes = [\"out\"]", false),
        ("writes = [\"src\"]\nchecks_may_change = true", false),
    ] {
        cli.scratch().write("project/plan.toml", plan("true", check, more));
        let answer = data(&cli.run(["plan", "check", "plan.toml", "--output", "json"]));
        let mut rules: Vec<&Value> =
            answer["warnings"].as_array().into_iter().flatten().map(|found| &found["rule"]).collect();
        let missing = rules.iter().position(|rule| **rule == "pin_missing").map(|place| rules.remove(place));
        assert_eq!(missing.is_some(), more.contains("pins"), "there is no such file: {answer}");
        assert_eq!(rules.len(), usize::from(warned), "{more}: {answer}");
        let text = cli.run(["plan", "check", "plan.toml", "--output", "text"]);
        assert_eq!(text.success().stdout.contains("warning: $.task[0].writes: covers "), warned, "{more}");
    }
}

/// A task by eve with these flags, completed by this agent; what `task get` says then.
fn completed(cli: &Cli, by: &str, more: &[&str], meanwhile: impl FnOnce()) -> Value {
    let project = cli.project();
    let words = ["task", "create", "--title", "t", "--agent", "eve", "--request-id", "make", "--project-id"];
    let words = words.iter().copied().chain([project.to_str().unwrap()]).chain(more.iter().copied());
    let id = data(&cli.run(words))["task"]["id"].as_str().unwrap().to_owned();
    meanwhile();
    let words =
        ["task", "complete", "--id", &id, "--outcome", "done", "--summary", "s", "--request-id", "done"];
    data(&cli.run(words.iter().chain(&["--agent", by])));
    data(&cli.run(["task", "get", "--id", &id, "--output", "json"]))
}

#[test]
fn outside_a_plan_the_checks_are_what_they_were_when_the_task_was_created() {
    let created = "the task was created";
    for (more, expected) in [
        (&["--check", "sh check.sh"][..], changed("`check.sh`", created)),
        (&["--check", "true", "--pin", "tests"], changed("`tests`", created)),
        (&["--check", "sh check.sh", "--checks-may-change"], None),
        (&["--check", "true"], None),
    ] {
        let cli = writ();
        cli.scratch().write("project/check.sh", "exit 1\n");
        cli.scratch().write("project/tests/a", "fail\n");
        let task = completed(&cli, "bob", more, || {
            cli.scratch().write("project/check.sh", "exit 0\n");
            cli.scratch().write("project/tests/a", "pass\n");
        });
        let word = if expected.is_some() { "claimed" } else { "verified" };
        assert_eq!((&task["evidence"], &task["withheld"]), (&json!(word), &json!(expected)), "{task}");
        assert_eq!(task["checks_seen"][0]["passed"], true, "{task}");
        let shown = cli.run(["task", "get", "--id", task["id"].as_str().unwrap(), "--output", "text"]);
        let line =
            expected.as_ref().map_or("(verified)".to_owned(), |reason| format!("only claimed: {reason}"));
        assert!(shown.success().stdout.contains(&line), "{shown}");
        cli.run(["audit", "verify", "--replay"]).success();
    }
}

#[test]
fn pins_without_checks_and_outside_the_project_are_refused() {
    let cli = writ();
    let project = cli.project();
    for (more, path) in [
        (&["--pin", "tests"][..], "$.pins"),
        (&["--checks-may-change"], "$.checks_may_change"),
        (&["--check", "true", "--pin", "../x"], "$.pins[0]"),
    ] {
        let words = ["task", "create", "--title", "t", "--request-id", "r", "--agent", "eve", "--project-id"];
        let words = words.iter().copied().chain([project.to_str().unwrap()]).chain(more.iter().copied());
        let refused = cli.run(words).fails_with(1).json();
        assert_eq!(
            (&refused["error_code"], &refused["error_context"]["path"]),
            (&json!("INVALID_INPUT"), &json!(path)),
            "{refused}"
        );
    }
}

#[test]
fn a_worker_that_changes_what_its_checks_use_is_only_claimed() {
    let cli = writ();
    cli.scratch().write("project/check.sh", "exit 1\n");
    let run = opened(&cli, &plan("true", SCRIPT, "writes = [\"out\"]"));
    let words = ["worker", "run", "--run", &run, "--owner", "w1", "--", "sh", "-c", FORGES];
    let done = data(&cli.call(words).run());
    assert_eq!(done["tasks"][0]["evidence"], "claimed", "{done}");
    let row = &data(&cli.run(["ledger", "show", &run]))["ledger"][0];
    assert_eq!(row["x_evidence"], "claimed", "{row}");
    // It also wrote outside its scope, which is another reason.
    let reason = row["x_only_claimed"].as_str().unwrap();
    assert!(reason.starts_with(&changed("`check.sh`", BEGAN).unwrap()), "{row}");
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn a_task_of_a_plan_that_was_never_given_out_is_only_claimed_by_hand() {
    let cli = writ();
    cli.scratch().write("project/check.sh", "exit 0\n");
    let text = plan("true", SCRIPT, "depends_on = [\"b\"]");
    let text = format!("{text}[[task]]\nid = \"b\"\ncommand = [\"false\"]\n");
    cli.scratch().write("project/plan.toml", text);
    cli.run(["run", "plan.toml"]).fails_with(1);
    cli.run(["retry", "--no-run"]).success();
    let id = RunView::only(&cli).unwrap().task("a").id.clone();
    let words =
        ["task", "complete", "--id", &id, "--outcome", "done", "--summary", "s", "--request-id", "done"];
    let done = data(&cli.run(words.iter().chain(&["--agent", "bob"])));
    let reason = "`check.sh` was not digested before the work began";
    assert_eq!(
        (&done["task"]["evidence"], &done["task"]["withheld"]),
        (&json!("claimed"), &json!(reason)),
        "{done}"
    );
}

#[test]
fn an_executor_is_one_author_whatever_names_it_takes() {
    let writ_path = env!("CARGO_BIN_EXE_writ");
    let called = |before: &str| {
        format!(
            r#"
    id=$({before} {writ_path} --output json task create --title x --check true --agent boss --request-id q1 |
      grep -o '"id":"task_[0-9a-z]*' | head -1 | cut -d'"' -f4)
    {before} {writ_path} --output json task complete --id "$id" --agent bot --outcome done --summary x --request-id q2 > ../told
    "#
        )
    };
    for namespace in ["on", "off"] {
        for before in ["", "env -i PATH=\"$PATH\" HOME=\"$HOME\" WRIT_DB=\"$WRIT_DB\""] {
            let cli = writ();
            ran(
                &cli,
                &plan(
                    &called(before),
                    "[\"true\"]",
                    &format!("namespace = {namespace:?}\nsandbox = \"off\""),
                ),
            );
            let told = std::fs::read_to_string(cli.scratch().join("told")).unwrap();
            assert!(told.contains("\"evidence\":\"self-checked\""), "{namespace} {before}: {told}");
        }
    }
}

#[test]
fn a_task_that_its_checks_author_completes_is_self_checked_everywhere() {
    let cli = writ();
    let task = completed(&cli, "eve", &["--check", "true"], || {});
    assert_eq!((&task["evidence"], &task["self_checked"]), (&json!("self-checked"), &json!(true)), "{task}");
    let id = task["id"].as_str().unwrap();
    for words in [&["task", "get", "--id", id, "--output", "text"][..], &["task", "list", "--output", "text"]]
    {
        let shown = cli.run(words.iter().copied());
        assert!(shown.success().stdout.contains("completed (self-checked)"), "{shown}");
        assert!(!shown.stdout.contains("verified"), "{shown}");
    }
    let listed = data(&cli.run(["task", "list", "--output", "json"]));
    assert_eq!(listed["tasks"][0]["evidence"], "self-checked", "{listed}");
    // By hand, the author of a plan is no other witness either.
    let cli = writ();
    let id = {
        cli.scratch().write("project/plan.toml", plan("false", "[\"true\"]", ""));
        cli.run(["run", "plan.toml", "--agent", "eve", "--request-id", "r"]).fails_with(1);
        RunView::only(&cli).unwrap().task("a").id.clone()
    };
    cli.run(["retry", "--no-run"]).success();
    let words =
        ["task", "complete", "--id", &id, "--outcome", "done", "--summary", "s", "--request-id", "done"];
    let done = data(&cli.run(words.iter().chain(&["--agent", "eve"])));
    assert_eq!(done["task"]["evidence"], "self-checked", "{done}");
    let run = RunView::only(&cli).unwrap();
    assert_eq!(run.statuses(), ["done, self-checked"]);
    let shown = cli.run(["runs", "show", &run.id, "--output", "text"]);
    assert!(shown.success().stdout.contains("self-checked"), "{shown}");
}

#[test]
fn a_worker_that_wrote_the_checks_is_self_checked() {
    let cli = writ();
    cli.scratch().write("project/plan.toml", plan("true", "[\"true\"]", "writes = [\"out\"]"));
    let words = ["ledger", "open", "plan.toml", "--agent", "w1", "--request-id", "open"];
    let run = data(&cli.run(words))["run_id"].as_str().unwrap().to_owned();
    let words = ["worker", "run", "--run", &run, "--owner", "w1", "--", "true"];
    let done = data(&cli.call(words).run());
    assert_eq!(done["tasks"][0]["evidence"], "self-checked", "{done}");
    assert_eq!(data(&cli.run(["ledger", "show", &run]))["ledger"][0]["x_evidence"], "self-checked");
}

#[test]
fn evidence_says_what_ran_where_with_what_and_what_it_could_reuse() {
    let cli = writ().env("LC_TIME", "C").env("PYTHONPATH", "/evil");
    cli.scratch().write("project/target/old", "built before");
    cli.scratch().write("project/src/__pycache__/a.pyc", "built before");
    let text = plan(
        "mkdir -p out; echo one > out/a",
        "[\"sh\", \"-c\", \"echo two > out/b\"]",
        "writes = [\"out\"]\nenv = { ADDED = \"x\", TOKEN = \"env:SOME_TOKEN\" }",
    );
    let cli = cli.env("SOME_TOKEN", "a secret of mine");
    assert_eq!(ran(&cli, &text).0, "done, verified");
    let run = RunView::only(&cli).unwrap().id;
    let shown = data(&cli.run(["runs", "show", &run, "--output", "json"]));
    let seen = &shown["tasks"][0]["attempts"][0]["outcome"]["checks"][0]["ran"];
    assert_eq!(seen["argv"], json!(["sh", "-c", "echo two > out/b"]), "{shown}");
    let program = seen["program"]["path"].as_str().unwrap();
    assert!(program.starts_with('/') && program.ends_with("/sh"), "{program}");
    let bytes = std::fs::read(program).unwrap();
    assert_eq!(seen["program"]["digest"], contract::digest::of_bytes(&bytes));
    assert_eq!(seen["directory"], json!(cli.project().canonicalize().unwrap()));
    let environment = &seen["environment"];
    assert_eq!((&environment["source"], &environment["passed"]), (&json!("author"), &json!(["TOKEN"])));
    let names: Vec<&str> =
        environment["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    for name in ["PATH", "HOME", "LC_TIME", "ADDED", "TOKEN"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.contains(&"PYTHONPATH"), "{names:?}");
    assert!(environment["digest"].as_str().unwrap().starts_with("sha256:"));
    // The check wrote, so the tree is another one after it.
    let (before, after) = (&seen["tree_before"], &seen["tree_after"]);
    assert!(before.is_string() && after.is_string() && before != after, "{seen}");
    assert_eq!(seen["reused"], json!(["src/__pycache__", "target"]));
    assert!(!shown.to_string().contains("a secret of mine"));
    let trace = cli.run(["trace", &run, "--output", "json"]).success().stdout.clone();
    let id = shown["tasks"][0]["id"].as_str().unwrap();
    let get = data(&cli.run(["task", "get", "--id", id, "--output", "json"]));
    assert_eq!(&get["checks_seen"][0]["ran"], seen);
    assert!(trace.contains(program), "the trace names the program");
}
