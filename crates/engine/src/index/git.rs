//! The repository of a workspace: where git keeps its own files, and which files it tracks.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::regular_file;

/// Directories above the workspace in which a repository is looked for.
const LEVELS_MAX: usize = 40;
/// A file that leads to git's directory is one short line.
const POINTER_BYTES_MAX: usize = 8 * 1024;
/// A longer list of tracked files is not read.
const INDEX_BYTES_MAX: usize = 128 * 1024 * 1024;

/// The repository that a workspace is in.
#[derive(Debug)]
pub(super) struct Repository {
    /// The top of its working tree: the workspace, or a directory above it.
    pub(super) top: PathBuf,
    /// Git's directory of this working tree, with its list of tracked files.
    directory: PathBuf,
    /// Where hooks and configuration are: the same, unless this is a linked working tree.
    common: PathBuf,
    /// The way from the top of the working tree to the workspace; with a slash at its end, or empty.
    way: Vec<u8>,
}

impl Repository {
    pub(super) fn of(root: &Path) -> Option<Self> {
        let top = root.ancestors().take(LEVELS_MAX).find(|above| above.join(".git").exists())?;
        let directory = fs::canonicalize(pointed_to(top, &top.join(".git"))).ok()?;
        let common = pointed_to(&directory, &directory.join("commondir"));
        let common =
            if common.ends_with("commondir") { directory.clone() } else { fs::canonicalize(common).ok()? };
        let mut way = root.strip_prefix(top).ok()?.as_os_str().as_bytes().to_vec();
        if !way.is_empty() {
            way.push(b'/');
        }
        Some(Self { top: top.to_owned(), directory, common, way })
    }

    /// Git's own directories: as a path of the workspace where they are in it, and else as an absolute one.
    pub(super) fn directories(&self, root: &Path) -> Vec<Vec<u8>> {
        let mut all: Vec<&PathBuf> = vec![&self.directory, &self.common];
        all.dedup();
        let name = |path: &&PathBuf| path.strip_prefix(root).unwrap_or(path).as_os_str().as_bytes().to_vec();
        all.iter().map(name).collect()
    }

    /// The rules that only this clone has.
    pub(super) fn exclude(&self) -> PathBuf {
        self.common.join("info/exclude")
    }

    /// The files that git tracks, whatever its rules ignore. Nothing where its list cannot be read.
    pub(super) fn tracked(&self) -> Tracked {
        let read = regular_file::read(&self.directory.join("index"), INDEX_BYTES_MAX).unwrap_or_default();
        let parsed = [20, 32].iter().find_map(|hash| Tracked::parse(&read, *hash));
        parsed.map(|tracked| Tracked { way: self.way.clone(), ..tracked }).unwrap_or_default()
    }
}

/// Where a file such as `gitdir: ../x` leads; the path itself if it is no such file.
fn pointed_to(from: &Path, path: &Path) -> PathBuf {
    let text = regular_file::read(path, POINTER_BYTES_MAX).unwrap_or_default();
    let line = text.strip_prefix(b"gitdir: ").unwrap_or(&text).trim_ascii_end();
    if line.is_empty() { path.to_owned() } else { from.join(OsStr::from_bytes(line)) }
}

/// The names of tracked files, in git's order, which is that of their bytes.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    way: Vec<u8>,
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
}

impl Tracked {
    /// Whether a file of the workspace is tracked, or one in a directory.
    pub(super) fn has(&self, path: &[u8], is_directory: bool) -> bool {
        let mut wanted = [&self.way, path].concat();
        if is_directory {
            wanted.push(b'/');
        }
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.name(middle) < &wanted[..] {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low < self.ends.len()
            && (self.name(low) == wanted || (is_directory && self.name(low).starts_with(&wanted)))
    }

    fn name(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.names[start..self.ends[at]]
    }

    /// Reads git's list in its versions 2 to 4, for hashes of that many bytes.
    fn parse(bytes: &[u8], hash: usize) -> Option<Self> {
        let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (version, count) = (number(4)?, usize::try_from(number(8)?).ok()?);
        if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) || count > bytes.len() {
            return None;
        }
        let mut found = Self::default();
        let mut at = 12;
        for _ in 0..count {
            let entry = at;
            at += 40 + hash;
            let is_extended = bytes.get(at)? & 0x40 != 0;
            at += if is_extended { 4 } else { 2 };
            let mut name = Vec::new();
            if version == 4 {
                let (dropped, length) = offset(bytes.get(at..)?)?;
                at += length;
                let last = found.ends.len().checked_sub(1).map_or(&[][..], |last| found.name(last));
                name.extend_from_slice(last.get(..last.len().checked_sub(dropped)?)?);
            }
            let rest = bytes.get(at..)?;
            let length = rest.iter().position(|&byte| byte == 0)?;
            name.extend_from_slice(&rest[..length]);
            at += length;
            // Older versions fill the entry up to a multiple of eight bytes.
            at = if version == 4 { at + 1 } else { entry + (at - entry) / 8 * 8 + 8 };
            let is_in_order = found.ends.is_empty() || found.name(found.ends.len() - 1) <= &name[..];
            if name.is_empty() || !is_in_order {
                return None;
            }
            found.names.extend_from_slice(&name);
            found.ends.push(found.names.len());
        }
        (at + hash <= bytes.len()).then_some(found)
    }
}

/// A number in git's variable length, and the bytes that it takes.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(bytes.first()? & 0x7f);
    let mut length = 1;
    while bytes[length - 1] & 0x80 != 0 {
        let byte = *bytes.get(length)?;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
        length += 1;
    }
    Some((value, length))
}
