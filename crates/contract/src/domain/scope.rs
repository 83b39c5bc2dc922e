//! Paths as lock and write scopes: normalized text, and when two of them overlap.

use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// A normalized resource: relative to the workspace, or absolute where no root is known. `.` is the whole workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scope(String);

/// Why a text is no scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeFault {
    #[error("must not be empty")]
    Empty,
    #[error("globs are not supported; name the file or its directory")]
    Glob,
    #[error("must not contain control characters")]
    ControlCharacter,
    #[error("leads out of the workspace")]
    Escape,
}

impl ScopeFault {
    pub fn rule(self) -> &'static str {
        match self {
            ScopeFault::Empty => "resource_empty",
            ScopeFault::Glob => "glob_not_supported",
            ScopeFault::ControlCharacter => "resource_control_char",
            ScopeFault::Escape => "workspace_escape",
        }
    }
}

impl Scope {
    /// Normalizes `text`. With a `root`, absolute paths under it become relative and others are refused.
    pub fn parse(text: &str, root: Option<&str>) -> Result<Self, ScopeFault> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ScopeFault::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(ScopeFault::ControlCharacter);
        }
        if text.contains(['*', '?']) {
            return Err(ScopeFault::Glob);
        }
        let slashed: String = text.replace('\\', "/").nfc().collect();
        let path = resolve(&slashed)?;
        let Some(root) = root else { return Ok(Self(path)) };
        let root = resolve(&root.replace('\\', "/"))?;
        if !is_absolute(&path) {
            return Ok(Self(path));
        }
        if path == root {
            return Ok(Self(".".to_owned()));
        }
        let prefix = if root == "/" { root } else { format!("{root}/") };
        path.strip_prefix(&prefix).map(|inside| Self(inside.to_owned())).ok_or(ScopeFault::Escape)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `other` lies inside this scope or is the same.
    pub fn contains(&self, other: &Scope) -> bool {
        contains(&self.0, &other.0)
    }

    /// Whether both cover some common path. Symmetric.
    pub fn overlaps(&self, other: &Scope) -> bool {
        self.contains(other) || other.contains(self)
    }

    /// The same on a file system that ignores case.
    pub fn overlaps_ignoring_case(&self, other: &Scope) -> bool {
        let (a, b) = (self.0.to_lowercase(), other.0.to_lowercase());
        contains(&a, &b) || contains(&b, &a)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn contains(outer: &str, inner: &str) -> bool {
    match outer {
        "." => !is_absolute(inner),
        "/" => is_absolute(inner),
        _ => inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
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

/// Resolves `.`, `..` and repeated separators without looking at the disk.
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
            name => parts.push(name),
        }
    }
    let path = format!("{start}{}", parts.join("/"));
    Ok(if path.is_empty() { ".".to_owned() } else { path })
}

#[cfg(test)]
mod tests;
