//! The agent's process: found through whatever shells stand between, and told dead from alive.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use contract::domain::process::{Holder, ProcessIdentity};
use engine::probe;
use ops::run::Liveness;

use crate::world::PROGRAM;

/// A shell under another name.
fn shell_named(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    fs::copy("/bin/sh", &path).unwrap();
    path
}

#[expect(clippy::disallowed_methods, reason = "a process that the supervisor knows nothing of")]
fn start(program: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(arguments).env("PROGRAM", PROGRAM);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// What the process below the agent found.
fn found(agent: &mut Child) -> Option<Holder> {
    let mut line = String::new();
    BufReader::new(agent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

const LOOK: &str = r#"sh -c 'sh -c "$PROGRAM ancestor claude codex gemini; :"; :'; read end"#;

#[test]
fn the_agent_is_found_through_the_shells_between_and_told_dead_from_alive() {
    let directory = tempfile::tempdir().unwrap();
    let mut agent = start(&shell_named(directory.path(), "codex"), &["-c", LOOK]);
    let holder = found(&mut agent).unwrap();
    assert_eq!((holder.program.as_str(), holder.process.pid), ("codex", agent.id()));
    let process = &holder.process;
    assert_eq!(probe(process), Liveness::Alive);
    // The pid was reused.
    assert_eq!(
        probe(&ProcessIdentity { start_time: process.start_time + 1, ..process.clone() }),
        Liveness::Dead
    );
    // The pid means another process there.
    let elsewhere = ProcessIdentity { boot_id: format!("{}0", process.boot_id), ..process.clone() };
    assert_eq!(probe(&elsewhere), Liveness::Unseen);
    agent.kill().unwrap();
    // Killed and not yet collected by its parent.
    testkit::eventually("it is dead", || probe(process) == Liveness::Dead);
    agent.wait().unwrap();
    assert_eq!(probe(process), Liveness::Dead);
}

#[test]
fn the_nearest_agent_is_the_one() {
    let directory = tempfile::tempdir().unwrap();
    let inner = shell_named(directory.path(), "claude");
    let outer = shell_named(directory.path(), "codex");
    let script = format!("{} -c '$PROGRAM ancestor codex claude; :'; read end", inner.display());
    let mut agent = start(&outer, &["-c", &script]);
    assert_eq!(found(&mut agent).unwrap().program, "claude");
    agent.kill().unwrap();
    agent.wait().unwrap();
}

#[test]
fn an_agent_that_an_interpreter_runs_is_found_by_its_script() {
    let directory = tempfile::tempdir().unwrap();
    let node = shell_named(directory.path(), "node");
    let package = directory.path().join("node_modules/@google/gemini-cli/dist");
    fs::create_dir_all(&package).unwrap();
    let script = package.join("index.js");
    fs::write(&script, LOOK).unwrap();
    let mut agent = start(&node, &[script.to_str().unwrap()]);
    let holder = found(&mut agent).unwrap();
    assert_eq!((holder.program.as_str(), holder.process.pid), ("gemini", agent.id()));
    agent.kill().unwrap();
    agent.wait().unwrap();
}

#[test]
fn an_agent_that_died_is_nobodys_ancestor() {
    let directory = tempfile::tempdir().unwrap();
    let script = r"P=$$; (while kill -0 $P 2>/dev/null; do sleep 0.01; done; $PROGRAM ancestor codex) & exit";
    let mut agent = start(&shell_named(directory.path(), "codex"), &["-c", script]);
    agent.wait().unwrap();
    assert_eq!(found(&mut agent), None);
}
