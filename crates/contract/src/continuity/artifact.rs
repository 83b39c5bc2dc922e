//! Files of a task as the agent contract shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::artifact::Artifact;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactView {
    pub id: String,
    pub task_id: String,
    pub event_id: i64,
    pub file_path: String,
    pub content_type: String,
    pub created_at: String,
}

impl From<&Artifact> for ArtifactView {
    fn from(artifact: &Artifact) -> Self {
        ArtifactView {
            id: artifact.added.id.to_string(),
            task_id: artifact.added.task_id.to_string(),
            event_id: artifact.event_id,
            file_path: artifact.added.file_path.clone(),
            content_type: artifact.added.content_type.clone(),
            created_at: artifact.created_at.to_string(),
        }
    }
}
