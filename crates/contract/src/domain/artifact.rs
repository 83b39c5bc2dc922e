//! Files that belong to a task, by their paths.

use serde::{Deserialize, Serialize};

use super::id::{Artifact as ArtifactKind, Id};
use super::limits;
use super::task::{Refusal, TaskId};
use super::text::one_line;
use super::time::Timestamp;

pub type ArtifactId = Id<ArtifactKind>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewArtifact {
    pub id: ArtifactId,
    pub task_id: TaskId,
    pub project_id: Option<String>,
    pub file_path: String,
    pub content_type: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub added: NewArtifact,
    /// The event that added it.
    pub event_id: i64,
    pub created_at: Timestamp,
}

/// Checks a path. It is only a name; the file is never opened.
pub fn checked_path(path: &str) -> Result<&str, Refusal> {
    one_line("file_path", path, limits::ARTIFACT_PATH_BYTES_MAX)
}

/// The given content type; empty where none is given.
pub fn content_type(given: Option<&str>) -> Result<String, Refusal> {
    match given.filter(|text| !text.is_empty()) {
        Some(text) => one_line("content_type", text, limits::CONTENT_TYPE_BYTES_MAX).map(str::to_owned),
        None => Ok(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::code::ErrorCode;

    #[test]
    fn a_type_is_what_was_said_and_never_guessed() {
        assert_eq!(content_type(Some("text/x-diff")), Ok("text/x-diff".to_owned()));
        for none in [None, Some("")] {
            assert_eq!(content_type(none), Ok(String::new()));
        }
        assert_eq!(content_type(Some("a\nb")).unwrap_err().code, ErrorCode::InvalidInput);
    }

    #[test]
    fn a_path_is_one_bounded_line() {
        assert_eq!(checked_path("src/main.rs"), Ok("src/main.rs"));
        let code = |path: &str| checked_path(path).unwrap_err().code;
        assert_eq!(code(" "), ErrorCode::InvalidInput);
        assert_eq!(code("a\0b"), ErrorCode::InvalidInput);
        assert_eq!(code(&"a".repeat(limits::ARTIFACT_PATH_BYTES_MAX + 1)), ErrorCode::TooLarge);
        assert!(checked_path(&"a".repeat(limits::ARTIFACT_PATH_BYTES_MAX)).is_ok());
    }
}
