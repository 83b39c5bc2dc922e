//! `cargo xtask test`: provides everything that tests need, then runs them.

use crate::job::Job;
use crate::{Result, agents};

pub(crate) const ABOUT: &str = "\
Build the helper binaries and run the tests

Uses cargo-nextest where it is installed and plain `cargo test` where it is not. ARGS go to the
runner: `cargo xtask test -p engine kill_nine`. Programs that tests call (sqlite3, strace, setsid)
are installed with apt-get when running as root; otherwise their absence is reported before and
after the run, and the tests that need them fail and say so.

`--agents` runs the tests with real agent programs instead: Claude Code, Codex, Gemini CLI and OpenCode
talk to a stub model on this machine. Pinned versions are installed from npm into the user's cache
directory (`$XDG_CACHE_HOME/writ-agents`, 1.4 GB) the first time. Needs npm, node, python3 and pip.";

/// A program and its Debian package.
pub(crate) type Program = (&'static str, &'static str);

/// Programs beyond cargo that tests call.
const PROGRAMS: &[Program] = &[("sqlite3", "sqlite3"), ("strace", "strace"), ("setsid", "util-linux")];

pub(crate) fn run(args: &[String]) -> Result {
    let (suite, rest) = suite(args);
    match suite {
        Suite::Agents => run_agents(is_ci(), &rest),
        Suite::Workspace => {
            let outcome = run_workspace(is_ci(), &rest);
            println!("{}", agents::LEFT_OUT);
            outcome
        }
    }
}

pub(crate) fn run_workspace(ci: bool, args: &[String]) -> Result {
    run_jobs(&plan(Runner::installed(), ci, args))
}

pub(crate) fn run_agents(ci: bool, args: &[String]) -> Result {
    agents::run(Runner::installed(), ci, args)
}

/// Which tests are run. The agents suite downloads programs, so it runs only where it is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Suite {
    Workspace,
    Agents,
}

/// The suite, and the arguments for the runner.
fn suite(args: &[String]) -> (Suite, Vec<String>) {
    let own = args.iter().take_while(|arg| *arg != "--").position(|arg| arg == agents::FLAG);
    let rest = args.iter().enumerate().filter(|(at, _)| Some(*at) != own).map(|(_, arg)| arg.clone());
    (if own.is_some() { Suite::Agents } else { Suite::Workspace }, rest.collect())
}

/// Runs the jobs with the programs that tests need.
pub(crate) fn run_jobs(jobs: &[Job]) -> Result {
    let missing = provide(PROGRAMS);
    if !missing.is_empty() {
        eprintln!("{}", missing_notice(&missing));
    }
    let outcome = jobs.iter().try_for_each(Job::run);
    if !missing.is_empty() {
        eprintln!("{}", missing_notice(&missing));
    }
    outcome
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    /// With the number of tests that run at once.
    Nextest(usize),
    CargoTest,
}

impl Runner {
    /// The runner to use. Prints which one it is.
    pub(crate) fn installed() -> Runner {
        let nextest = Job::cargo(&["nextest", "--version"]).succeeds();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // Most tests wait for a process, a lease or the disk, so that two of them share a core.
        let runner = if nextest { Runner::Nextest(2 * cores) } else { Runner::CargoTest };
        println!("test runner: {}", runner.name());
        runner
    }

    fn name(self) -> &'static str {
        match self {
            Runner::Nextest(_) => "cargo-nextest",
            Runner::CargoTest => "cargo test (cargo-nextest is not installed)",
        }
    }
}

/// The commands of one test run, in order.
fn plan(runner: Runner, ci: bool, args: &[String]) -> Vec<Job> {
    let mut job = match runner {
        // A variable and not an argument, so that `-j` in ARGS is stronger.
        Runner::Nextest(threads) => {
            Job::cargo(&["nextest", "run"]).env("NEXTEST_TEST_THREADS", &threads.to_string())
        }
        Runner::CargoTest => Job::cargo(&["test"]),
    };
    if !selects_packages(args) {
        job = job.args(&["--workspace"]);
    }
    job = job.args(args);
    if ci {
        // A snapshot that does not match must fail, never be accepted.
        job = job.env("INSTA_UPDATE", "no");
    }
    // A build of the whole workspace contains them.
    let needs_helpers = args.iter().any(|arg| arg.starts_with('-'));
    needs_helpers.then(helpers).into_iter().chain([job]).collect()
}

/// Builds the binaries that tests start, so that no test starts an outdated one. Of all packages, because cargo builds a
/// library again where another choice of packages needs other features of a dependency.
pub(crate) fn helpers() -> Job {
    Job::cargo(&["build", "--quiet", "--bins"])
}

pub(crate) fn selects_packages(args: &[String]) -> bool {
    let own = args.iter().take_while(|arg| *arg != "--");
    own.into_iter().any(|arg| {
        let long = arg.starts_with("--package") || arg == "--workspace" || arg == "--all";
        long || (arg.starts_with("-p") && !arg.starts_with("--"))
    })
}

fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// Installs missing programs if running as root on Debian. Returns those that are still missing.
pub(crate) fn provide(programs: &[Program]) -> Vec<Program> {
    let missing = missing(programs);
    if missing.is_empty() || !can_install() {
        return missing;
    }
    for job in installation(&missing) {
        if let Err(message) = job.run() {
            eprintln!("{message}");
        }
    }
    self::missing(programs)
}

fn missing(programs: &[Program]) -> Vec<Program> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let here = |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    programs.iter().copied().filter(|(program, _)| !here(program)).collect()
}

fn can_install() -> bool {
    let root = Job::new("id", &["-u"]).output().is_ok_and(|id| id.trim() == "0");
    root && Job::new("apt-get", &["--version"]).succeeds()
}

fn installation(missing: &[Program]) -> Vec<Job> {
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    let install = Job::new("apt-get", &["install", "--yes", "--no-install-recommends"]).args(&packages);
    [Job::new("apt-get", &["update"]), install]
        .map(|job| job.env("DEBIAN_FRONTEND", "noninteractive"))
        .to_vec()
}

fn missing_notice(missing: &[Program]) -> String {
    let list: Vec<String> =
        missing.iter().map(|(program, package)| format!("{program} (Debian package {package})")).collect();
    format!("missing: {}. Tests that call it will fail; no test is skipped.", list.join(", "))
}

#[cfg(test)]
mod tests;
