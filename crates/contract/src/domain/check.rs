//! Checks: commands that writ itself runs before it grants `done`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::{AuthorEnvironment, EnvironmentSeen};
use super::pins::Digests;
use super::scope::Scope;
use crate::shape::words;

words! {
    /// The expected outcome of a check.
    #[derive(Default)]
    Expects {
        #[default]
        ExitCode0 = "EXIT_CODE_0",
        /// Exit 0 and some output.
        MatchFound = "MATCH_FOUND",
        /// Exit 1 and no output.
        NoMatch = "NO_MATCH",
        /// The command names a path, which must exist.
        FileExists = "FILE_EXISTS",
    }
}

/// A command that decides whether a task is done. It comes from the task's author, never from an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// An argument list; with `shell` its one element is a script for `sh -c`.
    pub command: Vec<String>,
    #[serde(default)]
    pub shell: bool,
    #[serde(default)]
    pub expects: Expects,
}

impl Check {
    /// A check that passes with exit code 0.
    pub fn of_arguments(command: Vec<String>) -> Self {
        Self { command, shell: false, expects: Expects::default() }
    }

    /// The same for a script that `sh -c` runs.
    pub fn of_script(script: &str) -> Self {
        Self { command: vec![script.to_owned()], shell: true, expects: Expects::default() }
    }

    /// The command in one line, for people.
    pub fn line(&self) -> String {
        self.command.join(" ")
    }

    /// Why it can never run, if it cannot.
    pub fn fault(&self) -> Option<&'static str> {
        if self.command.first().is_none_or(|word| word.trim().is_empty()) {
            return Some("must name a program");
        }
        if self.shell && self.command.len() != 1 {
            return Some("with `shell` the command must be one script");
        }
        if self.expects == Expects::FileExists && self.command.len() != 1 {
            return Some("FILE_EXISTS takes one path");
        }
        let has_nul = self.command.iter().any(|word| word.contains('\0'));
        has_nul.then_some("an argument must not contain NUL")
    }
}

/// The checks of a task that no plan describes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskChecks {
    /// The agent or person that wrote them.
    pub author: String,
    /// Where they run; `None` for the directory that is the task's project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    pub checks: Vec<Check>,
    /// The environment in which they run: the author's when the task was created. Tasks of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<AuthorEnvironment>,
    /// Files and directories that the task must not change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Scope>,
    /// The task may change the files that its checks use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_change: bool,
    /// The files that its checks use, as they were when the task was created.
    #[serde(default, skip_serializing_if = "Digests::is_empty")]
    pub pinned: Digests,
}

/// Whether the principal that completes a task wrote its checks. The one place that compares them.
pub fn is_author(author: &str, completer: &str) -> bool {
    author == completer
}

/// What writ observed when it ran a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckSeen {
    pub command: Vec<String>,
    pub expects: Expects,
    pub passed: bool,
    /// `None` if it was killed by a signal, timed out or could not be started.
    pub exit_code: Option<i32>,
    pub output_digest: String,
    /// The end of its output, scrubbed, for a person.
    pub output_tail: String,
    /// Why it did not pass, or what happened to it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub problem: Option<String>,
    /// What was run, where and with what. Checks of older versions do not say it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ran: Option<Box<CheckRan>>,
    /// Whether its author lets the task go on where it does not pass.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub tolerated: bool,
}

/// What a check was when it ran: everything that its outcome depends on, as far as writ can see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRan {
    /// The file that was run; `None` for a check without a process, or if it was not found.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<ProgramRan>,
    /// With the shell, if the check uses one. Empty for a check without a process.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub argv: Vec<String>,
    pub directory: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub environment: Option<EnvironmentSeen>,
    /// A digest of the files that the task may write, or of the whole directory for a task outside a plan, without
    /// build outputs; `None` if there are too many.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tree_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tree_after: Option<String>,
    /// Build outputs that were in the workspace before the checks began, so that a check may have reused them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reused: Vec<String>,
}

/// A program as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRan {
    pub path: String,
    /// `None` if it is too large or cannot be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<String>,
}

/// Whether an outcome is the expected one, and if not, why. Any other outcome is a failed check.
pub fn judge(expects: Expects, exit_code: Option<i32>, output_is_empty: bool) -> Result<(), String> {
    let Some(code) = exit_code else { return Err("did not exit by itself".to_owned()) };
    match (expects, code, output_is_empty) {
        (Expects::ExitCode0 | Expects::FileExists, 0, _) => Ok(()),
        (Expects::MatchFound, 0, false) | (Expects::NoMatch, 1, true) => Ok(()),
        (Expects::ExitCode0, code, _) => Err(format!("exit {code}, expected 0")),
        (Expects::FileExists, _, _) => Err("the file does not exist".to_owned()),
        (Expects::MatchFound, 0, true) => Err("exit 0 but no output, expected a match".to_owned()),
        (Expects::MatchFound, code, _) => Err(format!("exit {code}, expected 0 and a match")),
        (Expects::NoMatch, 0, _) => Err("exit 0, expected 1 and no match".to_owned()),
        (Expects::NoMatch, 1, false) => Err("exit 1 but some output, expected no match".to_owned()),
        (Expects::NoMatch, code, _) => Err(format!("exit {code}, expected 1 and no match")),
    }
}

/// The rule of a failed check, beside the AOP code for failures that AOP has no other code for.
pub const CHECK_FAILED: &str = "check_failed";

/// How many lines of a failed check's output people and the next attempt see.
const TAIL_LINES_SHOWN: usize = 20;

impl CheckSeen {
    /// A check that was not run.
    pub fn not_run(check: &Check, why: &str) -> Self {
        Self {
            command: check.command.clone(),
            expects: check.expects,
            passed: false,
            exit_code: None,
            output_digest: String::new(),
            output_tail: String::new(),
            problem: Some(why.to_owned()),
            ran: None,
            tolerated: false,
        }
    }

    /// Whether it does not keep the task from being done.
    pub fn is_passed_or_tolerated(&self) -> bool {
        self.passed || self.tolerated
    }

    /// What went wrong, in one line: `check `cargo test` failed: exit 101, expected 0`.
    pub fn fault(&self) -> String {
        let problem = self.problem.as_deref().unwrap_or("did not pass");
        format!("check `{}` failed: {problem}", self.command.join(" "))
    }

    /// The last lines of what it printed, without blank lines at the end.
    pub fn last_lines(&self) -> Vec<&str> {
        let lines: Vec<&str> = self.output_tail.trim_end().lines().collect();
        let from = lines.len().saturating_sub(TAIL_LINES_SHOWN);
        lines[from..].to_vec()
    }
}

/// The first check of an attempt that failed it.
pub fn first_failed(checks: &[CheckSeen]) -> Option<&CheckSeen> {
    checks.iter().find(|check| !check.is_passed_or_tolerated())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_expected_outcome_passes() {
        let mut passing = Vec::new();
        for expects in [Expects::ExitCode0, Expects::MatchFound, Expects::NoMatch, Expects::FileExists] {
            for code in [None, Some(0), Some(1), Some(2)] {
                for empty in [true, false] {
                    if judge(expects, code, empty).is_ok() {
                        passing.push(format!("{} {code:?} empty={empty}", expects.as_str()));
                    }
                }
            }
        }
        insta::assert_snapshot!(passing.join("\n"), @r"
        EXIT_CODE_0 Some(0) empty=true
        EXIT_CODE_0 Some(0) empty=false
        MATCH_FOUND Some(0) empty=false
        NO_MATCH Some(1) empty=true
        FILE_EXISTS Some(0) empty=true
        FILE_EXISTS Some(0) empty=false
        ");
    }
}
