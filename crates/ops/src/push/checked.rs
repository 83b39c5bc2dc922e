//! A push in which everything is checked that can be checked without the store.

use contract::continuity::push::{Push, PushArtifact, PushEvent, metadata};
use contract::domain::artifact::{checked_path, content_type};
use contract::domain::code::ErrorCode;
use contract::domain::event_kind;
use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::memory::draft::{MemoryDraft, without_secrets};
use contract::domain::task::{Refusal, Task, TaskId};
use contract::domain::text::one_line;
use serde_json::{Value, json};
use store::Tx;

use super::status::StatusChange;
use crate::error::{Error, Result};

pub(super) struct CheckedPush<'p> {
    pub(super) task_id: Option<TaskId>,
    pub(super) note: Option<PushedNote<'p>>,
    pub(super) memories: Vec<MemoryDraft>,
    pub(super) files: Vec<PushedFile>,
    pub(super) status: Option<StatusChange<'p>>,
}

pub(super) struct PushedNote<'p> {
    pub(super) kind: &'p str,
    pub(super) message: &'p str,
    pub(super) metadata: Value,
}

pub(super) struct PushedFile {
    pub(super) path: String,
    pub(super) content_type: String,
}

impl<'p> CheckedPush<'p> {
    /// `task_id` is the id of the task that the push names.
    pub(super) fn of(push: &'p Push, task_id: Option<&str>) -> Result<Self> {
        if push.is_empty() {
            let message = "push requires at least one operation (event, memories, artifacts, or task_status)";
            return Err(Error::new(ErrorCode::InvalidInput, message));
        }
        let event = push.event.as_ref();
        let memory = |(index, memory): (usize, &contract::continuity::memory::MemoryText)| {
            memory.draft().map_err(|refusal| at(&format!("$.memories[{index}]"), refusal))
        };
        let file = |(index, file): (usize, &PushArtifact)| {
            checked_file(file).map_err(|refusal| at(&format!("$.artifacts[{index}]"), refusal))
        };
        Ok(Self {
            task_id: self::task_id(push, task_id)?,
            note: event.map(note).transpose().map_err(|refusal| at("$.event", refusal))?,
            memories: push.memories().iter().enumerate().map(memory).collect::<Result<_>>()?,
            files: push.artifacts().iter().enumerate().map(file).collect::<Result<_>>()?,
            status: push.task_status.as_ref().map(StatusChange::of).transpose()?,
        })
    }

    /// The task it names. What is done to a task needs one that is there; an event may name any.
    pub(super) fn task(&self, tx: &Tx<'_>) -> Result<Option<Task>> {
        let Some(id) = &self.task_id else { return Ok(None) };
        match tx.task(id)? {
            None if !self.files.is_empty() || self.status.is_some() => {
                Err(Error::not_found("task", id.as_str()))
            }
            found => Ok(found),
        }
    }
}

fn task_id(push: &Push, named: Option<&str>) -> Result<Option<TaskId>> {
    let invalid =
        |message: String| Error::new(ErrorCode::InvalidInput, message).details(json!({"path": "$.task_id"}));
    match named {
        Some(text) => Id::parse(text).map(Some).map_err(|error| invalid(format!("$.task_id: {error}"))),
        None if !push.artifacts().is_empty() => {
            Err(invalid("task_id is required when artifacts are provided".to_owned()))
        }
        None if push.task_status.is_some() => {
            Err(invalid("task_id is required when task_status is provided".to_owned()))
        }
        None => Ok(None),
    }
}

fn note(event: &PushEvent) -> std::result::Result<PushedNote<'_>, Refusal> {
    let kind = one_line("kind", &event.kind, limits::EVENT_KIND_BYTES_MAX)?;
    event_kind::open_to_agents(kind)?;
    // The kind is kept as it is; the rest is scrubbed when it is written.
    without_secrets(&[kind])?;
    bounded("message", event.message.len(), limits::EVENT_MESSAGE_BYTES_MAX)?;
    if event.message.contains('\0') {
        return Err(Refusal::new(ErrorCode::InvalidInput, "message has a NUL character"));
    }
    let metadata = metadata(&event.metadata);
    bounded("metadata", metadata.to_string().len(), limits::EVENT_METADATA_BYTES_MAX)?;
    Ok(PushedNote { kind, message: &event.message, metadata })
}

fn checked_file(file: &PushArtifact) -> std::result::Result<PushedFile, Refusal> {
    let path = checked_path(&file.file_path)?;
    let content_type = content_type(file.content_type.as_deref())?;
    without_secrets(&[path, &content_type])?;
    Ok(PushedFile { path: path.to_owned(), content_type })
}

fn bounded(what: &str, bytes: usize, max: usize) -> std::result::Result<(), Refusal> {
    if bytes <= max {
        return Ok(());
    }
    Err(Refusal::new(ErrorCode::TooLarge, format!("{what} has {bytes} bytes; the limit is {max}")))
}

/// A refusal, with the place in the document it is about.
pub(super) fn at(path: &str, refusal: Refusal) -> Error {
    let mut error = Error::from(refusal).details(json!({"path": path}));
    error.message = format!("{path}: {}", error.message);
    error
}
