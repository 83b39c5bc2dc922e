//! Submits a document and works the run until it ends.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::domain::id::{Id, Run, Task};
use contract::domain::run::DocumentKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::accept::{self, AopSubmission, Submission};
use super::delegation;
use super::document::{self, DocumentInput};
use super::nested;
use super::work::{RunAnswer, work};
use crate::context::{Context, Session};
use crate::error::Result;
use crate::host::HowToWork;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Submit;

impl Verb for Submit {
    const NAME: &'static str = "run.submit";
    const COMMAND: &'static str = "run";
    const SUMMARY: &'static str = "Run a plan, AOP TASKs, an AEE task or a prompt";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = RunAnswer;
    const FUNCTION: Function<Self> = Function::Once(submit);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub document: DocumentInput,
    /// The absolute path of the directory that relative paths in the document start from. Its project's policy holds.
    pub directory: String,
    /// What messages call the document, such as the name of its file.
    #[serde(default)]
    pub name: Option<String>,
    /// The executor that gets the TASKs or the prompt of the document, whatever they name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// Where directories that the TASKs of the document name are here, such as `C:/workspace`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub map: BTreeMap<String, String>,
    /// Submit TASKs although another TASK of their session failed and aborted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reopen: bool,
    /// How long a task waits for locks of other runs, in milliseconds.
    #[serde(default)]
    pub lock_wait_ms: Option<u64>,
    /// How long a task waits for a rate limit or usage window to end, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_wait_ms: Option<u64>,
    /// 1 for a run that no other run started.
    #[serde(default = "first_depth")]
    pub depth: u32,
    /// The run that this one was started from.
    #[serde(default)]
    pub parent_run: Option<Id<Run>>,
    /// The task that this run was started from.
    #[serde(default)]
    pub parent_task: Option<Id<Task>>,
}

fn first_depth() -> u32 {
    1
}

pub fn submit(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<RunAnswer>> {
    let reading = document::reading(cx, request.name.as_deref(), request.executor.as_deref(), &request.map)?;
    let document::ReadDocument { mut intake, workspace } =
        document::read(cx, &request.document, &request.directory, &reading)?;
    let host = cx.host();
    let workspace = host.real_directory(&workspace);
    let ceiling = &session.origin.ceiling;
    if let Some(ceiling) = ceiling {
        nested::confine(cx, &mut intake, &workspace, ceiling)?;
    }
    if let Some(parent) = &request.parent_task {
        delegation::inside(cx, parent)?;
    }
    let depth = delegation::depth(cx, &intake, request.depth)?;
    let makes_workspace = intake.kind == DocumentKind::Plan && ceiling.is_none();
    let corr = match intake.corr {
        None => nested::corr(cx, request.parent_run.as_ref())?,
        own => own,
    };
    let submission = Submission {
        kind: intake.kind,
        plan: intake.plan,
        objective: intake.objective,
        workspace: workspace.clone(),
        intent: intake.intent,
        corr,
        depth,
        parent_run: request.parent_run.clone(),
        parent_task: request.parent_task.clone(),
        document_digest: intake.document_digest,
        aop: AopSubmission {
            session_id: intake.session_id,
            warnings: intake.warnings,
            fallbacks: intake.fallbacks,
            executor: request.executor.clone(),
            map: request.map.clone(),
            reopens: request.reopen,
        },
    };
    let how = HowToWork {
        rerun_parked: false,
        lock_wait: request.lock_wait_ms.map(Duration::from_millis),
        limit_wait: request.limit_wait_ms.map(Duration::from_millis),
        directory: Some(request.directory.clone()),
    };
    // Everything that can fail or be interrupted comes before the run exists.
    host.prepare_to_work(&workspace, &how)?;
    let Reply { answer: accepted, replayed } = accept::submit(cx, session, &submission)?;
    if makes_workspace {
        host.make_directory(&workspace)?;
    }
    let answer = work(cx, &accepted.run_id, &how)?;
    Ok(Reply { answer, replayed })
}
