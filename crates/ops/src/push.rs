//! Writes an event, memories, artifacts and a task status in one transaction: all of it, or nothing.

mod checked;
mod request;
mod status;

use contract::domain::artifact::NewArtifact;
use contract::domain::change::Change;
use contract::domain::event_kind::agents_intent;
use contract::domain::id::{Corr, mint};
use contract::domain::task::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checking::CheckResults as Proof;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::once::Reply;
use crate::record::{About, EventBody, EventWriter};
use crate::verb::{Function, Surface, Verb};
use crate::{memory, task};
use checked::{CheckedPush, PushedFile, PushedNote};
pub use request::Request;

pub struct Push;

impl Verb for Push {
    const NAME: &'static str = "agent.push";
    const COMMAND: &'static str = "push";
    const SUMMARY: &'static str = "Write an event, memories, artifacts and a task status in one transaction";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(push);

    fn read(request: serde_json::Value) -> Result<Request> {
        Request::of(request)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub memories: Vec<Remembered>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub artifacts: Vec<Added>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_status: Option<Moved>,
    /// The paths of fields in the request that a push does not have.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ignored: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    pub key: String,
    pub event_id: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    pub artifact_id: String,
    pub file_path: String,
    pub event_id: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    pub task_id: String,
    pub status: String,
    pub status_event_id: i64,
    /// Present when the task was closed: completed or blocked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_event_id: Option<i64>,
}

pub fn push(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let task_id = request.push.task_id().map(|task| cx.any_task_id(session, task)).transpose()?;
    let mut checked = CheckedPush::of(&request.push, task_id.as_deref())?;
    for draft in &mut checked.memories {
        draft.place = cx.memory_place(session, draft.place.clone())?;
    }
    let ignored = request.ignored.clone();
    let proof = match (&checked.task_id, &checked.status) {
        (Some(id), Some(wanted)) => {
            task::refuse_own_move(cx, session, id.as_str())?;
            task::checks_before(cx, session, id.as_str(), wanted.to())?
        }
        (None, _) | (_, None) => Proof::default(),
    };
    cx.once(session, Push::NAME, request, |work| Ok(Answer { ignored, ..write(work, &checked, &proof)? }))
}

fn write(work: &mut EventWriter<'_, '_>, checked: &CheckedPush<'_>, proof: &Proof) -> Result<Answer> {
    let mut task = checked.task(work.tx)?;
    let corr = match &checked.task_id {
        Some(id) => id.to_string(),
        None => mint::<Corr>(work.ids, work.now.at).to_string(),
    };
    let mut answer = Answer::default();
    if let Some(note) = &checked.note {
        let about = about(work, checked, task.as_ref(), &corr)?;
        answer.event_id = Some(say(work, &about, note)?);
    }
    for draft in &checked.memories {
        let (event_id, memory) = memory::write(work, draft, Some(&corr))?;
        answer.memories.push(Remembered { key: memory.key, event_id });
    }
    if let Some(task) = &task {
        for file in &checked.files {
            answer.artifacts.push(add(work, task, file)?);
        }
    }
    if let (Some(task), Some(wanted)) = (&mut task, &checked.status) {
        answer.task_status = Some(wanted.carry_out(work, task, proof)?);
    }
    Ok(answer)
}

/// An event belongs to its task, or else to the project of its agent's focus. It may name a task that does not exist.
fn about(
    work: &mut EventWriter<'_, '_>,
    checked: &CheckedPush<'_>,
    task: Option<&Task>,
    corr: &str,
) -> Result<About> {
    if let Some(task) = task {
        return task::about(work.tx, task);
    }
    let agent = work.tx.agent(work.caller.agent.as_str())?;
    let project_id = agent.and_then(|state| state.focus_project_id);
    let about = memory::about_project(work, project_id, Some(corr));
    Ok(About { task_id: checked.task_id.clone(), ..about })
}

fn say(work: &mut EventWriter<'_, '_>, about: &About, note: &PushedNote<'_>) -> Result<i64> {
    let mut says = EventBody::event(note.kind, note.message, note.metadata.clone());
    // The kind is the agent's own word, so the intent names the agent and not writ.
    says.intent = agents_intent(note.kind);
    work.say(about, says)
}

fn add(work: &mut EventWriter<'_, '_>, task: &Task, file: &PushedFile) -> Result<Added> {
    let artifact = NewArtifact {
        id: mint(work.ids, work.now.at),
        task_id: task.id.clone(),
        project_id: task.project_id.clone(),
        file_path: file.path.clone(),
        content_type: file.content_type.clone(),
    };
    let about = task::about(work.tx, task)?;
    let added = Added { artifact_id: artifact.id.to_string(), file_path: file.path.clone(), event_id: 0 };
    let message = format!("Artifact added: {}", file.path);
    let event_id = work.change(&about, &message, &Change::ArtifactAdded { artifact })?;
    Ok(Added { event_id, ..added })
}
