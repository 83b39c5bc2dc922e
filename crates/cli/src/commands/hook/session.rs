//! What a handler does for a session, with the store.

use contract::continuity::state::CloseOutcome;
use contract::domain::code::ErrorCode;
use contract::domain::request::RequestId;
use ops::event::note;
use ops::session::checkpoint;
use ops::task::complete;
use ops::{Context, Error, Result, Session};

use super::telling;
use crate::hooks::adapter::HookEvent;
use crate::hooks::handling::{HookInput, HookNote, Then};
use crate::{config, host};

/// Events that a session is given at its start.
const DELTAS_MAX: i64 = 100;

/// Context for the agent, and the hook that asked for it.
pub(super) type Answer = Option<(HookEvent, String)>;

/// One session of an agent, as a handler works on it.
pub(super) struct HookSession<'a> {
    pub(super) cx: &'a mut Context,
    pub(super) session: &'a Session,
    pub(super) input: &'a HookInput,
    /// The task that writ started the session for.
    pub(super) only_task: Option<String>,
}

impl HookSession<'_> {
    pub(super) fn resume(&mut self) -> Result<Answer> {
        let request = ops::resume::Request {
            project_dir: Some(self.input.project.clone()),
            limit: Some(DELTAS_MAX),
            only_task: self.only_task.clone(),
            ..ops::resume::Request::default()
        };
        let reply = ops::resume::resume(self.cx, self.session, &request)?;
        let is_told = reply.replayed || reply.answer.prompt.is_empty();
        Ok((!is_told).then_some((HookEvent::SessionStart, reply.answer.prompt)))
    }

    pub(super) fn record(&mut self, note: HookNote) -> Result<()> {
        let session = self.session.clone();
        self.record_under(&session, note)
    }

    /// Records a second event of the same call.
    pub(super) fn record_as(&mut self, step: &str, note: HookNote) -> Result<()> {
        let session = with_suffix(self.session, step)?;
        self.record_under(&session, note)
    }

    fn record_under(&mut self, session: &Session, note: HookNote) -> Result<()> {
        let request = note::Request {
            kind: note.kind.to_owned(),
            message: note.message,
            metadata: note.metadata,
            project_id: Some(self.input.project.clone()),
            task_id: self.only_task.clone(),
        };
        note::note(self.cx, session, &request).map(|_| ())
    }

    pub(super) fn checkpoint(&mut self, reason: String) -> Result<()> {
        let request = checkpoint::Request {
            task_id: self.only_task.clone(),
            project_id: Some(self.input.project.clone()),
            reason: Some(reason),
        };
        checkpoint::write(self.cx, self.session, &request).map(|_| ())
    }

    pub(super) fn follow(&mut self, then: Then) -> Result<Answer> {
        let reader = telling::Recipient {
            session: self.session,
            project: &self.input.project,
            only_task: self.only_task.as_deref(),
        };
        let (event, context) = match then {
            Then::Silence => return Ok(None),
            Then::Remind => (HookEvent::Prompt, telling::reminder(self.cx, &reader)?),
            Then::Brief => (HookEvent::Prompt, telling::brief(self.cx, &reader)?),
            Then::BriefSubagent => (HookEvent::SubagentStart, telling::subagent(self.cx, &reader)?),
        };
        Ok(context.map(|context| (event, context)))
    }

    pub(super) fn complete(&mut self, task_id: String, note: HookNote) -> Result<Answer> {
        let request = complete::Request {
            id: task_id,
            outcome: CloseOutcome::Done,
            summary: note.message.clone(),
            label: None,
            blocked_reason: None,
        };
        // A missing task, another agent's task or one with failing checks stays as it is; the signal is recorded anyway.
        self.record(note)?;
        complete::complete(self.cx, &with_suffix(self.session, "close")?, &request).map(|_| None)
    }

    /// Keeps the store small, in one bounded step: deletes expired memories and old events of the project.
    pub(super) fn tidy_up(&mut self) -> Result<()> {
        if ops::memory::gc::is_due(self.cx)? {
            let session = with_suffix(self.session, "memories")?;
            ops::memory::gc::gc(self.cx, &session, &ops::memory::gc::Request::default())?;
        }
        // Other commands report a configuration that cannot be read; here the default retention holds.
        let retention =
            config::load(&host::absolute(".".into())).map(|config| config.retention).unwrap_or_default();
        let session = with_suffix(self.session, "events")?;
        ops::gc::maintain(self.cx, &session, Some(&self.input.project), &retention).map(|_| ())
    }
}

/// The session of a second step of its work.
pub(super) fn with_suffix(session: &Session, suffix: &str) -> Result<Session> {
    let id = format!("{}_{suffix}", session.request());
    let request_id =
        RequestId::parse(&id).map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))?;
    Ok(session.under(request_id))
}
