//! Which paths of this machine a sandbox opens, keeps and hides.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use contract::domain::limits;
use contract::domain::scope::Scope;

use super::SandboxSettings;
use crate::agent_program::PROGRAMS;

/// Credentials below the user's home, and sockets of agents that hold some. Those of agent programs are declared with them.
const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".npmrc",
    ".password-store",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".s3cfg",
    ".boto",
    ".dockercfg",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".config/rclone",
    ".config/github-copilot",
    ".config/hub",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
];

/// What scopes open for writing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// Directories, and files that are opened alone.
    pub(super) directories: Vec<PathBuf>,
    /// The scopes themselves, where they really are.
    pub(super) scopes: Vec<PathBuf>,
    /// What is in these directories already and in no scope.
    pub(super) held: BTreeSet<PathBuf>,
    /// Directories between them and what is held: moved, they would take it along.
    pub(super) pinned: BTreeSet<PathBuf>,
}

/// How much a scope opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opens {
    /// For a file its directory: programs replace files instead of writing to them.
    ForNewFiles,
    /// What is there, and nothing beside it.
    WhatIsThere,
}

/// What is opened for these scopes. What else is in an opened directory is held.
pub(super) fn opened<'s>(
    workspace: &Path,
    scopes: impl Iterator<Item = (&'s Scope, Opens)>,
) -> Result<Opened, String> {
    let (mut directories, mut wanted, mut partly) = (Vec::new(), Vec::new(), Vec::new());
    for (scope, opens) in scopes {
        let path = workspace.join(scope.as_str());
        let existing = path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
        let real = existing.canonicalize().map_err(|error| format!("{}: {error}", existing.display()))?;
        if !scope.is_absolute() && !real.starts_with(workspace) {
            return Err(format!("`{}` leads out of the workspace", scope.as_str()));
        }
        // A link made by an earlier task must not open more than its name.
        if !scope.is_absolute() && real != existing {
            return Err(format!(
                "`{}` leads through a link to {}; name what it leads to",
                scope.as_str(),
                real.display()
            ));
        }
        let rest = path.strip_prefix(existing).expect("BUG: it is one of its ancestors");
        match opens {
            _ if rest.as_os_str().is_empty() => {
                wanted.push(real.clone());
                directories.push(real);
            }
            Opens::ForNewFiles => {
                wanted.push(real.join(rest));
                partly.push(real.clone());
                directories.push(real);
            }
            Opens::WhatIsThere => {
                let file = real.join(rest);
                if file.symlink_metadata().is_ok_and(|found| found.is_file()) {
                    wanted.push(file.clone());
                    directories.push(file);
                }
            }
        }
    }
    for list in [&mut directories, &mut partly] {
        list.sort();
        list.dedup();
    }
    let mut opened =
        Opened { directories, scopes: Vec::new(), held: BTreeSet::new(), pinned: BTreeSet::new() };
    for directory in partly {
        opened.hold(&directory, &wanted)?;
    }
    opened.scopes = wanted;
    Ok(opened)
}

/// What is in the workspace and in none of these scopes. A link is not named: what it leads to is.
pub(super) fn unread<'s>(
    workspace: &Path,
    scopes: impl Iterator<Item = &'s Scope>,
) -> Result<Vec<OsString>, String> {
    let shown: Vec<PathBuf> = scopes.map(|scope| workspace.join(scope.as_str())).collect();
    let mut opened = Opened {
        directories: Vec::new(),
        scopes: Vec::new(),
        held: BTreeSet::new(),
        pinned: BTreeSet::new(),
    };
    opened.hold(workspace, &shown)?;
    Ok(opened.held.into_iter().map(PathBuf::into_os_string).collect())
}

impl Opened {
    /// A scope that is in none of these directories.
    pub(super) fn outside(&self, limit: &[String]) -> Option<&Path> {
        let is_inside = |scope: &&PathBuf| limit.iter().any(|open| scope.starts_with(open));
        self.scopes.iter().find(|scope| !is_inside(scope)).map(PathBuf::as_path)
    }

    /// Keeps a path where it is: no directory between it and an open one can be moved.
    pub(super) fn pin_above(&mut self, path: &Path) {
        let is_inside =
            |above: &&Path| self.directories.iter().any(|open| above.starts_with(open) && above != open);
        let above: Vec<PathBuf> = path.ancestors().skip(1).filter(is_inside).map(Path::to_owned).collect();
        self.pinned.extend(above);
    }

    /// Adds what is in a directory and in no scope. Nothing if the directory is in one itself.
    fn hold(&mut self, directory: &Path, wanted: &[PathBuf]) -> Result<(), String> {
        if wanted.iter().any(|scope| directory.starts_with(scope)) {
            return Ok(());
        }
        let named = |error: io::Error| format!("{}: {error}", directory.display());
        for entry in std::fs::read_dir(directory).map_err(named)? {
            let entry = entry.map_err(named)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(named)?);
            if wanted.contains(&path) {
                continue;
            }
            if kind.is_dir() && wanted.iter().any(|scope| scope.starts_with(&path)) {
                self.hold(&path, wanted)?;
                self.pinned.insert(path);
            } else if !kind.is_symlink() {
                // A link cannot be held. What it leads to is held where it is.
                self.held.insert(path);
            }
            if self.held.len() > limits::SANDBOX_HELD_MAX {
                let max = limits::SANDBOX_HELD_MAX;
                return Err(format!(
                    "there are more than {max} entries beside a file in `writes`; name its directory instead"
                ));
            }
        }
        Ok(())
    }
}

/// Directories in which the child's program and those on its search path are, as they are named and where they really are.
/// None that is, or leads to, something that must not be seen.
pub(super) fn programs(
    argv: &[OsString],
    environment: &BTreeMap<OsString, OsString>,
    hidden: &[OsString],
) -> Vec<PathBuf> {
    let path = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let program = argv.first().map(Path::new).filter(|program| program.is_absolute());
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    directories.extend(program.and_then(Path::parent).map(Path::to_owned));
    // A directory such as `/` or `/tmp` itself would keep everything.
    directories.retain(|directory| directory.is_absolute() && directory.components().count() > 2);
    directories.sort();
    directories.dedup();
    let mut kept = Vec::with_capacity(directories.len());
    for directory in directories {
        // One look at each: it asks the system once for every part of the path.
        let real = directory.canonicalize().ok();
        if is_in(real.as_deref().unwrap_or(&directory), hidden) {
            continue;
        }
        kept.extend(real.filter(|real| *real != directory));
        kept.push(directory);
    }
    kept
}

/// Files for temporary use that the command names: its author wants them to be read.
pub(super) fn temporary_files(argv: &[OsString]) -> impl Iterator<Item = PathBuf> {
    let named = argv.iter().map(PathBuf::from).filter(|path| path.starts_with("/tmp"));
    named.filter(|path| path.symlink_metadata().is_ok_and(|found| found.is_file()))
}

/// Whether a path is, or leads to, something that must not be seen: naming it in a command does not open it.
pub(super) fn is_hidden(path: &Path, hidden: &[OsString]) -> bool {
    is_in(&path.canonicalize().unwrap_or_else(|_| path.to_owned()), hidden)
}

fn is_in(real: &Path, hidden: &[OsString]) -> bool {
    hidden.iter().any(|hidden| real.starts_with(hidden))
}

/// The store with its key, logs and indexes, and the user's credentials.
pub(super) fn hidden(settings: &SandboxSettings, store: &Path, readable: &[PathBuf]) -> Vec<OsString> {
    let declared = |path: &Path| readable.iter().any(|open| path.starts_with(open));
    let there = settings.home.as_deref().map(credentials).unwrap_or_default();
    let there = there.into_iter().filter(|(named, _)| !declared(named)).map(|(_, real)| real);
    of_store(store).into_iter().chain(there).map(PathBuf::into_os_string).collect()
}

/// The credentials below this home, as they are named and where they really are. What is not there needs no hiding.
fn credentials(home: &Path) -> Vec<(PathBuf, PathBuf)> {
    let of_agents = PROGRAMS.iter().flat_map(|program| program.secrets);
    let named = CREDENTIALS.iter().chain(of_agents).map(|name| home.join(name));
    // One look is enough to see that it is not there. A link is hidden where it leads.
    let there = named.filter(|path| path.symlink_metadata().is_ok());
    there.filter_map(|path| path.canonicalize().ok().map(|real| (path, real))).collect()
}

/// The store's directory if nothing else is in it, and else everything that begins with the store's name.
fn of_store(store: &Path) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (store.parent(), store.file_name()) else { return Vec::new() };
    let is_of_store = |entry: &OsStr| entry.as_encoded_bytes().starts_with(name.as_encoded_bytes());
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let (own, others): (Vec<_>, Vec<_>) = entries.partition(|entry| is_of_store(&entry.file_name()));
    if others.is_empty() {
        return vec![directory.to_owned()];
    }
    own.into_iter().map(|entry| entry.path()).collect()
}
