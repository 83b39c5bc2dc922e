//! Processes that outlive their parent, as tools started by real agents do. Each runs this program again, without fork.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// Passes the TASK that the first half of a script has read to the process that runs the rest.
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

/// Starts an orphan that ignores SIGTERM and sleeps. Returns once it is sleeping.
pub(crate) fn orphan(kind: Kind, sleeps: Duration, pid_file: Option<&Path>) -> Result<(), String> {
    let script = format!("ignore-term; ready; sleep {}", sleeps.as_millis());
    let pid = start(kind, &script, None, Stdio::null())?;
    let Some(path) = pid_file else { return Ok(()) };
    std::fs::write(path, format!("{pid}\n"))
        .map_err(|error| format!("could not write {}: {error}", path.display()))
}

/// Starts an orphan in its own session that runs this script with our streams. Returns once it has started.
pub(crate) fn hand_over(script: &str, task: Option<&Value>) -> Result<(), String> {
    start(Kind::OwnSession, &format!("ready; {script}"), task, Stdio::inherit()).map(|_| ())
}

/// The process in between: starts the orphan and exits, so that the orphan has lost its parent.
pub(crate) fn leave(kind: &str, ready: &str, script: &str) -> Result<u8, String> {
    if kind == Kind::OwnSession.word() {
        rustix::process::setsid().map_err(|error| format!("could not start a session: {error}"))?;
    }
    let spawned = myself()?.args(["--ready", ready, script]).spawn();
    spawned.map(|_| 0).map_err(|error| format!("could not start the orphan: {error}"))
}

/// Sends the orphan's process id to the process that started it, as the sign that it is ready.
pub(crate) fn report(ready: Option<&str>) -> Result<(), String> {
    let pipe = ready.ok_or("`ready` is a step for orphans only")?;
    let opened = OpenOptions::new().write(true).open(format!("/dev/fd/{pipe}"));
    let told = opened.and_then(|mut pipe| writeln!(pipe, "{}", std::process::id()));
    told.map_err(|error| format!("could not report: {error}"))
}

/// The fields of the TASK that messages need, if the first half of the script has read it.
#[expect(clippy::disallowed_methods, reason = "a new process can get the TASK only from its environment")]
pub(crate) fn inherited_task() -> Option<Value> {
    let text = std::env::var_os(TASK_VARIABLE)?;
    serde_json::from_str(text.to_str()?).ok()
}

/// The orphan's process id, once it has reported.
fn start(kind: Kind, script: &str, task: Option<&Value>, stdin: Stdio) -> Result<u32, String> {
    let fault = |error: std::io::Error| format!("could not leave an orphan: {error}");
    // Both processes inherit the writing end, so its number is enough.
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

#[expect(clippy::disallowed_methods, reason = "this program starts itself again")]
fn myself() -> Result<Command, String> {
    let program = std::env::current_exe().map_err(|error| format!("could not find myself: {error}"))?;
    Ok(Command::new(program))
}
