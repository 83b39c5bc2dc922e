//! Files that belong to a task, by their paths.

use serde::{Deserialize, Serialize};

use super::id::{Artifact as ArtifactKind, Id};
use super::task::TaskId;
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
