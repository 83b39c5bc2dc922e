//! What git says has changed in a workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc;
use std::time::Instant;

use contract::domain::id::{Attempt, Id};
use contract::domain::limits;

use crate::dispatcher::REPORTS_MAX;
use crate::supervisor::{Exit, LaunchSpec, Marker, Report, ShimProgram, Supervisor, own_identity};

/// The most that is read of git's answer.
const OUTPUT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Where git is asked.
pub struct Git<'g> {
    pub shim: &'g ShimProgram,
    pub workspace: &'g Path,
    pub environment: &'g BTreeMap<OsString, OsString>,
    /// Marks the processes that are started.
    pub mark: Id<Attempt>,
}

impl Git<'_> {
    /// Files that differ from `revision`, deleted and untracked ones included, as seen from the workspace. An error
    /// is what git had to say.
    pub fn changed(&self, revision: &str) -> Result<Vec<String>, String> {
        if revision.starts_with('-') {
            return Err(format!("`{revision}` is no revision"));
        }
        let differing = [
            "diff",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=none",
            "--relative",
            "-z",
            revision,
            "--",
        ];
        let untracked = ["ls-files", "--others", "--exclude-standard", "-z"];
        let mut files = BTreeSet::new();
        for words in [&differing[..], &untracked[..]] {
            let output = self.ask(words)?;
            let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            files.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
        }
        Ok(files.into_iter().collect())
    }

    fn ask(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        // Neither the user's aliases nor a repository's hooks and helpers have a say in the answer.
        let fixed = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"];
        let argv = fixed.iter().chain(words).map(OsString::from).collect();
        let marker = Marker { attempt: self.mark.clone(), owner: own_identity() };
        let mut spec = LaunchSpec::new(argv, self.workspace.to_owned(), marker);
        // A caller's GIT_DIR or GIT_INDEX_FILE would answer for another repository than the workspace's.
        let is_gits = |name: &OsString| name.as_encoded_bytes().starts_with(b"GIT_");
        let kept = self.environment.iter().filter(|(name, _)| !is_gits(name));
        spec.env = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        let (sender, reports) = mpsc::sync_channel(REPORTS_MAX);
        let sink = move |report| {
            // The receiver waits for the last report; it can only be gone if this process is ending.
            sender.send(report).ok();
        };
        let handle = Supervisor::start(self.shim, spec, sink)
            .map_err(|error| crate::dispatcher::start::with_causes(&error))?;
        let deadline = Instant::now() + limits::CHECK_TIMEOUT;
        let mut heard = Heard::default();
        loop {
            match reports.recv_timeout(limits::POLL_INTERVAL) {
                Ok(report) => {
                    if heard.take(report) {
                        break;
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() >= deadline || heard.output.len() > OUTPUT_BYTES_MAX {
                heard.problem.get_or_insert_with(|| "git took too long or said too much".to_owned());
                handle.kill();
            }
        }
        handle.join();
        heard.answer()
    }
}

#[derive(Default)]
struct Heard {
    output: Vec<u8>,
    complaint: Vec<u8>,
    exit: Option<i32>,
    problem: Option<String>,
}

impl Heard {
    /// Takes a report; true when it was the last one.
    fn take(&mut self, report: Report) -> bool {
        match report {
            Report::Started { .. } => {}
            Report::Stdout(bytes) => self.output.extend_from_slice(&bytes),
            Report::Stderr(bytes) => self.complaint.extend_from_slice(&bytes),
            Report::Exited(Exit::Code(code)) => self.exit = Some(code),
            Report::Exited(Exit::Signal(signal)) => {
                self.problem.get_or_insert_with(|| format!("git was ended by signal {signal}"));
            }
            Report::Gone(_) => return true,
            Report::Fault(fault) => {
                self.problem = Some(format!("git could not be started: {}", fault.message));
                return true;
            }
            Report::Lost(lost) => {
                self.problem = Some(format!("the supervisor of git was lost: {}", lost.message));
                return true;
            }
        }
        false
    }

    fn answer(self) -> Result<Vec<u8>, String> {
        let complaint = String::from_utf8_lossy(&self.complaint);
        match (self.problem, self.exit) {
            (Some(problem), _) => Err(problem),
            (None, Some(0)) => Ok(self.output),
            (None, _) => Err(complaint.lines().next().unwrap_or("git failed").to_owned()),
        }
    }
}
