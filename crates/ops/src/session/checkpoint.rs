//! Writes a checkpoint: what an agent has done so far, before its context is compacted.

use contract::continuity::brief::checkpoint;
use contract::continuity::substance::CHECKPOINT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Session};
use crate::error::Result;
use crate::event::target;
use crate::once::Reply;
use crate::record::EventBody;
use crate::resume::situation::{self, SituationExtent, Viewpoint};
use crate::verb::{Function, Surface, Verb};

pub struct Checkpoint;

impl Verb for Checkpoint {
    const NAME: &'static str = "session.checkpoint";
    const COMMAND: &'static str = "";
    const SUMMARY: &'static str = "Record what an agent has done so far, before its context is compacted";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(write);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The task; else the one the agent has in focus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The project it happens in; else the one the agent is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Why the context is compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub event_id: i64,
    /// Empty when the agent has no task.
    pub task_id: String,
    pub message: String,
}

pub fn write(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    target::check(request.project_id.as_deref())?;
    crate::task::bounded("the reason", request.reason.as_deref().unwrap_or_default())?;
    let program = &*session.origin.program;
    cx.once(session, Checkpoint::NAME, request, |work| {
        let (about, task) =
            target::of_event(work, request.task_id.as_deref(), request.project_id.as_deref())?;
        let agent = work.caller.agent.clone();
        let place = Viewpoint {
            agent: &agent,
            project: about.project_id.as_deref(),
            program,
            now: work.now,
            as_of: None,
            extent: SituationExtent::TaskOnly,
        };
        let found = situation::gather((work.tx, work.view), &place, task.as_ref())?;
        let made = checkpoint(&found, request.reason.as_deref());
        let task_id = task.as_ref().map(|task| task.id.to_string()).unwrap_or_default();
        let says = EventBody::event(CHECKPOINT, made.message.clone(), made.metadata);
        Ok(Answer { event_id: work.say(&about, says)?, task_id, message: made.message })
    })
}
