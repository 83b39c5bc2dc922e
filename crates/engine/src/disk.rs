//! A workspace on the disk: its links and its case rules.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use contract::domain::scope::{Links, Scope};

/// Links that are followed for one path; more is a loop.
const LINKS_MAX: usize = 40;

/// The symbolic links on the way to these paths, seen from the root.
pub(crate) fn links(root: &str, paths: &[&str]) -> Links {
    let mut links = Links::new();
    for text in paths {
        let mut next = Scope::parse(text, Some(root)).ok();
        // Each step finds one more link on the way, and the rest of the way is looked at again.
        for _ in 0..LINKS_MAX {
            let Some(path) = next.filter(|path| !path.is_absolute()) else { break };
            let Some((link, target)) = first_link(root, path.as_str(), &links) else { break };
            links.insert(link, target);
            next = path.follow(&links, Some(root)).ok();
        }
    }
    links
}

/// Whether the file system treats names that differ only in case as one.
pub(crate) fn folds_case(root: &str) -> bool {
    let swapped: String = root
        .chars()
        .map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
        .collect();
    match (fs::metadata(root), fs::metadata(&swapped)) {
        (Ok(one), Ok(other)) => swapped != root && one.dev() == other.dev() && one.ino() == other.ino(),
        _ => false,
    }
}

/// The first link on the way to `path` that is not known yet, and where it leads as seen from the root.
fn first_link(root: &str, path: &str, known: &Links) -> Option<(String, String)> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    for end in ends {
        let part = &path[..end];
        let here = Path::new(root).join(part);
        if known.contains_key(part) || !fs::symlink_metadata(&here).is_ok_and(|meta| meta.is_symlink()) {
            continue;
        }
        let target = fs::read_link(&here).ok()?.to_string_lossy().into_owned();
        let beside = part.rsplit_once('/').map_or(String::new(), |(parent, _)| format!("{parent}/"));
        let target = if target.starts_with('/') { target } else { format!("{beside}{target}") };
        return Some((part.to_owned(), target));
    }
    None
}

/// The absolute path of a workspace under its real name.
pub fn real_root(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests;
