//! One storm: a test of some crate, called alone.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Result;
use crate::job::Job;

const NAMES: &str = "soak_";
/// Tests with rounds that keep the names under which documents cite them.
const OTHERS: [&str; 3] = [
    "kill_nine_loses_nothing_that_was_acknowledged",
    "kill_nine_of_an_owner_leaves_nothing_behind",
    "kill_nine_of_an_owner_and_some_shims_is_over_when_the_reaping_returns",
];
/// How often a running storm is looked at.
const LOOK: Duration = Duration::from_millis(50);

pub(super) struct Storm {
    /// Crate and path, as in `cli::kill_nine::soak_…`.
    pub(super) name: String,
    test: String,
    binary: Binary,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binary {
    pub(super) package: String,
    pub(super) directory: PathBuf,
    pub(super) path: PathBuf,
}

/// How to call a storm.
pub(super) struct Call {
    /// The usual ones if `None`.
    pub(super) rounds: Option<u64>,
    pub(super) seed: u64,
    pub(super) deadline: Duration,
}

/// What one call of a storm did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) rounds: u64,
    pub(super) operations: u64,
    pub(super) kills: u64,
    pub(super) took: Duration,
    /// This machine cannot run it.
    pub(super) skipped: bool,
    /// Why it failed, with its log.
    pub(super) failure: Option<String>,
}

/// All storms of the workspace, in the order of their names.
pub(super) fn all() -> Result<Vec<Storm>> {
    let mut storms = Vec::new();
    for binary in binaries()? {
        let listed =
            Job::new(&binary.path.display().to_string(), &["--list", "--format", "terse"]).output()?;
        storms.extend(listed.lines().filter_map(|line| {
            let test = line.strip_suffix(": test")?;
            is_storm(test).then(|| Storm {
                name: format!("{}::{test}", binary.package),
                test: test.to_owned(),
                binary: binary.clone(),
            })
        }));
    }
    storms.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(storms)
}

pub(super) fn is_storm(test: &str) -> bool {
    let name = test.rsplit("::").next().unwrap_or(test);
    name.starts_with(NAMES) || OTHERS.contains(&name)
}

/// Builds every test binary of the workspace.
fn binaries() -> Result<Vec<Binary>> {
    let job = Job::cargo(&["test", "--workspace", "--tests", "--no-run", "--message-format", "json"]);
    println!("$ {job}");
    let mut command = job.command();
    let started = command.stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("could not start cargo: {error}"))?;
    let mut text = String::new();
    let read = child.stdout.take().map(|mut stdout| stdout.read_to_string(&mut text));
    let status = child.wait().map_err(|error| format!("could not wait for cargo: {error}"))?;
    if !status.success() || !matches!(read, Some(Ok(_))) {
        return Err(format!("`{job}` failed: {status}"));
    }
    Ok(text.lines().filter_map(|line| binary(&serde_json::from_str(line).ok()?)).collect())
}

/// The test binary that a message of cargo is about.
pub(super) fn binary(message: &Value) -> Option<Binary> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = directory.file_name()?.to_str()?.to_owned();
    Some(Binary { package, directory, path: PathBuf::from(message["executable"].as_str()?) })
}

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("could not {what}: {error}")
}

impl Storm {
    pub(super) fn run(&self, call: &Call, logs: &Path) -> Result<Outcome> {
        let log = logs.join(format!("{}.log", self.name.replace("::", "-")));
        let file = fs::File::create(&log).map_err(failed("write the log of a storm"))?;
        let errors = file.try_clone().map_err(failed("write the log of a storm"))?;
        let mut command = Command::new(&self.binary.path);
        command.args(["--exact", &self.test, "--nocapture", "--test-threads", "1"]);
        command.current_dir(&self.binary.directory).env("CARGO_MANIFEST_DIR", &self.binary.directory);
        command.env("WRIT_SEED", call.seed.to_string());
        if let Some(rounds) = call.rounds {
            command.env("WRIT_ROUNDS", rounds.to_string());
        }
        let begun = Instant::now();
        // What the test started ends with it.
        command.process_group(0);
        let started = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let mut child = started.map_err(failed("start a storm"))?;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed("wait for a storm"))? {
                break Some(status);
            }
            if begun.elapsed() > call.deadline {
                end_group(child.id())?;
                child.wait().map_err(failed("wait for a storm"))?;
                break None;
            }
            std::thread::sleep(LOOK);
        };
        let took = begun.elapsed();
        let text = fs::read(&log).map_err(failed("read the log of a storm"))?;
        let mut outcome = Outcome { took, ..reported(&String::from_utf8_lossy(&text)) };
        let why = match status {
            Some(status) if status.success() => return Ok(outcome),
            Some(status) => status.to_string(),
            None => "did not end in time".to_owned(),
        };
        // The next call of the same storm must not overwrite what this one left.
        let kept = logs.join(format!("{}-{}.log", self.name.replace("::", "-"), call.seed));
        fs::rename(&log, &kept).map_err(failed("keep the log of a storm"))?;
        let rounds = call.rounds.map(|rounds| format!(" WRIT_ROUNDS={rounds}")).unwrap_or_default();
        let (name, seed) = (&self.name, call.seed);
        outcome.failure = Some(format!("{name}: {why}; WRIT_SEED={seed}{rounds}; {}", kept.display()));
        Ok(outcome)
    }
}

/// Kills a process group.
pub(super) fn end_group(group: u32) -> Result {
    let killed = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status();
    let killed = killed.map_err(failed("start `kill`"))?;
    if killed.success() { Ok(()) } else { Err(format!("could not end the process group {group}")) }
}

/// The sum of what a storm reported. One that reported nothing did one round; one that was skipped did none.
pub(super) fn reported(text: &str) -> Outcome {
    let mut sum = Outcome::default();
    for line in text.lines().filter_map(|line| line.split_once("storm: ").map(|(_, rest)| rest)) {
        sum.skipped |= line.starts_with("skipped");
        for (name, value) in line.split(' ').filter_map(|word| word.split_once('=')) {
            let value: u64 = value.trim().parse().unwrap_or(0);
            match name {
                "rounds" => sum.rounds += value,
                "operations" => sum.operations += value,
                "kills" => sum.kills += value,
                _ => {}
            }
        }
    }
    if !sum.skipped {
        sum.rounds = sum.rounds.max(1);
    }
    sum
}

pub(super) fn fresh_seed() -> Result<u64> {
    let mut bytes = [0; 4];
    let read = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| format!("could not choose a seed: {error}"))?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}
