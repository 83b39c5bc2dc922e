//! Resumes work: the events since the last time, the next task, and a claim on it.

mod focus;
pub(crate) mod orphans;
pub mod peek;
pub(crate) mod situation;

use contract::continuity::EventView;
use contract::continuity::brief::{Brief, ProgramCommand, compose};
use contract::continuity::focus::FocusRule;
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::request::Agent;
use contract::domain::status::Status;
use contract::domain::task::{Command, Task, not_held_by_another};
use contract::domain::time::{Now, Timestamp};
use contract::domain::workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{AgentState, LoggedEvent};

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::event;
use crate::once::Reply;
use crate::record::{About, EventWriter, stream_of};
use crate::verb::{Function, Surface, Verb};
use focus::{Chosen, FocusRequest};
use situation::{SituationExtent, Viewpoint};

pub struct Resume;

impl Verb for Resume {
    const NAME: &'static str = "resume";
    const COMMAND: &'static str = "resume";
    const SUMMARY: &'static str = "Show current state and claim the next task";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(resume);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The workspace, which is the project's id; else the one the agent was in.
    #[serde(default)]
    pub project_dir: Option<String>,
    /// The most events to return, 1 to 1000.
    #[serde(default)]
    pub limit: Option<i64>,
    /// The task to work on, instead of the one that would be chosen.
    #[serde(default)]
    pub focus: Option<String>,
    /// Tokens for the brief, and as many for the prompt.
    #[serde(default)]
    pub budget: Option<i64>,
    /// The task that the caller was started for. The brief covers only this task, and nothing is claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_task: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub agent_name: String,
    pub old_cursor: i64,
    pub new_cursor: i64,
    pub deltas: Option<Vec<EventView>>,
    /// Empty when there is nothing to do.
    pub focus_task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus_project_id: Option<String>,
    pub brief: Brief,
    pub prompt: String,
    pub focus_rule: FocusRule,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimView>,
    pub as_of: Timestamp,
    /// Over brief and prompt.
    pub digest: String,
}

/// The agent's hold on its task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimView {
    pub token: i64,
    pub lease_seconds: u64,
}

/// The request, checked and with its defaults.
struct ResumeOptions<'r> {
    project_dir: Option<String>,
    limit: usize,
    focus: Option<&'r str>,
    budget: usize,
    only_task: Option<&'r str>,
}

impl ResumeOptions<'_> {
    /// The project that was named, or else the one the agent was in.
    fn project(&self, tx: &store::Tx<'_>, agent: &Agent) -> Result<Option<String>> {
        if self.project_dir.is_some() {
            return Ok(self.project_dir.clone());
        }
        Ok(tx.agent(agent.as_str())?.and_then(|state| state.focus_project_id))
    }
}

impl Request {
    fn wanted(&self) -> Result<ResumeOptions<'_>> {
        let project_dir = self.project_dir.as_deref().filter(|dir| !dir.is_empty()).map(workspace::id);
        if let Some(project) = &project_dir {
            crate::task::create::check_project(project)?;
        }
        let most = i64::try_from(limits::LIST_ROWS_MAX).unwrap_or(i64::MAX);
        let limit = self.limit.unwrap_or(most).clamp(1, most);
        let budget = match self.budget {
            None => limits::BRIEF_TOKENS_DEFAULT,
            Some(tokens) => usize::try_from(tokens)
                .ok()
                .filter(|tokens| (limits::BRIEF_TOKENS_MIN..=limits::BRIEF_TOKENS_MAX).contains(tokens))
                .ok_or_else(|| {
                    let (min, max) = (limits::BRIEF_TOKENS_MIN, limits::BRIEF_TOKENS_MAX);
                    let problem = format!("must be {min} to {max} tokens");
                    Error::field(ErrorCode::InvalidInput, "budget", &problem)
                })?,
        };
        Ok(ResumeOptions {
            project_dir,
            limit: usize::try_from(limit).unwrap_or(1),
            focus: self.focus.as_deref().filter(|id| !id.is_empty()),
            budget,
            only_task: self.only_task.as_deref().filter(|id| !id.is_empty()),
        })
    }
}

pub fn resume(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let mut wanted = request.wanted()?;
    let focus = wanted.focus.map(|task| cx.task_id(session, task)).transpose()?;
    wanted.focus = focus.as_deref();
    let program = &*session.origin.program;
    cx.once_viewing(session, Resume::NAME, request, |work| match wanted.only_task {
        Some(id) => show_task(work, id, &wanted, program),
        None => take_task(work, &wanted, program),
    })
}

/// Tells an agent about the task it was started for. Writes nothing: the task belongs to the process that started the agent.
fn show_task(
    work: &mut EventWriter<'_, '_>,
    id: &str,
    wanted: &ResumeOptions<'_>,
    program: &ProgramCommand,
) -> Result<Answer> {
    let agent = work.caller.agent.clone();
    let task = crate::task::required(work.tx, id)?;
    let project = task.project_id.clone().or_else(|| wanted.project_dir.clone());
    let place = Viewpoint {
        agent: &agent,
        project: project.as_deref(),
        program,
        now: work.now,
        as_of: None,
        extent: SituationExtent::TaskOnly,
    };
    let composed = compose(&situation::gather((work.tx, work.view), &place, Some(&task))?, wanted.budget);
    let cursor = work.tx.cursor(agent.as_str(), project.as_deref())?;
    Ok(Answer {
        agent_name: agent.as_str().to_owned(),
        old_cursor: cursor,
        new_cursor: cursor,
        deltas: None,
        focus_task_id: task.id.to_string(),
        focus_project_id: project,
        brief: composed.brief,
        prompt: composed.prompt,
        focus_rule: FocusRule::Asked,
        claim: None,
        as_of: work.now.at,
        digest: composed.digest,
    })
}

/// Chooses a task, claims it, and tells the agent about it.
fn take_task(
    work: &mut EventWriter<'_, '_>,
    wanted: &ResumeOptions<'_>,
    program: &ProgramCommand,
) -> Result<Answer> {
    let agent = work.caller.agent.clone();
    if let Some(project) = &wanted.project_dir {
        ensure_project(work, project)?;
    }
    let project = wanted.project(work.tx, &agent)?;
    orphans::end(work, project.as_deref())?;
    let found = find(work.tx, work.now, (&agent, project), wanted, &[])?;
    let ResumePoint { known, project, old_cursor, deltas, chosen: Chosen { mut task, rule } } = found;
    if let Some(task) = &mut task {
        // A requested task may belong to another project, where orphans were not released.
        orphans::end_claim(work, task)?;
        not_held_by_another(task, &agent, work.now)?;
    }
    let new_cursor = deltas.last().map_or(old_cursor, |event| event.id);
    let claim = task.as_mut().map(|task| hold(work, task)).transpose()?.flatten();
    crate::agent::turn_to(work, task.as_ref().map(|task| &task.id))?;
    turn_focus(work, known.as_ref(), project.as_deref(), task.as_ref())?;
    work.tx.advance_cursor(agent.as_str(), project.as_deref(), new_cursor, work.now.at)?;
    let place = Viewpoint {
        agent: &agent,
        project: project.as_deref(),
        program,
        now: work.now,
        as_of: None,
        extent: SituationExtent::Project,
    };
    let composed = compose(&situation::gather((work.tx, work.view), &place, task.as_ref())?, wanted.budget);
    let handed: Vec<i64> = composed.brief.relevant_memory.iter().map(|memory| memory.id).collect();
    work.tx.memories_handed_out(&handed, work.now.at)?;
    let views: Vec<EventView> = deltas.iter().map(event::view).collect();
    Ok(Answer {
        agent_name: agent.as_str().to_owned(),
        old_cursor,
        new_cursor,
        deltas: Some(views).filter(|views| !views.is_empty()),
        focus_task_id: task.map(|task| task.id.to_string()).unwrap_or_default(),
        focus_project_id: project,
        brief: composed.brief,
        prompt: composed.prompt,
        focus_rule: rule,
        claim,
        as_of: work.now.at,
        digest: composed.digest,
    })
}

/// Records the agent's focus if it changes.
fn turn_focus(
    work: &mut EventWriter<'_, '_>,
    known: Option<&AgentState>,
    project: Option<&str>,
    task: Option<&Task>,
) -> Result<()> {
    let is_same = known.is_some_and(|state| {
        state.focus_task_id.as_deref() == task.map(|task| task.id.as_str())
            && state.focus_project_id.as_deref() == project
    });
    if is_same {
        return Ok(());
    }
    let agent = work.caller.agent.clone();
    let focused = Change::AgentFocused {
        agent: agent.as_str().to_owned(),
        task_id: task.map(|task| task.id.clone()),
        project_id: project.map(str::to_owned),
    };
    let message = crate::agent::focus_message(task.map(|task| &task.id));
    work.change_in_resume(&about(&agent, project, task), &message, &focused)?;
    Ok(())
}

/// Where an agent is: what it knew, what has happened since, and its next task.
struct ResumePoint {
    known: Option<AgentState>,
    project: Option<String>,
    old_cursor: i64,
    deltas: Vec<LoggedEvent>,
    chosen: Chosen,
}

fn find(
    tx: &store::Tx<'_>,
    now: &Now,
    (agent, project): (&Agent, Option<String>),
    wanted: &ResumeOptions<'_>,
    orphans: &[Task],
) -> Result<ResumePoint> {
    let known = tx.agent(agent.as_str())?;
    let old_cursor = tx.cursor(agent.as_str(), project.as_deref())?;
    let deltas = bounded(tx.events_since(old_cursor, project.as_deref(), wanted.limit)?);
    let current = known.as_ref().and_then(|state| state.focus_task_id.as_deref());
    let asked = FocusRequest { agent, project: project.as_deref(), named: wanted.focus, current, orphans };
    let chosen = focus::choose(tx, now, &asked, &deltas)?;
    Ok(ResumePoint { known, project, old_cursor, deltas, chosen })
}

/// As many as fit into one answer; the others come with the next.
fn bounded(mut deltas: Vec<LoggedEvent>) -> Vec<LoggedEvent> {
    let mut bytes = 0;
    let fitting = deltas.iter().take_while(|event| {
        bytes += event.record.message.len() + event.record.payload.to_string().len();
        bytes <= limits::DELTA_BYTES_MAX
    });
    // One at least: a cursor that cannot move would never reach the events after it.
    let kept = fitting.count().max(1);
    deltas.truncate(kept);
    deltas
}

fn ensure_project(work: &mut EventWriter<'_, '_>, project: &str) -> Result<()> {
    if work.tx.project_row(project)?.is_some() {
        return Ok(());
    }
    let name = project.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty());
    let name = name.unwrap_or(project).to_owned();
    let about = about(&work.caller.agent.clone(), Some(project), None);
    let added = Change::ProjectAdded { project_id: project.to_owned(), name };
    work.change(&about, &format!("Project seen: {project}"), &added)?;
    Ok(())
}

/// Claims the task, unless the agent holds it or it is closed.
fn hold(work: &mut EventWriter<'_, '_>, task: &mut Task) -> Result<Option<ClaimView>> {
    let claimable = task.part.is_none() && matches!(task.status, Status::Todo | Status::InProgress);
    if claimable && task.live_claim(work.now).is_none() {
        let token = work.tx.next_number("fencing")?;
        let command = Command::Claim(work.caller.claim(token));
        crate::task::carry_out(work, task, &command, "Task claimed")?;
    }
    let lease_seconds = limits::CLAIM_LEASE.as_secs();
    Ok(task.claim.as_ref().filter(|_| claimable).map(|claim| ClaimView { token: claim.token, lease_seconds }))
}

fn about(agent: &Agent, project: Option<&str>, task: Option<&Task>) -> About {
    task.map_or_else(
        || About {
            stream: stream_of(project),
            corr: format!("agent-{}", agent.as_str()),
            reply_to: None,
            priority: Priority::default(),
            project_id: project.map(str::to_owned),
            task_id: None,
            run_id: None,
        },
        About::task,
    )
}
