//! What a check was when it ran: its program, its environment, the files before and after it, and what it could reuse.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use contract::domain::check::{Check, CheckRan, Expects, ProgramRan};

use super::CheckLocation;
use super::environment::CheckEnvironment;
use crate::executor::command_line;
use crate::regular_file;

/// Directories in which tools keep what they built or remember. The name decides: writ does not see what a check reads.
const BUILD_OUTPUTS: &[&str] = &[
    ".cache",
    ".eggs",
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nox",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".turbo",
    "__pycache__",
    "_build",
    "build",
    "dist",
    "dist-newstyle",
    "node_modules",
    "target",
    "zig-cache",
];
/// Entries that are looked at to find them, nearest to the top first, and how many of them are named.
const ENTRIES_LOOKED_AT_MAX: usize = 2_000;
const BUILD_OUTPUTS_NAMED_MAX: usize = 20;
/// A program that is larger is named without a digest.
const PROGRAM_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How many program digests are cached in this process.
const PROGRAMS_REMEMBERED_MAX: usize = 64;

/// Records the checks of one attempt, in the order in which they run.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    reused: Vec<String>,
    /// The tree after the last check, which is the tree before the next one.
    tree: Option<String>,
}

impl Recorder {
    /// Looks at the workspace before the first check.
    pub(crate) fn new(place: &CheckLocation<'_>) -> Self {
        Self { reused: build_outputs(place.workspace), tree: tree(place) }
    }

    /// What a check is, right before it runs.
    pub(crate) fn before(
        &self,
        check: &Check,
        place: &CheckLocation<'_>,
        environment: &CheckEnvironment,
    ) -> CheckRan {
        let has_process = check.expects != Expects::FileExists;
        let argv = if has_process { command_line(&check.command, check.shell) } else { Vec::new() };
        let path = environment.variables.get(&OsString::from("PATH"));
        let found = argv.first().and_then(|name| find_program(name, path, place.workspace));
        let describe = |path: PathBuf| ProgramRan {
            digest: program_digest(&path),
            path: path.to_string_lossy().into_owned(),
        };
        CheckRan {
            program: found.map(describe),
            argv: argv.iter().map(|word| contract::secrets::scrub(word).into_owned()).collect(),
            directory: place.workspace.to_string_lossy().into_owned(),
            environment: has_process.then(|| environment.seen.clone()),
            tree_before: self.tree.clone(),
            tree_after: None,
            reused: self.reused.clone(),
        }
    }

    /// The tree after a check.
    pub(crate) fn after(&mut self, place: &CheckLocation<'_>, ran: &mut CheckRan) {
        self.tree = tree(place);
        ran.tree_after.clone_from(&self.tree);
    }
}

/// A digest of the task's write scope, or of the whole workspace without one.
fn tree(place: &CheckLocation<'_>) -> Option<String> {
    place.index.tree_digest(place.workspace, place.scopes)
}

/// Whether the name is that of a directory with build outputs.
fn is_build_output(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| BUILD_OUTPUTS.contains(&name))
}

/// The build outputs in the workspace, as far as they are found near its top.
fn build_outputs(workspace: &Path) -> Vec<String> {
    let mut pending = VecDeque::from([workspace.to_owned()]);
    let (mut found, mut looked_at) = (Vec::new(), 0);
    while let Some(directory) = pending.pop_front() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > ENTRIES_LOOKED_AT_MAX || found.len() == BUILD_OUTPUTS_NAMED_MAX {
                found.sort();
                return found;
            }
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || entry.file_name() == ".git" {
                continue;
            }
            let path = entry.path();
            if !is_build_output(&path) {
                pending.push_back(path);
            } else if fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
                let name = path.strip_prefix(workspace).unwrap_or(&path).to_string_lossy().into_owned();
                found.push(contract::secrets::scrub(&name).into_owned());
            }
        }
    }
    found.sort();
    found
}

/// The file that the system would run for this name.
pub(crate) fn find_program(name: &str, path: Option<&OsString>, workspace: &Path) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(workspace.join(name)).filter(runs);
    }
    let entries = path?.as_bytes().split(|&byte| byte == b':');
    let places = entries.map(|entry| workspace.join(std::ffi::OsStr::from_bytes(entry)).join(name));
    places.into_iter().find(runs)
}

/// What tells two versions of a file apart without reading it.
type Identity = (u64, u64, u64, i64, i64);

fn identity(meta: &Metadata) -> Identity {
    let time = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
    let changed = time(meta.ctime(), meta.ctime_nsec());
    (meta.dev(), meta.ino(), meta.len(), time(meta.mtime(), meta.mtime_nsec()), changed)
}

/// The digest of a program, which is read once while it stays the same: a run starts the same few again and again.
pub(super) fn program_digest(path: &Path) -> Option<String> {
    static KNOWN: OnceLock<Mutex<BTreeMap<Identity, String>>> = OnceLock::new();
    // The name may be a link, as that of many interpreters.
    let mut file = regular_file::open(&fs::canonicalize(path).ok()?).ok()?;
    let meta = file.metadata().ok().filter(|meta| meta.len() <= PROGRAM_BYTES_MAX)?;
    let known = KNOWN.get_or_init(Mutex::default);
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let identity = identity(&meta);
    if let Some(digest) = known.get(&identity) {
        return Some(digest.clone());
    }
    let digested = regular_file::digest(&mut file, PROGRAM_BYTES_MAX).ok()?;
    let digest = digested.is_whole.then(|| digested.running.finish())?;
    if known.len() == PROGRAMS_REMEMBERED_MAX {
        known.clear();
    }
    known.insert(identity, digest.clone());
    Some(digest)
}
