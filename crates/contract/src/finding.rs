//! The findings of a validator: every fault with its path.

use std::fmt;

use serde::Serialize;

use crate::domain::limits;

/// One fault of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// A JSON path: `$.task.inputs[2].type`.
    pub path: String,
    /// The stable name of the rule: `missing`, `type`, `unknown_field`, …
    pub rule: &'static str,
    /// What is wrong and what would be right, for a person.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// The findings of one document, sorted by path, bounded in number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    list: Vec<Finding>,
    /// How many findings were dropped because the list is full.
    pub omitted: usize,
}

impl Findings {
    pub fn push(&mut self, path: impl Into<String>, rule: &'static str, message: impl Into<String>) {
        if self.is_full() {
            return self.omit();
        }
        self.list.push(Finding { path: path.into(), rule, message: message.into() });
    }

    /// Whether the list is full, so that the message of another finding is not needed.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() == limits::FINDINGS_MAX
    }

    pub(crate) fn omit(&mut self) {
        self.omitted += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn has_rule(&self, rule: &str) -> bool {
        self.list.iter().any(|finding| finding.rule == rule)
    }

    pub fn sorted(mut self) -> Vec<Finding> {
        self.list.sort();
        self.list.dedup();
        self.list
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.list.iter()
    }
}

impl<'f> IntoIterator for &'f Findings {
    type Item = &'f Finding;
    type IntoIter = std::slice::Iter<'f, Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Finding> for Findings {
    fn from_iter<I: IntoIterator<Item = Finding>>(findings: I) -> Self {
        let mut all = Findings::default();
        for finding in findings {
            all.push(finding.path, finding.rule, finding.message);
        }
        all
    }
}
