//! The patterns of one `.gitignore` file, and which paths they match.

/// The patterns of one file, in its order. Paths are bytes: a file's name need not be text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IgnoreFile {
    patterns: Vec<IgnorePattern>,
}

/// The longest pattern that is read; git has no use for a longer one, as no path is longer.
const PATTERN_BYTES_MAX: usize = 4096;
/// Patterns of one file; those beyond it ignore nothing, so more is seen rather than less.
const PATTERNS_MAX: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
struct IgnorePattern {
    is_negated: bool,
    only_directories: bool,
    /// It has a slash before its end: it is compared with the whole path, else with the name alone.
    is_anchored: bool,
    form: PatternForm,
}

/// The usual patterns are compared without a search.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternForm {
    Exact(Vec<u8>),
    /// `*.o`
    Suffix(Vec<u8>),
    Glob(Vec<u8>),
}

impl IgnoreFile {
    pub fn parse(bytes: &[u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let lines = bytes.split(|&byte| byte == b'\n').filter_map(IgnorePattern::parse);
        Self { patterns: lines.take(PATTERNS_MAX).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether the last pattern that matches ignores the path or keeps it. `None` if none matches. The path is relative
    /// to the file's directory, without a slash at either end.
    pub fn decides(&self, path: &[u8], is_directory: bool) -> Option<bool> {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let matches = |pattern: &&IgnorePattern| {
            let text = if pattern.is_anchored { path } else { name };
            (is_directory || !pattern.only_directories) && pattern.form.matches(text)
        };
        self.patterns.iter().rev().find(matches).map(|pattern| !pattern.is_negated)
    }
}

impl IgnorePattern {
    fn parse(line: &[u8]) -> Option<Self> {
        let line = trimmed(line.strip_suffix(b"\r").unwrap_or(line));
        if line.is_empty() || line[0] == b'#' || line.len() > PATTERN_BYTES_MAX {
            return None;
        }
        let (is_negated, rest) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
        let (only_directories, rest) = rest.strip_suffix(b"/").map_or((false, rest), |rest| (true, rest));
        let is_anchored = rest.contains(&b'/');
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        if rest.is_empty() {
            return None;
        }
        Some(Self { is_negated, only_directories, is_anchored, form: PatternForm::of(rest) })
    }
}

/// Without the spaces at the end that no backslash keeps.
fn trimmed(line: &[u8]) -> &[u8] {
    let mut end = line.len();
    while end > 0 && line[end - 1] == b' ' && (end < 2 || line[end - 2] != b'\\') {
        end -= 1;
    }
    &line[..end]
}

impl PatternForm {
    fn of(text: &[u8]) -> Self {
        if !text.iter().any(is_special) {
            return PatternForm::Exact(text.to_vec());
        }
        match text.strip_prefix(b"*") {
            Some(rest) if !rest.iter().any(|byte| is_special(byte) || *byte == b'/') => {
                PatternForm::Suffix(rest.to_vec())
            }
            _ => PatternForm::Glob(text.to_vec()),
        }
    }

    fn matches(&self, text: &[u8]) -> bool {
        match self {
            PatternForm::Exact(exact) => exact == text,
            PatternForm::Suffix(suffix) => text.ends_with(suffix) && !text.contains(&b'/'),
            PatternForm::Glob(glob) => matches(glob, text),
        }
    }
}

/// What is not compared as it stands.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "iterators pass a reference")]
fn is_special(byte: &u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// Matches as git does: `*` and `?` stop at a slash, `**` between slashes stands for any number of directories.
///
/// Every pair of positions is decided once, so a hostile pattern costs at most the product of both lengths.
fn matches(glob: &[u8], text: &[u8]) -> bool {
    let width = text.len() + 1;
    let mut dead = vec![false; (glob.len() + 1) * width];
    let mut todo = vec![(0, 0)];
    while let Some((at, from)) = todo.pop() {
        if at == glob.len() && from == text.len() {
            return true;
        }
        if at >= glob.len() || std::mem::replace(&mut dead[at * width + from], true) {
            continue;
        }
        next(glob, at, text, from, &mut todo);
    }
    false
}

/// The positions that one more element of the glob leads to.
fn next(glob: &[u8], at: usize, text: &[u8], from: usize, todo: &mut Vec<(usize, usize)>) {
    let here = text.get(from).copied();
    match glob[at] {
        b'*' if glob[at..].starts_with(b"**") => {
            // Git compares the text before the first wildcard by itself, so what follows it counts as a beginning.
            let plain = glob.iter().position(is_special).unwrap_or(0);
            let begins = at == plain || glob[at - 1] == b'/';
            let stars = glob[at..].iter().take_while(|&&byte| byte == b'*').count();
            let after = at + stars;
            let spans = begins && (after == glob.len() || glob[after] == b'/');
            if spans && after < glob.len() {
                // `**/`: nothing, or any directories.
                todo.push((after + 1, from));
                let ends = text[from..].iter().enumerate().filter(|(_, byte)| **byte == b'/');
                todo.extend(ends.map(|(end, _)| (after + 1, from + end + 1)));
            } else if spans {
                // `/**` at the end: everything inside.
                todo.push((after, text.len()));
            } else {
                star((at, after), here, from, todo);
            }
        }
        b'*' => star((at, at + 1), here, from, todo),
        b'?' => todo.extend(here.filter(|&byte| byte != b'/').map(|_| (at + 1, from + 1))),
        b'[' => {
            if let Some((length, class)) = class(&glob[at + 1..]) {
                let fits = |byte: &u8| *byte != b'/' && class.has(*byte);
                todo.extend(here.filter(fits).map(|_| (at + 1 + length, from + 1)));
            }
        }
        b'\\' if at + 1 < glob.len() => {
            todo.extend((here == Some(glob[at + 1])).then_some((at + 2, from + 1)));
        }
        literal => todo.extend((here == Some(literal)).then_some((at + 1, from + 1))),
    }
}

/// A star ends here, or takes one more byte.
fn star((at, after): (usize, usize), here: Option<u8>, from: usize, todo: &mut Vec<(usize, usize)>) {
    todo.push((after, from));
    todo.extend(here.filter(|&byte| byte != b'/').map(|_| (at, from + 1)));
}

struct Class {
    is_negated: bool,
    ranges: Vec<(u8, u8)>,
}

impl Class {
    fn has(&self, byte: u8) -> bool {
        self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&byte)) != self.is_negated
    }
}

/// The class that starts after `[`, and its length with the closing bracket. `None` if it is not closed.
fn class(text: &[u8]) -> Option<(usize, Class)> {
    let is_negated = matches!(text.first(), Some(b'!' | b'^'));
    let first = usize::from(is_negated);
    let mut at = first;
    let mut ranges = Vec::new();
    loop {
        match *text.get(at)? {
            b']' if at > first => return Some((at + 1, Class { is_negated, ranges })),
            b'[' if text[at..].starts_with(b"[:") => {
                let length = text[at..].windows(2).position(|pair| pair == b":]")?;
                ranges.extend_from_slice(named(&text[at + 2..at + length])?);
                at += length + 2;
                continue;
            }
            _ => {}
        }
        let (low, length) = member(&text[at..])?;
        at += length;
        match text.get(at..).and_then(|rest| rest.strip_prefix(b"-")) {
            Some(rest) if rest.first().is_some_and(|&byte| byte != b']') => {
                let (high, length) = member(rest)?;
                ranges.push((low, high));
                at += 1 + length;
            }
            _ => ranges.push((low, low)),
        }
    }
}

fn member(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'\\', escaped, ..] => Some((*escaped, 2)),
        [byte, ..] => Some((*byte, 1)),
        [] => None,
    }
}

fn named(name: &[u8]) -> Option<&'static [(u8, u8)]> {
    Some(match name {
        b"alnum" => &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')],
        b"alpha" => &[(b'A', b'Z'), (b'a', b'z')],
        b"blank" => &[(b' ', b' '), (b'\t', b'\t')],
        b"digit" => &[(b'0', b'9')],
        b"lower" => &[(b'a', b'z')],
        b"upper" => &[(b'A', b'Z')],
        b"space" => &[(b'\t', b'\r'), (b' ', b' ')],
        b"xdigit" => &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')],
        b"punct" => &[(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')],
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
