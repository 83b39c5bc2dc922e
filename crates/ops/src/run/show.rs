//! Shows a run with its tasks and attempts.

use contract::domain::attempt::Attempt;
use contract::domain::reason::{ReasonCode, ReasonRule};
use contract::domain::run::{DocumentKind, Run, RunId, RunWarning};
use contract::domain::status::{Evidence, Status};
use contract::domain::task::{Task, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::list::RunBrief;
use super::task_message::TaskMessage;
use crate::context::{Context, Session};
use crate::error::Result;
use crate::limit_window::{self, LimitWait};
use crate::verb::{Function, Surface, Verb};

pub struct Show;

impl Verb for Show {
    const NAME: &'static str = "run.show";
    const COMMAND: &'static str = "runs show";
    const SUMMARY: &'static str = "Show a run with its tasks and attempts";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, session, request: &Request| {
        let whole = show(cx, session, &request.run)?;
        let mut answer = Answer::from(&whole);
        answer.brief.state = super::shown_state(cx, &whole.run);
        let (now, tx) = (cx.clock.now(), cx.store.read()?);
        for (shown, (task, _)) in answer.tasks.iter_mut().zip(&whole.tasks) {
            shown.waits_for = limit_window::awaited(&tx, task, &now)?;
        }
        Ok(answer)
    });
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run's id, a unique prefix of it, or its correlation id.
    pub run: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    #[serde(flatten)]
    pub brief: RunBrief,
    pub workspace: String,
    pub document: SubmittedDocument,
    /// `null` until the run has ended.
    pub result: Value,
    /// The AOP session of its TASKs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionOfRun>,
    /// What the author of the document should know although it was accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<RunWarning>,
    /// In the order of the plan.
    pub tasks: Vec<TaskOfRun>,
}

/// The AOP session that a run belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOfRun {
    pub session_id: String,
    pub created_at: Option<String>,
    pub orchestrator: Option<String>,
    pub origin: Option<String>,
    pub workflow_pattern: Option<String>,
}

/// What was submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubmittedDocument {
    pub kind: DocumentKind,
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskOfRun {
    pub id: TaskId,
    /// Its id in the plan.
    pub name: Option<String>,
    pub title: String,
    pub status: Status,
    pub evidence: Option<Evidence>,
    /// Why it is blocked, failed or canceled.
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<ReasonCode>,
    /// What the code leaves open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_rule: Option<ReasonRule>,
    pub depends_on: Vec<TaskId>,
    /// The rate limit or usage window that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<LimitWait>,
    /// The AOP TASK it was submitted as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aop: Option<TaskMessage>,
    /// Oldest first.
    pub attempts: Vec<Attempt>,
}

impl From<&WholeRun> for Answer {
    fn from(whole: &WholeRun) -> Self {
        let asked = &whole.run.asked;
        Self {
            brief: RunBrief::from(&whole.run),
            workspace: asked.workspace.clone(),
            document: SubmittedDocument { kind: asked.kind, digest: asked.document_digest.clone() },
            result: whole.run.result.clone().unwrap_or(Value::Null),
            session: session_of(whole),
            warnings: asked.warnings.clone(),
            tasks: whole.tasks.iter().map(TaskOfRun::from).collect(),
        }
    }
}

impl From<&(Task, Vec<Attempt>)> for TaskOfRun {
    fn from((task, attempts): &(Task, Vec<Attempt>)) -> Self {
        Self {
            id: task.id.clone(),
            name: task.part.as_ref().map(|part| part.spec.id.clone()),
            title: task.title.clone(),
            status: task.status,
            evidence: task.evidence,
            reason: task.blocked_reason.as_ref().map(ToString::to_string),
            reason_code: task.blocked_reason.as_ref().and_then(|reason| reason.code),
            reason_rule: task.blocked_reason.as_ref().and_then(|reason| reason.rule),
            depends_on: task.depends_on.clone(),
            waits_for: None,
            aop: message_of(task).map(TaskMessage::of),
            attempts: attempts.clone(),
        }
    }
}

/// The TASK that a task was submitted as.
pub(crate) fn message_of(task: &Task) -> Option<&Value> {
    task.part.as_ref()?.spec.aop.as_ref()
}

fn session_of(whole: &WholeRun) -> Option<SessionOfRun> {
    let session_id = whole.run.asked.session_id.clone()?;
    let session = whole.tasks.iter().find_map(|(task, _)| message_of(task)?.get("session"));
    let word = |name: &str| session.and_then(|said| said.get(name)?.as_str()).map(str::to_owned);
    Some(SessionOfRun {
        session_id,
        created_at: word("created_at"),
        orchestrator: word("orchestrator"),
        origin: word("origin"),
        workflow_pattern: word("workflow_pattern"),
    })
}

/// A run with everything in it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeRun {
    pub run: Run,
    /// In the order of the plan, each with its attempts, oldest first.
    pub tasks: Vec<(Task, Vec<Attempt>)>,
}

/// A run by its id, a unique prefix of it, or its correlation id.
pub fn show(cx: &mut Context, session: &Session, which: &str) -> Result<WholeRun> {
    let run = cx.run_named(session, which)?;
    whole(cx, run)
}

/// A run by its id.
pub fn by_id(cx: &mut Context, id: &RunId) -> Result<WholeRun> {
    let run = state(cx, id)?;
    whole(cx, run)
}

fn whole(cx: &mut Context, run: Run) -> Result<WholeRun> {
    let tx = cx.store.read()?;
    let mut tasks = Vec::new();
    for task in tx.tasks_of_run(&run.asked.id)? {
        let attempts = tx.attempts_of_task(&task.id)?;
        tasks.push((task, attempts));
    }
    Ok(WholeRun { run, tasks })
}

/// Just the run's own row: what an attached caller looks at again and again.
pub fn state(cx: &mut Context, id: &RunId) -> Result<Run> {
    super::required(&cx.store.read()?, id)
}

/// A run's tasks as they are now, without attempts: what a working engine looks at for cancellations.
pub fn tasks(cx: &mut Context, id: &RunId) -> Result<Vec<Task>> {
    Ok(cx.store.read()?.tasks_of_run(id)?)
}
