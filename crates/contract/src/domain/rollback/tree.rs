//! What a scope contains: directories, files, links, with their modes.

use std::collections::BTreeMap;

/// By path, seen from the workspace. Paths are bytes, because names need not be text.
pub type Tree = BTreeMap<Vec<u8>, TreeNode>;

/// One path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeNode {
    Directory {
        /// Permissions, with the set-id and sticky bits.
        mode: u32,
    },
    File {
        mode: u32,
        size: u64,
        digest: [u8; 32],
    },
    /// The digest is of the target.
    Link {
        digest: [u8; 32],
    },
    /// A pipe, socket or device: known by its inode alone.
    Special {
        device: u64,
        inode: u64,
    },
    /// Not read: too large, or not readable. Its stat data stands for it.
    Unread {
        mode: u32,
        size: u64,
        inode: u64,
        /// Nanoseconds.
        modified: i64,
        changed: i64,
    },
}

impl TreeNode {
    pub fn is_directory(&self) -> bool {
        matches!(self, TreeNode::Directory { .. })
    }

    /// Whether the two differ in nothing but their modes.
    pub(super) fn differs_in_mode_only(&self, other: &TreeNode) -> bool {
        match (self, other) {
            (TreeNode::Directory { .. }, TreeNode::Directory { .. }) => true,
            (TreeNode::File { digest: one, .. }, TreeNode::File { digest: two, .. }) => one == two,
            _ => false,
        }
    }
}

/// A path as text. Bytes that are not part of a character are written as `\xNN`, so that two names stay two.
pub fn text(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}
