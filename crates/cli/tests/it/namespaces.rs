//! Tasks in pid namespaces: what a plan can say, what is shown, and what happens where the system refuses them.

use std::collections::BTreeSet;

use engine::supervisor::ProcessRole;
use testkit::{Cli, Output, Signal, eventually, process};

use crate::run_view::{all_gone, file, marked_by, write_plan};

const WRIT: &str = env!("CARGO_BIN_EXE_writ");

const TWO_TASKS: &str = r#"
objective = "Two tasks"
workspace = "."
namespace = "PLAN"

[[task]]
id = "first"
command = ["true"]

[[task]]
id = "second"
namespace = "TASK"
command = ["true"]
"#;

/// Whether this machine gives tasks namespaces. Elsewhere there is nothing to show. `writ doctor` has to agree.
fn has_namespaces(cli: &Cli) -> bool {
    let told = doctor(cli);
    assert_eq!(told.contains("end with writ, however it ends"), testkit::has_namespaces(), "{told}");
    testkit::has_namespaces()
}

fn doctor(cli: &Cli) -> String {
    let answer = cli.run(["doctor", "--output", "json"]).success().json();
    let looks = answer["data"]["looks"].as_array().unwrap();
    let look = looks.iter().find(|look| look["what"] == "namespaces").unwrap();
    assert_eq!(look["ok"], true);
    look["message"].as_str().unwrap().to_owned()
}

/// The same command where no further user namespace can be made.
pub(crate) fn without_namespaces(cli: &Cli, words: &[&str]) -> Output {
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"";
    let unshare = ["--user", "--map-root-user", "sh", "-c", forbid, WRIT];
    cli.call(unshare.iter().chain(words)).program("unshare").run()
}

#[test]
fn a_plan_and_a_task_can_turn_the_namespace_off_and_the_summary_says_so() {
    let cli = Cli::writ();
    if !has_namespaces(&cli) {
        return;
    }
    for (plan, task, said) in [
        ("on", "on", ""),
        ("on", "off", "namespace off: second\n"),
        ("off", "on", "namespace off: first\n"),
        ("off", "off", "namespace off: first, second\n"),
    ] {
        write_plan(&cli, &TWO_TASKS.replace("PLAN", plan).replace("TASK", task));
        let output = cli.run(["run", "plan.toml"]);
        let lines: String =
            output.success().stdout.lines().filter(|line| line.starts_with("namespace ")).fold(
                String::new(),
                |mut text, line| {
                    text.push_str(line);
                    text.push('\n');
                    text
                },
            );
        assert_eq!(lines, said, "{output}");
        let trace = cli.run(["trace", "@last"]).success().stdout.clone();
        for (number, word) in [("t1", plan), ("t2", task)] {
            assert!(trace.contains(&format!("C2.Task.{number}.namespace = \"{word}\"")), "{trace}");
        }
        assert_eq!(trace.contains("NAMESPACE_OFF"), !said.is_empty(), "{trace}");
    }
    write_plan(&cli, &TWO_TASKS.replace("PLAN", "on").replace("TASK", "sometimes"));
    let refused = cli.run(["run", "plan.toml", "--output", "json"]);
    assert_eq!(refused.fails_with(1).json()["error_code"], "INVALID_INPUT", "{refused}");
}

#[test]
fn checks_live_where_their_task_lives() {
    let cli = Cli::writ();
    if !has_namespaces(&cli) {
        return;
    }
    let task = |namespace: &str, check: &str| {
        format!(
            "[[task]]\nid = \"{namespace}\"\nnamespace = \"{namespace}\"\ncommand = [\"true\"]\n\
             [[task.checks]]\nshell = true\ncommand = \"{check}\"\n"
        )
    };
    // The parent of the first process inside cannot be seen there.
    let tasks = task("on", "[ $PPID -eq 0 ]") + &task("off", "[ $PPID -ne 0 ]");
    write_plan(&cli, &format!("objective = \"Check\"\nworkspace = \".\"\n{tasks}"));
    cli.run(["run", "plan.toml"]).success();
}

#[test]
fn doctor_names_what_does_not_work_inside() {
    let cli = Cli::writ();
    if has_namespaces(&cli) {
        let said = doctor(&cli);
        assert!(said.contains("containers") && said.contains("`namespace = \"off\"`"), "{said}");
    }
}

#[test]
fn where_namespaces_are_refused_tasks_run_without_and_everything_says_why() {
    let cli = Cli::writ();
    if !has_namespaces(&cli) {
        return;
    }
    let reason = "a new pid namespace: No space left on device (os error 28)";
    let looked = without_namespaces(&cli, &["doctor"]);
    assert!(looked.success().stdout.contains(&format!("refused ({reason})")), "{looked}");
    let plan = TWO_TASKS.replace("PLAN", "on").replace("TASK", "off");
    write_plan(
        &cli,
        &plan.replace("[\"true\"]", "\"env -i setsid sleep 600 & echo $! > daemon; true\"\nshell = true"),
    );
    let output = without_namespaces(&cli, &["run", "plan.toml"]);
    let said = format!("namespace off: second\nnamespace refused: {reason}: first\n");
    assert!(output.success().stdout.contains(&said), "{output}");
    let daemon: u32 = file(&cli, "daemon").trim().parse().unwrap();
    assert!(!process::is_running(daemon));
    let trace = cli.run(["trace", "@last"]).success().stdout.clone();
    assert!(trace.contains(&format!("NAMESPACE_REFUSED: the system refuses {reason}")), "{trace}");
}

#[test]
fn nothing_is_left_when_writ_and_its_supervising_processes_are_killed_at_once() {
    let cli = Cli::writ();
    if !has_namespaces(&cli) {
        return;
    }
    let hide = "(env -i setsid sleep 600 &); setsid sleep 600 & touch begun; wait";
    let task = |id: &str| format!("[[task]]\nid = \"{id}\"\nshell = true\ncommand = \"{hide}\"\n");
    write_plan(&cli, &format!("objective = \"Hide\"\nworkspace = \".\"\n{}{}", task("a"), task("b")));
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("both tasks and their daemons run", || {
        marked_by(writ.pid()).iter().filter(|marked| marked.role == ProcessRole::Init).count() == 2
            && cli.leftovers().len() >= 9
    });
    let shims = marked_by(writ.pid()).into_iter().filter(|marked| marked.role == ProcessRole::Shim);
    let shims: Vec<u32> = shims.map(|shim| shim.process.pid).collect();
    assert_eq!(shims.len(), 2);
    // In one moment: a stopped one cannot act on the other's death.
    shims.iter().for_each(|&shim| process::signal(shim, Signal::STOP));
    drop(writ.kill_nine());
    shims.iter().for_each(|&shim| process::signal(shim, Signal::KILL));
    eventually("the kernel has ended everything", || cli.leftovers().is_empty());
}

#[test]
fn a_run_with_nothing_to_recover_looks_at_no_other_process() {
    let cli = Cli::writ();
    // In a namespace the shim counts who is inside, in a `/proc` that shows nobody else.
    write_plan(&cli, &TWO_TASKS.replace("PLAN", "off").replace("TASK", "off"));
    cli.run(["run", "plan.toml"]).success();
    let foreign = foreign_looks(&cli, &["run", "plan.toml"]);
    assert_eq!(foreign, BTreeSet::new());
    // An engine of this boot that died is in the journal: now the table is read.
    write_plan(
        &cli,
        "objective = \"Wait\"\nworkspace = \".\"\n[[task]]\nid = \"waits\"\nshell = true\ncommand = \"touch begun; sleep 600\"\n",
    );
    let writ = cli.spawn(["run", "plan.toml"]);
    eventually("the task has begun", || cli.project().join("begun").exists());
    drop(writ.kill_nine());
    all_gone(&cli);
    write_plan(&cli, &TWO_TASKS.replace("PLAN", "off").replace("TASK", "off"));
    assert!(foreign_looks(&cli, &["run", "plan.toml"]).contains("/proc"));
}

/// What a command and its children read of processes that are not their own.
fn foreign_looks(cli: &Cli, words: &[&str]) -> BTreeSet<String> {
    let tape = cli.scratch().join("tape");
    let options = ["-f", "-e", "trace=open,openat,readlink,readlinkat", "-o", tape.to_str().unwrap(), WRIT];
    cli.call(options.iter().chain(words)).program("strace").run().success();
    let tape = std::fs::read_to_string(tape).unwrap();
    // Every line begins with the thread that made the call.
    let own: BTreeSet<&str> = tape.lines().filter_map(|line| line.split(' ').next()).collect();
    let paths = tape.lines().filter_map(|line| line.split('"').nth(1));
    let is_foreign = |path: &&str| {
        let Some(rest) = path.strip_prefix("/proc") else { return false };
        let entry = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
        let is_process = entry.bytes().all(|byte| byte.is_ascii_digit());
        // The first process tells whether this is a namespace of writ.
        is_process && !own.contains(entry) && *path != "/proc/1/comm"
    };
    paths.filter(is_foreign).map(str::to_owned).collect()
}
