//! The environment of a sandboxed child: a home and temporary files of its own, toolchains of the user, no sockets.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{Private, SandboxSettings};
use crate::agent_program::PROGRAMS;

/// Variables that lead to the user's own directories or to sockets of other programs.
const REMOVED: &[&str] = &[
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "CARGO_HOME",
    "GOPATH",
    "GOCACHE",
    "GOMODCACHE",
    "npm_config_cache",
    "PIP_CACHE_DIR",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// Toolchains that are found through the home directory: the variable that names each, and where it is there.
const TOOLCHAINS: &[(&str, &str)] = &[
    ("RUSTUP_HOME", ".rustup"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("SDKMAN_DIR", ".sdkman"),
    ("GIT_CONFIG_GLOBAL", ".gitconfig"),
];

/// Settings of tools in the user's home, which hold no credentials.
const TOOL_SETTINGS: &[&str] =
    &[".cargo/config.toml", ".cargo/config", ".config/git", ".config/pip", ".config/go", ".pip"];

/// Gives the child its own directories. Returns the paths of the user's that must stay reachable.
pub(super) fn make_private(
    settings: &SandboxSettings,
    credentials: &[PathBuf],
    private: &Private,
    environment: &mut BTreeMap<OsString, OsString>,
) -> Vec<PathBuf> {
    let (home, temporary) = (&private.home, &private.temporary);
    let mut kept = Vec::new();
    if let Some(users) = &settings.home {
        for (variable, name) in TOOLCHAINS {
            let place = users.join(name);
            if !environment.contains_key(&OsString::from(variable)) && place.exists() {
                environment.insert(variable.into(), place.into_os_string());
            }
        }
        let tools = TOOL_SETTINGS.iter().map(|name| users.join(name));
        // What an earlier attempt put there could lead the links elsewhere.
        let is_empty = home.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        // Directories of agent programs are at the same place in the child's own home.
        for variable in PROGRAMS.iter().map(|program| OsString::from(program.home_variable)) {
            let Some(place) = environment.remove(&variable) else { continue };
            if let Ok(inside) = Path::new(&place).strip_prefix(users) {
                // Codex needs it. If it cannot be made, Codex reports it.
                is_empty.then(|| std::fs::create_dir_all(home.join(inside)).ok());
                environment.insert(variable, home.join(inside).into_os_string());
            }
        }
        for readable in credentials.iter().cloned().chain(tools).filter(|path| path.exists()) {
            if is_empty {
                link_into(home, users, &readable);
            }
            kept.push(readable);
        }
    }
    for (variable, _) in TOOLCHAINS {
        kept.extend(environment.get(&OsString::from(variable)).map(PathBuf::from));
    }
    for variable in REMOVED {
        environment.remove(&OsString::from(variable));
    }
    environment.insert("HOME".into(), home.into());
    for variable in ["TMPDIR", "TMP", "TEMP"] {
        environment.insert(variable.into(), temporary.into());
    }
    kept
}

/// Programs look for their settings and credentials below the home they are given.
fn link_into(home: &Path, users: &Path, readable: &Path) {
    let Ok(inside) = readable.strip_prefix(users) else { return };
    let link = home.join(inside);
    if let Some(above) = link.parent() {
        // The program itself reports what it misses.
        std::fs::create_dir_all(above).and_then(|()| symlink(readable, &link)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_agent_programs_move_into_the_private_home() {
        let scratch = tempfile::tempdir().unwrap();
        let [users, home, temporary] = ["users", "home", "tmp"].map(|name| scratch.path().join(name));
        for directory in [&users.join("work/.codex"), &home, &temporary] {
            std::fs::create_dir_all(directory).unwrap();
        }
        let configuration = users.join("work/.codex/config.toml");
        std::fs::write(&configuration, "x").unwrap();
        let settings = SandboxSettings { home: Some(users.clone()), ..SandboxSettings::default() };
        let private = Private { home: home.clone(), temporary, socket: None };
        let mut environment = BTreeMap::from([
            (OsString::from("CODEX_HOME"), users.join("work/.codex").into_os_string()),
            (OsString::from("CLAUDE_CONFIG_DIR"), OsString::from("/elsewhere")),
        ]);
        make_private(&settings, &[configuration], &private, &mut environment);
        assert_eq!(environment[&OsString::from("CODEX_HOME")], home.join("work/.codex"));
        assert_eq!(environment.get(&OsString::from("CLAUDE_CONFIG_DIR")), None);
        assert_eq!(std::fs::read_to_string(home.join("work/.codex/config.toml")).unwrap(), "x");
    }
}
