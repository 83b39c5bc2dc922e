//! Shows what a resume would show, without a claim, a cursor or any other trace.

use contract::continuity::brief::{Brief, Composed, compose, short};
use contract::continuity::focus::FocusRule;
use contract::domain::code::ErrorCode;
use contract::domain::request::Agent;
use contract::domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::focus::Chosen;
use super::situation::{self, SituationExtent, Viewpoint};
use super::{ResumePoint, find, orphans};
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::verb::{Function, Surface, Verb};

pub struct Peek;

impl Verb for Peek {
    const NAME: &'static str = "resume.peek";
    const COMMAND: &'static str = "resume --peek";
    const SUMMARY: &'static str = "Show current state without claiming anything";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(peek);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The agent whose state is shown.
    pub agent: String,
    /// The workspace, which is the project's id; else the one the agent was in.
    #[serde(default)]
    pub project_dir: Option<String>,
    /// The most events to look at, 1 to 1000.
    #[serde(default)]
    pub limit: Option<i64>,
    /// The task to show, instead of the one that would be chosen.
    #[serde(default)]
    pub focus: Option<String>,
    /// Tokens for the brief.
    #[serde(default)]
    pub budget: Option<i64>,
    /// Leave out what was written after this time, and count ages from it. Tasks are shown in their state of now.
    #[serde(default)]
    pub as_of: Option<Timestamp>,
    /// Also a short prompt, as subagents get: the task, what failed, the rules, and how to report back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short: bool,
    /// The session was started for this task and sees no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_task: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub agent_name: String,
    pub brief: Brief,
    pub focus_rule: FocusRule,
    pub as_of: Timestamp,
    pub digest: String,
    /// The short prompt, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

fn peek(cx: &mut Context, session: &Session, request: &Request) -> Result<Answer> {
    look(cx, session, request).map(|(answer, _)| answer)
}

/// What is known besides the answer.
#[derive(Debug)]
pub struct Aside {
    /// The project the agent is in: the brief only shows a project that some agent has been in.
    pub project: Option<String>,
    /// The prompt that a resume would give.
    pub prompt: String,
}

pub fn look(cx: &mut Context, session: &Session, request: &Request) -> Result<(Answer, Aside)> {
    let resume = super::Request {
        project_dir: request.project_dir.clone(),
        limit: request.limit,
        focus: request.only_task.clone().or_else(|| request.focus.clone()),
        budget: request.budget,
        only_task: request.only_task.clone(),
    };
    let mut wanted = resume.wanted()?;
    let focus = wanted.focus.map(|task| cx.task_id(session, task)).transpose()?;
    wanted.focus = focus.as_deref();
    let invalid = |error: contract::domain::request::InvalidName| {
        Error::new(ErrorCode::InvalidInput, error.to_string())
    };
    let agent = &Agent::parse(&request.agent).map_err(invalid)?;
    let (program, now) = (&*session.origin.program, cx.now());
    let as_of = request.as_of;
    let extent =
        if wanted.only_task.is_some() { SituationExtent::TaskOnly } else { SituationExtent::Project };
    cx.read_viewing(|tx, view| {
        let project = wanted.project(tx, agent)?;
        let orphans = orphans::find(tx, view, &now, project.as_deref())?;
        let ResumePoint { project, chosen: Chosen { task, rule }, .. } =
            find(tx, &now, (agent, project), &wanted, &orphans)?;
        let (task, rule) = match task.filter(|task| as_of.is_none_or(|as_of| task.created_at <= as_of)) {
            Some(task) => (Some(task), rule),
            None => (None, FocusRule::None),
        };
        let place = Viewpoint { agent, project: project.as_deref(), program, now: &now, as_of, extent };
        let situation = situation::gather((tx, view), &place, task.as_ref())?;
        let Composed { brief, prompt, digest, .. } = compose(&situation, wanted.budget);
        let answer = Answer {
            agent_name: agent.as_str().to_owned(),
            brief,
            focus_rule: rule,
            as_of: as_of.unwrap_or(now.at),
            digest,
            prompt: request.short.then(|| short(&situation)),
        };
        Ok((answer, Aside { project: project.clone(), prompt }))
    })
}
