//! Digests of the files that checks use.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use contract::digest;
use contract::domain::pins::{ABSENT, Digests, LINK, OUTSIDE, TOO_LARGE};
use contract::domain::scope::Scope;

use super::record::program_digest;
use crate::index::Index;
use crate::regular_file;

/// A larger file is not read.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Stands for what is never opened: pipes, sockets, devices, and the files of the store.
const SPECIAL: &str = "special";

/// Digests of the files and directories at these paths of the workspace.
pub fn digests<'p>(index: &Index, workspace: &Path, paths: impl IntoIterator<Item = &'p str>) -> Digests {
    // A workspace that does not exist yet has nothing in it.
    let root = fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
    paths.into_iter().map(|path| (path.to_owned(), digest_of(index, &root, path))).collect()
}

fn digest_of(index: &Index, root: &Path, path: &str) -> String {
    let Ok(real) = fs::canonicalize(root.join(path)) else { return ABSENT.to_owned() };
    if !real.starts_with(root) {
        if path.starts_with('/') {
            return OUTSIDE.to_owned();
        }
        let content = program_digest(&real).unwrap_or_else(|| TOO_LARGE.to_owned());
        return format!("{LINK}{}:{content}", digest::of_bytes(real.as_os_str().as_bytes()));
    }
    let Ok(meta) = fs::metadata(&real) else { return ABSENT.to_owned() };
    if meta.is_dir() {
        let scope = real.strip_prefix(root).ok().and_then(|inside| Scope::parse(inside.to_str()?, None).ok());
        let tree = scope.and_then(|scope| index.tree_digest(root, &[scope]));
        return tree.map_or_else(|| TOO_LARGE.to_owned(), |tree| format!("tree:{tree}"));
    }
    if index.is_own(&meta) {
        return SPECIAL.to_owned();
    }
    let read = regular_file::open(&real).and_then(|mut file| regular_file::digest(&mut file, FILE_BYTES_MAX));
    match read {
        Ok(digested) if digested.is_whole => digested.running.finish(),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => SPECIAL.to_owned(),
        Ok(_) | Err(_) => TOO_LARGE.to_owned(),
    }
}
