//! Opens the ledger of a plan: its tasks are assigned to workers, and no engine runs them.

use contract::domain::code::ErrorCode;
use contract::domain::run::DocumentKind;
use contract::domain::scope::Scope;
use contract::operator::Code;

use super::show;
use crate::context::{Context, Key};
use crate::crew::denial::deny;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::run::submit::{Request, submit};
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

/// Makes the workspace, submits the plan and returns the new ledger. The plan's author decides what is checked;
/// orchestrators can only assign the tasks.
pub fn open(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<show::Answer>> {
    if !request.workspace.starts_with('/') {
        return Err(Error::new(ErrorCode::InvalidInput, "workspace must be an absolute path"));
    }
    let host = cx.host();
    host.make_directory(&request.workspace)?;
    let workspace = host.real_directory(&request.workspace);
    let request = Request { kind: DocumentKind::Ledger, workspace, ..request.clone() };
    refuse_outside(&request)?;
    let Reply { answer, replayed } = submit(cx, key, &request)?;
    let answer = show::show(cx, &show::Request { run: answer.run_id.to_string() })?;
    Ok(Reply { answer, replayed })
}

/// A path outside the workspace can never be locked, so its task could never be assigned. Anything else that a task
/// lacks can be added by a delta.
fn refuse_outside(request: &Request) -> Result<()> {
    for (index, task) in request.plan.tasks.iter().enumerate() {
        for (place, scope) in task.writes.iter().enumerate() {
            if Scope::parse(scope.as_str(), Some(&request.workspace)).is_ok() {
                continue;
            }
            let path = format!("$.task[{index}].writes[{place}]");
            let message = format!("{path}: `{scope}` of task `{}` is outside the workspace", task.id);
            return Err(deny(Code::ScopeViolation, "workspace_escape", message)
                .hint(format!("use paths below {}, or set the plan's workspace", request.workspace)));
        }
    }
    Ok(())
}
