//! `writ rollback` through whole runs: shell edits are taken back, others' files stay, and a killed one is finished.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Cli, Output, eventually};

use crate::documents::{agent, aop, plan, shell, with, writ};
use crate::read_back::{Worked, work};

/// What a shell does to a tree: edits, renames, deletions, modes, links, new directories.
const EDITS: &str = "echo changed > src/a; mv src/b src/c; rm src/d; chmod 755 src/e; ln -s a src/link; \
                     mkdir -p src/new/deep; echo x > src/new/deep/x; rm -r src/empty; ln -sfn elsewhere src/old-link";

type Picture = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn picture(root: &Path) -> Picture {
    let mut picture = Picture::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if meta.is_dir() {
                pending.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            picture.insert(path.strip_prefix(root).unwrap().to_owned(), (meta.mode(), content));
        }
    }
    picture
}

/// A project with a few files of all kinds in `src`.
fn project(cli: &Cli) -> PathBuf {
    let src = cli.project().join("src");
    fs::create_dir_all(src.join("empty")).unwrap();
    for name in ["a", "b", "d", "e"] {
        fs::write(src.join(name), format!("this is {name}\n")).unwrap();
    }
    std::os::unix::fs::symlink("a", src.join("old-link")).unwrap();
    src
}

fn writing(id: &str, line: &str, writes: &str) -> Value {
    with(shell(id, line), json!({"writes": [writes]}))
}

fn rolled(cli: &Cli, words: &[&str]) -> Output {
    cli.call([&["rollback"][..], words, &["--output", "json"]].concat()).run()
}

#[track_caller]
fn told(cli: &Cli, worked: &Worked<'_>) -> String {
    cli.call(["runs", "show", worked.id(), "--output", "text"]).run().success().stdout.clone()
}

#[test]
fn shell_edits_are_taken_back_and_redone() {
    let cli = writ();
    let src = project(&cli);
    let before = picture(&src);
    let worked = work(&cli, &plan([writing("edit", EDITS, "src")])).succeeded();
    let after = picture(&src);
    assert_ne!(before, after);

    let preview = rolled(&cli, &["edit", "--preview"]).success().json();
    let files = preview["data"]["files"].as_array().unwrap();
    let line = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(line("src/a")["action"], "restore");
    assert_eq!(line("src/c")["action"], "remove");
    assert_eq!(line("src/d")["action"], "create");
    assert_eq!(line("src/e")["action"], "mode");
    assert_eq!(picture(&src), after, "a preview changes nothing");

    let answer = rolled(&cli, &["edit"]).success().json();
    assert_eq!(answer["data"]["counts"]["conflicts"], 0);
    assert_eq!(picture(&src), before);
    assert!(told(&cli, &worked).contains("rolled back: "), "{}", told(&cli, &worked));
    let trace = cli.call(["trace", worked.id(), "--output", "text"]).run().success().stdout.clone();
    assert!(trace.contains("ROLLBACK_INITIATED"), "{trace}");
    rolled(&cli, &["edit"]).fails_with(1);

    rolled(&cli, &["edit", "--redo"]).success();
    assert_eq!(picture(&src), after);
    rolled(&cli, &["edit"]).success();
    assert_eq!(picture(&src), before);
    cli.run(["audit", "verify"]).success();
}

#[test]
fn a_repeated_request_touches_nothing_again() {
    let cli = writ();
    let src = project(&cli);
    work(&cli, &plan([writing("edit", EDITS, "src")])).succeeded();
    let words = ["edit", "--request-id", "back-1"];
    let first = rolled(&cli, &words).success().json();
    rolled(&cli, &["edit", "--redo"]).success();
    let after = picture(&src);
    assert_eq!(rolled(&cli, &words).success().json()["data"], first["data"]);
    assert_eq!(picture(&src), after);
}

#[test]
fn later_edits_are_conflicts_and_stay() {
    let cli = writ();
    let src = project(&cli);
    let worked = work(&cli, &plan([writing("edit", EDITS, "src")])).succeeded();
    fs::write(src.join("a"), "a person wrote this\n").unwrap();
    fs::write(src.join("new/deep/mine"), "and this\n").unwrap();
    let answer = rolled(&cli, &["edit"]).fails_with(1).json();
    let data = &answer["data"];
    assert_eq!(data["code"], "E_ROLLBACK_FAILED");
    let left: Vec<&str> = data["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|file| file["status"] == "conflict")
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(left, ["src/a", "src/new", "src/new/deep"]);
    assert_eq!(fs::read_to_string(src.join("a")).unwrap(), "a person wrote this\n");
    assert_eq!(fs::read_to_string(src.join("new/deep/mine")).unwrap(), "and this\n");
    assert!(!src.join("new/deep/x").exists());
    assert_eq!(fs::read_to_string(src.join("d")).unwrap(), "this is d\n");
    assert!(told(&cli, &worked).contains("src/a: it changed since the task ended"));
    // The person takes the edit back, and the rest of the rollback is possible.
    fs::write(src.join("a"), "changed\n").unwrap();
    fs::remove_file(src.join("new/deep/mine")).unwrap();
    rolled(&cli, &["edit"]).success();
    assert!(!src.join("new").exists());
}

#[test]
fn a_failed_attempt_is_rolled_back_where_that_was_asked_for() {
    let cli = writ();
    let src = project(&cli);
    let before = picture(&src);
    let failing = format!("{EDITS}; exit 3");
    let mut document = plan([writing("edit", &failing, "src")]);
    let worked = work(&cli, &document).failed();
    assert_ne!(picture(&src), before, "nobody asked");
    rolled(&cli, &[&worked.task_id("edit")]).success();
    assert_eq!(picture(&src), before);

    document["rollback"] = json!(true);
    let worked = work(&cli, &document).failed();
    assert_eq!(picture(&src), before);
    assert!(worked.reason("edit").contains("rolled back: "), "{}", worked.reason("edit"));
    assert_eq!(worked.task("edit")["rollback"]["trigger"], "TASK_FAILED");
    rolled(&cli, &[&worked.task_id("edit"), "--redo"]).success();
    assert_eq!(fs::read_to_string(src.join("a")).unwrap(), "changed\n");

    let task = with(
        writing("again", "test -e src/tried && exit 9; touch src/tried; exit 1", "src"),
        json!({"rollback": true, "retries": 1}),
    );
    let worked = work(&cli, &plan([task])).failed();
    assert_eq!(worked.task("again")["exit_code"], 1, "each attempt begins with what was there before");
}

#[test]
fn a_canceled_task_is_rolled_back_where_that_was_asked_for() {
    let cli = writ();
    let src = project(&cli);
    let before = picture(&src);
    let task = with(
        writing("edit", &format!("{EDITS}; touch started; sleep 600"), "src"),
        json!({"rollback": true, "scratch": ["started"]}),
    );
    cli.scratch().write(cli.project().join("plan.json"), plan([task]).to_string());
    let run = cli.spawn(["run", "plan.json"]);
    eventually("the task works", || cli.project().join("started").exists());
    cli.run(["cancel", "@last"]).success();
    run.wait().fails_with(1);
    assert_eq!(picture(&src), before);
    let shown = cli.call(["runs", "show", "--output", "text"]).run().success().stdout.clone();
    assert!(shown.contains("canceled; rolled back"), "{shown}");
}

#[test]
fn nothing_is_rolled_back_where_somebody_writes() {
    let cli = writ();
    let src = project(&cli);
    work(&cli, &plan([writing("edit", EDITS, "src")])).succeeded();
    let after = picture(&src);
    let other = with(writing("other", "touch started; sleep 600", "src"), json!({"scratch": ["started"]}));
    cli.scratch().write(cli.project().join("plan.json"), plan([other]).to_string());
    let run = cli.spawn(["run", "plan.json"]);
    eventually("the other task works", || cli.project().join("started").exists());
    let refused = rolled(&cli, &["edit"]);
    refused.fails_with(1);
    assert!(refused.stdout.contains("conflicts with the lock on `src`"), "{refused}");
    rolled(&cli, &["other"]).fails_with(1);
    assert_eq!(picture(&src), after);
    cli.run(["cancel", "@last"]).success();
    drop(run.wait());
    rolled(&cli, &["edit"]).success();
}

#[test]
fn other_tasks_files_stay_while_they_work() {
    let cli = writ();
    let src = project(&cli);
    let before = picture(&src);
    work(&cli, &plan([writing("edit", EDITS, "src")])).succeeded();
    let other = with(
        writing("other", "mkdir -p docs; while :; do echo x >> docs/busy; touch started; done", "docs"),
        json!({"scratch": ["started"]}),
    );
    cli.scratch().write(cli.project().join("plan.json"), plan([other]).to_string());
    let run = cli.spawn(["run", "plan.json"]);
    eventually("the other task works", || cli.project().join("started").exists());
    rolled(&cli, &["edit"]).success();
    assert_eq!(picture(&src), before);
    assert!(fs::metadata(cli.project().join("docs/busy")).unwrap().len() > 0);
    cli.run(["cancel", "@last"]).success();
    drop(run.wait());
}

#[test]
fn a_task_without_writes_has_nothing_to_roll_back() {
    let cli = writ();
    work(&cli, &plan([shell("free", "echo x > file")])).succeeded();
    let refused = rolled(&cli, &["free"]);
    refused.fails_with(1);
    assert!(refused.stdout.contains("declares no `writes`"), "{refused}");
    let asked = plan([with(shell("free", "true"), json!({"rollback": true}))]);
    let refused = cli.call(["run", "-", "--output", "json"]).stdin(asked.to_string()).run();
    refused.fails_with(1);
    assert!(refused.stdout.contains("a rollback needs `writes`"), "{refused}");
}

#[test]
fn a_rollback_that_is_killed_is_finished_by_the_same_command() {
    let cli = writ();
    let src = project(&cli);
    for number in 0..400 {
        fs::write(src.join(format!("file-{number}")), format!("{number}\n")).unwrap();
    }
    let before = picture(&src);
    let line = format!(
        "{EDITS}; for f in src/file-*; do echo more >> $f; done; mkdir src/many; for n in $(seq 200); do echo $n > src/many/$n; done"
    );
    work(&cli, &plan([writing("edit", &line, "src")])).succeeded();
    let after = picture(&src);
    let mut killed = 0;
    for round in 0..12 {
        let mut rollback = cli.spawn(["rollback", "edit"]);
        // Somewhere between its start and its end, at another place in each round.
        let begun = std::time::Instant::now();
        while rollback.is_running() && begun.elapsed() < Duration::from_millis(3 * round) {
            std::thread::yield_now();
        }
        killed += i32::from(rollback.is_running());
        drop(rollback.kill_nine());
        let now = picture(&src);
        for (path, seen) in now.iter().filter(|(path, _)| !path.to_string_lossy().contains(".writ-")) {
            assert!(
                before.get(path) == Some(seen) || after.get(path) == Some(seen),
                "{} is half written",
                path.display()
            );
        }
        if now == before {
            break;
        }
    }
    // The last one may have ended before it was killed.
    let last = rolled(&cli, &["edit"]);
    assert!(last.stdout.contains("rolled back already") || last.json()["success"] == true, "{last}");
    assert!(killed > 0, "none was killed");
    assert_eq!(picture(&src), before, "{killed} were killed");
    cli.run(["audit", "verify"]).success();
}

#[test]
fn an_engine_that_dies_leaves_what_a_rollback_needs() {
    let cli = writ();
    let src = project(&cli);
    let before = picture(&src);
    let line = format!("test -e started && exit 0; {EDITS}; touch started; sleep 600");
    let task = with(
        writing("edit", &line, "src"),
        json!({"rollback": true, "retry_safe": true, "scratch": ["started"]}),
    );
    cli.scratch().write(cli.project().join("plan.json"), plan([task]).to_string());
    let run = cli.spawn(["run", "plan.json"]);
    eventually("the task works", || cli.project().join("started").exists());
    drop(run.kill_nine());
    let shown = cli.run(["run", "--continue", "@last"]).success().to_owned();
    assert_eq!(picture(&src), before, "{shown}");
}

#[test]
fn an_interrupted_task_that_could_not_be_taken_back_is_not_run_again() {
    let cli = writ();
    let src = project(&cli);
    let line = format!("echo x >> runs; {EDITS}; touch started; sleep 600");
    let task = with(
        writing("edit", &line, "src"),
        json!({"rollback": true, "retry_safe": true, "scratch": ["started", "runs"]}),
    );
    cli.scratch().write(cli.project().join("plan.json"), plan([task]).to_string());
    let run = cli.spawn(["run", "plan.json"]);
    eventually("the task works", || cli.project().join("started").exists());
    drop(run.kill_nine());
    // The content of one file is lost, so the file cannot come back.
    let digest = contract::digest::of_bytes(b"this is a\n");
    let (first, rest) = digest["sha256:".len()..].split_at(2);
    let objects = cli.db().with_file_name("writ.db.snapshots").join("objects");
    fs::remove_file(objects.join(first).join(rest)).unwrap();
    cli.run(["run", "--continue", "@last"]).fails_with(1);
    let shown = cli.run(["runs", "show", "@last", "--output", "json"]).success().json();
    assert_eq!(shown["data"]["tasks"][0]["status"], "blocked", "{shown}");
    assert!(shown.to_string().contains("what it changed was not taken back completely"), "{shown}");
    assert_eq!(fs::read_to_string(cli.project().join("runs")).unwrap(), "x\n");
    // A person may decide otherwise.
    assert_eq!(fs::read_to_string(src.join("a")).unwrap(), "changed\n");
}

#[test]
fn an_aop_task_with_a_rollback_snapshot_is_rolled_back() {
    let cli = writ();
    let src = project(&cli);
    let before = picture(&src);
    let wish = |path: &str, more: Value| {
        json!({
            "type": "FILE", "description": "it", "path": path,
            "rollback_snapshot": with(json!({"enabled": true}), more),
        })
    };
    let mut task = aop(&cli, "");
    task["task"]["extensions"]["x_command"] =
        json!(["sh", "-c", format!("cat > /dev/null; {EDITS}; exit 4"), agent()]);
    task["task"]["access"] = json!({"filesystem": {"read_paths": [], "write_paths": ["src"]}});
    task["task"]["expected_outputs"] = json!([
        wish("src/a", json!({"snapshot_strategy": "COPY", "snapshot_path": ".aop_snapshots/a.before"})),
        wish("src/b", json!({"snapshot_strategy": "DIFF", "snapshot_path": ".aop_snapshots/b.patch"})),
        wish("src/d", json!({"snapshot_strategy": "GIT_STASH"})),
    ]);
    let worked = work(&cli, &task).failed();
    assert_eq!(picture(&src), before);
    assert_eq!(cli.scratch().read("project/.aop_snapshots/a.before"), "this is a\n");
    let shown = told(&cli, &worked);
    // There is no repository here.
    for note in ["COPY: src/a was copied", "DIFF has no effect", "GIT_STASH has no effect", "rolled back: "] {
        assert!(shown.contains(note), "no `{note}` in {shown}");
    }
    let trace = worked.trace();
    let event = trace.iter().find(|envelope| envelope["intent"] == "writ.rollback_initiated").unwrap();
    let event = &event["payload"]["event"];
    assert_eq!(event["message_type"], "EVENT");
    assert_eq!(event["trigger"], "TASK_FAILED");
}

#[test]
fn a_snapshot_path_replaces_no_file_and_is_not_in_a_repository() {
    let cli = writ();
    project(&cli);
    fs::create_dir(cli.project().join(".git")).unwrap();
    for kept in [".git/config", ".writ/config.toml", "keep"] {
        if kept != ".writ/config.toml" {
            cli.scratch().write(cli.project().join(kept), "mine\n");
        }
        let mut task = aop(&cli, "aop-success");
        task["task"]["access"] = json!({"filesystem": {"read_paths": [], "write_paths": ["src"]}});
        task["task"]["expected_outputs"] = json!([{
            "type": "FILE", "description": "it", "path": "src/a",
            "rollback_snapshot": {"enabled": true, "snapshot_strategy": "COPY", "snapshot_path": kept},
        }]);
        let worked = work(&cli, &task).succeeded();
        assert!(told(&cli, &worked).contains("COPY has no effect: "), "{}", told(&cli, &worked));
        let place = cli.project().join(kept);
        assert!(!place.exists() || fs::read_to_string(place).unwrap() == "mine\n", "{kept}");
    }
}

#[test]
fn an_aop_task_that_names_no_write_paths_is_told_that_nothing_is_kept() {
    let cli = writ();
    let mut task = aop(&cli, "aop-success");
    task["task"]["access"] = json!({"filesystem": {"read_paths": [], "write_paths": []}});
    task["task"]["expected_outputs"] = json!([{
        "type": "NOTE", "description": "it", "rollback_snapshot": {"enabled": true},
    }]);
    let worked = work(&cli, &task).succeeded();
    assert!(told(&cli, &worked).contains("rollback has no effect"), "{}", told(&cli, &worked));
}

#[test]
fn git_strategies_leave_a_patch_and_a_stash_and_run_nothing_of_the_repository() {
    let cli = writ();
    project(&cli);
    let git = |words: &[&str]| cli.call(words).program("git").run().success().stdout.clone();
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "-m", "one"]);
    fs::write(cli.project().join("src/a"), "not committed\n").unwrap();
    let planted = cli.project().join("planted");
    let trap = format!("touch {}; cat", planted.display());
    git(&["config", "filter.trap.clean", &trap]);
    git(&["config", "core.fsmonitor", &trap]);
    fs::write(cli.project().join(".gitattributes"), "* filter=trap\n").unwrap();
    fs::remove_file(&planted).ok();
    let mut task = aop(&cli, "");
    task["task"]["extensions"]["x_command"] =
        json!(["sh", "-c", "cat > /dev/null; echo x > src/a; exit 4", agent()]);
    task["task"]["access"] = json!({"filesystem": {"read_paths": [], "write_paths": ["src"]}});
    let output = |strategy: &str, path: Value| {
        json!({
            "type": "FILE", "description": "it", "path": "src/a",
            "rollback_snapshot": {"enabled": true, "snapshot_strategy": strategy, "snapshot_path": path},
        })
    };
    task["task"]["expected_outputs"] =
        json!([output("DIFF", json!("a.patch")), output("GIT_STASH", json!("unused"))]);
    work(&cli, &task).failed();
    assert!(!planted.exists(), "a filter of the repository ran");
    assert!(cli.scratch().read("project/a.patch").contains("+not committed"));
    assert!(git(&["-c", "core.fsmonitor=false", "stash", "list"]).contains("writ: before T-1"));
    assert_eq!(cli.scratch().read("project/src/a"), "not committed\n");
}

#[test]
fn an_attempt_says_why_what_it_left_could_not_be_recorded() {
    let cli = writ();
    project(&cli);
    let records = cli.db().with_extension("db.snapshots");
    let line = format!("for f in {}/*.before; do echo damaged > $f; done", records.display());
    // Snapshots cannot be reached from a sandbox.
    let edit = with(writing("edit", &line, "src"), json!({"sandbox": "off"}));
    let worked = work(&cli, &plan([edit])).succeeded();
    let shown = told(&cli, &worked);
    assert!(shown.contains("what it left could not be recorded"), "{shown}");
}

#[test]
fn snapshots_are_listed_and_those_in_use_are_kept() {
    let cli = writ();
    project(&cli);
    work(&cli, &plan([writing("edit", EDITS, "src")])).succeeded();
    let listed = cli.run(["snapshots", "list", "--output", "json"]).success().json();
    assert_eq!(listed["data"]["count"], 1);
    assert_eq!(listed["data"]["snapshots"][0]["name"], "edit");
    let mode = fs::metadata(cli.db().with_extension("db.snapshots")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o700);
    let would = cli.run(["snapshots", "gc", "--dry-run", "--output", "json"]).success().json();
    assert_eq!(would["data"]["snapshots"], 0, "it is young");
    cli.run(["snapshots", "gc"]).success();
    rolled(&cli, &["edit"]).success();
    cli.run(["uninstall", "--purge", "--yes"]).success();
    assert!(!cli.db().with_extension("db.snapshots").exists());
}

#[test]
fn what_a_task_without_a_scope_made_in_the_scope_of_another_stays() {
    let cli = writ();
    fs::create_dir(cli.project().join("s")).unwrap();
    let met = cli.scratch().dir("met");
    let meet = met.display();
    // The second makes its file while the first runs, and ends before the first fails.
    let first = format!("touch {meet}/first; until [ -e {meet}/second ]; do sleep 0.01; done; exit 1");
    let second =
        format!("until [ -e {meet}/first ]; do sleep 0.01; done; echo mine > s/from_u2; touch {meet}/second");
    let first = with(writing("u1", &first, "s"), json!({"rollback": true, "sandbox": "off"}));
    work(&cli, &plan([first, shell("u2", &second)])).failed();
    assert_eq!(fs::read_to_string(cli.project().join("s/from_u2")).unwrap(), "mine\n");
    let shown = cli.run(["runs", "show", "@last"]).success().stdout.clone();
    assert!(shown.contains("s/from_u2: `u2` ran at the same time"), "{shown}");
}
