//! Runs git so that nothing planted in a clone or a workspace runs with it: without hooks, file system monitors, filters,
//! helpers and inherited configuration, with a deadline and bounded output.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use contract::domain::id::{Attempt, Id};
use contract::domain::limits;

use crate::launcher::{self, Answered, Launcher, with_causes};
use crate::supervisor::{LaunchSpec, Marker, ProcessExit, Stdin};

/// Why git did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("the workspace is not a git repository; `git init` and `git commit` make it one")]
    NoRepository,
    #[error("the workspace must be the top directory of its git repository, {0}")]
    NotTop(String),
    #[error("a name is not UTF-8")]
    NotText,
    /// With what git said.
    #[error("{0}")]
    Failed(String),
}

/// How git is started.
pub struct Runner<'g> {
    pub launcher: &'g dyn Launcher,
    pub environment: &'g BTreeMap<OsString, OsString>,
    /// Marks the processes that are started.
    pub mark: Id<Attempt>,
}

/// Variables that git needs to be found and to find its own parts.
const PASSED_ON: &[&str] = &["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"];

/// Only the repository's own configuration is read; no prompts, no fetching.
const ALONE: &[(&str, &str)] = &[
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ALLOW_PROTOCOL", "file"),
    ("GIT_EDITOR", "true"),
    ("LC_ALL", "C"),
    ("GIT_AUTHOR_NAME", "writ"),
    ("GIT_AUTHOR_EMAIL", "writ@localhost"),
    ("GIT_COMMITTER_NAME", "writ"),
    ("GIT_COMMITTER_EMAIL", "writ@localhost"),
];

/// What a repository's own configuration could run.
const UNTOUCHED: &[&str] = &[
    "safe.directory=*",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.alternateRefsCommand=true",
    "core.quotePath=false",
    "core.pager=cat",
    "commit.gpgSign=false",
    "fetch.fsckObjects=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
];

/// How often a command is tried while another git holds a lock that it needs.
const LOCK_TRIES: u32 = 20;

/// A repository, or a directory in which there is none yet.
#[derive(Clone)]
pub(crate) struct Repo<'g> {
    runner: &'g Runner<'g>,
    directory: PathBuf,
    /// Variables that say where its parts are.
    places: Vec<(&'static str, OsString)>,
    /// Settings besides those that hold everywhere.
    settings: Vec<String>,
}

impl<'g> Repo<'g> {
    /// No repository: for commands that make one.
    pub(crate) fn none(runner: &'g Runner<'g>, directory: &Path) -> Self {
        Self { runner, directory: directory.to_owned(), places: Vec::new(), settings: Vec::new() }
    }

    /// The repository of a workspace, with its owner's configuration. Its filters do not run.
    pub(crate) fn workspace(runner: &'g Runner<'g>, directory: &Path) -> Result<Self, GitError> {
        let repo = Self::none(runner, directory);
        let top = repo.line(&["rev-parse", "--show-toplevel"]).map_err(|_| GitError::NoRepository)?;
        if std::fs::canonicalize(&top).ok() != std::fs::canonicalize(directory).ok() {
            return Err(GitError::NotTop(top));
        }
        Self::around(runner, directory)
    }

    /// The repository that a directory is in. Its filters do not run.
    pub(crate) fn around(runner: &'g Runner<'g>, directory: &Path) -> Result<Self, GitError> {
        let mut repo = Self::none(runner, directory);
        // It fails where there is none.
        let filters = repo.ask(&["config", "--name-only", "-z", "--get-regexp", r"^filter\."]);
        for name in names(&filters.unwrap_or_default())? {
            repo.settings.push(format!("{name}={}", if name.ends_with(".required") { "false" } else { "" }));
        }
        Ok(repo)
    }

    /// writ's own repository beside a clone. The clone's files are its working tree, the clone's configuration is not read.
    pub(crate) fn private(runner: &'g Runner<'g>, git: &Path, tree: &Path) -> Self {
        let places =
            vec![("GIT_DIR", git.as_os_str().to_owned()), ("GIT_WORK_TREE", tree.as_os_str().to_owned())];
        let settings = vec!["core.bare=false".to_owned()];
        Self { runner, directory: tree.to_owned(), places, settings }
    }

    /// The same with another list of files.
    pub(crate) fn with_index(mut self, path: &Path) -> Self {
        self.places.push(("GIT_INDEX_FILE", path.as_os_str().to_owned()));
        // So that it is one file.
        self.settings.push("core.splitIndex=false".to_owned());
        self
    }

    /// What git printed.
    pub(crate) fn ask(&self, words: &[&str]) -> Result<Vec<u8>, GitError> {
        self.ask_with(words, &[], Stdin::Closed)
    }

    /// The same with more variables and something to read.
    pub(crate) fn ask_with(
        &self,
        words: &[&str],
        more: &[(&str, &str)],
        stdin: Stdin,
    ) -> Result<Vec<u8>, GitError> {
        let answered = self.run(words, more, stdin)?;
        match answered.exit {
            ProcessExit::Code(0) => Ok(answered.printed),
            ProcessExit::Code(_) | ProcessExit::Signal(_) => Err(complaint(words, &answered)),
        }
    }

    /// The one line that git printed.
    pub(crate) fn line(&self, words: &[&str]) -> Result<String, GitError> {
        text(&self.ask(words)?).map(|text| text.trim_end_matches('\n').to_owned())
    }

    /// Whether git ended with 0. Any other end than 0 and 1 is an error.
    pub(crate) fn says(&self, words: &[&str]) -> Result<bool, GitError> {
        let answered = self.run(words, &[], Stdin::Closed)?;
        match answered.exit {
            ProcessExit::Code(0) => Ok(true),
            ProcessExit::Code(1) => Ok(false),
            ProcessExit::Code(_) | ProcessExit::Signal(_) => Err(complaint(words, &answered)),
        }
    }

    pub(crate) fn run(
        &self,
        words: &[&str],
        more: &[(&str, &str)],
        stdin: Stdin,
    ) -> Result<Answered, GitError> {
        let settings = UNTOUCHED.iter().copied().chain(self.settings.iter().map(String::as_str));
        let argv = ["git"].into_iter().chain(settings.flat_map(|setting| ["-c", setting]));
        let argv = argv.chain(words.iter().copied()).map(OsString::from).collect();
        let runner = self.runner;
        let marker = Marker { attempt: runner.mark.clone(), owner: runner.launcher.identity() };
        let mut spec = LaunchSpec::new(argv, self.directory.clone(), marker);
        let passed_on =
            PASSED_ON.iter().filter_map(|&name| runner.environment.get_key_value(OsStr::new(name)));
        spec.env = passed_on.map(|(name, value)| (name.clone(), value.clone())).collect();
        let fixed = ALONE.iter().chain(more).map(|&(name, value)| (name.into(), value.into()));
        spec.env.extend(fixed);
        spec.env.extend(self.places.iter().map(|(name, value)| (OsString::from(name), value.clone())));
        spec.stdin = stdin;
        launcher::ask(runner.launcher, spec, limits::WORKTREE_GIT_TIMEOUT)
            .map_err(|error| GitError::Failed(format!("git {}: {}", words[0], with_causes(&error))))
    }

    /// Looks at every file, so that those that were only touched do not count as changed. Waits a while for another git that
    /// holds the list of files.
    pub(crate) fn refresh(&self) -> Result<(), GitError> {
        let words = ["update-index", "-q", "--refresh"];
        for _ in 0..LOCK_TRIES {
            let answered = self.run(&words, &[], Stdin::Closed)?;
            match answered.exit {
                // It ends with 1 if files differ.
                ProcessExit::Code(0 | 1) => return Ok(()),
                // It prints nothing if the index is locked.
                ProcessExit::Code(128) if is_locked(&answered.complaint) || answered.complaint.is_empty() => {
                    self.runner.launcher.pause(limits::HINDRANCE_POLL);
                }
                ProcessExit::Code(_) | ProcessExit::Signal(_) => return Err(complaint(&words, &answered)),
            }
        }
        Err(GitError::Failed("git update-index: another git process holds index.lock".to_owned()))
    }

    /// The same as `ask`, for a command that needs a lock which another git may hold for a moment.
    pub(crate) fn ask_patiently(&self, words: &[&str]) -> Result<Vec<u8>, GitError> {
        for _ in 1..LOCK_TRIES {
            let answered = self.run(words, &[], Stdin::Closed)?;
            match answered.exit {
                ProcessExit::Code(0) => return Ok(answered.printed),
                ProcessExit::Code(_) if is_locked(&answered.complaint) => {
                    self.runner.launcher.pause(limits::HINDRANCE_POLL);
                }
                ProcessExit::Code(_) | ProcessExit::Signal(_) => return Err(complaint(words, &answered)),
            }
        }
        self.ask(words)
    }

    pub(crate) fn is_ancestor(&self, earlier: &str, later: &str) -> Result<bool, GitError> {
        self.says(&["merge-base", "--is-ancestor", earlier, later])
    }

    pub(crate) fn commit_of(&self, revision: &str) -> Result<String, GitError> {
        self.line(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{revision}^{{commit}}"),
        ])
    }

    /// The commit that an id leads to. `None` if it is something else, or unknown.
    pub(crate) fn commit_if_any(&self, id: &str) -> Result<Option<String>, GitError> {
        let peeled = format!("{id}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled];
        let answered = self.run(&words, &[], Stdin::Closed)?;
        match answered.exit {
            ProcessExit::Code(0) => Ok(Some(text(&answered.printed)?.trim_end_matches('\n').to_owned())),
            ProcessExit::Code(_) => Ok(None),
            ProcessExit::Signal(_) => Err(complaint(&words, &answered)),
        }
    }

    pub(crate) fn tree_of(&self, revision: &str) -> Result<String, GitError> {
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{revision}^{{tree}}")])
    }

    pub(crate) fn names(&self, words: &[&str]) -> Result<Vec<String>, GitError> {
        names(&self.ask(words)?)
    }
}

fn complaint(words: &[&str], answered: &Answered) -> GitError {
    let said = String::from_utf8_lossy(&answered.complaint);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    let said = if lines.is_empty() { "failed".to_owned() } else { lines.join(" ") };
    GitError::Failed(format!("git {}: {said}", words[0]))
}

/// Copies a list of files with its time: git compares that with the times of files to know which may have changed since.
pub(crate) fn copy_index(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    let modified = std::fs::metadata(from)?.modified()?;
    std::fs::File::options().write(true).open(to)?.set_modified(modified)
}

fn is_locked(complaint: &[u8]) -> bool {
    let said = String::from_utf8_lossy(complaint);
    said.contains("Unable to create") && said.contains(".lock': File exists")
}

fn text(bytes: &[u8]) -> Result<String, GitError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| GitError::NotText)
}

/// Names that end with NUL each.
pub(crate) fn names(bytes: &[u8]) -> Result<Vec<String>, GitError> {
    let names = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    // A name that is not UTF-8 is shown with its bytes.
    Ok(names.map(contract::domain::rollback::text).collect())
}
