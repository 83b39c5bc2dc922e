//! What an executor is started with, and how it is written down for the shim.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use contract::domain::limits::{TASK_TIMEOUT_MAX, TERM_GRACE};
use serde::{Deserialize, Serialize};

use super::confinement::Confinement;
use super::mark::Marker;

/// One executor to start.
#[derive(Clone, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The program and its arguments. A program without a slash is looked up in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// The complete environment: nothing is inherited. The marker is added to it.
    pub env: BTreeMap<OsString, OsString>,
    pub stdin: Stdin,
    pub marker: Marker,
    /// Between asking the executor to end and ending it.
    pub grace: Duration,
    pub confinement: Confinement,
}

/// What the executor reads from standard input.
#[derive(Clone, PartialEq, Eq)]
pub enum Stdin {
    Closed,
    /// These bytes, and then the end.
    Bytes(Vec<u8>),
    /// These bytes, and no end while the executor runs. Only for a program that needs it: several agent programs
    /// wait without end on an idle pipe.
    KeptOpen(Vec<u8>),
}

impl Stdin {
    fn bytes(&self) -> &[u8] {
        match self {
            Stdin::Closed => &[],
            Stdin::Bytes(bytes) | Stdin::KeptOpen(bytes) => bytes,
        }
    }
}

impl LaunchSpec {
    /// A launch with an empty environment, closed input, the usual grace and the usual confinement.
    pub fn new(argv: Vec<OsString>, cwd: PathBuf, marker: Marker) -> Self {
        let (env, confinement) = (BTreeMap::new(), Confinement::default());
        Self { argv, cwd, env, stdin: Stdin::Closed, marker, grace: TERM_GRACE, confinement }
    }

    /// No wait is without an end, and no deadline beyond the clock's.
    pub(super) fn bounded_grace(&self) -> Duration {
        self.grace.min(TASK_TIMEOUT_MAX)
    }

    /// A lower bound of the bytes of its written form.
    pub(super) fn bytes(&self) -> usize {
        let arguments = self.argv.iter().map(|argument| argument.len());
        let variables = self.env.iter().map(|(name, value)| name.len() + value.len());
        arguments.chain(variables).sum::<usize>() + self.stdin.bytes().len()
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let document = LaunchDocument {
            argv: self.argv.iter().map(|argument| text_of(argument.as_bytes())).collect(),
            cwd: text_of(self.cwd.as_os_str().as_bytes()),
            env: self.env.iter().map(|(k, v)| (text_of(k.as_bytes()), text_of(v.as_bytes()))).collect(),
            stdin: match &self.stdin {
                Stdin::Closed => None,
                Stdin::Bytes(bytes) | Stdin::KeptOpen(bytes) => Some(text_of(bytes)),
            },
            keeps_stdin: matches!(self.stdin, Stdin::KeptOpen(_)),
            marker: self.marker.to_string(),
            grace_ms: u64::try_from(self.bounded_grace().as_millis()).unwrap_or(u64::MAX),
            confinement: self.confinement.clone(),
        };
        serde_json::to_vec(&document).expect("BUG: strings and numbers can always be written")
    }

    pub(super) fn from_json(json: &[u8]) -> Option<Self> {
        let document: LaunchDocument = serde_json::from_slice(json).ok()?;
        let os = |text: &String| bytes_of(text).map(OsString::from_vec);
        Some(Self {
            argv: document.argv.iter().map(os).collect::<Option<_>>()?,
            cwd: PathBuf::from(os(&document.cwd)?),
            env: document.env.iter().map(|(k, v)| Some((os(k)?, os(v)?))).collect::<Option<_>>()?,
            stdin: match &document.stdin {
                None => Stdin::Closed,
                Some(text) if document.keeps_stdin => Stdin::KeptOpen(bytes_of(text)?),
                Some(text) => Stdin::Bytes(bytes_of(text)?),
            },
            marker: Marker::parse(&document.marker).ok()?,
            grace: Duration::from_millis(document.grace_ms),
            confinement: document.confinement,
        })
    }
}

/// Environments and prompts hold secrets: they are counted here, never shown.
impl fmt::Debug for LaunchSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.argv.first().map_or(OsStr::new(""), OsString::as_os_str);
        f.debug_struct("LaunchSpec")
            .field("program", &program)
            .field("arguments", &self.argv.len().saturating_sub(1))
            .field("cwd", &self.cwd)
            .field("variables", &self.env.len())
            .field("stdin", &self.stdin)
            .field("marker", &self.marker)
            .field("grace", &self.grace)
            .field("confinement", &self.confinement)
            .finish()
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stdin::Closed => f.write_str("Closed"),
            Stdin::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Stdin::KeptOpen(bytes) => write!(f, "KeptOpen({})", bytes.len()),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchDocument {
    argv: Vec<String>,
    cwd: String,
    env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdin: Option<String>,
    #[serde(default)]
    keeps_stdin: bool,
    marker: String,
    grace_ms: u64,
    confinement: Confinement,
}

/// Arguments, paths and input are bytes and need not be UTF-8. One character stands for one byte, so nothing
/// is lost and plain ASCII stays readable.
fn text_of(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(character).ok()).collect()
}
