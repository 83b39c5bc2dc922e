//! Paths as lock and write scopes: normalized text, and when two of them overlap.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::limits;

/// A normalized path: relative to the workspace, or absolute if no root is known. `.` is the whole workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scope(String);

/// Why a text is not a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeFault {
    #[error("must not be empty")]
    Empty,
    #[error("globs are not supported; name the file or its directory")]
    Glob,
    #[error("must not contain control or invisible characters")]
    ControlCharacter,
    #[error("leads out of the workspace")]
    Escape,
    #[error("is longer than {} bytes", limits::SCOPE_BYTES_MAX)]
    TooLong,
}

impl ScopeFault {
    pub fn rule(self) -> &'static str {
        match self {
            ScopeFault::Empty => "resource_empty",
            ScopeFault::Glob => "glob_not_supported",
            ScopeFault::ControlCharacter => "resource_control_char",
            ScopeFault::Escape => "workspace_escape",
            ScopeFault::TooLong => "too_long",
        }
    }
}

/// Symbolic links of the workspace by their normalized path: where each leads, as seen from the root.
pub type Links = BTreeMap<String, String>;

/// A chain of links longer than this is a loop, as it is for the kernel.
const LINKS_FOLLOWED_MAX: usize = 40;

impl Scope {
    /// The whole workspace.
    pub fn everything() -> Self {
        Self(".".to_owned())
    }

    /// Normalizes `text`. With a `root`, absolute paths under it become relative and others are refused.
    pub fn parse(text: &str, root: Option<&str>) -> Result<Self, ScopeFault> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ScopeFault::Empty);
        }
        if text.len() > limits::SCOPE_BYTES_MAX {
            return Err(ScopeFault::TooLong);
        }
        if text.chars().any(is_unseen) {
            return Err(ScopeFault::ControlCharacter);
        }
        if text.contains(['*', '?']) {
            return Err(ScopeFault::Glob);
        }
        let path = settled(text)?;
        if path.len() > limits::SCOPE_BYTES_MAX {
            return Err(ScopeFault::TooLong);
        }
        let Some(root) = root.filter(|_| is_absolute(&path)) else { return Ok(Self(path)) };
        let root = settled(root)?;
        if path == root {
            return Ok(Self::everything());
        }
        let prefix = if root.ends_with('/') { root } else { format!("{root}/") };
        let inside = path.strip_prefix(&prefix).ok_or(ScopeFault::Escape)?;
        // Without the root, a name may start with white space or look like a drive, so normalize it again.
        let scope = Self::parse(inside, None)?;
        if is_absolute(&scope.0) { Err(ScopeFault::Escape) } else { Ok(scope) }
    }

    /// Resolves the symbolic links of the workspace. A link that leaves the workspace is refused.
    pub fn follow(self, links: &Links, root: Option<&str>) -> Result<Self, ScopeFault> {
        let mut path = self;
        for _ in 0..=LINKS_FOLLOWED_MAX {
            let Some((link, target)) = path.first_link(links) else { return Ok(path) };
            let target = Scope::parse(target, root)?;
            if is_absolute(&target.0) && !is_absolute(link) {
                return Err(ScopeFault::Escape);
            }
            path = Scope::parse(&format!("{}/{}", target.0, &path.0[link.len()..]), root)?;
        }
        Err(ScopeFault::Escape)
    }

    /// The first symbolic link on this path, from the root.
    fn first_link<'l>(&self, links: &'l Links) -> Option<(&'l str, &'l str)> {
        let leads_on = |link: &str, target: &str| link != "." && link != target && contains(link, &self.0);
        let links = links.iter().map(|(link, target)| (link.as_str(), target.as_str()));
        links.filter(|(link, target)| leads_on(link, target)).min_by_key(|(link, _)| link.len())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its path components. Sorted by them, everything inside a scope directly follows it.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|step| !step.is_empty() && *step != ".")
    }

    /// The scopes that are not inside another one, in the order of their paths.
    pub(crate) fn outermost(mut scopes: Vec<Scope>) -> Vec<Scope> {
        let by_root = |a: &Scope, b: &Scope| a.is_absolute().cmp(&b.is_absolute());
        scopes.sort_by(|a, b| by_root(a, b).then_with(|| a.steps().cmp(b.steps())));
        let mut outer: Vec<Scope> = Vec::new();
        for scope in scopes {
            if outer.last().is_none_or(|last| !last.contains(&scope)) {
                outer.push(scope);
            }
        }
        outer
    }

    /// Whether it is not known to be in the workspace.
    pub fn is_absolute(&self) -> bool {
        is_absolute(&self.0)
    }

    /// Whether `other` is inside this scope or the same.
    pub fn contains(&self, other: &Scope) -> bool {
        contains(&self.0, &other.0)
    }

    /// Whether both cover some common path. Symmetric.
    pub fn overlaps(&self, other: &Scope) -> bool {
        self.contains(other) || other.contains(self)
    }

    /// The same on a file system that ignores case.
    pub fn overlaps_ignoring_case(&self, other: &Scope) -> bool {
        self.folded().overlaps(&other.folded())
    }

    /// A form in which names that differ only in case are equal. For comparison, not for display.
    #[must_use]
    pub fn folded(&self) -> Scope {
        // Upper case first: `ß` and `SS` name one file there, and lower case alone would miss that.
        Scope(self.0.to_uppercase().to_lowercase().nfc().collect())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Control characters, and those that change how a name looks without being seen: two names that a person cannot
/// distinguish must not be two files to a lock.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn contains(outer: &str, inner: &str) -> bool {
    match outer {
        "." => !is_absolute(inner),
        "/" => is_absolute(inner),
        _ => inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || outer.ends_with('/')),
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path)
}

fn has_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() >= 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes.get(2), None | Some(b'/'))
}

/// Resolving may expose white space at either end again. No real path needs more rounds
/// than this.
const SETTLED_IN_MAX: usize = 8;

/// Resolves until nothing changes.
fn settled(text: &str) -> Result<String, ScopeFault> {
    let mut path: String = text.trim().replace('\\', "/").nfc().collect();
    for _ in 0..SETTLED_IN_MAX {
        let resolved = resolve(&path)?;
        let trimmed = resolved.trim();
        if trimmed.len() == resolved.len() {
            return Ok(resolved);
        }
        trimmed.clone_into(&mut path);
    }
    Err(ScopeFault::Empty)
}

/// Resolves `.`, `..` and repeated separators without reading the disk.
fn resolve(path: &str) -> Result<String, ScopeFault> {
    let (start, rest) = if has_drive(path) {
        (format!("{}/", &path[..2]), &path[2..])
    } else if path.starts_with('/') {
        ("/".to_owned(), path)
    } else {
        (String::new(), path)
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or(ScopeFault::Escape)?;
            }
            name if name.trim().is_empty() => return Err(ScopeFault::Empty),
            name => parts.push(name),
        }
    }
    let path = format!("{start}{}", parts.join("/"));
    Ok(if path.is_empty() { ".".to_owned() } else { path })
}

#[cfg(test)]
mod tests;
