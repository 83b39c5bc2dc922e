//! Options of the validators: what the caller knows in addition to the document.

use super::assignment::Assignment;
use super::result::Outcome;
use crate::domain::scope::Links;
use crate::domain::time::Timestamp;
use crate::shape::words;

/// What a document is checked against. The default is the contract itself: lenient, no root, no clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Refuse what the contract only allows to ignore: fields without `x_`, run ids that are not random,
    /// placeholders of a template, absolute paths without a root.
    pub strict: bool,
    /// The workspace. Absolute paths in it become relative, others are refused.
    pub root: Option<&'a str>,
    /// The workspace's symbolic links, if paths are checked for use and not only by name.
    pub links: Option<&'a Links>,
    /// The file system ignores case.
    pub fold: bool,
    /// The current time, needed to decide whether a heartbeat is too old.
    pub now: Option<Timestamp>,
    /// How the task of a worklog ended.
    pub outcome: Option<Outcome>,
    /// The assignment that a result or a worklog answers.
    pub assignment: Option<&'a Assignment>,
    /// The earlier worklog: the new one must begin with it.
    pub prior: Option<&'a [u8]>,
    /// An operator's choice, never a field of a document.
    pub tripwire: Tripwire,
    /// Accept a handoff whose only faults are tasks that timed out.
    pub allow_stale: bool,
    /// Whether a task in progress must hold a lock; by default only if the document has a lock table.
    pub check_locks: Option<bool>,
}

words! {
    /// What happens if a text seems to contain instructions.
    #[derive(Default)]
    Tripwire {
        #[default]
        Deny = "deny",
        /// For tasks about these contracts.
        Warn = "warn",
        Off = "off",
    }
}
