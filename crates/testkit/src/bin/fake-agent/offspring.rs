//! Processes that outlive their parent, as tools started by real agents do. Each is this program again: nothing forks.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// How the rest of a script learns what task its first half was given.
const TASK_VARIABLE: &str = "FAKE_AGENT_TASK";

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    SameGroup,
    OwnSession,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::SameGroup => "same-group",
            Kind::OwnSession => "own-session",
        }
    }
}

/// Leaves an orphan that ignores SIGTERM and sleeps; returns once it does.
pub(crate) fn orphan(kind: Kind, sleeps: Duration, pid_file: Option<&Path>) -> Result<(), String> {
    let script = format!("ignore-term; ready; sleep {}", sleeps.as_millis());
    let pid = start(kind, &script, None, Stdio::null())?;
    let Some(path) = pid_file else { return Ok(()) };
    std::fs::write(path, format!("{pid}\n"))
        .map_err(|error| format!("could not write {}: {error}", path.display()))
}

/// Leaves an orphan in a session of its own that does this script with our own streams; returns once it has started.
pub(crate) fn hand_over(script: &str, task: Option<&Value>) -> Result<(), String> {
    start(Kind::OwnSession, &format!("ready; {script}"), task, Stdio::inherit()).map(|_| ())
}

/// The step in between: makes the orphan and ends, so that the orphan's parent is gone.
pub(crate) fn leave(kind: &str, ready: &str, script: &str) -> Result<u8, String> {
    if kind == Kind::OwnSession.word() {
        rustix::process::setsid().map_err(|error| format!("could not start a session: {error}"))?;
    }
    let spawned = myself()?.args(["--ready", ready, script]).spawn();
    spawned.map(|_| 0).map_err(|error| format!("could not start the orphan: {error}"))
}

/// Tells whoever started the orphan that it has come this far, and what its process id is.
pub(crate) fn report(ready: Option<&str>) -> Result<(), String> {
    let pipe = ready.ok_or("`ready` is a step for orphans only")?;
    let opened = OpenOptions::new().write(true).open(format!("/dev/fd/{pipe}"));
    let told = opened.and_then(|mut pipe| writeln!(pipe, "{}", std::process::id()));
    told.map_err(|error| format!("could not report: {error}"))
}

/// As much of the TASK as messages need, if a first half of the script had read it.
#[expect(clippy::disallowed_methods, reason = "the only way to a process that is started anew")]
pub(crate) fn inherited_task() -> Option<Value> {
    let text = std::env::var_os(TASK_VARIABLE)?;
    serde_json::from_str(text.to_str()?).ok()
}

/// The orphan's process id, once it has reported.
fn start(kind: Kind, script: &str, task: Option<&Value>, stdin: Stdio) -> Result<u32, String> {
    let fault = |error: std::io::Error| format!("could not leave an orphan: {error}");
    // Both generations inherit the writing end; its number is all they need to be told.
    let (reading, writing) = rustix::pipe::pipe().map_err(|error| fault(error.into()))?;
    rustix::io::fcntl_setfd(&reading, rustix::io::FdFlags::CLOEXEC).map_err(|error| fault(error.into()))?;
    let ready = writing.as_raw_fd().to_string();
    let mut between = myself()?;
    between.args(["--orphan", kind.word(), &ready, script]).stdin(stdin);
    if let Some(task) = task {
        between.env(TASK_VARIABLE, identity(task).to_string());
    }
    let status = between.status().map_err(fault)?;
    if !status.success() {
        return Err(format!("could not leave an orphan: {status}"));
    }
    drop(writing);
    let mut line = String::new();
    BufReader::new(File::from(reading)).read_line(&mut line).map_err(fault)?;
    line.trim().parse().map_err(|_| "the orphan ended before it could report".to_owned())
}

fn identity(task: &Value) -> Value {
    json!({
        "session": {"session_id": task["session"]["session_id"]},
        "target": task["target"],
        "task": {"task_id": task["task"]["task_id"]},
    })
}

#[expect(clippy::disallowed_methods, reason = "this program is its own offspring")]
fn myself() -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|error| format!("could not find myself: {error}"))?;
    Ok(Command::new(program))
}
