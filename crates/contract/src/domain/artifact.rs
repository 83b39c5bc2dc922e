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

/// The given content type, or the one that the path's extension suggests.
pub fn content_type(given: Option<&str>, path: &str) -> Result<String, Refusal> {
    match given.filter(|text| !text.is_empty()) {
        Some(text) => one_line("content_type", text, limits::CONTENT_TYPE_BYTES_MAX).map(str::to_owned),
        None => Ok(guessed_type(path).to_owned()),
    }
}

fn guessed_type(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "html" => "text/html",
        "csv" => "text/csv",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::code::ErrorCode;

    #[test]
    fn a_type_is_what_was_said_or_what_the_ending_says() {
        let of = |given, path| content_type(given, path).unwrap();
        assert_eq!(of(Some("text/x-diff"), "a.json"), "text/x-diff");
        assert_eq!(of(None, "out/Report.JSON"), "application/json");
        assert_eq!(of(Some(""), "notes.md"), "text/markdown");
        for path in ["Makefile", ".", "dir.json/x", "a."] {
            assert_eq!(of(None, path), "application/octet-stream", "{path}");
        }
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
