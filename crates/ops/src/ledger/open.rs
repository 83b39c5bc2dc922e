//! Opens the ledger of a plan: its tasks are given out as assignments, and no engine works them.

use contract::domain::run::DocumentKind;
use contract::domain::scope::Scope;
use contract::operator::Code;

use crate::context::{Context, Key};
use crate::crew::denial::deny;
use crate::error::Result;
use crate::once::Reply;
use crate::run::accept::{Accepted as Answer, Submission as Request, submit};

/// The plan's author decides what is checked; orchestrators can only give the tasks out.
pub fn open(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    refuse_outside(request)?;
    submit(cx, key, &Request { kind: DocumentKind::Ledger, ..request.clone() })
}

/// What is to be written outside of the workspace could never be locked, so its task could never be given out. What a
/// task merely lacks a delta can add.
fn refuse_outside(request: &Request) -> Result<()> {
    for (index, task) in request.plan.tasks.iter().enumerate() {
        for (place, scope) in task.writes.iter().enumerate() {
            if Scope::parse(scope.as_str(), Some(&request.workspace)).is_ok() {
                continue;
            }
            let path = format!("$.task[{index}].writes[{place}]");
            let message = format!("{path}: `{scope}` of task `{}` is outside of the workspace", task.id);
            return Err(deny(Code::ScopeViolation, "workspace_escape", message)
                .hint(format!("name paths below {}, or set the plan's workspace", request.workspace)));
        }
    }
    Ok(())
}
