//! What a child's output says about being denied something.

/// Lines that are looked at; a longer one is looked at in pieces.
const LINE_BYTES_MAX: usize = 4096;
/// How programs report that the system denied something: rules, read-only mounts, seccomp, and mounts that stay in place.
const PHRASES: &[&str] =
    &["permission denied", "read-only file system", "operation not permitted", "device or resource busy"];

/// How programs report that they went another way than through the proxy.
const NETWORK_PHRASES: &[&str] = &["network is unreachable", "enetunreach"];

/// Looks for the first denial in what a child prints.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    line: Vec<u8>,
    /// Whether the proxy is the only way to the network.
    is_proxied: bool,
    first: Option<Denied>,
}

#[derive(Debug, PartialEq, Eq)]
enum Denied {
    Path(String),
    PathUnknown,
    Network,
}

impl Denials {
    /// Where the proxy is the only way to the network, one that cannot be reached was denied.
    pub(crate) fn watch_network(&mut self, is_proxied: bool) {
        self.is_proxied = is_proxied;
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.first.is_some() {
                return;
            }
            if byte == b'\n' || self.line.len() >= LINE_BYTES_MAX {
                self.look();
            } else {
                self.line.push(byte);
            }
        }
    }

    fn look(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let network = || (self.is_proxied && says(&line, NETWORK_PHRASES)).then_some(Denied::Network);
        self.first = denied(&line).or_else(network);
    }

    /// What was denied, for people.
    pub(crate) fn told(&mut self) -> Option<String> {
        if self.first.is_none() {
            self.look();
        }
        let what = match self.first.as_ref()? {
            Denied::Path(path) => format!("`{path}`"),
            Denied::PathUnknown => "path unknown".to_owned(),
            Denied::Network => {
                "the network can be reached only through HTTP_PROXY and HTTPS_PROXY".to_owned()
            }
        };
        Some(format!("access was denied in the sandbox: {what}"))
    }
}

/// `Some` if the line reports a denial, with the path it names.
fn denied(line: &str) -> Option<Denied> {
    says(line, PHRASES).then(|| path_in(line).map_or(Denied::PathUnknown, Denied::Path))
}

fn says(line: &str, phrases: &[&str]) -> bool {
    let lower = line.to_lowercase();
    phrases.iter().any(|phrase| lower.contains(phrase))
}

/// A quoted text first, because it may be relative and may have spaces; else a word with a slash.
fn path_in(line: &str) -> Option<String> {
    for (open, close) in [('\'', '\''), ('"', '"'), ('`', '`'), ('‘', '’')] {
        let quoted = line.split_once(open).and_then(|(_, rest)| rest.split_once(close));
        if let Some((path, _)) = quoted.filter(|(path, _)| !path.is_empty()) {
            return Some(path.to_owned());
        }
    }
    let is_edge = |c: char| matches!(c, ':' | ',' | ';' | '(' | ')' | '[' | ']');
    let words = line.split_whitespace().map(|word| word.trim_matches(is_edge));
    words.filter(|word| word.contains('/')).max_by_key(|word| word.starts_with('/')).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_denied_path_is_taken_from_what_programs_print() {
        let cases = [
            ("sh: 1: cannot create /etc/x: Permission denied", Some("/etc/x")),
            ("touch: cannot touch 'a b': Permission denied", Some("a b")),
            ("touch: cannot touch ‘/etc/x’: Read-only file system", Some("/etc/x")),
            ("PermissionError: [Errno 13] Permission denied: '/etc/x'", Some("/etc/x")),
            ("Error: EACCES: permission denied, open '/etc/x'", Some("/etc/x")),
            ("bash: ./../x: Permission denied", Some("./../x")),
            ("mv: cannot move '.git' to 'x': Device or resource busy", Some(".git")),
            ("Error: Permission denied (os error 13)", None),
        ];
        for (line, path) in cases {
            let expected = path.map_or(Denied::PathUnknown, |path| Denied::Path(path.to_owned()));
            assert_eq!(denied(line), Some(expected), "{line}");
        }
        assert_eq!(denied("all is well: /etc/x"), None);
    }

    #[test]
    fn a_network_that_cannot_be_reached_was_denied_only_where_there_is_a_proxy() {
        let told = |is_proxied: bool| {
            let mut denials = Denials::default();
            denials.watch_network(is_proxied);
            denials.push(b"connect: Network is unreachable\n");
            denials.told()
        };
        assert_eq!(told(false), None);
        assert!(told(true).is_some_and(|told| told.contains("HTTPS_PROXY")));
    }

    #[test]
    fn the_first_denial_counts_also_in_pieces_and_without_a_newline() {
        let mut denials = Denials::default();
        for piece in ["hello\ncannot create /et", "c/x: Permission den", "ied"] {
            denials.push(piece.as_bytes());
        }
        assert_eq!(denials.told().as_deref(), Some("access was denied in the sandbox: `/etc/x`"));
        assert_eq!(Denials::default().told(), None);
    }
}
