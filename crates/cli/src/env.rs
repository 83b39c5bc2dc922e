//! Every environment variable writ reads, in one place.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A variable and what it is for; `writ config show` prints them.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
}

pub(crate) const VARIABLES: &[Variable] = &[
    Variable { name: "WRIT_DB", about: "the store's file" },
    Variable { name: "WRIT_AGENT", about: "the identity an agent acts under" },
    Variable { name: "WRIT_REQUEST_ID", about: "the key under which a retry is recognised" },
    Variable {
        name: "WRIT_TOKEN",
        about: "a token of `writ token create`, for decisions that are a person's",
    },
    Variable {
        name: "WRIT_OUTPUT",
        about: "how answers are printed where --output is not given: text, json or ndjson",
    },
    Variable {
        name: "WRIT_PAGER",
        about: "the program that shows long text on a terminal; empty or cat for none",
    },
    Variable { name: "WRIT_RUN", about: "set for children: the run they belong to" },
    Variable { name: "WRIT_TASK", about: "set for children: the task they work on" },
    Variable {
        name: "WRIT_RUN_ID",
        about: "set for a worker's command: the run's UUID, as documents have it",
    },
    Variable { name: "WRIT_TASK_ID", about: "set for a worker's command: the task, such as T-1" },
    Variable { name: "WRIT_ASSIGNMENT", about: "set for a worker's command: the token of the assignment" },
    Variable {
        name: "WRIT_PACKET",
        about: "set for a worker's command: the file with the assignment packet",
    },
    Variable {
        name: "WRIT_RESULT",
        about: "set for a worker's command: the file for its result, if it writes one",
    },
    Variable {
        name: "WRIT_WORKSPACE",
        about: "set for a worker's command and for children in a clone: the run's workspace",
    },
    Variable { name: "WRIT_WORKTREE", about: "set for children in a clone: where it is" },
    Variable { name: "WRIT_PORT_FIRST", about: "set for children in a clone: the first port that is theirs" },
    Variable { name: "WRIT_PORT_LAST", about: "set for children in a clone: the last one" },
    Variable { name: "WRIT_SANDBOX", about: "set for sandboxed children: the store they cannot reach" },
    Variable { name: "WRIT_SOCKET", about: "set for sandboxed children: where they can call writ" },
    Variable { name: "WRIT_DEPTH", about: "set for children: how deep their run is" },
    Variable {
        name: "VYBE_DB_PATH",
        about: "the same as WRIT_DB, for scripts of the agent contract's original",
    },
    Variable { name: "VYBE_AGENT", about: "the same as WRIT_AGENT" },
    Variable { name: "VYBE_REQUEST_ID", about: "the same as WRIT_REQUEST_ID" },
    Variable { name: "VYBE_PRETTY_JSON", about: "called as vybe: 1 or true prints JSON on several lines" },
    Variable { name: "VYBE_BUSY_TIMEOUT_MS", about: "called as vybe: how long to wait for other writers" },
    Variable { name: "VYBE_RETRO_CHILD", about: "set for children of a loop: hooks do nothing" },
    Variable { name: "XDG_DATA_HOME", about: "where the store is by default, in writ/writ.db" },
    Variable { name: "XDG_CONFIG_HOME", about: "where the user's configuration is, in writ/config.toml" },
    Variable { name: "CLAUDE_CONFIG_DIR", about: "where Claude Code's settings are, for `hook install`" },
    Variable { name: "OPENCODE_CONFIG_DIR", about: "where OpenCode's plugins are, for `hook install`" },
    Variable { name: "PAGER", about: "the same as WRIT_PAGER, for many programs" },
    Variable { name: "LESS", about: "options of `less`; writ sets FRX where there are none" },
    Variable { name: "NO_COLOR", about: "no colors, whatever the terminal can do" },
    Variable { name: "CLICOLOR", about: "0 for no colors" },
    Variable { name: "TERM", about: "the kind of terminal; dumb gets plain lines" },
    Variable { name: "HOME", about: "where the XDG directories are when they are not set" },
    Variable { name: "USER", about: "the name of a person who gives no agent identity" },
    Variable { name: "COLUMNS", about: "how wide the terminal is, if it does not say so itself" },
    Variable { name: "LINES", about: "how high the terminal is, if it does not say so itself" },
];

/// A variable that is set and not empty.
pub(crate) fn get(name: &str) -> Option<String> {
    given(name).filter(|value| !value.is_empty())
}

/// A variable that is set, also if it is empty.
pub(crate) fn given(name: &str) -> Option<String> {
    debug_assert!(VARIABLES.iter().any(|variable| variable.name == name), "{name} is not declared");
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    std::env::var(name).ok()
}

/// What children inherit: everything but writ's own variables, which describe this process and not theirs. When they
/// call writ they get JSON, because some agents run their tools on a pseudo-terminal.
pub(crate) fn inherited() -> BTreeMap<OsString, OsString> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let all = std::env::vars_os();
    let own = |name: &OsString| {
        let name = name.to_string_lossy();
        let own = name.starts_with("WRIT_") || name == "VYBE_REQUEST_ID";
        own && !matches!(name.as_ref(), "WRIT_DB" | "WRIT_AGENT")
    };
    let json = ("WRIT_OUTPUT".into(), "json".into());
    all.filter(|(name, _)| !own(name)).chain([json]).collect()
}

/// Where a kind of file belongs. `None` where neither the variable nor HOME names an absolute directory: the current
/// one is never taken, because agents work there.
fn home(variable: &str, fallback: &str) -> Option<PathBuf> {
    let base = directory(variable).or_else(|| directory("HOME").map(|home| home.join(fallback)))?;
    Some(base.join("writ"))
}

/// A directory that a variable names, if it is an absolute one.
pub(crate) fn directory(name: &str) -> Option<PathBuf> {
    get(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

pub(crate) fn data_home() -> Option<PathBuf> {
    home("XDG_DATA_HOME", ".local/share")
}

pub(crate) fn config_home() -> Option<PathBuf> {
    home("XDG_CONFIG_HOME", ".config")
}

/// The directories in which a shell looks for programs.
pub(crate) fn search_path() -> Vec<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|directory| directory.is_absolute()).collect()
}

/// Whether a shell would find this very program under the name.
pub(crate) fn finds(name: &str, program: &Path) -> bool {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file());
    found.and_then(|file| file.canonicalize().ok()).is_some_and(|file| file == program)
}

/// Whether a program that is started in the directory would be found and may be run.
pub(crate) fn can_start(program: &str, directory: &Path) -> bool {
    let runs = |file: PathBuf| {
        file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return runs(directory.join(program));
    }
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|place| runs(directory.join(place).join(program)))
}

/// The first of our variables that is set to something that is no text. Ignoring it could use another store or
/// forget a request id.
pub(crate) fn unreadable() -> Option<&'static str> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let is_text = |name: &str| std::env::var_os(name).is_none_or(|value| value.to_str().is_some());
    VARIABLES.iter().map(|variable| variable.name).find(|name| !is_text(name))
}
