//! Tasks that work in clones of their own: their work lands in the workspace, a conflict becomes a task, nothing is lost.

use std::fs;

use serde_json::{Value, json};
use testkit::{Cli, eventually};

use crate::decisions::decide;
use crate::sandbox::has_sandbox;

/// A project that is a repository with one commit.
fn project() -> Cli {
    let cli = Cli::writ();
    git(&cli, &["init", "-q", "-b", "main"]);
    write(&cli, "file", "one\n");
    write(&cli, "other", "one\n");
    write(&cli, ".gitignore", "built\nplan.toml\n");
    commit(&cli, "first");
    cli
}

fn git(cli: &Cli, words: &[&str]) -> String {
    let name = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
    let output = cli.call(name.iter().chain(words)).program("git").run();
    output.success().stdout.trim_end_matches('\n').to_owned()
}

fn commit(cli: &Cli, message: &str) {
    git(cli, &["add", "-A"]);
    git(cli, &["commit", "-q", "-m", message]);
}

fn write(cli: &Cli, path: &str, text: &str) {
    fs::write(cli.project().join(path), text).unwrap();
}

fn read(cli: &Cli, path: &str) -> String {
    fs::read_to_string(cli.project().join(path)).unwrap()
}

fn task(id: &str, script: &str, rest: &str) -> String {
    format!("[[task]]\nid = {id:?}\ncommand = {script:?}\nshell = true\n{rest}\n")
}

/// For tasks that meet at files outside, or call writ as programs outside do.
const UNCONFINED: &str = "sandbox = \"off\"";

fn plan(cli: &Cli, head: &str, tasks: &[String]) {
    let plan =
        format!("objective = \"o\"\nworkspace = \".\"\nisolation = \"worktree\"\n{head}\n{}", tasks.concat());
    write(cli, "plan.toml", &plan);
}

/// Runs the plan and returns name, status, evidence and reason of each task.
fn worked(cli: &Cli) -> Vec<Value> {
    let output = cli.call(["run", "plan.toml", "--output", "json"]).run();
    lines(&output.json())
}

fn lines(answer: &Value) -> Vec<Value> {
    let line = |task: &Value| json!([task["name"], task["status"], task["evidence"], task["reason"]]);
    let data = if answer["data"].is_null() { &answer["error_context"] } else { &answer["data"] };
    data["tasks"].as_array().unwrap_or_else(|| panic!("{answer}")).iter().map(line).collect()
}

fn shown(cli: &Cli) -> Vec<Value> {
    lines(&cli.run(["runs", "show", "@last", "--output", "json"]).success().json())
}

fn clones(cli: &Cli) -> Vec<Value> {
    let answer = cli.run(["worktree", "list", "--output", "json"]).success().json();
    let rows = answer["data"]["worktrees"].as_array().unwrap();
    rows.iter().map(|row| json!([row["worktree"]["name"], row["standing"], row["kept_because"]])).collect()
}

#[test]
fn a_demanded_sandbox_keeps_a_clone_to_its_writes() {
    let cli = project();
    if !has_sandbox(&cli) {
        return;
    }
    let beside = task("iso", "mkdir docs; echo o > outside; echo i > docs/in", "writes = [\"docs\"]");
    plan(&cli, "sandbox = \"enforce\"", &[beside]);
    let failed = worked(&cli);
    assert_eq!(failed[0][1], "failed", "{failed:?}");
    assert!(failed[0][3].as_str().unwrap().contains("outside"), "{failed:?}");
    assert!(!cli.project().join("outside").exists() && !cli.project().join("docs").exists());
    let refused = cli.run(["rollback", "iso"]);
    assert!(refused.stderr.contains("nothing of it came into the workspace"), "{refused}");
}

#[test]
fn a_task_that_a_dirty_workspace_hinders_says_what_to_do_and_can_be_canceled() {
    let cli = project();
    plan(&cli, "", &[task("a", "true", "writes = [\".\"]")]);
    write(&cli, "file", "two\n");
    let stopped = cli.call(["run", "plan.toml", "--output", "text"]).run();
    assert!(stopped.stdout.contains("commit or stash them: file"), "{stopped}");
    assert!(stopped.stderr.contains("hint: fix what blocks these tasks, then `writ retry run_"), "{stopped}");
    assert!(stopped.stdout.contains("1 of 1 tasks wait for a person"), "{stopped}");
    cli.run(["cancel", "a"]).success();
    let shown = cli.run(["runs", "show", "@last", "--output", "json"]).success().json();
    assert_eq!(shown["data"]["state"], "failed", "{shown}");
    assert_eq!(shown["data"]["result"]["reason"], "0 of 1 tasks done, 0 failed, 1 canceled", "{shown}");
}

#[test]
fn a_plan_with_clones_is_warned_about_where_there_is_no_repository() {
    let cli = Cli::writ();
    fs::create_dir_all(cli.project()).unwrap();
    plan(&cli, "", &[task("a", "true", "")]);
    let shown = cli.run(["plan", "check", "plan.toml"]).success().stdout.clone();
    assert!(shown.contains("$.task[0].isolation: needs a git repository with a commit"), "{shown}");
}

#[test]
fn commits_in_a_clone_have_the_identity_that_the_repository_has() {
    let cli = project();
    git(&cli, &["config", "user.name", "Bob Clone"]);
    git(&cli, &["config", "user.email", "bob@example.com"]);
    let commit = "echo two > file && git commit -q -a -m mine && git log -1 --format='%an %ae'";
    plan(&cli, "", &[task("a", commit, "writes = [\".\"]")]);
    assert_eq!(worked(&cli), [json!(["a", "done", "claimed", null])]);
    // Both commits may be of the same second.
    let newest = git(&cli, &["log", "--no-merges", "--topo-order", "-1", "--format=%an %ae"]);
    assert_eq!(newest, "Bob Clone bob@example.com");
}

const CHECK: &str = "[[task.checks]]\ncommand = [\"test\", \"-e\", \"file\"]";

#[test]
fn tasks_that_write_the_same_paths_work_beside_each_other_and_are_merged() {
    let cli = project();
    // Each waits for the other, so neither could end if they took turns.
    let meet = |own: &str, other: &str| {
        format!("touch $MEET/{own}; until [ -e $MEET/{other} ]; do sleep 0.01; done; echo {own} > by-{own}")
    };
    let met = cli.scratch().dir("met");
    let rest = format!("writes = [\".\"]\nenv = {{ MEET = {met:?} }}\n{CHECK}");
    let after = task(
        "after",
        "cat by-a by-b > both",
        &format!("depends_on = [\"a\", \"b\"]\nwrites = [\"both\"]\n{CHECK}"),
    );
    plan(&cli, UNCONFINED, &[task("a", &meet("a", "b"), &rest), task("b", &meet("b", "a"), &rest), after]);
    let done = |name: &str| json!([name, "done", "verified", null]);
    assert_eq!(worked(&cli), [done("a"), done("b"), done("after")]);
    assert_eq!(read(&cli, "both"), "a\nb\n");
    assert_eq!(git(&cli, &["status", "--porcelain"]), "");
    let authors = git(
        &cli,
        &["log", "--no-merges", "--format=%an: %(trailers:key=Writ-Task,valueonly,separator=%x2C)"],
    );
    let mut authors: Vec<&str> = authors.lines().collect();
    authors.sort_unstable();
    assert_eq!(authors, ["Ann: ", "shell: a", "shell: after", "shell: b"]);
    let merged = |name: &str| json!([name, "merged", null]);
    assert_eq!(clones(&cli), [merged("a"), merged("after"), merged("b")]);
    let preview = cli.run(["worktree", "gc", "--dry-run"]).success().stdout.clone();
    assert!(preview.contains("3 of 3 clones would be removed"), "{preview}");
    assert_eq!(clones(&cli).len(), 3);
    let removed = cli.run(["worktree", "gc"]).success().stdout.clone();
    assert!(removed.contains("3 of 3 clones removed"), "{removed}");
    assert!(clones(&cli).is_empty());
    assert_eq!(git(&cli, &["for-each-ref", "refs/writ"]), "");
    cli.run(["audit", "verify", "--replay"]).success();
}

/// Two tasks that write the same file at the same time, so that one of them cannot be merged.
fn conflicting(cli: &Cli, more: &str, after: Option<String>) -> Vec<Value> {
    let met = cli.scratch().dir("met");
    let meet = |own: &str, other: &str| {
        format!("touch $MEET/{own}; until [ -e $MEET/{other} ]; do sleep 0.01; done; echo {own} > file")
    };
    let rest = format!("writes = [\"file\"]\nenv = {{ MEET = \"{}\" }}\n{more}", met.display());
    let both = [task("a", &meet("a", "b"), &rest), task("b", &meet("b", "a"), &rest)];
    plan(cli, UNCONFINED, &both.into_iter().chain(after).collect::<Vec<_>>());
    worked(cli)
}

#[test]
fn a_task_whose_work_was_discarded_stays_blocked_when_its_run_goes_on() {
    let cli = project();
    let tasks = conflicting(&cli, "", None);
    let (winner, loser) = if tasks[0][1] == "done" { ("a", "b") } else { ("b", "a") };
    decide(&cli, &["worktree", "discard", loser]).success();
    cli.call(["run", "--continue", "@last"]).run().fails_with(1);
    let state = |name: &str| shown(&cli).into_iter().find(|task| task[0] == name).unwrap()[1].clone();
    assert_eq!((state(winner), state(loser)), (json!("done"), json!("blocked")));
    // It can still be done anew.
    cli.call(["retry", loser]).run().success();
    assert_eq!((state(loser), read(&cli, "file")), (json!("done"), format!("{loser}\n")));
}

#[test]
fn a_conflict_becomes_a_task_that_names_both_sides_and_ends_when_it_is_resolved() {
    let cli = project();
    let after = task("after", "true", "depends_on = [\"a\", \"b\"]");
    let tasks = conflicting(&cli, CHECK, Some(after));
    let (winner, loser) = if tasks[0][1] == "done" { ("a", "b") } else { ("b", "a") };
    let lost = tasks.iter().find(|task| task[0] == loser).unwrap();
    assert_eq!(lost[1], "blocked", "{tasks:?}");
    let run = cli.run(["runs", "list", "--output", "json"]).success().json();
    let run = run["data"]["runs"][0]["id"]
        .as_str()
        .or(run["data"]["runs"][0]["run_id"].as_str())
        .unwrap()
        .to_owned();
    let reference = format!("refs/writ/{run}/{loser}");
    let reason = format!(
        "merge conflict with `{winner}` in file; resolve it in the workspace with `git merge {reference}`"
    );
    assert_eq!(lost[3], reason.as_str());
    assert_eq!(tasks[2][1], "todo", "{tasks:?}");
    // Nothing is lost: the winner's work is in the workspace, the loser's under its reference and in its clone.
    assert_eq!(read(&cli, "file"), format!("{winner}\n"));
    assert_eq!(git(&cli, &["show", &format!("{reference}:file")]), loser);
    let listed = cli.run(["task", "list", "--output", "json"]).success().json().to_string();
    let title = format!("Resolve the merge conflict of `{loser}` with `{winner}` in file");
    assert!(listed.contains(&title) && listed.contains(&format!("git merge {reference}")), "{listed}");
    let kept = cli.run(["worktree", "gc"]).success().stdout.clone();
    assert!(kept.contains(&format!("{loser}: it has work that is not merged")), "{kept}");
    // Continuing does not help while it is not resolved, and makes no second task.
    cli.call(["run", "--continue", &run]).run().fails_with(1);
    let again = cli.run(["task", "list", "--output", "json"]).success().json().to_string();
    assert_eq!(again.matches("Resolve the merge").count(), listed.matches("Resolve the merge").count());
    git(&cli, &["merge", "-q", "-s", "ours", "-m", "resolved", &reference]);
    cli.call(["run", "--continue", &run]).run().success();
    let states: Vec<Value> = shown(&cli).into_iter().map(|task| task[1].clone()).collect();
    assert_eq!(states, ["done", "done", "done"]);
    let open =
        cli.run(["task", "list", "--status", "pending", "--output", "json"]).success().json().to_string();
    assert!(!open.contains("Resolve the merge"), "{open}");
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn a_clone_has_its_setup_its_ports_and_an_environment_of_its_own() {
    let cli = project();
    let head =
        "setup = [[\"sh\", \"-c\", \"echo set up >> built\"], [\"test\", \"-e\", \"file\"]]\nports = 4";
    let script =
        "cat built > seen; echo $WRIT_PORT_FIRST-$WRIT_PORT_LAST >> seen; test $WRIT_WORKTREE = $PWD";
    let check = "[[task.checks]]\ncommand = \"test $WRIT_PORT_FIRST = 20000\"\nshell = true";
    plan(&cli, head, &[task("a", script, check)]);
    assert_eq!(worked(&cli), [json!(["a", "done", "verified", null])]);
    assert_eq!(read(&cli, "seen"), "set up\n20000-20003\n");
    assert!(!cli.project().join("built").exists());
    plan(&cli, "setup = [[\"sh\", \"-c\", \"echo no compiler >&2; exit 3\"]]", &[task("a", "true", "")]);
    let failed = worked(&cli);
    let reason = failed[0][3].as_str().unwrap();
    assert!(
        reason.contains("setup command `sh -c") && reason.contains("exit code 3: no compiler"),
        "{reason}"
    );
    let printed = cli.run(["logs", "@last"]).success().stdout.clone();
    assert!(printed.contains("no compiler"), "{printed}");
}

#[test]
fn setup_commands_get_the_time_that_the_task_gets() {
    let cli = project();
    let head = "setup = [[\"sleep\", \"1000\"]]\ntimeout = \"1s\"";
    plan(&cli, "", &[task("a", "true", head)]);
    let failed = worked(&cli);
    let reason = failed[0][3].as_str().unwrap();
    assert!(reason.contains("setup command `sleep 1000` failed: "), "{reason}");
}

#[test]
fn a_name_that_is_not_text_is_merged() {
    let cli = project();
    plan(&cli, "", &[task("a", "printf one > \"$(printf 'a\\377b')\"", "")]);
    let done = worked(&cli);
    assert_eq!(done[0][1], "done", "{done:?}");
    let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"a\xffb");
    assert_eq!(fs::read_to_string(cli.project().join(name)).unwrap(), "one");
    assert_eq!(clones(&cli), [json!(["a", "merged", null])]);
}

#[test]
fn the_rollback_of_a_task_in_a_clone_names_git_revert() {
    let cli = project();
    plan(&cli, "", &[task("a", "echo two > file", "writes = [\"file\"]")]);
    assert_eq!(worked(&cli)[0][1], "done");
    let refused = cli.run(["rollback", "a"]);
    assert!(refused.fails_with(1).stderr.contains("git revert -m 1"), "{refused}");
}

#[test]
fn a_task_begins_only_with_everything_that_is_committed() {
    let cli = project();
    write(&cli, "file", "by a person\n");
    plan(&cli, "", &[task("a", "echo 2 > other", "")]);
    let tasks = worked(&cli);
    let reason =
        "the workspace has uncommitted changes, which a clone would not have; commit or stash them: file";
    assert_eq!(tasks, [json!(["a", "blocked", null, reason])]);
    assert_eq!(read(&cli, "file"), "by a person\n");
    commit(&cli, "second");
    cli.run(["retry", "a"]).success();
    cli.call(["run", "--continue", "@last"]).run().success();
    assert_eq!(shown(&cli), [json!(["a", "done", "claimed", null])]);
    assert_eq!((read(&cli, "file"), read(&cli, "other")), ("by a person\n".to_owned(), "2\n".to_owned()));
}

#[test]
fn a_persons_edits_during_the_run_are_not_overwritten() {
    let cli = project();
    let script = "touch $MEET/runs; until [ -e $MEET/go ]; do sleep 0.01; done; echo a > file";
    let met = cli.scratch().dir("met");
    plan(&cli, "", &[task("a", script, &format!("env = {{ MEET = {met:?} }}"))]);
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the task runs", || met.join("runs").exists());
    write(&cli, "file", "by a person\n");
    fs::write(met.join("go"), "").unwrap();
    writ.wait().fails_with(1);
    assert_eq!(read(&cli, "file"), "by a person\n");
    let tasks = shown(&cli);
    assert_eq!(tasks[0][1], "blocked");
    assert!(tasks[0][3].as_str().unwrap().starts_with("merge conflict: "), "{tasks:?}");
    git(&cli, &["checkout", "-q", "file"]);
    cli.call(["run", "--continue", "@last"]).run().success();
    assert_eq!((read(&cli, "file"), shown(&cli)[0][1].clone()), ("a\n".to_owned(), json!("done")));
}

#[test]
fn an_engine_that_was_killed_loses_nothing_of_a_clone() {
    let cli = project();
    let met = cli.scratch().dir("met");
    let script =
        "echo a > file; touch $MEET/runs; until [ -e $MEET/go ]; do sleep 0.01; done; echo b > other";
    let rest = format!(
        "retry_safe = true\nchecks_may_change = true\nenv = {{ MEET = {met:?} }}\n[[task.checks]]\ncommand = [\"grep\", \"b\", \"other\"]"
    );
    plan(&cli, "", &[task("a", script, &rest)]);
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the task runs", || met.join("runs").exists());
    drop(writ.kill_nine());
    assert_eq!(clones(&cli)[0][1], "unmerged");
    fs::write(met.join("go"), "").unwrap();
    // Others move the workspace on meanwhile.
    write(&cli, "third", "by a person\n");
    commit(&cli, "second");
    cli.call(["run", "--continue", "@last"]).run().success();
    assert_eq!(shown(&cli), [json!(["a", "done", "verified", null])]);
    assert_eq!(
        (read(&cli, "file"), read(&cli, "other"), read(&cli, "third")),
        ("a\n".into(), "b\n".into(), "by a person\n".into())
    );
    assert_eq!(git(&cli, &["status", "--porcelain"]), "");
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn a_merge_waits_for_those_who_write_in_the_workspace() {
    let cli = project();
    let met = cli.scratch().dir("met");
    let holds = "touch $MEET/holds; until [ -e $MEET/go ]; do sleep 0.01; done; cat file > seen";
    let env = format!("env = {{ MEET = {met:?} }}");
    let holder =
        task("holder", holds, &format!("isolation = \"none\"\nwrites = [\"file\", \"seen\"]\n{env}"));
    write(&cli, "hold.toml", &format!("objective = \"o\"\nworkspace = \".\"\n{UNCONFINED}\n{holder}"));
    plan(&cli, UNCONFINED, &[task("a", "echo a > file", "")]);
    let first = cli.spawn(["run", "hold.toml"]);
    eventually("the lock is held", || met.join("holds").exists());
    let second = cli.spawn(["run", "plan.toml"]);
    eventually("the merge waits", || second.stderr().contains("waiting for lock on file"));
    assert_eq!(read(&cli, "file"), "one\n");
    fs::write(met.join("go"), "").unwrap();
    first.wait().success();
    second.wait().success();
    assert_eq!((read(&cli, "seen"), read(&cli, "file")), ("one\n".to_owned(), "a\n".to_owned()));
}

#[test]
fn a_task_that_begins_while_a_result_cannot_be_merged_says_so() {
    let cli = project();
    let met = cli.scratch().dir("met");
    let env = format!("env = {{ MEET = {met:?} }}");
    let a = task("a", "touch $MEET/a; until [ -e $MEET/b ]; do sleep 0.01; done; echo a > file", &env);
    // It returns only after the work of the first is in the workspace.
    let late = "touch $MEET/b; until grep -q a $WRIT_WORKSPACE/file; do sleep 0.01; done; echo b > file";
    let b = task("b", late, &env);
    // It ends when the conflict is known.
    let known =
        "until git -C $WRIT_WORKSPACE log --format=%s --glob=refs/writ/* | grep -qx b; do sleep 0.01; done";
    let watch = task("watch", known, "depends_on = [\"a\"]");
    let c = task("c", "echo c > other", "depends_on = [\"watch\"]");
    plan(&cli, "", &[a, b, watch, c]);
    let output = cli.call(["run", "plan.toml"]).run();
    let told = "c: begins without `b`: merge conflict with `a` in file; resolve it in the workspace with `git merge refs/writ/";
    assert!(output.fails_with(1).stderr.contains(told), "{output}");
    let trace = cli.run(["trace", "@last", "--output", "ndjson"]).success().stdout.clone();
    for intent in ["writ.worktree.opened", "writ.worktree.trial", "writ.worktree.merged"] {
        assert!(trace.contains(intent), "{intent}: {trace}");
    }
    let states: Vec<Value> = shown(&cli).into_iter().map(|task| task[1].clone()).collect();
    assert_eq!(states, ["done", "blocked", "done", "done"]);
}

#[test]
fn writ_called_in_a_clone_acts_on_the_project_of_the_workspace() {
    let cli = project();
    let writ = env!("CARGO_BIN_EXE_writ");
    let script = format!("{writ} memory set --scope project -k color -v green --request-id 1 --agent x >&2");
    plan(&cli, UNCONFINED, &[task("a", &script, "")]);
    let done = worked(&cli);
    assert_eq!(done[0][1], "done", "{done:?}");
    let memory =
        cli.run(["memory", "get", "--scope", "project", "-k", "color", "--output", "json"]).success().json();
    assert!(memory["data"].to_string().contains("green"), "{memory}");
}

#[test]
fn a_crews_ledger_has_no_clones() {
    let cli = project();
    plan(&cli, "", &[task("a", "true", "")]);
    let refused = cli.run(["ledger", "open", "plan.toml", "--output", "json"]);
    let error = refused.fails_with(1).json();
    assert_eq!(error["error_code"], "INVALID_INPUT", "{error}");
}

#[test]
fn a_task_in_a_clone_can_be_confined_to_it() {
    let cli = project();
    if !has_sandbox(&cli) {
        return;
    }
    let commit = "echo two > file && git -c user.name=b -c user.email=b@example.com commit -qam own";
    // The directory of the workspace itself is not open, and neither are hooks of the clone.
    let elsewhere = "! touch $WRIT_WORKSPACE/planted && ! touch .git/hooks/pre-commit";
    let script = format!("({elsewhere}) 2>refused && rm refused && {commit}");
    plan(&cli, "sandbox = \"enforce\"", &[task("a", &script, "writes = [\".\"]")]);
    assert_eq!(worked(&cli), [json!(["a", "done", "claimed", null])]);
    assert_eq!(read(&cli, "file"), "two\n");
    assert!(git(&cli, &["log", "--format=%s"]).contains("own"));
    assert!(!cli.project().join("planted").exists());
}

#[test]
fn a_rollback_that_a_clone_makes_needless_says_so() {
    let cli = project();
    let failing = "echo two > file; exit 1";
    plan(&cli, "", &[task("a", failing, "writes = [\".\"]\nrollback = true")]);
    assert_eq!(worked(&cli)[0][1], "failed");
    assert_eq!(read(&cli, "file"), "one\n");
    let shown = cli.run(["runs", "show", "@last", "--output", "text"]).success().stdout.clone();
    assert!(shown.contains("rollback has no effect: the task works in a clone"), "{shown}");
}

/// A task of which writ's git waits at one of its commands. Returns the directory in which they meet.
fn landing_slowly<'c>(cli: &'c Cli, command: &str) -> (testkit::Background<'c>, std::path::PathBuf) {
    let met = cli.scratch().dir("met");
    let bin = cli.scratch().dir("bin");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *{command:?}*) touch {met}/there; until [ -e {met}/go ]; do sleep 0.01; done;; esac\n\
         PATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n",
        met = met.display(),
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    plan(cli, "", &[task("a", "echo a > file", "")]);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    let writ = cli.call(["run", "plan.toml"]).env("PATH", path).spawn();
    eventually("the merge is under way", || met.join("there").exists());
    (writ, met)
}

#[test]
fn a_task_that_is_canceled_while_its_merge_is_prepared_is_not_merged() {
    let cli = project();
    let (writ, met) = landing_slowly(&cli, " fetch ");
    cli.run(["cancel", "a"]).success();
    fs::write(met.join("go"), "").unwrap();
    writ.wait().fails_with(1);
    assert_eq!(shown(&cli)[0][1], "canceled");
    assert_eq!((read(&cli, "file"), git(&cli, &["log", "--format=%s"])), ("one\n".into(), "first".into()));
    assert_eq!(git(&cli, &["status", "--porcelain"]), "");
}

#[test]
fn a_task_that_is_canceled_after_its_merge_began_says_what_was_merged() {
    let cli = project();
    let (writ, met) = landing_slowly(&cli, " update-ref -m ");
    cli.run(["cancel", "a"]).success();
    fs::write(met.join("go"), "").unwrap();
    writ.wait().fails_with(1);
    let head = git(&cli, &["rev-parse", "HEAD"]);
    let told = cli.run(["runs", "show", "@last", "--output", "json"]).success().stdout.clone();
    assert_eq!((shown(&cli)[0][1].clone(), read(&cli, "file")), (json!("canceled"), "a\n".into()));
    assert!(told.contains(&format!("its work was merged before that; `git revert -m 1 {head}`")), "{told}");
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn a_clone_that_cannot_be_removed_does_not_keep_the_others() {
    let cli = project();
    plan(&cli, "", &[task("a", "echo a > file", ""), task("b", "echo b > other", "")]);
    assert_eq!(worked(&cli).iter().map(|task| &task[1]).collect::<Vec<_>>(), ["done", "done"]);
    let bin = cli.scratch().dir("bin");
    let script = "#!/bin/sh\ncase \" $* \" in *\\ update-ref\\ -d\\ *a\\ ) echo no >&2; exit 1;; esac\n\
                  PATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n";
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    let answer = cli.call(["worktree", "gc", "--output", "text"]).env("PATH", path).run();
    let told = answer.success().stdout.clone();
    assert!(told.contains("a: git update-ref: no") && told.ends_with("1 of 2 clones removed\n"), "{told}");
    cli.run(["worktree", "gc"]).success();
    assert_eq!(cli.run(["worktree", "list", "--output", "text"]).success().stdout, "no clones are kept\n");
}

/// What a task left that could not be merged, committed and not.
fn unmerged() -> Cli {
    let cli = project();
    let script = "git commit -q --allow-empty -m 'its commit'; echo left > left; echo built > built; exit 1";
    let setup = "setup = [[\"git\", \"config\", \"user.name\", \"T\"], [\"git\", \"config\", \"user.email\", \"t@example.com\"]]";
    plan(&cli, &format!("{UNCONFINED}\n{setup}"), &[task("lost", script, "writes = [\".\"]")]);
    assert_eq!(worked(&cli)[0][1], "failed");
    cli
}

#[test]
fn a_clone_with_unmerged_work_is_discarded_by_a_person_and_can_be_brought_back() {
    let cli = unmerged();
    let before = clones(&cli);
    let shown =
        cli.run(["worktree", "discard", "lost", "--dry-run", "--output", "text"]).success().stdout.clone();
    assert!(shown.contains("its commit") && shown.contains("  left\n"), "{shown}");
    assert!(shown.contains("1 changed file:") && shown.contains("Ignored files are lost"), "{shown}");
    // Nobody but a person, or a token of one, loses work.
    let refused = cli.run(["worktree", "discard", "lost", "--output", "json"]);
    assert_eq!(refused.json()["error_code"], "DENIED", "{refused}");
    assert_eq!(clones(&cli), before);
    let discarded = decide(&cli, &["worktree", "discard", "lost", "--output", "json"]).success().json();
    assert!(clones(&cli).is_empty());
    assert_eq!(git(&cli, &["for-each-ref", "refs/writ"]), "");
    let bundle = discarded["data"]["bundle"].as_str().unwrap();
    git(&cli, &["fetch", "-q", bundle, "discarded:back"]);
    assert_eq!(git(&cli, &["show", "back:left"]), "left");
    assert_eq!(git(&cli, &["log", "--format=%s", "main..back"]), "lost: discarded\nits commit");
    let events = cli
        .run(["events", "list", "--all", "--limit", "200", "--output", "json"])
        .success()
        .json()
        .to_string();
    assert!(events.contains("worktree_discard_begun") && events.contains("worktree_discarded"), "{events}");
    assert!(events.contains("service.token.") || events.contains("token."), "{events}");
    let again = cli.run(["worktree", "discard", "lost", "--output", "json"]);
    assert_eq!(again.json()["error_code"], "NOT_FOUND", "{again}");
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn a_task_whose_clone_was_discarded_begins_anew() {
    let cli = unmerged();
    decide(&cli, &["worktree", "discard", "lost"]).success();
    cli.call(["retry", "lost"]).run().fails_with(1);
    assert_eq!(clones(&cli).len(), 1);
    // A clone that cannot be compared is discarded too, and the question says what that means.
    let listed = cli.run(["worktree", "list", "--output", "json"]).success().json();
    let tree = listed["data"]["worktrees"][0]["directory"].as_str().unwrap().to_owned();
    fs::remove_dir_all(std::path::Path::new(&tree).join(".git")).unwrap();
    let shown =
        cli.run(["worktree", "discard", "lost", "--dry-run", "--output", "text"]).success().stdout.clone();
    assert!(shown.contains("This cannot be brought back"), "{shown}");
    let gone = decide(&cli, &["worktree", "discard", "lost", "--output", "json"]).success().json();
    assert!(gone["data"]["bundle"].is_null() && clones(&cli).is_empty(), "{gone}");
}

#[test]
fn a_clone_without_unmerged_work_is_discarded_by_anybody_and_one_in_use_by_nobody() {
    let cli = project();
    plan(&cli, UNCONFINED, &[task("a", "echo a > new", "writes = [\".\"]")]);
    assert_eq!(worked(&cli)[0][1], "done");
    let merged = cli.run(["worktree", "discard", "a", "--output", "json"]).success().json();
    assert_eq!((&merged["data"]["standing"], merged["data"].get("bundle")), (&json!("merged"), None));
    assert!(clones(&cli).is_empty());
    let (go, started) = (cli.scratch().path().join("go"), cli.scratch().path().join("started"));
    let waits = format!("touch {}; until [ -e {} ]; do sleep 0.01; done", started.display(), go.display());
    plan(&cli, UNCONFINED, &[task("b", &waits, "writes = [\".\"]")]);
    let run = cli.call(["run", "plan.toml"]).spawn();
    eventually("the task runs", || started.exists());
    let refused = decide(&cli, &["worktree", "discard", "b", "--output", "json"]);
    assert_eq!(refused.json()["error_code"], "WRONG_STATE", "{refused}");
    fs::write(go, "").unwrap();
    run.wait().success();
}
