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

/// Neither the user's configuration nor the system's.
const ALONE: &[(&str, &str)] = &[
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// What a repository's own configuration could run.
const UNTOUCHED: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "commit.gpgSign=false",
    "gc.auto=0",
    "user.name=writ",
    "user.email=writ@localhost",
];

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

    /// What a path is, as a patch against HEAD. Runs nothing of the repository's.
    pub fn patch(&self, path: &str) -> Result<Vec<u8>, String> {
        let words = ["diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", "--", path];
        self.ask_untouched(&words)
    }

    /// Adds a stash entry with what the tracked files are. They stay as they are. `None` if none of them differs from HEAD.
    pub fn stash(&self, message: &str) -> Result<Option<String>, String> {
        let printed = self.ask_untouched(&["stash", "create", message])?;
        let commit = String::from_utf8_lossy(&printed).trim().to_owned();
        if commit.is_empty() {
            return Ok(None);
        }
        self.ask_untouched(&["stash", "store", "--quiet", "-m", message, &commit])?;
        Ok(Some(commit))
    }

    /// Asks without hooks, file system monitors, filters and inherited configuration: whatever an agent planted in the
    /// repository does not run.
    fn ask_untouched(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        let filters = self.ask_with(&["config", "--name-only", "-z", "--get-regexp", r"^filter\."], ALONE);
        // It fails where there is none.
        let filters = filters.unwrap_or_default();
        let mut settings: Vec<String> = UNTOUCHED.iter().map(|&setting| setting.to_owned()).collect();
        for name in filters.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name =
                String::from_utf8(name.to_vec()).map_err(|_| "a filter's name is not UTF-8".to_owned())?;
            settings.push(format!("{name}={}", if name.ends_with(".required") { "false" } else { "" }));
        }
        let all = settings.iter().flat_map(|setting| ["-c", setting.as_str()]).chain(words.iter().copied());
        self.ask_with(&all.collect::<Vec<&str>>(), ALONE)
    }

    fn ask(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        self.ask_with(words, &[])
    }

    fn ask_with(&self, words: &[&str], more: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        // Neither the user's aliases nor a repository's hooks and helpers may change the answer.
        let fixed = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"];
        let argv = fixed.iter().chain(words).map(OsString::from).collect();
        let marker = Marker { attempt: self.mark.clone(), owner: self.launcher.identity() };
        let mut spec = LaunchSpec::new(argv, self.workspace.to_owned(), marker);
        // A caller's GIT_DIR or GIT_INDEX_FILE would answer for another repository than the workspace's.
        let is_gits = |name: &OsString| name.as_encoded_bytes().starts_with(b"GIT_");
        let kept = self.environment.iter().filter(|(name, _)| !is_gits(name));
        spec.env = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        spec.env.extend(more.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
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
