//! The stored form of a tree: a header in JSON, the paths, and a checksum.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use contract::digest;
use contract::domain::attempt::{AttemptId, Taken};
use contract::domain::rollback::{Tree, TreeNode};
use contract::domain::run::RunId;
use contract::domain::scope::Scope;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use serde::{Deserialize, Serialize};

const MAGIC: &[u8] = b"writ-snapshot 1\n";
const CHECKSUM_BYTES: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordSide {
    Before,
    After,
}

impl RecordSide {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            RecordSide::Before => "before",
            RecordSide::After => "after",
        }
    }
}

/// What a record is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordHeader {
    pub(super) attempt_id: AttemptId,
    pub(super) task_id: TaskId,
    pub(super) run_id: RunId,
    /// The task's id in its plan.
    pub(super) name: String,
    /// The absolute path of the workspace.
    pub(super) root: String,
    /// Under real names.
    pub(super) scopes: Vec<Scope>,
    pub(super) at: Timestamp,
    pub(super) taken: Taken,
    /// Every git repository in the scope has a mark in the tree.
    #[serde(default)]
    pub(super) has_marks: bool,
    /// The tree is the one before, and not written again.
    #[serde(default)]
    pub(super) is_same: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SnapshotRecord {
    pub(super) header: RecordHeader,
    pub(super) tree: Tree,
    /// What was not looked at, because git ignores it.
    pub(super) ignored: Vec<Vec<u8>>,
}

/// Why a record cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordError {
    /// It is not what was written.
    Damaged,
    /// It has a form that this version does not know.
    Unknown,
}

impl SnapshotRecord {
    /// Writes it whole. On the disk when this returns.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut fresh = path.as_os_str().to_owned();
        fresh.push(format!(".{}.tmp", std::process::id()));
        let write = || {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
            file.write_all(&self.written()?)?;
            file.sync_all()?;
            fs::rename(&fresh, path)?;
            File::open(path.parent().expect("BUG: records are in a directory"))?.sync_all()
        };
        let written = write();
        if written.is_err() {
            fs::remove_file(&fresh).ok();
        }
        written
    }

    fn written(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(512 + self.tree.len() * 128);
        bytes.extend_from_slice(MAGIC);
        put_bytes(&mut bytes, &serde_json::to_vec(&self.header)?);
        put_number(&mut bytes, self.tree.len() as u64);
        for (path, node) in &self.tree {
            put_bytes(&mut bytes, path);
            put_node(&mut bytes, node);
        }
        put_number(&mut bytes, self.ignored.len() as u64);
        self.ignored.iter().for_each(|path| put_bytes(&mut bytes, path));
        let checksum = digest::raw_of_bytes(&bytes);
        bytes.extend_from_slice(&checksum);
        Ok(bytes)
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, RecordError> {
        if !bytes.starts_with(MAGIC) {
            return Err(RecordError::Unknown);
        }
        let body = bytes.len().checked_sub(CHECKSUM_BYTES).and_then(|length| bytes.split_at_checked(length));
        let whole = body.filter(|(body, checksum)| digest::raw_of_bytes(body) == **checksum);
        let (body, _) = whole.ok_or(RecordError::Damaged)?;
        // What carries its checksum was written so: by a version that has more to say.
        Self::parsed(body).ok_or(RecordError::Unknown)
    }

    fn parsed(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body.strip_prefix(MAGIC)?);
        let header = serde_json::from_slice(reader.bytes()?).ok()?;
        let mut tree = Tree::new();
        for _ in 0..reader.number()? {
            tree.insert(reader.bytes()?.to_vec(), reader.node()?);
        }
        let mut ignored = Vec::new();
        for _ in 0..reader.number()? {
            ignored.push(reader.bytes()?.to_vec());
        }
        reader.0.is_empty().then_some(Self { header, tree, ignored })
    }
}

fn put_number(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, part: &[u8]) {
    put_number(bytes, part.len() as u64);
    bytes.extend_from_slice(part);
}

fn put_node(bytes: &mut Vec<u8>, node: &TreeNode) {
    match node {
        TreeNode::Directory { mode } => {
            bytes.push(0);
            put_number(bytes, u64::from(*mode));
        }
        TreeNode::File { mode, size, digest } => {
            bytes.push(1);
            put_number(bytes, u64::from(*mode));
            put_number(bytes, *size);
            bytes.extend_from_slice(digest);
        }
        TreeNode::Link { digest } => {
            bytes.push(2);
            bytes.extend_from_slice(digest);
        }
        TreeNode::Special { device, inode } => {
            bytes.push(3);
            put_number(bytes, *device);
            put_number(bytes, *inode);
        }
        TreeNode::Unread { mode, size, inode, modified, changed } => {
            bytes.push(4);
            put_number(bytes, u64::from(*mode));
            for number in [*size, *inode, modified.cast_unsigned(), changed.cast_unsigned()] {
                put_number(bytes, number);
            }
        }
    }
}

/// Reads what was written; `None` where something else follows.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    fn mode(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn digest(&mut self) -> Option<[u8; 32]> {
        self.take(32)?.try_into().ok()
    }

    fn node(&mut self) -> Option<TreeNode> {
        Some(match self.take(1)? {
            [0] => TreeNode::Directory { mode: self.mode()? },
            [1] => TreeNode::File { mode: self.mode()?, size: self.number()?, digest: self.digest()? },
            [2] => TreeNode::Link { digest: self.digest()? },
            [3] => TreeNode::Special { device: self.number()?, inode: self.number()? },
            [4] => TreeNode::Unread {
                mode: self.mode()?,
                size: self.number()?,
                inode: self.number()?,
                modified: self.number()?.cast_signed(),
                changed: self.number()?.cast_signed(),
            },
            _ => return None,
        })
    }
}
