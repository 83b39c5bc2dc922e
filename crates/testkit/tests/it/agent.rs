//! The scripted agent as a process: its output, its exit status, and the processes it leaves behind.

use testkit::{Cli, Output, Signal, eventually, fake_agent, process};

fn run(script: &str) -> Output {
    Cli::new(fake_agent()).run([script])
}

#[test]
fn it_prints_waits_and_exits() {
    let output = run("print one; err two; sleep 1; print a\\; b; exit 7; print never");
    output.fails_with(7);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("one\na; b\n", "two\n"));
    assert_eq!(run("").success().stdout, "");
}

#[test]
fn it_takes_its_script_from_words_from_a_file_and_from_a_task() {
    let cli = Cli::new(fake_agent());
    assert_eq!(cli.run(["print one", "print two"]).success().stdout, "one\ntwo\n");
    let file = cli.scratch().write("script.txt", "# a remark\nprint from a file\nexit 4\n");
    let output = cli.run(["--file".as_ref(), file.as_os_str()]);
    assert_eq!(output.fails_with(4).stdout, "from a file\n");
    let task = r#"{"message_type": "TASK", "task": {"objective": "Please do this. fake: print from a task; exit 5"}}"#;
    let output = cli.call([] as [&str; 0]).stdin(task).run();
    assert_eq!(output.fails_with(5).stdout, "from a task\n");
}

#[test]
fn a_script_it_does_not_understand_does_nothing() {
    let output = run("print one; dance");
    output.fails_with(64);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.starts_with("fake-agent: unknown step `dance`"), "{output}");
}

#[test]
fn it_writes_files() {
    let cli = Cli::new(fake_agent());
    cli.run(["write a.txt one two; append a.txt three; pid p.txt; append new.txt x"]).success();
    assert_eq!(cli.scratch().read("project/a.txt"), "one two\nthree\n");
    assert_eq!(cli.scratch().read("project/new.txt"), "x\n");
    assert!(cli.scratch().read("project/p.txt").trim().parse::<u32>().is_ok());
}

#[test]
fn it_floods_echoes_and_shows_its_environment() {
    let flood = run("flood 5000").success().stdout.clone();
    assert_eq!((flood.len(), flood.lines().count()), (5000, 5));
    let line = run("flood-line 3000").success().stdout.clone();
    assert_eq!((line.len(), line.contains('\n')), (3000, false));
    let cli = Cli::new(fake_agent());
    assert_eq!(cli.call(["stdin-echo"]).stdin("a\nb").run().success().stdout, "a\nb");
    assert_eq!(
        cli.run(["env TZ; env NOBODY_SET_THIS"]).success().stdout,
        "TZ=UTC\nNOBODY_SET_THIS is not set\n"
    );
}

#[test]
fn it_crashes_and_hangs() {
    assert_eq!(run("print last words; crash").status.to_string(), "signal: 6 (SIGABRT)");
    let cli = Cli::new(fake_agent());
    let hanging = cli.spawn(["print here; hang"]);
    eventually("it hangs", || hanging.stdout() == "here\n");
    hanging.signal(Signal::TERM);
    assert_eq!(hanging.wait().status.to_string(), "signal: 15 (SIGTERM)");
}

#[test]
fn it_ignores_sigterm_when_the_script_says_so() {
    let cli = Cli::new(fake_agent());
    let mut stubborn = cli.spawn(["ignore-term; print ready; sleep 300; print still here"]);
    eventually("it ignores SIGTERM", || stubborn.stdout() == "ready\n");
    stubborn.signal(Signal::TERM);
    assert!(stubborn.is_running());
    assert_eq!(stubborn.wait().success().stdout, "ready\nstill here\n");
}

/// Process group and session of a process.
fn group_and_session(pid: u32) -> (u32, u32) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process is there");
    let (_, fields) = stat.rsplit_once(')').expect("the name is in parentheses");
    let mut numbers = fields.split_whitespace().skip(2).map(|field| field.parse().expect("a number"));
    let mut next = || numbers.next().expect("a field");
    (next(), next())
}

#[test]
fn its_grandchild_stays_in_the_group_and_its_daemon_does_not() {
    let cli = Cli::new(fake_agent());
    let agent = cli.spawn(["grandchild 60000 g.pid; daemon 60000 d.pid; print ready; hang"]);
    eventually("both orphans are there", || agent.stdout() == "ready\n");
    let pid = |file: &str| cli.scratch().read(format!("project/{file}")).trim().parse::<u32>().unwrap();
    let (grandchild, daemon) = (pid("g.pid"), pid("d.pid"));
    assert_eq!(group_and_session(grandchild), group_and_session(agent.pid()));
    assert_ne!(group_and_session(daemon).0, agent.pid());
    assert_ne!(group_and_session(daemon).1, group_and_session(agent.pid()).1);

    for orphan in [grandchild, daemon] {
        process::signal(orphan, Signal::TERM);
    }
    process::signal_group(agent.pid(), Signal::TERM);
    assert_eq!(agent.wait().status.to_string(), "signal: 15 (SIGTERM)");
    let mut left = cli.leftovers();
    left.sort_unstable();
    let mut expected = [grandchild, daemon];
    expected.sort_unstable();
    assert_eq!(left, expected, "orphans ignore SIGTERM");
}

#[test]
fn after_setsid_an_orphan_does_the_rest() {
    let cli = Cli::new(fake_agent());
    let mut agent = cli.spawn(["print before; setsid; pid p.txt; print after\\; all; hang"]);
    eventually("the orphan goes on", || agent.stdout() == "before\nafter; all\n");
    eventually("the first process ends", || !agent.is_running());
    let orphan: u32 = cli.scratch().read("project/p.txt").trim().parse().unwrap();
    assert_ne!(orphan, agent.pid());
    assert_ne!(group_and_session(orphan).0, agent.pid());
    assert_eq!(cli.leftovers(), [orphan]);
    agent.wait().success();
}
