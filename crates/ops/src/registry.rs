//! Every operation of the product, in one list that all doors read.

pub mod commands;

use contract::continuity::TaskView;
use contract::continuity::push::Push;
use contract::domain::code::ErrorCode;
use contract::json::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::context::{Context, Key};
use crate::error::{Error, Result};
use crate::{
    agent, approval, artifact, audit, budget, event, gc, ledger, lock, memory, push, resume, run, status,
    task, worklog,
};

pub struct Operation {
    /// `<thing>.<verb>`.
    pub name: &'static str,
    /// One line for help texts and documentation.
    pub summary: &'static str,
    pub call: Call,
}

/// What an operation needs besides its request.
pub enum Call {
    /// Changes nothing.
    Read(fn(&mut Context, Value) -> Result<Value>),
    /// Changes something, once per request id.
    Write(fn(&mut Context, &Key, Value) -> Result<Value>),
    /// Looks at the disk or starts processes, so it needs a door that hosts an engine.
    Hosted,
    /// The same without a request id: asked again, it changes nothing more.
    Keyless,
}

impl Operation {
    pub fn mutates(&self) -> bool {
        !matches!(self.call, Call::Read(_) | Call::Keyless)
    }

    /// Changes something in one call, without a process of its own.
    pub fn is_write(&self) -> bool {
        matches!(self.call, Call::Write(_))
    }
}

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "resume.resume",
        summary: "Say where the work stands, and claim what comes next",
        call: Call::Write(|cx, key, request| answer(&resume::resume(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "agent.leave",
        summary: "Give back everything an agent holds",
        call: Call::Write(|cx, key, request| answer(&agent::leave(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "task.create",
        summary: "Make a task",
        call: Call::Write(|cx, key, request| answer(&task::create::create(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "task.begin",
        summary: "Take a task and start it",
        call: Call::Write(|cx, key, request| answer(&task::begin::begin(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "task.set_status",
        summary: "Bring a task into another state",
        call: Call::Write(|cx, key, request| {
            answer(&task::set_status::set_status(cx, key, &read(request)?)?.answer)
        }),
    },
    Operation {
        name: "task.complete",
        summary: "Close a task as done or blocked",
        call: Call::Write(|cx, key, request| {
            answer(&task::complete::complete(cx, key, &read(request)?)?.answer)
        }),
    },
    Operation {
        name: "task.set_priority",
        summary: "Move a task forward or back in the queue",
        call: Call::Write(|cx, key, request| {
            answer(&task::set_priority::set_priority(cx, key, &read(request)?)?.answer)
        }),
    },
    Operation {
        name: "task.add_dependency",
        summary: "Make a task wait for another",
        call: Call::Write(|cx, key, request| {
            answer(&task::add_dependency::add(cx, key, &read(request)?)?.answer)
        }),
    },
    Operation {
        name: "task.remove_dependency",
        summary: "Let a task no longer wait for another",
        call: Call::Write(|cx, key, request| {
            answer(&task::remove_dependency::remove(cx, key, &read(request)?)?.answer)
        }),
    },
    Operation {
        name: "task.delete",
        summary: "Delete a task and what belongs to it",
        call: Call::Write(|cx, key, request| answer(&task::delete::delete(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "task.get",
        summary: "Show a task",
        call: Call::Read(|cx, request| answer(&TaskView::from(&task::get::get(cx, text(&request, "id")?)?))),
    },
    Operation {
        name: "task.list",
        summary: "List tasks, highest priority first",
        call: Call::Read(|cx, request| {
            let tasks = task::list::list(cx, &read(request)?)?;
            answer(&json!({"tasks": tasks.iter().map(TaskView::from).collect::<Vec<_>>()}))
        }),
    },
    Operation {
        name: "task.ready",
        summary: "List what could be started now",
        call: Call::Read(|cx, request| {
            let limit = request.get("limit").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
            let tasks = task::ready::ready(cx, limit.unwrap_or(contract::domain::limits::LIST_ROWS_DEFAULT))?;
            answer(&json!({"tasks": tasks.iter().map(TaskView::from).collect::<Vec<_>>()}))
        }),
    },
    Operation {
        name: "agent.push",
        summary: "Write down an event, memories, artifacts and a status in one piece",
        call: Call::Write(|cx, key, request| {
            let request = Push::of(request).map_err(|findings| Error::invalid("push", findings))?;
            answer(&push::push(cx, key, &request)?.answer)
        }),
    },
    Operation {
        name: "memory.set",
        summary: "Remember a value under a key",
        call: Call::Write(|cx, key, request| answer(&memory::set::set(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "memory.delete",
        summary: "Forget a memory",
        call: Call::Write(|cx, key, request| {
            answer(&memory::delete::delete(cx, key, &read(request)?)?.answer)
        }),
    },
    Operation {
        name: "memory.pin",
        summary: "Pin a memory, so that it neither fades nor expires; or unpin it",
        call: Call::Write(|cx, key, request| answer(&memory::pin::pin(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "memory.gc",
        summary: "Remove memories whose time is over",
        call: Call::Write(|cx, key, request| answer(&memory::gc::gc(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "memory.get",
        summary: "Show a memory",
        call: Call::Read(|cx, request| answer(&memory::get::get(cx, &read(request)?)?)),
    },
    Operation {
        name: "memory.list",
        summary: "List the memories of a scope: pinned first, then newest",
        call: Call::Read(|cx, request| answer(&memory::list::list(cx, &read(request)?)?)),
    },
    Operation {
        name: "memory.search",
        summary: "Find memories by their words, in any scope",
        call: Call::Read(|cx, request| answer(&memory::search::search(cx, &read(request)?)?)),
    },
    Operation {
        name: "artifact.list",
        summary: "List the artifacts of a task, newest first",
        call: Call::Read(|cx, request| answer(&artifact::list::list(cx, &read(request)?)?)),
    },
    Operation {
        name: "event.list",
        summary: "List events, newest first",
        call: Call::Read(|cx, request| {
            let events = event::list(cx, &read(request)?)?;
            answer(&json!({"events": events.iter().map(event::view).collect::<Vec<_>>()}))
        }),
    },
    Operation {
        name: "run.show",
        summary: "Show a run with its tasks and attempts",
        call: Call::Read(|cx, request| {
            let whole = run::show::show(cx, text(&request, "run")?)?;
            answer(&json!({"run": whole.run, "tasks": whole.tasks}))
        }),
    },
    Operation {
        name: "run.trace",
        summary: "Show a run's envelopes, oldest first",
        call: Call::Read(|cx, request| {
            let (run, events) = run::show::trace(cx, text(&request, "run")?)?;
            let envelopes: Vec<_> = events.iter().map(event::envelope).collect();
            answer(&json!({"run_id": run.asked.id, "corr": run.asked.corr, "envelopes": envelopes}))
        }),
    },
    Operation {
        name: "audit.verify",
        summary: "Check that no event was changed and none is missing",
        call: Call::Read(|cx, _| answer(&audit::verify(cx, None)?)),
    },
    Operation {
        name: "audit.tip",
        summary: "Say where every stream ends now",
        call: Call::Read(|cx, _| answer(&audit::tip(cx)?)),
    },
    Operation {
        name: "status.show",
        summary: "Show what is in the store",
        call: Call::Read(|cx, _| answer(&status::status(cx, None)?)),
    },
    Operation { name: "lock.renew", summary: "Prolong the lease of what a task holds", call: Call::Keyless },
    Operation {
        name: "lock.release",
        summary: "Give back what a task holds",
        call: Call::Write(|cx, key, request| {
            answer(&lock::release::release(cx, key, &read(request)?)?.answer)
        }),
    },
    Operation {
        name: "lock.list",
        summary: "Show who holds what",
        call: Call::Read(|cx, request| answer(&json!({"locks": lock::list::list(cx, &read(request)?)?}))),
    },
    Operation {
        name: "ledger.show",
        summary: "Show the ledger of a run",
        call: Call::Read(|cx, request| ledger::show::show(cx, text(&request, "run")?)),
    },
    Operation {
        name: "budget.set",
        summary: "Set what a run may spend",
        call: Call::Write(|cx, key, request| answer(&budget::set(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "budget.show",
        summary: "Show what a run may spend, has reserved and has spent",
        call: Call::Read(|cx, request| answer(&budget::show(cx, text(&request, "run")?)?)),
    },
    Operation {
        name: "approval.request",
        summary: "Ask for a person's word",
        call: Call::Write(|cx, key, request| answer(&approval::request(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "approval.decide",
        summary: "Grant or deny an approval",
        call: Call::Write(|cx, key, request| answer(&approval::decide(cx, key, &read(request)?)?.answer)),
    },
    Operation {
        name: "approval.list",
        summary: "List approvals",
        call: Call::Read(|cx, request| {
            let run = request.get("run").and_then(Value::as_str);
            answer(&json!({"approvals": approval::list(cx, run)?}))
        }),
    },
    Operation { name: "lock.acquire", summary: "Take locks for a task", call: Call::Hosted },
    Operation {
        name: "lock.check",
        summary: "Hold changed files against what is locked",
        call: Call::Keyless,
    },
    Operation { name: "ledger.open", summary: "Open the ledger of a plan", call: Call::Hosted },
    Operation { name: "ledger.close", summary: "Close a ledger whose rows have ended", call: Call::Hosted },
    Operation { name: "ledger.apply", summary: "Change a ledger by deltas", call: Call::Hosted },
    Operation { name: "ledger.reconcile", summary: "Hold a ledger against itself", call: Call::Keyless },
    Operation { name: "assignment.issue", summary: "Give a task out", call: Call::Hosted },
    Operation { name: "result.submit", summary: "Submit what a worker did", call: Call::Hosted },
    Operation { name: "heartbeat.send", summary: "Say that a worker lives", call: Call::Keyless },
    Operation { name: "watchdog.sweep", summary: "Take back what silent workers hold", call: Call::Keyless },
    Operation { name: "orchestrate.step", summary: "Take one round of an orchestrator", call: Call::Hosted },
    Operation { name: "worklog.append", summary: "Write down one step of the work", call: Call::Hosted },
    Operation {
        name: "worklog.show",
        summary: "Show what a worker wrote down",
        call: Call::Read(|cx, request| worklog::show::show(cx, &read(request)?)),
    },
    Operation {
        name: "worklog.verify",
        summary: "Hold a worklog's file against the store",
        call: Call::Keyless,
    },
    Operation { name: "handoff.export", summary: "Write a run as a bundle", call: Call::Keyless },
    Operation { name: "handoff.import", summary: "Take a run over from a bundle", call: Call::Hosted },
    Operation { name: "handoff.brief", summary: "Say what is in a bundle", call: Call::Keyless },
    Operation {
        name: "store.gc",
        summary: "Archive long streams and remove what is old",
        call: Call::Write(|cx, key, request| answer(&gc::gc(cx, key, &read(request)?)?.answer)),
    },
    Operation { name: "run.submit", summary: "Run a plan, an AOP TASK or an AEE task", call: Call::Hosted },
    Operation {
        name: "run.cancel",
        summary: "End a run or a task before it is finished",
        call: Call::Hosted,
    },
    Operation { name: "run.retry", summary: "Give a task another chance", call: Call::Hosted },
];

pub fn find(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

fn read<R: DeserializeOwned>(request: Value) -> Result<R> {
    serde_json::from_value(request)
        .map_err(|error| Error::new(ErrorCode::InvalidInput, format!("the request does not fit: {error}")))
}

fn text<'r>(request: &'r Value, name: &str) -> Result<&'r str> {
    request.get(name).and_then(Value::as_str).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, format!("the request does not fit: `{name}` must be text"))
    })
}

fn answer<A: Serialize>(value: &A) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|error| Error::new(ErrorCode::Bug, format!("an answer has no JSON form: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_operation_says_what_it_is() {
        for (i, operation) in OPERATIONS.iter().enumerate() {
            assert!(OPERATIONS[..i].iter().all(|other| other.name != operation.name), "{}", operation.name);
            assert!(operation.name.split('.').count() == 2 && !operation.summary.is_empty());
        }
    }
}
