//! The ignore rules of a workspace, as they were at one look.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use contract::domain::ignore::IgnoreFile;
use contract::domain::limits;

use super::git::Repository;
use crate::regular_file;

/// The bytes of every ignore file, so that a later look can use the same rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreRules {
    /// From directories above the workspace, as far as the repository goes: the way from there to the workspace, and
    /// the file. Nearest last.
    pub(super) above: Vec<(Vec<u8>, Vec<u8>)>,
    /// By the directory of the file, seen from the workspace.
    pub(super) inside: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl IgnoreRules {
    /// The rules above the workspace, and its repository's own.
    pub(super) fn of_root(root: &Path, repository: Option<&Repository>) -> Self {
        let Some(repository) = repository else { return Self::default() };
        let mut above = Vec::new();
        let mut bytes_left = limits::IGNORE_BYTES_MAX;
        let mut way = Vec::new();
        for (level, directory) in root.ancestors().enumerate() {
            if level > 0 {
                above.extend(
                    read(&directory.join(".gitignore"), &mut bytes_left).map(|file| (way.clone(), file)),
                );
            }
            if directory == repository.top {
                let own = read(&repository.exclude(), &mut bytes_left);
                above.extend(own.map(|file| (way.clone(), file)));
                above.reverse();
                break;
            }
            let Some(name) = directory.file_name() else { break };
            let rest = std::mem::take(&mut way);
            way = super::joined(name.as_encoded_bytes(), &rest);
            if rest.is_empty() {
                way.pop();
            }
        }
        Self { above, inside: BTreeMap::new() }
    }
}

/// The rules that hold in one directory: those of its own file, then of the directories above it.
#[derive(Debug, Clone, Default)]
pub(super) struct Chain(Option<Arc<RuleLink>>);

#[derive(Debug)]
struct RuleLink {
    file: IgnoreFile,
    /// What is put before a path of the workspace, for a file above it.
    before: Vec<u8>,
    /// How much of a path is left out, for a file inside it.
    skipped: usize,
    outer: Chain,
}

impl Chain {
    pub(super) fn of(rules: &IgnoreRules) -> Self {
        let mut chain = Chain::default();
        for (way, file) in &rules.above {
            let before = if way.is_empty() { Vec::new() } else { [way, &b"/"[..]].concat() };
            chain = chain.with(IgnoreFile::parse(file), before, 0);
        }
        chain
    }

    /// With the rules of a directory inside the workspace.
    pub(super) fn inside(self, directory: &[u8], file: &[u8]) -> Self {
        let skipped = if directory.is_empty() { 0 } else { directory.len() + 1 };
        self.with(IgnoreFile::parse(file), Vec::new(), skipped)
    }

    fn with(self, file: IgnoreFile, before: Vec<u8>, skipped: usize) -> Self {
        if file.is_empty() {
            return self;
        }
        Chain(Some(Arc::new(RuleLink { file, before, skipped, outer: self })))
    }

    /// Whether a path of the workspace is ignored. The nearest file with a matching rule decides.
    pub(super) fn ignores(&self, path: &[u8], is_directory: bool) -> bool {
        let mut chain = self;
        while let Some(link) = &chain.0 {
            let decided = if link.before.is_empty() {
                link.file.decides(&path[link.skipped..], is_directory)
            } else {
                link.file.decides(&[&link.before, path].concat(), is_directory)
            };
            if let Some(decided) = decided {
                return decided;
            }
            chain = &link.outer;
        }
        false
    }
}

/// A rule file, if it is one and not too large.
pub(super) fn read(path: &Path, bytes_left: &mut usize) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let length = usize::try_from(meta.len()).ok()?;
    *bytes_left = bytes_left.checked_sub(length)?;
    regular_file::read(path, limits::IGNORE_BYTES_MAX).ok()
}
