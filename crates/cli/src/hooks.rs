//! Installs writ into the hooks of agent programs, and removes it.

pub(crate) mod claude;
pub(crate) mod files;
pub(crate) mod handling;
pub(crate) mod opencode;
pub(crate) mod places;
mod settings;

use std::path::{Path, PathBuf};

use handling::Handler;

/// The program that the hooks call, and its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) path: String,
    pub(crate) db_path: Option<String>,
}

/// Program names by which our entries are recognized.
const OWN_NAMES: [&str; 2] = ["writ", "vybe"];

impl Program {
    /// The command line of one handler, as a shell reads it.
    pub(crate) fn hook_line(&self, handler: &str) -> String {
        let words = [self.path.as_str(), "hook", handler].into_iter();
        let database = self.db_path.iter().flat_map(|path| ["--db-path", path.as_str()]);
        let words: Vec<String> = words.chain(database).map(quoted).collect();
        words.join(" ")
    }

    /// Whether a command line is one of ours: the program by its name, the word `hook`, a handler, perhaps the store
    /// and the agent, and nothing else. A command line that wraps such a call belongs to the user.
    pub(crate) fn is_ours(&self, line: &str) -> bool {
        let words = shlex::split(line).unwrap_or_default();
        let [program, hook, handler, rest @ ..] = words.as_slice() else { return false };
        let name = base_name(program);
        let is_called = OWN_NAMES.contains(&name) || name == base_name(&self.path);
        let is_flag = |pair: &[String]| matches!(pair, [flag, _] if matches!(flag.as_str(), "--db-path" | "--agent" | "-a"));
        is_called && hook == "hook" && Handler::is_one(handler) && rest.chunks(2).all(is_flag)
    }
}

fn base_name(program: &str) -> &str {
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn quoted(word: &str) -> String {
    // Only a NUL byte cannot be quoted, and no path has one.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<String>,
    /// `None` removes the file.
    pub(crate) after: Option<String>,
}
