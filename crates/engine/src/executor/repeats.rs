//! The same tool call with the same result, over and over.

use contract::domain::limits::TOOL_REPEATS_MAX;
use serde_json::Value;

/// Counts how often the last call was made in a row. A call with another result counts as another one.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    last: Option<String>,
    count: u32,
    shown: String,
    halfway: Halfway,
}

/// What the workspace was like halfway.
#[derive(Debug, Default, PartialEq, Eq)]
enum Halfway {
    #[default]
    Unseen,
    /// Without a digest where it cannot be looked at as a whole.
    Seen(Option<String>),
}

/// What the count asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// Somebody has to look whether the workspace changes.
    Look,
}

impl Repeats {
    /// Counts one call and its result.
    pub(super) fn note(&mut self, shown: &str, arguments: &Value, result: &Value) {
        let call = contract::digest::of_bytes(format!("{shown}\n{arguments}\n{result}").as_bytes());
        if self.last.as_ref() == Some(&call) {
            self.count += 1;
            return;
        }
        *self = Self { last: Some(call), count: 1, shown: shown.to_owned(), halfway: Halfway::Unseen };
    }

    pub(super) fn due(&self) -> Due {
        let is_halfway = self.count >= TOOL_REPEATS_MAX / 2 && self.halfway == Halfway::Unseen;
        if is_halfway || self.count >= TOOL_REPEATS_MAX { Due::Look } else { Due::Nothing }
    }

    /// Takes the digest of the workspace. Returns what to say if the calls lead nowhere.
    pub(super) fn seen(&mut self, digest: Option<String>) -> Option<String> {
        if self.count < TOOL_REPEATS_MAX {
            self.halfway = Halfway::Seen(digest);
            return None;
        }
        let seen = Halfway::Seen(digest);
        if self.halfway == seen {
            return Some(format!(
                "repeats: called `{}` {} times in a row with the same result, and nothing changed",
                self.shown, self.count
            ));
        }
        (self.count, self.halfway) = (TOOL_REPEATS_MAX / 2, seen);
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// How many calls it takes until they are given up; `None` if they never are.
    fn given_up_after(result: impl Fn(u32) -> Value, digest: impl Fn(u32) -> Option<String>) -> Option<u32> {
        let mut repeats = Repeats::default();
        (1..=TOOL_REPEATS_MAX * 4).find(|&number| {
            repeats.note("Bash ls", &json!({"command": "ls"}), &result(number));
            repeats.due() == Due::Look && repeats.seen(digest(number)).is_some()
        })
    }

    #[test]
    fn calls_are_given_up_only_if_neither_their_result_nor_the_workspace_changes() {
        let same = |_| json!("a");
        assert_eq!(given_up_after(same, |_| None), Some(TOOL_REPEATS_MAX));
        assert_eq!(given_up_after(same, |_| Some("d".to_owned())), Some(TOOL_REPEATS_MAX));
        assert_eq!(given_up_after(|number| json!(number), |_| None), None);
        assert_eq!(given_up_after(same, |number| Some(number.to_string())), None);
    }
}
