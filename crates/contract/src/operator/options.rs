//! What a caller of the validators knows beyond the document.

use super::assignment::Assignment;
use super::result::Outcome;
use crate::domain::scope::Links;
use crate::domain::time::Timestamp;
use crate::shape::words;

/// What a document is checked against. The default is the contract itself: lenient, no root, no clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Refuse what the contract merely allows to ignore: fields without `x_`, run ids that are not random,
    /// placeholders of a template, absolute paths without a root.
    pub strict: bool,
    /// The workspace. Absolute paths in it become relative, others are refused.
    pub root: Option<&'a str>,
    /// The workspace's symbolic links, where paths are checked for being used and not only for being named.
    pub links: Option<&'a Links>,
    /// The file system does not tell apart names that differ only in case.
    pub fold: bool,
    /// Needed to tell whether a heartbeat is too old.
    pub now: Option<Timestamp>,
    /// How the task of a worklog ended.
    pub outcome: Option<Outcome>,
    /// What a result or a worklog answers.
    pub assignment: Option<&'a Assignment>,
    /// The worklog as it was before: it must have been kept as it was.
    pub prior: Option<&'a [u8]>,
    /// An operator's choice, never a field of a document.
    pub tripwire: Tripwire,
    /// Take over a handoff whose only fault are tasks that timed out.
    pub allow_stale: bool,
}

words! {
    /// What happens when a text seems to give orders.
    #[derive(Default)]
    Tripwire {
        #[default]
        Deny = "deny",
        /// For tasks that are about these contracts themselves.
        Warn = "warn",
        Off = "off",
    }
}
