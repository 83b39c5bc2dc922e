//! Every environment variable writ reads, in one place.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// A variable and what it is for; `writ config show` prints them.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
}

pub(crate) const VARIABLES: &[Variable] = &[
    Variable { name: "WRIT_DB", about: "the store's file" },
    Variable { name: "WRIT_AGENT", about: "the identity an agent acts under" },
    Variable { name: "WRIT_REQUEST_ID", about: "the key under which a retry is recognised" },
    Variable { name: "WRIT_RUN", about: "set for children: the run they belong to" },
    Variable { name: "WRIT_DEPTH", about: "set for children: how deep their run is" },
    Variable {
        name: "VYBE_DB_PATH",
        about: "the same as WRIT_DB, for scripts of the agent contract's original",
    },
    Variable { name: "VYBE_AGENT", about: "the same as WRIT_AGENT" },
    Variable { name: "VYBE_REQUEST_ID", about: "the same as WRIT_REQUEST_ID" },
    Variable { name: "XDG_DATA_HOME", about: "where the store is by default, in writ/writ.db" },
    Variable { name: "XDG_CONFIG_HOME", about: "where the user's configuration is, in writ/config.toml" },
    Variable { name: "NO_COLOR", about: "no colours, whatever the terminal can do" },
    Variable { name: "HOME", about: "where the XDG directories are when they are not set" },
    Variable { name: "USER", about: "the name of a person who gives no agent identity" },
    Variable { name: "COLUMNS", about: "how wide the live view may be" },
];

/// A variable that is set and not empty.
pub(crate) fn get(name: &str) -> Option<String> {
    debug_assert!(VARIABLES.iter().any(|variable| variable.name == name), "{name} is not declared");
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What children inherit: everything but writ's own variables, which describe this process and not theirs.
pub(crate) fn inherited() -> BTreeMap<OsString, OsString> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let all = std::env::vars_os();
    let own = |name: &OsString| {
        let name = name.to_string_lossy();
        let own = name.starts_with("WRIT_") || name == "VYBE_REQUEST_ID";
        own && !matches!(name.as_ref(), "WRIT_DB" | "WRIT_AGENT")
    };
    all.filter(|(name, _)| !own(name)).collect()
}

fn home(variable: &str, fallback: &str) -> PathBuf {
    match get(variable).map(PathBuf::from).filter(|path| path.is_absolute()) {
        Some(path) => path,
        None => PathBuf::from(get("HOME").unwrap_or_else(|| ".".to_owned())).join(fallback),
    }
}

pub(crate) fn data_home() -> PathBuf {
    home("XDG_DATA_HOME", ".local/share").join("writ")
}

pub(crate) fn config_home() -> PathBuf {
    home("XDG_CONFIG_HOME", ".config").join("writ")
}
