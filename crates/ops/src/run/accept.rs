//! Writes a submitted document: the run, its tasks and the originating envelope in one transaction.

use std::collections::BTreeMap;

use contract::aop::Fallback;
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::crew::CrewChange;
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::{Event, Id, mint, mint_run};
use contract::domain::plan::Plan;
use contract::domain::request::Agent;
use contract::domain::run::{DocumentKind, Intent, NewRun, RunId};
use contract::domain::task::TaskId;
use contract::secrets;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use super::aop_submission::AopSubmission;
use super::delegation;
use super::submit::Submit;
use super::tasks::create_tasks;
use crate::aop_event::{self, AopEvent};
use crate::aop_session::abort::refuse_aborted;
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::record::{About, EventBody, EventWriter, scrubbed};
use crate::verb::Verb;

/// A document that was read and found valid.
#[derive(Debug, Clone)]
pub struct Submission {
    pub kind: DocumentKind,
    pub plan: Plan,
    pub objective: String,
    pub workspace: String,
    pub intent: Option<Intent>,
    /// An AEE task brings its own correlation and id.
    pub corr: Option<String>,
    pub depth: u32,
    pub parent_run: Option<RunId>,
    pub parent_task: Option<TaskId>,
    pub document_digest: String,
    pub aop: AopSubmission,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedRun {
    pub run_id: RunId,
    pub corr: String,
}

/// What makes two submissions the same: the bytes, where they apply and how they were read. Depth and parent are not
/// part of it.
#[derive(Serialize)]
struct SubmitFingerprint<'r> {
    document: &'r str,
    workspace: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    executor: Option<&'r str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    map: &'r BTreeMap<String, String>,
}

pub fn submit(cx: &mut Context, session: &Session, request: &Submission) -> Result<Reply<AcceptedRun>> {
    refuse_secrets_in(&json!([request.plan, request.objective, request.workspace]))?;
    let same = SubmitFingerprint {
        document: &request.document_digest,
        workspace: &request.workspace,
        executor: request.aop.executor.as_deref(),
        map: &request.aop.map,
    };
    let has_checks = request.plan.tasks.iter().any(|task| !task.checks.is_empty());
    let environment = has_checks.then(|| session.origin.environment.clone());
    let author = if has_checks { cx.author(session)? } else { session.caller.agent.clone() };
    cx.once(session, Submit::NAME, &same, |work| {
        if let Some(session_id) = request.aop.session_id.as_ref().filter(|_| !request.aop.reopens) {
            refuse_aborted(work.tx, session_id)?;
        }
        let mut run = new_run(work, request, environment);
        run.plan.budget = delegation::affordable(work.tx, run.parent_task.as_ref(), run.plan.budget)?;
        accept(work, &run, &author, &request.aop.fallbacks)?;
        Ok(AcceptedRun { run_id: run.id, corr: run.corr })
    })
}

/// Writes the run, its originating envelope and its tasks.
pub(crate) fn accept(
    work: &mut EventWriter<'_, '_>,
    run: &NewRun,
    author: &Agent,
    fallbacks: &[(usize, Fallback)],
) -> Result<()> {
    let about = announce(work, run)?;
    if let Some(limit) = run.plan.budget.limit() {
        let set = CrewChange::BudgetSet { run_id: run.id.clone(), limit };
        work.change(&about, "The plan says what the run may spend", &Change::Crew(set))?;
    }
    let ids = create_tasks(work, &about, run, author)?;
    for (index, fallback) in fallbacks {
        let about = About { task_id: ids.get(*index).cloned(), ..about.clone() };
        let said = AopEvent::of_fallback(fallback);
        let names = (run.session_id.clone(), fallback.task_id.clone());
        aop_event::say_about(work, &about, names, said)?;
    }
    Ok(())
}

/// Writes the run and its originating envelope. Returns what the run's events are about.
pub(crate) fn announce(work: &mut EventWriter<'_, '_>, run: &NewRun) -> Result<About> {
    let about = About {
        stream: store::Stream::Run(run.id.clone()),
        corr: run.corr.clone(),
        reply_to: None,
        priority: run.priority(),
        project_id: None,
        task_id: None,
        run_id: Some(run.id.clone()),
    };
    originate(work, &about, run)?;
    let about = About { reply_to: Some(run.origin_id.clone()), ..about };
    let submitted = Change::RunSubmitted { run: run.without_tasks() };
    let message = format!("Run submitted: {}", run.objective);
    work.change(&about, &message, &submitted)?;
    Ok(about)
}

/// Secrets are not stored, and a plan with a secret removed could not be run.
pub(crate) fn refuse_secrets_in(stored: &Value) -> Result<()> {
    let Some(found) = secrets::find_in(stored) else { return Ok(()) };
    let message = format!("the document looks like it holds a secret ({}) at `{}`", found.rule, found.path);
    Err(Error::new(ErrorCode::InvalidInput, message)
        .hint("leave the secret out; name where it is kept")
        .details(json!({"path": found.path, "secret": found.rule})))
}

fn new_run(
    work: &mut EventWriter<'_, '_>,
    request: &Submission,
    environment: Option<AuthorEnvironment>,
) -> NewRun {
    let id = mint_run(work.ids);
    let corr = request.corr.clone();
    NewRun {
        corr: corr.unwrap_or_else(|| mint::<contract::domain::id::Corr>(work.ids, work.now.at).to_string()),
        origin_id: mint::<Event>(work.ids, work.now.at).to_string(),
        kind: request.kind,
        objective: request.objective.clone(),
        workspace: request.workspace.clone(),
        plan: request.plan.clone(),
        plan_priority: None,
        intent: request.intent.clone().map(|intent| Intent {
            payload: scrubbed(intent.payload),
            requires: scrubbed(intent.requires),
            ..intent
        }),
        requested_by: work.caller.entity.clone(),
        depth: request.depth,
        parent_run: request.parent_run.clone(),
        parent_task: request.parent_task.clone(),
        document_digest: request.document_digest.clone(),
        environment,
        session_id: request.aop.session_id.clone(),
        warnings: request.aop.warnings.clone(),
        id,
    }
}

/// The request as an envelope of type task: everything the run does replies to it.
fn originate(work: &mut EventWriter<'_, '_>, about: &About, run: &NewRun) -> Result<()> {
    let (intent, mut payload, requires) = if let Some(intent) = &run.intent {
        (intent.name.clone(), intent.payload.clone(), intent.requires.clone())
    } else {
        let payload =
            json!({"objective": run.objective, "document": run.kind, "tasks": run.plan.tasks.len()});
        ("writ.run.submit".to_owned(), payload, Value::Null)
    };
    if let Value::Object(fields) = &mut payload {
        fields.insert("document_digest".to_owned(), json!(run.document_digest));
    }
    let says = EventBody {
        r#type: "task",
        to: "service.writ".to_owned(),
        kind: intent.clone(),
        intent,
        message: run.objective.clone(),
        payload,
        requires: (!requires.is_null()).then_some(requires),
    };
    let id = Id::parse(&run.origin_id).expect("BUG: minted a moment ago");
    work.say_as(about, says, id)?;
    Ok(())
}
