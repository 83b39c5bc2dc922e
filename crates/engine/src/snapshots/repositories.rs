//! The own directories of git repositories inside a scope. Half of their files must not change without the rest, so they are
//! not stored; a mark stands for each, so that a rollback names the changed ones. One that the task made is its own.

use std::fs;
use std::path::{Path, PathBuf};

use contract::digest;
use contract::domain::limits;
use contract::domain::rollback::{Tree, TreeNode};
use contract::domain::scope::Scope;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use crate::regular_file;

/// The files that define a repository's state, besides its references.
const FILES: &[&str] = &["HEAD", "packed-refs", "config"];
const FILE_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(super) fn is_inside(scope: &Scope) -> bool {
    scope.as_str().split('/').any(|part| part == ".git")
}

/// Whether a tree has a mark at this path.
pub(super) fn is_mark(tree: &Tree, path: &[u8]) -> bool {
    path.ends_with(b"/.git") && matches!(tree.get(path), Some(TreeNode::Unread { .. }))
}

/// What stands for a repository: it differs if a branch moved, or the configuration was changed. `None` if it is gone.
pub(super) fn mark(root: &Path, path: &[u8]) -> Option<TreeNode> {
    let directory = root.join(OsStr::from_bytes(path));
    let found = directory.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
    let mut running = digest::Running::default();
    let mut add = |name: &Path| {
        // What cannot be read is the same as nothing.
        let bytes = regular_file::read(&directory.join(name), FILE_BYTES_MAX).unwrap_or_default();
        running.update(name.as_os_str().as_bytes());
        running.update(&(bytes.len() as u64).to_le_bytes());
        running.update(&bytes);
    };
    FILES.iter().for_each(|name| add(Path::new(name)));
    files_below(&directory, Path::new("refs")).iter().for_each(|name| add(name));
    let digest = running.finish_raw();
    let part =
        |from: usize| i64::from_le_bytes(digest[from..from + 8].try_into().expect("BUG: it has 32 bytes"));
    let (mode, inode) = (found.mode(), found.ino());
    Some(TreeNode::Unread { mode, size: 0, inode, modified: part(0), changed: part(8) })
}

/// Everything below a directory, directories included, as far as a snapshot may have paths.
pub(super) fn below(root: &Path, path: &[u8]) -> Vec<Vec<u8>> {
    let mut pending = vec![path.to_vec()];
    let mut found = vec![path.to_vec()];
    while let Some(directory) = pending.pop() {
        let here = root.join(OsStr::from_bytes(&directory));
        for entry in fs::read_dir(here).into_iter().flatten().flatten() {
            let inner = [&directory, b"/".as_slice(), entry.file_name().as_bytes()].concat();
            if found.len() >= limits::SNAPSHOT_PATHS_MAX {
                return found;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(inner.clone());
            }
            found.push(inner);
        }
    }
    found
}

fn files_below(root: &Path, directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = below(root, directory.as_os_str().as_bytes())
        .into_iter()
        .map(|path| PathBuf::from(OsStr::from_bytes(&path)))
        .filter(|path| root.join(path).symlink_metadata().is_ok_and(|found| !found.is_dir()))
        .collect();
    files.sort_unstable();
    files
}
