//! Installs writ into the hooks of agent programs, and removes it.

pub(crate) mod adapter;
mod claude;
pub(crate) mod files;
pub(crate) mod handling;
mod opencode;
pub(crate) mod places;
mod records;
mod settings;

use std::path::{Path, PathBuf};

use contract::command_line::quoted;

use handling::Handler;
use places::Scope;

/// The program that the hooks call, and its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookProgram {
    /// Where this program is.
    pub(crate) path: String,
    pub(crate) db_path: Option<String>,
}

/// Our name, by which our entries are recognized and by which a project's hooks call us.
const OWN_NAME: &str = "writ";
/// The program that the agent contract was written for.
const ORIGINAL_NAME: &str = "vybe";

/// Whose command a hook is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Ours,
    /// It calls the program that the agent contract was written for.
    Original,
}

impl HookProgram {
    /// How hooks call this program. Teams commit a project's settings, so nothing of this machine is in them.
    pub(crate) fn called_in(&self, scope: Scope) -> &str {
        match scope {
            Scope::User => &self.path,
            Scope::Project => OWN_NAME,
        }
    }

    /// The command line of one handler, as a shell reads it.
    pub(crate) fn hook_line(&self, scope: Scope, handler: &str) -> String {
        let words = [self.called_in(scope), "hook", handler].into_iter();
        let database = self.db_path.iter().flat_map(|path| ["--db-path", path.as_str()]);
        let words: Vec<String> = words.chain(database).map(quoted).collect();
        words.join(" ")
    }

    /// Whose command line this is: the program by its name, the word `hook`, a handler, perhaps the store and the
    /// agent, and nothing else. A command line that wraps such a call belongs to the user.
    pub(crate) fn owner(&self, line: &str) -> Option<Owner> {
        let words = shlex::split(line).unwrap_or_default();
        let [program, hook, handler, rest @ ..] = words.as_slice() else { return None };
        let flags = ["--db-path", "--agent", "-a", "--from"];
        let is_flag = |pair: &[String]| matches!(pair, [flag, _] if flags.contains(&flag.as_str()));
        if hook != "hook" || Handler::from_word(handler).is_none() || !rest.chunks(2).all(is_flag) {
            return None;
        }
        let name = base_name(program);
        let is_ours = *program == self.path || (name == base_name(&self.path) && name != ORIGINAL_NAME);
        match name {
            OWN_NAME => Some(Owner::Ours),
            _ if is_ours => Some(Owner::Ours),
            ORIGINAL_NAME => Some(Owner::Original),
            _ => None,
        }
    }
}

/// Whether a command line names the original program.
fn calls_original(line: &str) -> bool {
    let words = shlex::split(line).unwrap_or_default();
    words.first().is_some_and(|program| base_name(program) == ORIGINAL_NAME)
}

fn base_name(program: &str) -> &str {
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<String>,
    /// `None` removes the file.
    pub(crate) after: Option<String>,
    /// The mode of a file that is made anew; `None` for a private one.
    pub(crate) mode: Option<u32>,
}

impl FileChange {
    pub(crate) fn new(path: PathBuf, before: Option<String>, after: Option<String>) -> Self {
        Self { path, before, after, mode: None }
    }
}
