//! A command to run, described as data, so that tests can check it without running it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Job {
    pub(crate) fn new(program: &str, args: &[&str]) -> Job {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Job { program: program.to_owned(), args, env: Vec::new() }
    }

    pub(crate) fn cargo(args: &[&str]) -> Job {
        Job::new("cargo", args)
    }

    /// Program and arguments, to be passed to another program that starts them.
    pub(crate) fn words(&self) -> Vec<String> {
        std::iter::once(&self.program).chain(&self.args).cloned().collect()
    }

    #[must_use]
    pub(crate) fn args<A: AsRef<str>>(mut self, more: &[A]) -> Job {
        self.args.extend(more.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub(crate) fn env(mut self, name: &str, value: &str) -> Job {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Prints the command, then runs it with our standard streams.
    pub(crate) fn run(&self) -> Result {
        println!("$ {self}");
        let status = self.command().status().map_err(|error| self.unstartable(&error))?;
        if status.success() { Ok(()) } else { Err(format!("`{self}` failed: {status}")) }
    }

    /// Runs the command and returns its output.
    pub(crate) fn output(&self) -> Result<String> {
        let output = self.command().output().map_err(|error| self.unstartable(&error))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`{self}` failed: {}\n{}", output.status, stderr.trim_end()));
        }
        String::from_utf8(output.stdout).map_err(|_| format!("`{self}` printed something that is not UTF-8"))
    }

    /// Whether the command starts and exits with 0. Its output is discarded.
    pub(crate) fn succeeds(&self) -> bool {
        self.command().output().is_ok_and(|output| output.status.success())
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(root());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn unstartable(&self, error: &std::io::Error) -> String {
        format!("could not start `{}`: {error}", self.program)
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={value} ")?;
        }
        f.write_str(&self.program)?;
        for arg in &self.args {
            let plain = arg.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=./:+,@".contains(&b));
            if plain && !arg.is_empty() { write!(f, " {arg}")? } else { write!(f, " '{arg}'")? }
        }
        Ok(())
    }
}

/// The root of the workspace that `cargo xtask` was called in.
pub(crate) fn root() -> PathBuf {
    // Cargo sets it for `cargo run`; the value at compile time could be another checkout's when they share a target directory.
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    crate_dir.parent().and_then(Path::parent).expect("BUG: xtask is in crates/xtask").to_owned()
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Whether `writ` has a command. A binary may exit with 0 for an unknown command, so its help must not be empty.
pub(crate) fn knows(writ: &Path, words: &[&str]) -> bool {
    let help = Job::new(&writ.display().to_string(), words).args(&["--help"]);
    help.output().is_ok_and(|text| !text.trim().is_empty())
}
