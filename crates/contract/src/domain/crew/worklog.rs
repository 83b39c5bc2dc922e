//! The lines of a task's worklog. Each contains the digest of the previous one, in the store and in the file.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::digest;

/// The field of a line with the digest of the previous line.
pub const PREVIOUS: &str = "x_previous";

/// One line, exactly as in the file, without the line break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorklogLine {
    /// 1 is the first.
    pub number: i64,
    pub text: String,
    /// The digest of the text; the next line contains it.
    pub digest: String,
}

/// The previous digest of the first line. It depends on the task, so that lines of another task do not fit.
pub fn beginning(run: &str, task: &str) -> String {
    digest::of_bytes(format!("worklog of {task} in {run}").as_bytes())
}

impl WorklogLine {
    /// The line with `entry` that follows `last`.
    pub fn following(last: Option<&WorklogLine>, beginning: &str, mut entry: Value) -> Self {
        let previous = last.map_or(beginning, |last| &last.digest);
        entry[PREVIOUS] = json!(previous);
        let text = entry.to_string();
        let digest = digest::of_bytes(text.as_bytes());
        Self { number: last.map_or(1, |last| last.number.saturating_add(1)), text, digest }
    }
}

/// The bytes of the file that holds these lines.
pub fn file_of(lines: &[WorklogLine]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.text.bytes().chain([b'\n'])).collect()
}

/// The number of the first line that does not match the digest of the previous line, or its own digest.
pub fn broken(lines: &[WorklogLine], beginning: &str) -> Option<i64> {
    let mut previous = beginning.to_owned();
    for (at, line) in lines.iter().enumerate() {
        let entry: Value = serde_json::from_str(&line.text).unwrap_or_default();
        let follows = entry[PREVIOUS] == previous.as_str() && usize::try_from(line.number) == Ok(at + 1);
        if !follows || line.digest != digest::of_bytes(line.text.as_bytes()) {
            return Some(line.number);
        }
        previous.clone_from(&line.digest);
    }
    None
}

/// How many digits of its digest a file that was set aside has in its name.
const SET_ASIDE_DIGITS: usize = 12;

/// The name under which a file with other content is kept, by the digest of that content.
pub fn set_aside_name(name: &str, digest: &str) -> String {
    let digits = digest.strip_prefix("sha256:").unwrap_or(digest);
    format!("{name}.found-{}", digits.get(..SET_ASIDE_DIGITS).unwrap_or(digits))
}

/// The name under which a worklog is written before it takes the place of the old file.
pub fn draft_name(name: &str) -> String {
    format!("{name}{DRAFT}")
}

const DRAFT: &str = ".draft";

/// The worklog that a path is a draft of or was set aside from; any other path as it is.
pub fn original_name(path: &str) -> &str {
    if let Some(name) = path.strip_suffix(DRAFT) {
        return name;
    }
    let is_digest =
        |digits: &str| digits.len() == SET_ASIDE_DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit());
    path.rsplit_once(".found-").filter(|(_, digits)| is_digest(digits)).map_or(path, |(name, _)| name)
}
