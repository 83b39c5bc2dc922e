//! Denials in a child's output.

/// Lines that are looked at; a longer one is looked at in pieces.
const LINE_BYTES_MAX: usize = 4096;
/// How programs report that the system denied something: rules, read-only mounts, seccomp, mounts that stay in place, and
/// links from one mount to another.
const PHRASES: &[&str] = &[
    "permission denied",
    "read-only file system",
    "operation not permitted",
    "device or resource busy",
    "invalid cross-device link",
    "failed mount system call",
];

/// How programs report that they went another way than through the proxy.
const PROXY_PHRASES: &[&str] = &["network is unreachable", "enetunreach"];
/// How programs report that they cannot reach a network at all.
const NETWORK_PHRASES: &[&str] = &[
    "network is unreachable",
    "enetunreach",
    "socket: permission denied",
    "could not connect",
    "couldn't connect",
    "failed to connect",
    "unable to connect",
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "name or service not known",
    "unable to resolve",
    "eai_again",
    "enotfound",
];

/// What the network of a child is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Network {
    #[default]
    Open,
    /// The proxy is the only way out.
    Proxied,
    Closed,
}

/// Looks for the first denial in what a child prints.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    line: Vec<u8>,
    network: Network,
    is_aop: bool,
    first: Option<Denied>,
}

#[derive(Debug, PartialEq, Eq)]
enum Denied {
    Path(String),
    PathUnknown,
    Network,
}

impl Denials {
    /// Of an AOP TASK, which uses other field names than a plan.
    pub(crate) fn of_aop(is_aop: bool) -> Self {
        Self { is_aop, ..Self::default() }
    }

    /// Where the network is not open, one that cannot be reached was denied.
    pub(crate) fn watch_network(&mut self, network: Network) {
        self.network = network;
    }

    /// The path that was denied, where it is known.
    pub(crate) fn path(&self) -> Option<&str> {
        match self.first.as_ref()? {
            Denied::Path(path) => Some(path),
            Denied::PathUnknown | Denied::Network => None,
        }
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
        let phrases = match self.network {
            Network::Open => &[],
            Network::Proxied => PROXY_PHRASES,
            Network::Closed => NETWORK_PHRASES,
        };
        let network = says(&line, phrases).then_some(Denied::Network);
        self.first = network.or_else(|| denied(&line));
    }

    /// What was denied, for people.
    pub(crate) fn told(&mut self) -> Option<String> {
        if self.first.is_none() {
            self.look();
        }
        let what = match self.first.as_ref()? {
            Denied::Path(path) => format!("`{path}`"),
            Denied::PathUnknown => "path unknown".to_owned(),
            Denied::Network => match self.network {
                Network::Closed if self.is_aop => {
                    "the network, because the TASK's `access.network` or its agent's `network_access` is NONE"
                        .to_owned()
                }
                Network::Closed => "the network, because the task has `network = \"none\"`".to_owned(),
                Network::Open | Network::Proxied => {
                    "the network can be reached only through HTTP_PROXY and HTTPS_PROXY".to_owned()
                }
            },
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

/// A quoted text first, because it may be relative and may have spaces; else a word with a slash; else what is named right
/// before the denial.
fn path_in(line: &str) -> Option<String> {
    let told = without_script(line);
    for (open, close) in [('\'', '\''), ('"', '"'), ('`', '`'), ('‘', '’')] {
        let quoted = told.split_once(open).and_then(|(_, rest)| rest.split_once(close));
        if let Some((path, _)) = quoted.filter(|(path, _)| !path.is_empty()) {
            return Some(path.to_owned());
        }
    }
    let is_edge = |c: char| matches!(c, ':' | ',' | ';' | '(' | ')' | '[' | ']');
    // After a program's own path comes the subject of the message.
    let relative = relative_in(line);
    let is_program = |at: usize, word: &str| at == 0 && word.ends_with(':') && relative.is_some();
    let words = told.split_whitespace().enumerate().filter(|(at, word)| !is_program(*at, word));
    let words = words.map(|(_, word)| word.trim_matches(is_edge));
    let absolute = words.filter(|word| word.contains('/')).max_by_key(|word| word.starts_with('/'));
    absolute.map(str::to_owned).or(relative)
}

/// The part of a shell's message after the script name and the line number: `DIR/agent.sh: 2: …`, or `line 2: …`.
fn without_script(line: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let behind = |(at, _): (usize, &str)| {
        let (number, rest) = line[at + 2..].split_once(": ")?;
        is_number(number.strip_prefix("line ").unwrap_or(number)).then_some(rest)
    };
    line.match_indices(": ").find_map(behind).unwrap_or(line)
}

/// Shells name a file right before what happened to it: `sh: 1: cannot create Makefile: Read-only file system`.
fn relative_in(line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    let end = PHRASES.iter().filter_map(|phrase| lower.find(phrase)).min()?;
    // The lower case of a letter may have another length.
    let (before, name) = line.get(..end)?.trim_end().strip_suffix(':')?.rsplit_once(": ")?;
    let name = VERBS.iter().find_map(|verb| name.strip_prefix(verb)).unwrap_or(name);
    let is_word = !name.is_empty() && !name.contains(char::is_whitespace);
    let is_number = name.chars().all(|c| c.is_ascii_digit());
    // What a program calls its own part, or the call that was denied, is no file.
    let is_label =
        ["error", "fatal", "warning", "kill", "socket", "connect"].contains(&name.to_lowercase().as_str());
    (is_word && !is_number && !is_label && !before.is_empty()).then(|| name.to_owned())
}

/// What shells and tools say they could not do to a file.
const VERBS: &[&str] = &[
    "cannot create ",
    "can't create ",
    "cannot open ",
    "can't open ",
    "cannot overwrite ",
    "cannot touch ",
    "cannot remove ",
];

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
            ("sh: 1: cannot create Makefile: Read-only file system", Some("Makefile")),
            ("bash: line 1: nope: Read-only file system", Some("nope")),
            ("/tmp/h/agent.sh: 2: cannot create out.txt: Read-only file system", Some("out.txt")),
            ("/tmp/h/agent.sh: line 2: out.txt: Read-only file system", Some("out.txt")),
            ("./a b/agent.sh: 12: cannot create /etc/x: Permission denied", Some("/etc/x")),
            ("/tmp/h/agent.sh: 3: ./tool: Permission denied", Some("./tool")),
            ("/usr/bin/tool: out.txt: Permission denied", Some("out.txt")),
            ("/etc/x: Permission denied", Some("/etc/x")),
            ("/tmp/h/agent.sh: 2: Permission denied", None),
            ("Error: Permission denied (os error 13)", None),
            ("git: fatal: Permission denied", None),
            ("sh: 1: Permission denied", None),
            ("sh: 1: kill: Operation not permitted", None),
            ("bash: socket: Permission denied", None),
            ("ln: failed to create hard link 'a/h' => 'b': Invalid cross-device link", Some("a/h")),
            ("       dmesg(1) may have more information after failed mount system call.", None),
            ("ssh: connect to host x port 22: Permission denied", None),
        ];
        for (line, path) in cases {
            let expected = path.map_or(Denied::PathUnknown, |path| Denied::Path(path.to_owned()));
            assert_eq!(denied(line), Some(expected), "{line}");
        }
        assert_eq!(denied("all is well: /etc/x"), None);
    }

    #[test]
    fn a_network_that_cannot_be_reached_was_denied_only_where_it_is_not_open() {
        let told = |network: Network, printed: &[u8]| {
            let mut denials = Denials::default();
            denials.watch_network(network);
            denials.push(printed);
            denials.told()
        };
        let mut of_aop = Denials::of_aop(true);
        of_aop.watch_network(Network::Closed);
        of_aop.push(b"could not resolve host");
        assert!(of_aop.told().is_some_and(|told| told.contains("`access.network`")));
        let unreachable = b"connect: Network is unreachable\n";
        assert_eq!(told(Network::Open, unreachable), None);
        assert!(told(Network::Proxied, unreachable).is_some_and(|told| told.contains("HTTPS_PROXY")));
        for printed in [
            &unreachable[..],
            b"curl: (7) Failed to connect to example.com port 443",
            b"EAI_AGAIN",
            b"bash: socket: Permission denied",
        ] {
            let closed = told(Network::Closed, printed);
            assert!(closed.is_some_and(|told| told.contains("network = \"none\"")));
        }
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
