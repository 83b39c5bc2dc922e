//! Asks git what changed in a workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use contract::domain::id::{Attempt, Id};
use contract::domain::limits;

use crate::launcher::{self, Launcher, with_causes};
use crate::supervisor::{Exit, LaunchSpec, Marker};

/// Where git is asked.
pub struct Git<'g> {
    pub launcher: &'g dyn Launcher,
    pub workspace: &'g Path,
    pub environment: &'g BTreeMap<OsString, OsString>,
    /// Marks the processes that are started.
    pub mark: Id<Attempt>,
}

impl Git<'_> {
    /// Files that differ from `tree`, deleted and untracked ones included, as seen from the workspace. An error
    /// is what git complained about.
    pub fn changed(&self, tree: &str) -> Result<Vec<String>, String> {
        let differing = [
            "diff",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=none",
            "--relative",
            "-z",
            tree,
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

    /// The id of the one tree that a revision names. A range would compare two commits and leave out the working tree.
    pub fn tree_of(&self, revision: &str) -> Result<String, String> {
        let refused = || format!("`{}` does not name one commit or tree", revision.escape_debug());
        if revision.is_empty() || revision.starts_with(['-', '^']) || revision.contains(char::is_control) {
            return Err(refused());
        }
        let tree = format!("{revision}^{{tree}}");
        let printed = self.ask(&["rev-parse", "--verify", "--quiet", &tree]).map_err(|_| refused())?;
        String::from_utf8(printed).map(|id| id.trim().to_owned()).map_err(|_| refused())
    }

    fn ask(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        // Neither the user's aliases nor a repository's hooks and helpers may change the answer.
        let fixed = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"];
        let argv = fixed.iter().chain(words).map(OsString::from).collect();
        let marker = Marker { attempt: self.mark.clone(), owner: self.launcher.identity() };
        let mut spec = LaunchSpec::new(argv, self.workspace.to_owned(), marker);
        // A caller's GIT_DIR or GIT_INDEX_FILE would answer for another repository than the workspace's.
        let is_gits = |name: &OsString| name.as_encoded_bytes().starts_with(b"GIT_");
        let kept = self.environment.iter().filter(|(name, _)| !is_gits(name));
        spec.env = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        let answered = launcher::ask(self.launcher, spec, limits::CHECK_TIMEOUT)
            .map_err(|error| format!("git: {}", with_causes(&error)))?;
        match answered.exit {
            Exit::Code(0) => Ok(answered.printed),
            Exit::Code(_) => {
                let complaint = String::from_utf8_lossy(&answered.complaint);
                Err(complaint.lines().next().unwrap_or("git failed").to_owned())
            }
            Exit::Signal(signal) => Err(format!("git was ended by signal {signal}")),
        }
    }
}
