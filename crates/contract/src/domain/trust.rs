//! Trust in a project: a person saw the commands of its `.writ/` and allowed them. It ends when they change.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::check::Check;
use super::environment::AuthorEnvironment;
use super::pins::Digests;
use super::time::Timestamp;
use crate::digest;
use crate::shape::words;

/// Every command of a project's `.writ/` that writ would run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectCommands {
    /// The directory that contains `.writ/`, under its real name.
    pub directory: String,
    /// The checks of tasks that have none of their own.
    pub checks: Vec<Check>,
    /// Digests of files below `.writ/` that the commands name.
    pub files: BTreeMap<String, String>,
}

impl ProjectCommands {
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// Changes with every command and every file of `.writ/` that one of them names.
    pub fn digest(&self) -> String {
        let commands = json!({"checks": self.checks, "files": self.files});
        digest::of_value(&commands).expect("BUG: texts and booleans have a canonical form")
    }

    /// Each command in one line, as a person decides on it.
    pub fn lines(&self) -> Vec<String> {
        let line = |check: &Check| {
            let how = if check.shell { "sh -c: " } else { "" };
            format!("{how}{}", check.line())
        };
        self.checks.iter().map(line).collect()
    }
}

/// What a person allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTrust {
    pub directory: String,
    pub digest: String,
    /// The commands as they were shown.
    pub commands: Vec<String>,
    pub trusted_by: String,
    #[serde(default)]
    pub basis: TrustBasis,
}

/// What the commands had when a person allowed them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustBasis {
    /// The person's environment, in which they run. Decisions of older versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<AuthorEnvironment>,
    /// The files of the project that they use.
    #[serde(default, skip_serializing_if = "Digests::is_empty")]
    pub pinned: Digests,
}

/// A decision that holds as long as the commands have this digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    pub directory: String,
    pub digest: String,
    /// The commands as they were shown.
    pub commands: Vec<String>,
    pub trusted_by: String,
    pub trusted_at: Timestamp,
    #[serde(skip)]
    pub basis: TrustBasis,
}

words! {
    /// Whether the commands of a project may run.
    TrustState {
        /// There are none.
        NoCommands = "no_commands",
        Untrusted = "untrusted",
        Trusted = "trusted",
        /// They are not the ones that were allowed.
        Changed = "changed",
    }
}

impl TrustState {
    /// The state of these commands under what was allowed before.
    pub fn of(commands: Option<&ProjectCommands>, allowed: Option<&Trust>) -> Self {
        match (commands.filter(|commands| !commands.is_empty()), allowed) {
            (None, _) => TrustState::NoCommands,
            (Some(_), None) => TrustState::Untrusted,
            (Some(commands), Some(trust)) if commands.digest() == trust.digest => TrustState::Trusted,
            (Some(_), Some(_)) => TrustState::Changed,
        }
    }

    pub fn may_run(self) -> bool {
        match self {
            TrustState::NoCommands | TrustState::Trusted => true,
            TrustState::Untrusted | TrustState::Changed => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(lines: &[&str]) -> ProjectCommands {
        let check = |line: &&str| Check::of_arguments(line.split(' ').map(str::to_owned).collect());
        ProjectCommands {
            directory: "/w".to_owned(),
            checks: lines.iter().map(check).collect(),
            files: BTreeMap::new(),
        }
    }

    #[test]
    fn trust_ends_when_a_command_or_a_file_it_names_changes() {
        let seen = commands(&["cargo test", "sh .writ/lint.sh"]);
        let trust = Trust {
            directory: seen.directory.clone(),
            digest: seen.digest(),
            commands: seen.lines(),
            trusted_by: "human.ann".to_owned(),
            trusted_at: Timestamp::from_millis(0),
            basis: TrustBasis::default(),
        };
        let state = |now: &ProjectCommands| TrustState::of(Some(now), Some(&trust));
        assert_eq!(state(&seen), TrustState::Trusted);
        assert_eq!(state(&commands(&["cargo test"])), TrustState::Changed);
        assert_eq!(state(&commands(&[])), TrustState::NoCommands);
        let mut script = seen.clone();
        script.checks[0] = Check::of_script("cargo test");
        assert_eq!(state(&script), TrustState::Changed);
        let mut file = seen.clone();
        file.files.insert(".writ/lint.sh".to_owned(), "sha256:1".to_owned());
        assert_eq!(state(&file), TrustState::Changed);
        assert_eq!(TrustState::of(Some(&seen), None), TrustState::Untrusted);
        assert_eq!(TrustState::of(None, Some(&trust)), TrustState::NoCommands);
        assert_eq!(script.lines(), ["sh -c: cargo test", "sh .writ/lint.sh"]);
    }
}
