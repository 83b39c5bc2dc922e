//! What a look at scopes saw, as the tree that a rollback compares: real names, directories, and what was left out.

use std::collections::BTreeMap;

use contract::domain::rollback::TreeNode;

use super::{EntryContent, IndexEntry, Look, Stat, joined, walk};

/// Permissions, with the set-id and sticky bits.
const MODE_BITS: u32 = 0o7777;

/// What the kept form of a look does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FreshLook {
    /// The directories that were read, with their modes.
    pub(super) directories: Vec<(Vec<u8>, u32)>,
    /// The own directories of git repositories.
    pub(super) repositories: Vec<Vec<u8>>,
    /// What git ignores; nothing below such a path was looked at.
    pub(super) ignored: Vec<Vec<u8>>,
    /// The real paths of what is kept under other names.
    pub(super) real: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Look {
    /// Everything that was seen, directories included, with the stat data of what is not a directory. Without git's own
    /// directories: what is in them belongs together, and only git knows how.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (Vec<u8>, TreeNode, Stat)> {
        let mode = |mode: u32| TreeNode::Directory { mode: mode & MODE_BITS };
        let directories = self.seen.directories.iter();
        let directories = directories.map(move |(path, bits)| (path.clone(), mode(*bits), Stat::default()));
        let files = self.directories.iter().flat_map(move |(directory, entries)| {
            let files = entries.iter().filter(|entry| entry.content != EntryContent::Directory);
            files.map(move |entry| (self.real(directory, &entry.name), entry.node(), entry.stat))
        });
        directories.chain(files).filter(|(path, ..)| !is_git(path))
    }

    /// The own directories of git repositories that were seen below the root.
    pub(crate) fn repositories(&self) -> impl Iterator<Item = &[u8]> {
        let paths = self.seen.repositories.iter().map(Vec::as_slice);
        paths.filter(|path| path.strip_suffix(b"/.git").is_some_and(|above| !is_git(above)))
    }

    /// Paths that were not looked at because git ignores them.
    pub(crate) fn ignored(&self) -> &[Vec<u8>] {
        &self.seen.ignored
    }

    fn real(&self, directory: &[u8], name: &[u8]) -> Vec<u8> {
        let path = joined(directory, name);
        self.seen.real.get(&path).cloned().unwrap_or(path)
    }
}

/// A repository's own directory need not be in the workspace; it then has an absolute path.
fn is_git(path: &[u8]) -> bool {
    path.starts_with(b"/") || path.split(|byte| *byte == b'/').any(|part| part == b".git")
}

impl Stat {
    pub(crate) fn of_found(found: &rustix::fs::Stat) -> Self {
        let part = |nanoseconds| u32::try_from(nanoseconds).unwrap_or(0);
        Self {
            device: found.st_dev,
            inode: found.st_ino,
            size: u64::try_from(found.st_size).unwrap_or(0),
            modified: (found.st_mtime, part(found.st_mtime_nsec)),
            changed: (found.st_ctime, part(found.st_ctime_nsec)),
            mode: found.st_mode,
        }
    }

    /// As a file that was not read.
    pub(crate) fn unread(&self) -> TreeNode {
        TreeNode::Unread {
            mode: self.mode,
            size: self.size,
            inode: self.inode,
            modified: walk::nanoseconds(self.modified),
            changed: walk::nanoseconds(self.changed),
        }
    }

    /// When it was changed for the last time, in milliseconds.
    pub(crate) fn changed_ms(&self) -> i64 {
        walk::nanoseconds(self.changed) / 1_000_000
    }

    pub(crate) fn special(&self) -> TreeNode {
        TreeNode::Special { device: self.device, inode: self.inode }
    }

    /// Permissions, with the set-id and sticky bits.
    pub(crate) fn mode(&self) -> u32 {
        self.mode & MODE_BITS
    }

    /// Whether a file was not written since. Its change time is not compared: removing another name of it sets that.
    pub(crate) fn is_of(&self, found: &Stat) -> bool {
        (self.mode, self.size, self.inode, self.modified)
            == (found.mode, found.size, found.inode, found.modified)
    }

    pub(crate) fn is_file(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFREG
    }

    pub(crate) fn is_link(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFLNK
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFDIR
    }
}

impl IndexEntry {
    fn node(&self) -> TreeNode {
        match self.content {
            EntryContent::Digest(digest) if self.stat.is_link() => TreeNode::Link { digest },
            EntryContent::Digest(digest) => {
                TreeNode::File { mode: self.stat.mode(), size: self.stat.size, digest }
            }
            EntryContent::Special => self.stat.special(),
            EntryContent::Unread => self.stat.unread(),
            EntryContent::Directory => TreeNode::Directory { mode: self.stat.mode() },
        }
    }
}
