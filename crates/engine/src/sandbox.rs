//! What the sandbox of a task or a check is made of: its plan, the user's configuration, and what is on this machine.

mod command;
mod denial;
mod environment;
mod git;
mod paths;
mod private;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use contract::domain::confinement::{self, Ceiling, GitUse, Namespace, NetworkUse, SandboxMode};
use contract::domain::network::HostRule;
use contract::domain::plan::{FileAccess, PlanTask};
use contract::domain::scope::Scope;

pub use command::{CommandDirectories, CommandSandboxes, CommandWishes, OpenSandbox};
pub(crate) use denial::{Denials, Network};
pub(crate) use git::leave as leave_repository;
pub use paths::Opens;
pub use private::Private;
pub(crate) use private::bind_anew;

use crate::inside::SOCKET_VARIABLE;
use crate::settings::Settings;
use crate::supervisor::{Limits, Reachable, Sandbox};

/// What an engine needs to know to confine its children. Without a directory of its own nothing is confined.
#[derive(Debug, Clone, Default)]
pub struct SandboxSettings {
    /// Where private directories of tasks are made.
    pub root: PathBuf,
    /// The store's file. Nothing beside it with its name can be seen from inside.
    pub store: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Files and directories in it that can be read from inside although they hold credentials.
    pub credentials: Vec<PathBuf>,
    /// The same for commands that begin with these words.
    pub credentials_of_commands: Vec<(Vec<String>, Vec<PathBuf>)>,
    /// Model endpoints of commands that begin with these words. They stay reachable without a network.
    pub endpoints_of_commands: Vec<(Vec<String>, Vec<HostRule>)>,
    pub limits: Limits,
}

impl SandboxSettings {
    /// The credentials that a child with this command may read.
    fn credentials_of(&self, argv: &[OsString]) -> Vec<PathBuf> {
        let declared = self.credentials_of_commands.iter().filter(|(command, _)| begins_with(argv, command));
        self.credentials.iter().chain(declared.flat_map(|(_, paths)| paths)).cloned().collect()
    }

    /// What a child with this command can reach although the network is not open to it.
    fn reachable_of(&self, wanted: &SandboxRequest<'_>, argv: &[OsString]) -> Reachable {
        let allow = match wanted.network {
            NetworkUse::Full => return Reachable::default(),
            NetworkUse::Restricted => wanted.network_allow.to_vec(),
            NetworkUse::None => Vec::new(),
        };
        let declared = self.endpoints_of_commands.iter().filter(|(command, _)| begins_with(argv, command));
        Reachable { allow, endpoints: declared.flat_map(|(_, rules)| rules).cloned().collect() }
    }
}

/// Whether a command line begins with these words.
fn begins_with(argv: &[OsString], command: &[String]) -> bool {
    argv.len() >= command.len() && command.iter().zip(argv).all(|(word, argument)| argument == word.as_str())
}

/// In the environment of a sandboxed child: the store that it cannot reach.
pub const INSIDE_VARIABLE: &str = "WRIT_SANDBOX";

/// What is asked for one task, or for checks.
#[derive(Debug, Clone, Copy)]
pub struct SandboxRequest<'w> {
    pub mode: SandboxMode,
    pub writes: &'w [Scope],
    pub scratch: &'w [Scope],
    /// How much `writes` open.
    pub opens: Opens,
    pub network: NetworkUse,
    /// The hosts that can be reached where the network is restricted.
    pub network_allow: &'w [HostRule],
    pub git: GitUse,
    pub namespace: Namespace,
    /// The repository that shares its objects with a clone.
    pub origin: Option<&'w Path>,
    /// What it can be given at most.
    pub ceiling: Option<&'w Ceiling>,
    /// Its access to the workspace, where it is less than `writes`.
    pub files: Option<&'w FileAccess>,
    /// Files that it can read and not write, wherever they are.
    pub held: &'w [PathBuf],
}

impl<'w> SandboxRequest<'w> {
    pub fn of(spec: &'w PlanTask, configured: Option<SandboxMode>) -> Self {
        Self {
            mode: SandboxMode::effective(configured, spec.sandbox),
            writes: &spec.writes,
            scratch: &spec.scratch,
            opens: Opens::ForNewFiles,
            network: spec.network,
            network_allow: &spec.network_allow,
            git: spec.git,
            namespace: spec.namespace,
            origin: None,
            ceiling: None,
            files: None,
            held: &[],
        }
    }

    /// The same for a task that an engine works, in a clone of the repository `origin` if there is one.
    pub(crate) fn of_task(spec: &'w PlanTask, settings: &'w Settings, origin: Option<&'w Path>) -> Self {
        let wanted = Self::of(spec, settings.policy.sandbox);
        let wanted = origin.map_or(wanted, |origin| wanted.in_clone_of(origin));
        wanted.below(settings.ceiling.as_ref())
    }

    /// What is asked for commands that no plan describes.
    pub fn plain(writes: &'w [Scope], configured: Option<SandboxMode>, namespace: Namespace) -> Self {
        Self {
            mode: SandboxMode::effective(configured, None),
            writes,
            scratch: &[],
            opens: Opens::ForNewFiles,
            network: NetworkUse::Full,
            network_allow: &[],
            git: GitUse::Read,
            namespace,
            origin: None,
            ceiling: None,
            files: None,
            held: &[],
        }
    }

    /// The same for a task of a run that a program in a sandbox started.
    #[must_use]
    pub fn below(self, ceiling: Option<&'w Ceiling>) -> Self {
        let Some(limit) = ceiling else { return self };
        let (mode, git) = (self.mode.max(limit.mode), self.git.min(limit.git));
        let network_allow: &[HostRule] =
            if self.network > limit.network { &limit.network_allow } else { self.network_allow };
        Self { mode, network: self.network.min(limit.network), network_allow, git, ceiling, ..self }
    }

    /// The same for checks, which may not add files.
    #[must_use]
    pub(crate) fn for_checks(self) -> Self {
        Self { opens: Opens::WhatIsThere, ..self }
    }

    /// What a task's plan asks for and does not get, and what it goes without, by what it is about.
    pub(crate) fn overruled(&self, spec: &PlanTask) -> BTreeMap<String, String> {
        let mut told = BTreeMap::new();
        let mut tell = |what: &str, said: String| told.insert(what.to_owned(), said);
        match (self.mode, spec.sandbox) {
            (SandboxMode::Off, _) => {
                tell(confinement::SANDBOX, "off".to_owned());
                if !self.network.is_full() {
                    let said =
                        format!("not limited: `network = \"{}\"` needs a sandbox", self.network.as_str());
                    tell("network", said);
                }
            }
            (mode, Some(SandboxMode::Off)) => {
                let said = format!("{} instead of off, as the configuration demands", mode.as_str());
                tell(confinement::SANDBOX, said);
            }
            (SandboxMode::Prefer | SandboxMode::Enforce, _) => {}
        }
        told
    }

    fn scopes(&self) -> impl Iterator<Item = (&'w Scope, Opens)> + use<'w> {
        let opens = self.opens;
        let scratch = self.scratch.iter().map(|scope| (scope, Opens::ForNewFiles));
        self.writes.iter().map(move |scope| (scope, opens)).chain(scratch)
    }

    /// The same for a task in a clone, which is its own, so it may commit.
    #[must_use]
    pub fn in_clone_of(self, origin: &'w Path) -> Self {
        Self { git: GitUse::Commit, origin: Some(origin), ..self }
    }

    /// Why a sandbox that is demanded cannot be had in this workspace, as far as that is known before anything is
    /// started.
    pub fn refusal(&self, workspace: &Path) -> Option<String> {
        if self.mode != SandboxMode::Enforce {
            return None;
        }
        match self.namespace {
            Namespace::Off => Some("its namespace is off, which a sandbox needs".to_owned()),
            // The clone, which is made for it, has neither links nor another repository.
            Namespace::On if self.origin.is_some() => None,
            Namespace::On => {
                let real = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
                let opened = paths::opened(&real, self.scopes());
                opened.err().or_else(|| git::refusal(&real, self.git))
            }
        }
    }
}

/// What tasks may use where the configuration does not say it: most of this machine's memory.
pub fn limits_here() -> Limits {
    let usual = Limits::default();
    let about = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = about.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok());
    let most = kibibytes.map_or(usual.memory_bytes_max, |kibibytes| kibibytes.saturating_mul(1024) / 4 * 3);
    Limits { memory_bytes_max: most, ..usual }
}

/// The sandbox of a child, and what the child has in it.
pub struct ConfinedChild {
    pub sandbox: Box<Sandbox>,
    /// Where it works, without links.
    pub workspace: PathBuf,
    /// What it may write, where that really is. `None` if its writing is not confined.
    pub scopes: Option<Vec<PathBuf>>,
    /// Credentials of the user that it may read.
    pub credentials: Vec<PathBuf>,
}

/// What a sandbox leaves open for writing.
#[derive(Debug, Clone)]
pub(crate) struct Writable {
    open: Vec<PathBuf>,
    /// Inside of what is open, and closed.
    held: Vec<PathBuf>,
}

impl Writable {
    /// `None` if writing is not confined.
    pub(crate) fn of(sandbox: &Sandbox) -> Option<Self> {
        let paths = |paths: &[OsString]| paths.iter().map(PathBuf::from).collect();
        Some(Self { open: paths(sandbox.writes.as_ref()?), held: paths(&sandbox.read_only) })
    }

    /// Whether a child could write to this path, which is without links.
    pub(crate) fn includes(&self, path: &Path) -> bool {
        let is_below = |places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        is_below(&self.open) && !is_below(&self.held)
    }
}

/// The sandbox of one child, with the environment it needs there. `None` if none is asked for. The error says what
/// cannot be had.
pub fn of_child(
    settings: &SandboxSettings,
    wanted: &SandboxRequest<'_>,
    (workspace, private): (&Path, &Private),
    (argv, environment): (&[OsString], &mut BTreeMap<OsString, OsString>),
) -> Result<Option<ConfinedChild>, String> {
    let is_demanded = match wanted.mode {
        SandboxMode::Off => return Ok(None),
        SandboxMode::Prefer => false,
        SandboxMode::Enforce => true,
    };
    let real = workspace.canonicalize().map_err(|error| format!("{}: {error}", workspace.display()))?;
    let store = settings.store.canonicalize().unwrap_or_else(|_| settings.store.clone());
    let credentials = settings.credentials_of(argv);
    let hidden = paths::hidden(settings, &store, &credentials);
    let mut keeps = paths::programs(argv, environment, &hidden);
    // What a program in a sandbox names was written by that program.
    if wanted.ceiling.is_none() {
        keeps.extend(paths::temporary_files(argv).filter(|path| !paths::is_hidden(path, &hidden)));
    }
    keeps.extend([workspace.to_owned(), real.clone()]);
    keeps.extend(wanted.origin.map(Path::to_owned));
    let mut sandbox = Sandbox {
        is_demanded,
        hidden,
        network: wanted.network,
        reachable: settings.reachable_of(wanted, argv),
        limits: settings.limits,
        ..Sandbox::default()
    };
    let limit = wanted.ceiling.and_then(|ceiling| ceiling.writes.as_ref());
    let writes_nothing = wanted.files.is_some_and(|files| files.writes_nothing);
    let is_confined = is_demanded || writes_nothing || !wanted.writes.is_empty() || limit.is_some();
    if let Some(reads) = wanted.files.and_then(|files| files.reads.as_ref()) {
        let shown = reads.iter().chain(wanted.writes).chain(wanted.scratch);
        match paths::unread(&real, shown) {
            Ok(unread) => sandbox.hidden.extend(unread),
            Err(reason) if is_demanded => return Err(reason),
            Err(reason) => sandbox.lacks = Some(reason),
        }
    }
    let confined = is_confined.then(|| writable(settings, wanted, (&real, &store), private));
    let mut scopes = None;
    match confined.transpose() {
        Ok(None) => {}
        Ok(Some((opened, made))) => {
            keeps.extend(environment::make_private(settings, &credentials, &made, environment));
            keeps.extend([made.home, made.temporary]);
            let held = opened.held.into_iter().chain(wanted.held.iter().cloned());
            sandbox.read_only = held.map(PathBuf::into_os_string).collect();
            sandbox.pinned = opened.pinned.into_iter().map(PathBuf::into_os_string).collect();
            let mut directories = opened.directories;
            git::protect(&real, wanted.git, &mut sandbox, &mut directories)?;
            protect_project(&real, &opened.scopes, &directories, &mut sandbox);
            sandbox.writes = Some(directories.into_iter().map(PathBuf::into_os_string).collect());
            scopes = Some(opened.scopes);
        }
        Err(reason) if is_demanded || limit.is_some() => return Err(reason),
        Err(reason) => sandbox.lacks = Some(reason),
    }
    if let Some(socket) = private.make_for_socket()? {
        environment.insert(SOCKET_VARIABLE.into(), socket.clone().into_os_string());
        keeps.extend(socket.parent().map(Path::to_owned));
        sandbox.socket = Some(socket.into_os_string());
    }
    environment.insert(INSIDE_VARIABLE.into(), settings.store.clone().into_os_string());
    sandbox.keeps = keeps.into_iter().map(PathBuf::into_os_string).collect();
    Ok(Some(ConfinedChild { sandbox: Box::new(sandbox), workspace: real, scopes, credentials }))
}

/// Where a project keeps its rules for writ, and the scripts of its checks.
const PROJECT: &str = ".writ";

/// Keeps a task from changing the rules of later runs, unless its `writes` name them.
fn protect_project(workspace: &Path, scopes: &[PathBuf], open: &[PathBuf], sandbox: &mut Sandbox) {
    let project = workspace.join(PROJECT);
    // A link cannot be held. What it leads to is held where it is.
    let is_directory = project.symlink_metadata().is_ok_and(|found| found.is_dir());
    let is_held = sandbox.read_only.iter().any(|held| project.starts_with(held));
    if !is_directory || is_held || scopes.iter().any(|scope| scope.starts_with(&project)) {
        return;
    }
    // The store may be there, and the private directories of the child are beside it.
    let has_private = open.iter().any(|directory| directory.starts_with(&project));
    let held = if has_private { project.join("config.toml") } else { project };
    sandbox.read_only.push(held.into_os_string());
}

/// What is opened for writing, and the private directories of the child.
fn writable(
    settings: &SandboxSettings,
    wanted: &SandboxRequest<'_>,
    (workspace, store): (&Path, &Path),
    private: &Private,
) -> Result<(paths::Opened, Private), String> {
    if settings.root.as_os_str().is_empty() {
        return Err("there is no place for its private directories".to_owned());
    }
    let made = private.make()?;
    let mut opened = paths::opened(workspace, wanted.scopes())?;
    let limit = wanted.ceiling.and_then(|ceiling| ceiling.writes.as_ref());
    if let Some(outside) = limit.and_then(|limit| opened.outside(limit)) {
        return Err(format!("{} cannot be written by the task that started the run", outside.display()));
    }
    if let Some(reason) = git::refusal(workspace, wanted.git) {
        return Err(reason);
    }
    opened.directories.extend([made.home.clone(), made.temporary.clone()]);
    opened.pin_above(store);
    // The store may be in the workspace, and the private directories are beside it.
    opened.held.retain(|held| !made.home.starts_with(held));
    Ok((opened, made))
}

#[cfg(test)]
mod tests;
