//! Opens the ledger of a plan: its tasks are assigned to workers, and no engine runs them.

use contract::domain::code::ErrorCode;
use contract::domain::run::DocumentKind;
use contract::domain::scope::Scope;
use contract::intake::Reading;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::show;
use crate::context::{Context, Session};
use crate::crew::denial::deny;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::run::accept::{AopSubmission, Submission, submit};
use crate::run::document::{self, DocumentInput, ReadDocument};
use crate::verb::{Function, Surface, Verb};

pub struct Open;

impl Verb for Open {
    const NAME: &'static str = "ledger.open";
    const COMMAND: &'static str = "ledger open";
    const SUMMARY: &'static str = "Open the ledger of a plan, whose tasks are assigned to workers";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = show::Answer;
    const FUNCTION: Function<Self> = Function::Once(open);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A plan: the text of its file (TOML or JSON), or the JSON in it.
    pub document: DocumentInput,
    /// The absolute path of the directory that relative paths in the plan start from.
    pub directory: String,
    /// What messages call the document, such as the name of its file.
    #[serde(default)]
    pub name: Option<String>,
}

/// Makes the workspace, submits the plan and returns the new ledger. The plan's author decides what is checked;
/// orchestrators can only assign the tasks.
pub fn open(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<show::Answer>> {
    let reading = Reading { name: request.name.clone(), now: cx.now().at, ..Reading::default() };
    let ReadDocument { intake, workspace } =
        document::read(cx, &request.document, &request.directory, &reading)?;
    let submission = Submission {
        kind: DocumentKind::Ledger,
        workspace,
        plan: intake.plan,
        objective: intake.objective,
        intent: intake.intent,
        corr: intake.corr,
        depth: 1,
        parent_run: None,
        parent_task: None,
        document_digest: intake.document_digest,
        aop: AopSubmission {
            session_id: intake.session_id,
            warnings: intake.warnings,
            ..AopSubmission::default()
        },
    };
    open_submission(cx, session, &submission)
}

/// The same for a plan that was already understood.
pub fn open_submission(
    cx: &mut Context,
    session: &Session,
    submission: &Submission,
) -> Result<Reply<show::Answer>> {
    let host = cx.host();
    host.make_directory(&submission.workspace)?;
    let workspace = host.real_directory(&submission.workspace);
    let submission = Submission { kind: DocumentKind::Ledger, workspace, ..submission.clone() };
    refuse_outside(&submission)?;
    refuse_isolation(&submission)?;
    let Reply { answer, replayed } = submit(cx, session, &submission)?;
    let answer = show::show(cx, &show::Request { run: answer.run_id.to_string() })?;
    Ok(Reply { answer, replayed })
}

/// Workers work in the directory where they are started; they get no clone.
fn refuse_isolation(submission: &Submission) -> Result<()> {
    let isolated = submission.plan.tasks.iter().position(|task| task.worktree.is_some());
    let Some(index) = isolated else { return Ok(()) };
    let message = format!("$.task[{index}].isolation: the workers of a crew work in the workspace itself");
    Err(Error::new(ErrorCode::InvalidInput, message)
        .hint("remove `isolation`, or run the plan with `writ run`"))
}

/// A path outside the workspace can never be locked, so its task could never be assigned. Anything else that a task
/// lacks can be added by a delta.
fn refuse_outside(submission: &Submission) -> Result<()> {
    for (index, task) in submission.plan.tasks.iter().enumerate() {
        for (place, scope) in task.writes.iter().enumerate() {
            if Scope::parse(scope.as_str(), Some(&submission.workspace)).is_ok() {
                continue;
            }
            let path = format!("$.task[{index}].writes[{place}]");
            let message = format!("{path}: `{scope}` of task `{}` is outside the workspace", task.id);
            return Err(deny(Code::ScopeViolation, "workspace_escape", message)
                .hint(format!("use paths below {}, or set the plan's workspace", submission.workspace)));
        }
    }
    Ok(())
}
