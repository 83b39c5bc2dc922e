//! Removes whole trees of other programs' files, whatever these programs made of them.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Removes an unused tree of any depth and permissions: its directories are moved up before they are emptied, so neither
/// the stack nor the number of open files grows with it. Leftovers of an interrupted removal are removed too.
pub(crate) fn remove_tree(tree: &Path) -> io::Result<()> {
    let (mut waiting, mut moved) = left_beside(tree)?;
    // Most are empty, or not there.
    if !is_gone(fs::remove_dir(tree)) {
        waiting.push(tree.to_owned());
    }
    while let Some(directory) = waiting.pop() {
        // Somebody may have taken away the right to empty it.
        fs::set_permissions(&directory, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                if is_gone(fs::remove_dir(entry.path())) {
                    continue;
                }
                let name = beside(tree, moved);
                moved += 1;
                fs::set_permissions(entry.path(), Permissions::from_mode(0o700))?;
                fs::rename(entry.path(), &name)?;
                waiting.push(name);
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        fs::remove_dir(&directory)?;
    }
    Ok(())
}

fn is_gone(removed: io::Result<()>) -> bool {
    removed.map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true)
}

/// Where the directories of a tree are moved to.
fn beside(tree: &Path, number: u64) -> PathBuf {
    let mut name: OsString = tree.as_os_str().to_owned();
    name.push(format!("-{number}"));
    name.into()
}

/// Directories of the tree that were moved up and not removed, and the next free number.
fn left_beside(tree: &Path) -> io::Result<(Vec<PathBuf>, u64)> {
    let (Some(parent), Some(name)) = (tree.parent(), tree.file_name()) else { return Ok((Vec::new(), 0)) };
    let prefix = [name.as_encoded_bytes(), b"-"].concat();
    let mut left = Vec::new();
    let mut next = 0;
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        let name = entry.file_name();
        let rest =
            name.as_encoded_bytes().strip_prefix(&prefix[..]).and_then(|rest| str::from_utf8(rest).ok());
        let is_number = |rest: &&str| rest.bytes().all(|byte| byte.is_ascii_digit());
        let Some(number) = rest.filter(is_number).and_then(|rest| rest.parse::<u64>().ok()) else { continue };
        if entry.file_type()?.is_dir() {
            left.push(entry.path());
            next = next.max(number + 1);
        }
    }
    Ok((left, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interrupted_removal_left_goes_too_and_neighbors_stay() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |path: &str| scratch.path().join(path);
        for path in ["tree/d/e", "tree-0/left", "tree-7/left/inner", "tree-x", "trees"] {
            fs::create_dir_all(at(path)).unwrap();
            fs::write(at(path).join("file"), "").unwrap();
        }
        fs::set_permissions(at("tree/d"), Permissions::from_mode(0o500)).unwrap();
        remove_tree(&at("tree")).unwrap();
        let mut left: Vec<OsString> =
            fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["tree-x", "trees"]);
    }
}
