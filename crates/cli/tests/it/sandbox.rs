//! Sandboxed tasks as a user sees them: what plans and the configuration can say, what is shown, what tools can do.

use std::path::Path;
use std::process::Command;

use testkit::{Cli, Output};

use crate::namespaces::without_namespaces;
use crate::run_view::write_plan;

/// Whether this machine enforces everything, as `writ doctor` says. Elsewhere there is nothing to show.
pub(crate) fn has_sandbox(cli: &Cli) -> bool {
    let answer = cli.run(["doctor", "--output", "json"]).success().json();
    let looks = answer["data"]["looks"].as_array().unwrap().clone();
    let look = looks.iter().find(|look| look["what"] == "sandbox").unwrap();
    let said = look["message"].as_str().unwrap();
    said.starts_with("enforces") && !said.contains("not enforced")
}

fn plan(head: &str, task: &str, script: &str) -> String {
    let script = script.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "objective = \"Try it\"\nworkspace = \".\"\n{head}\n[[task]]\nid = \"a\"\nshell = true\n{task}\n\
         command = \"{script}\"\n"
    )
}

/// Runs a plan of one task in the project, which has `src`.
fn run(cli: &Cli, head: &str, task: &str, script: &str) -> Output {
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    write_plan(cli, &plan(head, task, script));
    cli.call(["run", "plan.toml", "--output", "json"]).run()
}

fn only_task(output: &Output) -> serde_json::Value {
    output.json()["data"]["tasks"][0].clone()
}

const ENFORCED: &str = "sandbox = \"enforce\"";
const SRC: &str = "writes = [\"src\"]";

#[test]
fn a_write_outside_is_stopped_and_reported_with_its_path() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let done = only_task(&run(&cli, ENFORCED, SRC, "echo x > src/file"));
    assert_eq!(done["status"], "done", "{done}");
    let failed = only_task(&run(&cli, ENFORCED, SRC, "echo x > src/file; echo x > other"));
    assert_eq!(
        (&failed["status"], &failed["code"]),
        (&"failed".into(), &"E_PERMISSION_DENIED".into()),
        "{failed}"
    );
    let unnamed = "echo 'Permission denied' >&2; exit 1";
    let unnamed = only_task(&run(&cli, ENFORCED, SRC, unnamed));
    assert!(unnamed["reason"].as_str().unwrap().contains("path unknown"), "{unnamed}");
    let named = only_task(&run(&cli, ENFORCED, SRC, "echo x > /etc/writ-was-here"));
    assert!(named["reason"].as_str().unwrap().contains("`/etc/writ-was-here`"), "{named}");
    assert!(!cli.project().join("other").exists());
}

#[test]
fn a_denied_file_of_the_workspace_comes_with_what_would_allow_it() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let reason = |task: &str, script: &str| {
        let failed = only_task(&run(&cli, ENFORCED, task, script));
        assert_eq!(failed["code"], "E_PERMISSION_DENIED", "{failed}");
        failed["reason"].as_str().unwrap().to_owned()
    };
    let told = reason(SRC, "echo x > Makefile");
    assert!(told.contains("`Makefile`; to allow it, add \"Makefile\" to the task's `writes`"), "{told}");
    let told = reason(SRC, "echo x > /etc/writ-was-here");
    assert!(!told.contains("to allow it"), "{told}");
    // A script with an absolute path says that path first.
    let script = cli.project().join("agent.sh");
    std::fs::write(&script, "#!/bin/sh\necho x > out.txt\n").unwrap();
    let told = reason(SRC, &format!("sh {}", script.display()));
    assert!(told.contains("`out.txt`; to allow it, add \"out.txt\" to the task's `writes`"), "{told}");
    let told =
        reason("writes = [\"src\"]\nnetwork = \"none\"", "echo 'Failed to connect to x port 1'; exit 7");
    assert!(told.contains("the network, because the task has `network = \"none\"`"), "{told}");
}

#[test]
fn what_is_about_a_file_outside_cannot_be_changed_either() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    for name in ["src/file", "other"] {
        std::fs::write(cli.project().join(name), "as it was").unwrap();
    }
    let attribute = "python3 -c 'import os, sys; os.setxattr(sys.argv[1], \"user.writ\", b\"x\")' FILE";
    let mut ways = vec!["chmod 777 FILE", "touch -d 2001-01-01 FILE"];
    // Not every file system has them.
    ways.extend(has_attributes(&cli.project().join("src/file"), attribute).then_some(attribute));
    for way in ways {
        let done = only_task(&run(&cli, ENFORCED, SRC, &way.replace("FILE", "src/file")));
        assert_eq!(done["status"], "done", "{way}: {done}");
        let failed = only_task(&run(&cli, ENFORCED, SRC, &way.replace("FILE", "other")));
        assert_eq!(failed["code"], "E_PERMISSION_DENIED", "{way}: {failed}");
        assert!(failed["reason"].as_str().unwrap().contains("`other`"), "{way}: {failed}");
    }
}

#[expect(clippy::disallowed_methods, reason = "what a file system can do is a matter of this machine")]
fn has_attributes(file: &Path, way: &str) -> bool {
    let way = way.replace("FILE", &file.display().to_string());
    Command::new("sh").args(["-c", &way]).output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_file_in_writes_can_be_replaced_and_what_is_beside_it_cannot() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project().join("src/inner")).unwrap();
    for name in ["src/b", "src/inner/c", "top"] {
        std::fs::write(cli.project().join(name), "as it was").unwrap();
    }
    let writes = "writes = [\"src/a\"]";
    let done = only_task(&run(&cli, ENFORCED, writes, "echo x > src/t && mv src/t src/a && echo y >> src/a"));
    assert_eq!(done["status"], "done", "{done}");
    for way in ["echo x > src/b", "mv src/a src/b", "rm src/b", "echo x > src/inner/c", "echo x > top"] {
        let failed = only_task(&run(&cli, ENFORCED, writes, way));
        assert_eq!(failed["code"], "E_PERMISSION_DENIED", "{way}: {failed}");
    }
    for name in ["src/b", "src/inner/c", "top"] {
        assert_eq!(std::fs::read_to_string(cli.project().join(name)).unwrap(), "as it was", "{name}");
    }
}

#[test]
fn writ_inside_says_that_the_store_cannot_be_reached() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project()).unwrap();
    for words in [&["status"][..], &["task", "list"], &["runs", "list"]] {
        let nested = ["sandbox", "test", "--", env!("CARGO_BIN_EXE_writ")];
        let output = cli.run(nested.iter().chain(words));
        assert!(!output.status.success(), "{words:?}");
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(said.contains("the store cannot be reached from inside a sandbox"), "{words:?}: {said}");
    }
}

#[test]
fn where_the_system_refuses_namespaces_a_demanded_sandbox_is_refused_and_a_preferred_one_says_what_it_lacks()
{
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    write_plan(&cli, &plan(ENFORCED, SRC, "echo x > src/file"));
    let refused = only_task(&without_namespaces(&cli, &["run", "plan.toml", "--output", "json"]));
    assert_eq!((&refused["status"], &refused["attempts"]), (&"failed".into(), &0.into()), "{refused}");
    assert!(!cli.project().join("src/file").exists());
    // Landlock needs no namespace.
    write_plan(&cli, &plan("sandbox = \"prefer\"", SRC, "echo x > src/file; echo x > other"));
    let output = without_namespaces(&cli, &["run", "plan.toml", "--output", "json"]);
    let preferred = only_task(&output);
    assert_eq!(preferred["code"], "E_PERMISSION_DENIED", "{preferred}");
    let confinement = &preferred["confinement"];
    let files = confinement["sandbox.files"].as_str().unwrap();
    assert!(files.starts_with("refused: permissions, times and attributes"), "{confinement}");
    assert!(confinement["sandbox.store"].as_str().unwrap().starts_with("refused: "), "{confinement}");
    assert!(cli.project().join("src/file").exists() && !cli.project().join("other").exists());
    let looked = without_namespaces(&cli, &["doctor"]);
    assert!(looked.stdout.contains("not enforced: "), "{looked}");
}

#[test]
fn a_task_without_writes_may_write_nothing_but_its_own_directories_where_it_is_enforced() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let own = "echo x > \"$HOME/a\" && echo x > \"$TMPDIR/b\" && test \"$HOME\" != \"$TMPDIR\"";
    assert_eq!(only_task(&run(&cli, ENFORCED, "", own))["status"], "done");
    assert_eq!(only_task(&run(&cli, ENFORCED, "", "echo x > src/file"))["code"], "E_PERMISSION_DENIED");
    let preferred = run(&cli, "sandbox = \"prefer\"", "", "echo x > src/file");
    assert_eq!(only_task(&preferred)["status"], "done");
    let trace = cli.run(["trace", "@last"]).success().stdout.clone();
    assert!(trace.contains("SANDBOX_FILES_OFF: the task does not say what it writes"), "{trace}");
}

#[test]
fn the_summary_names_what_was_not_confined() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let shown = |head: &str, task: &str| {
        run(&cli, head, task, "true").success();
        cli.run(["runs", "show", "@last"]).success().stdout.clone()
    };
    let text = shown("", "");
    assert!(text.contains("sandbox files not confined: the task does not say what it writes\n"), "{text}");
    assert!(!shown("", SRC).contains("not confined"));
    let text = shown("sandbox = \"off\"\nnetwork = \"none\"", SRC);
    assert!(text.contains("sandbox off\n"), "{text}");
    assert!(text.contains("network not limited: `network = \"none\"` needs a sandbox\n"), "{text}");
    let project = cli.project().join(".writ");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("config.toml"), "[sandbox]\nmode = \"prefer\"\n").unwrap();
    let text = shown("sandbox = \"off\"", SRC);
    assert!(text.contains("sandbox prefer instead of off, as the configuration demands\n"), "{text}");
    let trace = cli.run(["trace", "@last"]).success().stdout.clone();
    assert!(trace.contains("SANDBOX_OVERRULED"), "{trace}");
}

#[test]
fn the_store_its_key_and_its_logs_are_out_of_reach() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let db = cli.db();
    let db = db.display();
    run(&cli, "", "", "true").success();
    for mode in ["enforce", "prefer"] {
        let head = format!("sandbox = \"{mode}\"");
        for way in ["cat DB", "cat DB-wal", "cat DB.key", "ls DB.logs", "echo x >> DB", "rm DB"] {
            let way = way.replace("DB", &db.to_string());
            let task = only_task(&run(&cli, &head, SRC, &way));
            assert_eq!(task["status"], "failed", "{mode} {way}: {task}");
        }
    }
    cli.run(["audit", "verify"]).success();
}

#[test]
fn a_store_in_the_workspace_stays_hidden_and_in_place() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let directory = cli.project().join("data/inner");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("other"), "").unwrap();
    let call = |task: &str, way: &str| {
        write_plan(&cli, &plan(ENFORCED, task, way));
        let words = ["run", "plan.toml", "--output", "json"];
        only_task(&cli.call(words).env("WRIT_DB", directory.join("w.db")).run())
    };
    let everything = "writes = [\".\"]";
    for way in [
        "cat data/inner/w.db",
        "cat data/inner/w.db.key",
        "rm data/inner/w.db",
        "mv data x",
        "mv data/inner x",
    ] {
        let task = call(everything, way);
        assert_eq!(task["code"], "E_PERMISSION_DENIED", "{way}: {task}");
    }
    let own = "echo x > data/inner/mine && echo x > $HOME/a && echo x > $TMPDIR/b";
    for task in [everything, "writes = [\"data/inner/mine\"]"] {
        let done = call(task, own);
        assert_eq!(done["status"], "done", "{task}: {done}");
        assert!(!done["reason"].as_str().unwrap_or_default().contains("w.db"), "{done}");
    }
}

#[test]
fn the_configuration_demands_at_least_its_mode() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let project = cli.project().join(".writ");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("config.toml"), "[sandbox]\nmode = \"enforce\"\n").unwrap();
    let task = only_task(&run(&cli, "sandbox = \"off\"", SRC, "echo x > other"));
    assert_eq!(task["code"], "E_PERMISSION_DENIED", "{task}");
    std::fs::write(project.join("config.toml"), "[sandbox]\nmemory_mib = 100\n").unwrap();
    let refused = cli.run(["run", "plan.toml"]);
    assert!(refused.stderr.contains("belongs in the user's configuration"), "{}", refused.stderr);
}

#[test]
fn a_task_cannot_turn_off_the_sandbox_of_later_runs() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let project = cli.project().join(".writ");
    std::fs::create_dir_all(&project).unwrap();
    let everything = "writes = [\".\"]";
    let turn_off = "printf '[sandbox]\\nmode = \"off\"\\n' > .writ/config.toml";
    for head in ["", ENFORCED] {
        let denied = only_task(&run(&cli, head, everything, turn_off));
        assert_eq!(denied["code"], "E_PERMISSION_DENIED", "{denied}");
    }
    let moved = only_task(&run(&cli, "", everything, "mv .writ away && mkdir .writ"));
    assert_eq!(moved["code"], "E_PERMISSION_DENIED", "{moved}");
    // Who names it may write there, and it still turns nothing off.
    let named = only_task(&run(&cli, "", "writes = [\".\", \".writ\"]", turn_off));
    assert_eq!(named["status"], "done", "{named}");
    let refused = run(&cli, "", everything, "touch \"$HOME/../x\"");
    assert!(refused.stdout.contains("a project can only make the mode stricter"), "{refused}");
}

#[test]
fn naming_a_file_in_a_command_does_not_open_credentials_or_the_store() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    run(&cli, "", "", "true").success();
    let home = cli.scratch().path().join("home");
    cli.scratch().write("home/.ssh/inner/id", "secret");
    cli.scratch().write("home/.netrc", "secret");
    let key = format!("{}.key", cli.db().display());
    let [id, netrc] = [".ssh/inner/id", ".netrc"].map(|name| home.join(name).display().to_string());
    for path in [id.as_str(), &netrc, &key] {
        let shown = cli.call(["sandbox", "test", "--", "wc", "-c", path]).env("HOME", &home).run();
        assert!(!shown.status.success(), "{path}: {shown}");
        let check = format!("[[task.checks]]\ncommand = [\"wc\", \"-c\", \"{path}\"]\n");
        write_plan(&cli, &(plan(ENFORCED, SRC, "true") + &check));
        let words = ["run", "plan.toml", "--output", "json"];
        let checked = only_task(&cli.call(words).env("HOME", &home).run());
        assert_eq!(checked["status"], "failed", "{path}: {checked}");
    }
}

#[test]
fn a_sandbox_without_a_namespace_is_a_conflict_in_the_plan() {
    let cli = Cli::writ();
    std::fs::create_dir_all(cli.project()).unwrap();
    write_plan(&cli, &plan("sandbox = \"enforce\"\nnamespace = \"off\"", SRC, "true"));
    let conflict = cli.run(["plan", "check", "plan.toml"]);
    assert!(format!("{}{}", conflict.stdout, conflict.stderr).contains("a sandbox needs the namespace"));
}

#[test]
fn checks_are_confined_with_directories_of_their_own() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let check =
        "[[task.checks]]\nshell = true\ncommand = \"test ! -e $HOME/planted && echo x > $HOME/own\"\n";
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    let with_check = |script: &str, check: &str| plan(ENFORCED, SRC, script) + check;
    write_plan(&cli, &with_check("echo x > $HOME/planted", check));
    let done = cli.call(["run", "plan.toml", "--output", "json"]).run();
    assert_eq!(only_task(&done)["status"], "done", "{}", done.stdout);
    let check = "[[task.checks]]\nshell = true\ncommand = \"echo x > other\"\n";
    write_plan(&cli, &with_check("true", check));
    let failed = cli.call(["run", "plan.toml", "--output", "json"]).run();
    assert_eq!(only_task(&failed)["status"], "failed", "{}", failed.stdout);
    assert!(!cli.project().join("other").exists());
}

#[test]
fn a_check_writes_only_to_what_is_there() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    let checked = |writes: &str, check: &str| {
        let check = format!("[[task.checks]]\nshell = true\ncommand = \"{check}\"\n");
        write_plan(&cli, &(plan(ENFORCED, writes, "true") + &check));
        only_task(&cli.call(["run", "plan.toml", "--output", "json"]).run())
    };
    let failed = checked("writes = [\"h\"]", "echo x > evil");
    assert_eq!(failed["status"], "failed", "{failed}");
    std::fs::write(cli.project().join("file"), "").unwrap();
    let failed = checked("writes = [\"file\"]", "echo x > evil");
    assert_eq!(failed["status"], "failed", "{failed}");
    assert!(!cli.project().join("evil").exists());
    let done = checked("writes = [\"file\", \"src\"]", "echo x > file && echo x > src/new");
    assert_eq!((&done["status"], &done["evidence"]), (&"done".into(), &"verified".into()), "{done}");
}

#[test]
fn a_scope_that_ends_with_a_slash_is_a_directory_and_opens_nothing_beside_it() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let done = only_task(&run(&cli, ENFORCED, "writes = [\"new/inner/\"]", "echo x > new/inner/file"));
    assert_eq!((&done["status"], &done["reason"]), (&"done".into(), &serde_json::Value::Null), "{done}");
    let failed = only_task(&run(&cli, ENFORCED, "writes = [\"other/\"]", "echo x > beside"));
    assert_eq!(failed["code"], "E_PERMISSION_DENIED", "{failed}");
    assert!(!cli.project().join("beside").exists());
    std::fs::write(cli.project().join("file"), "").unwrap();
    let refused = only_task(&run(&cli, ENFORCED, "writes = [\"file/\"]", "true"));
    assert!(refused["reason"].as_str().unwrap().contains("is in the way"), "{refused}");
}

#[test]
fn a_plan_whose_scope_is_not_there_yet_is_warned_about() {
    let cli = Cli::writ();
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    std::fs::write(cli.project().join("file"), "").unwrap();
    write_plan(&cli, &plan(ENFORCED, "writes = [\"src\", \"file\", \"out/\", \"h\"]", "true"));
    let shown = cli.run(["plan", "check", "plan.toml"]).success().stdout.clone();
    let warnings: Vec<&str> = shown.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(warnings.len(), 1, "{shown}");
    assert!(warnings[0].contains("$.task[0].writes[3]: there is no `h` yet"), "{shown}");
}

#[test]
fn a_plan_that_reaches_no_host_or_writes_to_the_repository_is_warned_about() {
    let cli = Cli::writ();
    std::fs::create_dir_all(cli.project()).unwrap();
    write_plan(&cli, &plan("", "writes = [\".git/hooks\"]\nnetwork = \"restricted\"", "true"));
    let shown = cli.run(["plan", "check", "plan.toml"]).success().stdout.clone();
    assert!(shown.contains("$.task[0].network: is restricted to no host"), "{shown}");
    assert!(shown.contains("$.task[0].writes[0]: is in `.git`"), "{shown}");
}

#[test]
fn a_plan_with_two_faults_names_each_once() {
    let cli = Cli::writ();
    std::fs::create_dir_all(cli.project()).unwrap();
    write_plan(&cli, &plan("", "writes = [\"~\", \"a*\"]", "true"));
    let refused = cli.run(["plan", "check", "plan.toml", "--output", "text"]);
    for fault in ["`~` is not expanded", "globs are not supported"] {
        assert_eq!(refused.stderr.matches(fault).count(), 1, "{refused}");
    }
}

#[test]
fn the_doctor_says_how_strictly_tasks_are_confined_and_who_says_so() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let project = cli.project().join(".writ");
    std::fs::create_dir_all(&project).unwrap();
    let shown = cli.run(["doctor", "--output", "text"]).success().stdout.clone();
    assert!(shown.contains("(mode `prefer`, the default)"), "{shown}");
    std::fs::write(project.join("config.toml"), "[sandbox]\nmode = \"enforce\"\n").unwrap();
    let shown = cli.run(["doctor", "--output", "text"]).success().stdout.clone();
    assert!(shown.contains("mode `enforce`, from ") && shown.contains(".writ/config.toml"), "{shown}");
    let shown = without_namespaces(&cli, &["doctor", "--output", "text"]);
    let shown = shown.success().stdout.clone();
    assert!(shown.contains("warn namespaces"), "{shown}");
}

#[expect(clippy::disallowed_methods, reason = "whether a tool is there is a matter of this machine")]
pub(crate) fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// With the search path of this process, where toolchains are.
#[expect(clippy::disallowed_methods, reason = "tools are where this machine has them")]
fn run_with_tools(cli: &Cli, head: &str, task: &str, script: &str) -> serde_json::Value {
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    write_plan(cli, &plan(head, task, script));
    let path = std::env::var_os("PATH").unwrap();
    let call = cli.call(["run", "plan.toml", "--output", "json"]).env("PATH", path);
    let real = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let call =
        if real.join(".rustup").exists() { call.env("RUSTUP_HOME", real.join(".rustup")) } else { call };
    let call = if real.join(".pyenv").exists() { call.env("PYENV_ROOT", real.join(".pyenv")) } else { call };
    only_task(&call.run())
}

#[test]
fn build_tools_do_ordinary_work_inside() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let closed = "sandbox = \"enforce\"\nnetwork = \"none\"";
    let tools = [
        ("make", "printf 'all:\\n\\techo made > out\\n' > src/Makefile && make -C src && test -s src/out"),
        (
            "python3",
            "cd src && python3 -c 'import tempfile, multiprocessing; multiprocessing.Lock(); \
          open(\"o\", \"w\").write(tempfile.mkdtemp())'",
        ),
        ("node", "cd src && node -e 'require(\"fs\").writeFileSync(\"o\", require(\"os\").tmpdir())'"),
        ("npm", "cd src && npm init -y > /dev/null && npm run env > /dev/null"),
        (
            "git",
            "cd src && git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        ),
        (
            "cargo",
            "cd src && cargo new --vcs none hello -q && cd hello && cargo build --offline -q && ./target/debug/hello",
        ),
    ];
    for (program, script) in tools.into_iter().filter(|(program, _)| has(program)) {
        let task = run_with_tools(&cli, closed, SRC, script);
        assert_eq!(task["status"], "done", "{program}: {task}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the test needs a repository")]
fn git(directory: &Path, words: &[&str]) {
    let done = Command::new("git").args(words).current_dir(directory).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn commits_need_permission_and_never_reach_hooks_or_configuration() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) || !has("git") {
        return;
    }
    let project = cli.project();
    std::fs::create_dir_all(&project).unwrap();
    git(&project, &["init", "-q"]);
    let everything = "writes = [\".\"]";
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x";
    let denied = run_with_tools(&cli, ENFORCED, everything, commit);
    assert_eq!(denied["code"], "E_PERMISSION_DENIED", "{denied}");
    let allowed = "sandbox = \"enforce\"\ngit = \"commit\"";
    let done = run_with_tools(&cli, allowed, "writes = [\"src\"]", commit);
    assert_eq!((&done["status"], &done["reason"]), (&"done".into(), &serde_json::Value::Null), "{done}");
    git(&project, &["config", "extensions.worktreeConfig", "true"]);
    for way in [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./x",
        "git config filter.x.clean ./x",
        "mv .git other",
        "rm -r .git/hooks",
        "echo x > .git/config.worktree",
    ] {
        let task = run_with_tools(&cli, allowed, everything, way);
        assert_eq!(task["status"], "failed", "{way}: {task}");
    }
    for way in ["echo ../x > .git/commondir", "rm .git/commondir", "echo x > x; mv x .git/commondir"] {
        let task = run_with_tools(&cli, allowed, everything, way);
        assert_eq!(task["status"], "failed", "{way}: {task}");
        assert!(!project.join(".git/commondir").exists(), "{way}");
    }
    // One that was there before is not writ's to judge.
    std::fs::write(project.join(".git/commondir"), "../elsewhere\n").unwrap();
    let refused = run_with_tools(&cli, allowed, everything, "true");
    assert!(refused["reason"].as_str().unwrap().contains("configuration from elsewhere"), "{refused}");
}

#[test]
fn a_link_opens_no_more_for_writing_than_its_name_says() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project().join("src/deep")).unwrap();
    let task = |id: &str, more: &str, script: &str| {
        format!("[[task]]\nid = \"{id}\"\nshell = true\n{more}\ncommand = \"{script}\"\n")
    };
    let first = task("a", SRC, "rmdir src/deep && ln -s .. src/deep");
    let second = task("b", "depends_on = [\"a\"]\nwrites = [\"src/deep\"]", "echo x > other");
    let head = format!("objective = \"Try it\"\nworkspace = \".\"\n{ENFORCED}\n");
    write_plan(&cli, &(head + &first + &second));
    let output = cli.call(["run", "plan.toml", "--output", "json"]).run();
    let refused = output.json()["data"]["tasks"][1].clone();
    assert_eq!(refused["status"], "failed", "{refused}");
    assert!(refused["reason"].as_str().unwrap().contains("through a link"), "{refused}");
    assert!(!cli.project().join("other").exists());
}

#[test]
fn checks_that_a_verb_runs_are_confined_as_their_plan_says() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    for directory in ["src", "target"] {
        std::fs::create_dir_all(cli.project().join(directory)).unwrap();
    }
    let task = "writes = [\"src\"]\nscratch = [\"target\"]\n\
                checks = [{ command = [\"sh\", \"-c\", \"touch target/x && touch outside\"] }]";
    write_plan(&cli, &plan(ENFORCED, task, "false"));
    let failed = only_task(&cli.call(["run", "plan.toml", "--output", "json"]).run());
    let id = failed["id"].as_str().unwrap();
    let words = ["task", "complete", "--id", id, "--outcome", "done", "--summary", "s"];
    let refused = cli.run(words.iter().chain(&["--agent", "ann", "--request-id", "r"]));
    assert!(!refused.status.success(), "{refused}");
    assert!(cli.project().join("target/x").exists() && !cli.project().join("outside").exists());
}

#[test]
fn what_a_preferred_sandbox_lacks_is_reported_and_fails_nothing() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project()).unwrap();
    std::fs::write(cli.project().join(".git"), "gitdir: elsewhere\n").unwrap();
    let head = "sandbox = \"prefer\"\ngit = \"commit\"";
    let task = only_task(&run(&cli, head, SRC, "echo x > src/file"));
    assert_eq!(task["status"], "done", "{task}");
    let shown = cli.run(["runs", "show", "@last"]).success().stdout.clone();
    assert!(shown.contains("`.git` is not a directory"), "{shown}");
}

#[test]
fn a_denied_path_does_not_tell_a_secret() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    let secret = "hunter2-is-not-a-good-password";
    let task = format!("{SRC}\nenv = {{ WORD = \"env:MY_WORD\" }}");
    write_plan(&cli, &plan(ENFORCED, &task, "echo x > /etc/$WORD"));
    let call = cli.call(["run", "plan.toml", "--output", "json"]).env("MY_WORD", secret);
    let output = call.run();
    assert_eq!(only_task(&output)["code"], "E_PERMISSION_DENIED", "{output}");
    let exported = cli.run(["export"]);
    for text in [&output.stdout, &output.stderr, &exported.stdout] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn a_sandbox_can_be_tried_without_a_run() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    std::fs::create_dir_all(cli.project().join("src")).unwrap();
    let open = cli.run(["sandbox", "test", "--", "sh", "-c", "echo x > here && cat here"]);
    open.success();
    assert_eq!(open.stdout, "x\n");
    assert!(open.stderr.contains("sandbox files: on\n"), "{}", open.stderr);
    let stopped = cli.run(["sandbox", "test", "--no-network", "--", "sh", "-c", "echo x > ../out"]);
    assert!(!stopped.status.success());
    assert!(stopped.stderr.contains("sandbox network: blocked\n"), "{}", stopped.stderr);
    write_plan(&cli, &plan(ENFORCED, SRC, "true"));
    let words = ["sandbox", "test", "--plan", "plan.toml", "--task", "a", "--", "sh", "-c"];
    cli.run(words.iter().chain(&["echo x > src/y"])).success();
    assert!(!cli.run(words.iter().chain(&["echo x > z"])).status.success());
    let missing = cli.run(["sandbox", "test", "--plan", "plan.toml", "--task", "b", "--", "true"]);
    assert!(missing.stderr.contains("there is no task `b`"), "{}", missing.stderr);
}

#[test]
fn agent_programs_find_their_credentials_and_others_do_not() {
    let cli = Cli::writ();
    if !has_sandbox(&cli) {
        return;
    }
    let home = cli.scratch().path().join("home");
    cli.scratch().write("home/.codex/auth.json", "{}");
    cli.scratch().write("bin/codex", "#!/bin/sh\ncat \"$HOME/.codex/auth.json\"\n");
    let program = cli.scratch().path().join("bin/codex");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env!("PATH"));
    let run = |command: &str| {
        std::fs::create_dir_all(cli.project().join("src")).unwrap();
        let plan = format!(
            "objective = \"Try it\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\n{SRC}\ncommand = {command}\n"
        );
        write_plan(&cli, &plan);
        let call = cli.call(["run", "plan.toml", "--output", "json"]).env("PATH", &path).env("HOME", &home);
        only_task(&call.run())
    };
    assert_eq!(run("[\"codex\"]")["status"], "done");
    assert_eq!(run("[\"sh\", \"-c\", \"codex\"]")["status"], "failed");
}
