//! Changes of a text as a list of small edits, which can be stored, applied and reversed.

use serde::{Deserialize, Serialize};

/// Replaces `removed` by `inserted` at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Edit {
    /// In bytes from the beginning of the text before any edit.
    pub(crate) at: usize,
    pub(crate) removed: String,
    pub(crate) inserted: String,
}

impl Edit {
    pub(crate) fn replace(text: &str, place: std::ops::Range<usize>, inserted: String) -> Self {
        Self { at: place.start, removed: text.get(place).unwrap_or_default().to_owned(), inserted }
    }
}

/// The text after the edits; `None` where one of them does not match it.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut made = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits {
        made.push_str(text.get(done..edit.at)?);
        if !text.get(edit.at..)?.starts_with(&edit.removed) {
            return None;
        }
        made.push_str(&edit.inserted);
        done = edit.at + edit.removed.len();
    }
    made.push_str(text.get(done..)?);
    Some(made)
}

/// The edits that undo these.
pub(crate) fn reversed(edits: &[Edit]) -> Vec<Edit> {
    let (mut before, mut after) = (0, 0);
    let reverse = |edit: &Edit| {
        let at = edit.at - before + after;
        before += edit.removed.len();
        after += edit.inserted.len();
        Edit { at, removed: edit.inserted.clone(), inserted: edit.removed.clone() }
    };
    edits.iter().map(reverse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_applied_and_undone() {
        let text = "one two three";
        let edits = [
            Edit::replace(text, 0..0, "zero ".to_owned()),
            Edit::replace(text, 4..7, "2".to_owned()),
            Edit::replace(text, 7..13, String::new()),
        ];
        let made = apply(text, &edits).unwrap();
        assert_eq!(made, "zero one 2");
        assert_eq!(apply(&made, &reversed(&edits)).as_deref(), Some(text));
    }

    #[test]
    fn edits_of_another_text_are_not_applied() {
        assert_eq!(apply("abc", &[Edit::replace("xyz", 0..1, String::new())]), None);
        assert_eq!(apply("abc", &[Edit { at: 9, removed: String::new(), inserted: "x".to_owned() }]), None);
        assert_eq!(apply("ä", &[Edit { at: 1, removed: String::new(), inserted: "x".to_owned() }]), None);
    }
}
