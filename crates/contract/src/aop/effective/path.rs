//! Paths in a TASK, of Unix or Windows: normalized, compared by whole components.

/// A path without `.`, `..`, doubled separators or differences in spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Normal {
    /// `/`, `c:/`, `//`, or empty for a relative path.
    root: String,
    parts: Vec<String>,
}

impl Normal {
    /// `None` for a path that goes above its root.
    fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
        // A backslash is a separator only in a Windows path; elsewhere it is an ordinary character.
        let windows = drive || text.starts_with("\\\\");
        let separator = |c: char| c == '/' || (windows && c == '\\');
        let (root, rest) = if drive {
            (format!("{}:/", text[..1].to_ascii_lowercase()), &text[2..])
        } else if windows {
            ("//".to_owned(), text)
        } else if text.starts_with('/') {
            ("/".to_owned(), text)
        } else {
            (String::new(), text)
        };
        let mut parts: Vec<String> = Vec::new();
        for part in rest.split(separator) {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()?),
                name => parts.push(name.to_owned()),
            }
        }
        Some(Self { root, parts })
    }

    fn holds(&self, other: &Self) -> bool {
        self.root == other.root && other.parts.starts_with(&self.parts)
    }

    fn print(&self) -> String {
        format!("{}{}", self.root, self.parts.join("/"))
    }
}

/// The normalized form of `path`; a relative path is below `base`. `None` for a path that goes above the root.
pub fn normal(base: &str, path: &str) -> Option<String> {
    absolute(base, path).map(|path| path.print())
}

/// The normalized forms of `paths`, without invalid paths and without those inside another one.
pub fn scopes(base: &str, paths: &[String]) -> Vec<String> {
    outermost(base, paths).iter().map(Normal::print).collect()
}

/// Sorted, so that everything inside a path directly follows it.
fn outermost(base: &str, paths: &[String]) -> Vec<Normal> {
    let mut found: Vec<Normal> = paths.iter().filter_map(|path| absolute(base, path)).collect();
    found.sort();
    let mut outer: Vec<Normal> = Vec::new();
    for path in found {
        if outer.last().is_none_or(|last| !last.holds(&path)) {
            outer.push(path);
        }
    }
    outer
}

/// Whether `path` is one of `scopes` or below one.
pub fn is_within(base: &str, scopes: &[String], path: &str) -> bool {
    let Some(path) = absolute(base, path) else { return false };
    scopes.iter().filter_map(|scope| absolute(base, scope)).any(|scope| scope.holds(&path))
}

/// The intersection of both lists: of two paths where one contains the other, the inner one.
pub fn intersection(base: &str, left: &[String], right: &[String]) -> Vec<String> {
    let inside = |paths: &[String], others: &[String]| -> Vec<String> {
        let others = outermost(base, others);
        let is_held = |path: &Normal| {
            // None of them is inside another one, so only the last one before the path can contain it.
            let before = others.partition_point(|other| other <= path);
            before > 0 && others[before - 1].holds(path)
        };
        paths.iter().filter(|path| absolute(base, path).as_ref().is_some_and(is_held)).cloned().collect()
    };
    let mut both = inside(left, right);
    both.extend(inside(right, left));
    scopes(base, &both)
}

fn absolute(base: &str, path: &str) -> Option<Normal> {
    let own = Normal::parse(path);
    match own {
        Some(normal) if !normal.root.is_empty() => Some(normal),
        None if is_rooted(path) => None,
        // Also a path such as `../x`, which leaves its base but not the root.
        _ => Normal::parse(&format!("{base}/{path}")),
    }
}

fn is_rooted(path: &str) -> bool {
    let bytes = path.as_bytes();
    path.starts_with(['/', '\\']) || (bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':')
}

#[cfg(test)]
mod tests;
