//! Observes processes from outside (Linux: through `/proc`).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::process::{Pid, Signal};

/// Whether the process exists and is not just waiting to be reaped.
pub fn is_running(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The program's name is in parentheses and may contain any character; the state follows the last parenthesis.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    !matches!(state, Some('Z' | 'X') | None)
}

/// The running processes that use the directory: it is in their environment, or it contains their working directory.
pub fn around(dir: &Path) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let own = std::process::id();
    let mut found: Vec<u32> =
        pids.filter(|pid| *pid != own && is_around(*pid, dir) && is_running(*pid)).collect();
    found.sort_unstable();
    found
}

fn is_around(pid: u32, dir: &Path) -> bool {
    let works_there = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    works_there || String::from_utf8_lossy(&environment).contains(&*dir.to_string_lossy())
}

/// Whether the system gives this user a user and a pid namespace with its own `/proc`. Asks another program than writ,
/// which could be wrong about it.
#[expect(clippy::disallowed_methods, reason = "tests ask the system what it allows")]
pub fn has_namespaces() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    let words = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true"];
    let ask = || Command::new("unshare").args(words).stderr(Stdio::null()).status();
    *HAS.get_or_init(|| ask().expect("`unshare` of util-linux is installed").success())
}

/// Sends the signal. It is not an error if the process is gone already.
#[track_caller]
pub fn signal(pid: u32, signal: Signal) {
    judge(pid, rustix::process::kill_process(raw(pid), signal));
}

/// Sends the signal to every process of the group.
#[track_caller]
pub fn signal_group(pid: u32, signal: Signal) {
    judge(pid, rustix::process::kill_process_group(raw(pid), signal));
}

fn raw(pid: u32) -> Pid {
    i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process has an id above zero")
}

#[track_caller]
fn judge(pid: u32, sent: rustix::io::Result<()>) {
    match sent {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("could not send a signal to {pid}: {error}"),
    }
}
