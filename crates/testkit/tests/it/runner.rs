//! Tests the hermetic runner with programs that every machine has.

use std::time::Duration;

use testkit::{Cli, Scratch, Signal, eventually, eventually_some, fake_agent, process};

fn sh(script: &str) -> testkit::Output {
    Cli::new("sh").run(["-c", script])
}

#[test]
fn a_call_gives_status_and_streams() {
    let output = sh("echo out; echo err >&2; exit 3");
    output.fails_with(3);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
    sh("true").success();
    assert_eq!(sh("echo '{\"a\": 1}'").success().json(), serde_json::json!({"a": 1}));
    assert_eq!(sh("echo 1; echo 2").json_lines(), [serde_json::json!(1), serde_json::json!(2)]);
}

#[test]
fn a_wrong_expectation_shows_both_streams() {
    let output = sh("echo said; echo complained >&2; exit 3");
    let panic = std::panic::catch_unwind(|| drop(output.success().clone())).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    for part in ["expected exit code 0", "exit status: 3", "said", "complained"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn nothing_of_this_machine_leaks_in() {
    let cli = Cli::new("env").env("EXTRA", "1");
    let output = cli.call(["-0"]).env("ONCE", "2").without_env("TZ").run();
    output.success();
    let names: Vec<&str> =
        output.stdout.split('\0').filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let expected = "COLUMNS EXTRA GIT_CONFIG_NOSYSTEM HOME LC_ALL NO_COLOR ONCE PATH TMPDIR WRIT_DB \
                    XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME";
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted.join(" "), expected);
    let home = format!("HOME={}", cli.scratch().join("home").display());
    assert!(output.stdout.contains(&home), "{output}");
    assert!(output.stdout.contains(&format!("WRIT_DB={}", cli.db().display())));
}

#[test]
fn a_call_has_a_place_a_name_and_input() {
    let cli = Cli::new("sh");
    let in_project = cli.run(["-c", "pwd -P"]);
    assert_eq!(in_project.success().stdout.trim(), cli.project().canonicalize().unwrap().to_str().unwrap());
    assert_eq!(cli.call(["-c", "echo $0"]).named("vybe").run().success().stdout, "vybe\n");
    assert_eq!(cli.call(["-c", "cat"]).stdin("words").run().success().stdout, "words");
    assert_eq!(cli.call(["-c", "pwd"]).in_dir("/").run().success().stdout, "/\n");
}

#[test]
fn a_background_program_is_observed_written_to_and_killed() {
    let cli = Cli::new("cat");
    let mut cat = cli.call([] as [&str; 0]).open_stdin().spawn();
    cat.send("first");
    eventually("the line comes back", || cat.stdout() == "first\n");
    assert!(cat.is_running());
    cat.close_stdin();
    assert_eq!(cat.wait().success().stdout, "first\n");

    let cli = Cli::new("sleep");
    let sleeper = cli.spawn(["60"]);
    sleeper.signal(Signal::TERM);
    let ended = sleeper.wait();
    assert_eq!(ended.status.to_string(), "signal: 15 (SIGTERM)");
}

#[test]
fn a_hang_is_reported_and_leaves_no_process() {
    let cli = Cli::new("sleep");
    let hang = || drop(cli.call(["60"]).deadline(Duration::from_millis(50)).run());
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(hang)).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("`sleep 60` did not end within 50ms"), "{message}");
    assert_eq!(cli.leftovers(), [0; 0]);
}

#[test]
fn kill_nine_kills_the_program_alone_and_its_children_can_be_observed() {
    let cli = Cli::new(fake_agent());
    let parent = cli.spawn(["grandchild 60000 child.pid", "print ready", "hang"]);
    eventually("the grandchild is there", || parent.stdout() == "ready\n");
    let output = parent.kill_nine();
    assert_eq!(output.status.to_string(), "signal: 9 (SIGKILL)");
    let child: u32 = cli.scratch().read("project/child.pid").trim().parse().unwrap();
    assert_eq!(cli.leftovers(), [child]);
    drop(cli);
    eventually("dropping the runner ends what it left", || !process::is_running(child));
}

#[test]
fn waiting_returns_the_value_or_panics_with_a_message() {
    let mut looks = 0;
    let value = eventually_some("the third look", || {
        looks += 1;
        (looks == 3).then_some(looks)
    });
    assert_eq!(value, 3);
}

#[test]
fn a_scratch_directory_is_removed_after_its_test() {
    let scratch = Scratch::new();
    scratch.write("a/b/c.txt", "text");
    assert_eq!(scratch.read("a/b/c.txt"), "text");
    assert!(scratch.has("a/b") && !scratch.has("a/c"));
    let path = scratch.path().to_owned();
    drop(scratch);
    assert!(!path.exists());
}

#[test]
fn soak_orphans_are_always_found_and_always_ended() {
    for round in 0..testkit::rounds(3) {
        let cli = Cli::new(fake_agent());
        let agent = cli.spawn(["grandchild 60000 g.pid; daemon 60000 d.pid; print ready; hang"]);
        eventually("the orphans are there", || agent.stdout() == "ready\n");
        let mut orphans: Vec<u32> = ["g.pid", "d.pid"]
            .map(|file| cli.scratch().read(format!("project/{file}")).trim().parse().unwrap())
            .to_vec();
        orphans.sort_unstable();
        assert_eq!(agent.kill_nine().stdout, "ready\n");
        assert_eq!(cli.leftovers(), orphans, "round {round}");
        drop(cli);
        eventually("nothing is left", || !orphans.iter().any(|pid| process::is_running(*pid)));
    }
    let rounds = testkit::rounds(3).into();
    testkit::Storm { rounds, operations: rounds, kills: rounds, seed: None }.report();
}
