//! Calls from inside a sandbox. A task's program may read what its task is about, report on it and start runs within its
//! own rights; nothing of other tasks is open to it.

use contract::domain::code::ErrorCode;
use contract::domain::id::{Minter, Request, mint};
use contract::domain::principal::Principal;
use contract::domain::request::RequestId;
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use contract::json::{Map, Value, json};

use crate::context::{Caller, Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::Verb;
use crate::{document, event, heartbeat, push, registry, resume, run, task};

/// The task whose program calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InsideTask {
    pub task_id: TaskId,
    /// Its id in the plan.
    pub name: String,
    /// Its name in operator documents, such as `T-2`.
    pub reference: String,
    pub acts: ActsFor,
}

/// For whom the program acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActsFor {
    /// For the engine that works this run, which is so deep.
    Run { run_id: RunId, depth: u32 },
    /// For the agent that holds the task, in whose name its claim is.
    Agent(Caller),
}

/// What a command that is not open is told.
pub const OPEN_COMMANDS: &str = "open to a task in a sandbox are `writ resume`, `writ task get`, `writ task complete`, \
                                 `writ push`, `writ heartbeat` and `writ run`";

/// Verbs that look at a document and at nothing else.
const ABOUT_DOCUMENTS: [&str; 6] = [
    document::validate::Validate::NAME,
    document::convert::Convert::NAME,
    document::schema::List::NAME,
    document::schema::Show::NAME,
    document::plan::Check::NAME,
    document::plan::PlanSchema::NAME,
];

/// Calls a verb for the task's program, from where `session` says. A request that changes something without an id of its own gets a new one.
pub fn call(
    cx: &mut Context,
    session: &Session,
    caller: &InsideTask,
    (verb, request): (&str, Value),
    request_id: Option<&str>,
) -> Result<Reply<Value>> {
    let entry = registry::find(verb).ok_or_else(|| Error::not_found("operation", verb))?;
    let request = caller.permitted(entry.name, request)?;
    let caller = caller.caller();
    let session = Session { caller, ..session.clone() };
    if !entry.effect.mutates() {
        return (entry.call)(cx, &Session { request_id: None, ..session }, request);
    }
    let request_id = match request_id {
        Some(text) => text.to_owned(),
        None => {
            let at = cx.now().at;
            let ids: &mut dyn Minter = cx.ids();
            mint::<Request>(ids, at).to_string()
        }
    };
    let invalid = |error: contract::domain::request::InvalidName| {
        Error::new(ErrorCode::InvalidInput, error.to_string())
    };
    let request_id = RequestId::parse(&request_id).map_err(invalid)?;
    (entry.call)(cx, &session.under(request_id), request)
}

impl InsideTask {
    fn caller(&self) -> Caller {
        match &self.acts {
            ActsFor::Run { .. } => Caller::of(&Principal::Executor(self.task_id.clone())),
            ActsFor::Agent(agent) => agent.clone(),
        }
    }

    /// The request as this caller may make it: about its own task, whatever it left open.
    fn permitted(&self, verb: &str, request: Value) -> Result<Value> {
        if ABOUT_DOCUMENTS.contains(&verb) {
            return Ok(request);
        }
        let Value::Object(mut fields) = request else {
            // The verb says what is wrong with it.
            return Ok(request);
        };
        let own = json!(self.task_id);
        let run = match &self.acts {
            ActsFor::Run { run_id, depth } => Some((run_id, *depth)),
            ActsFor::Agent(_) => None,
        };
        match (verb, run) {
            (resume::Resume::NAME, _) => {
                fields.insert("only_task".to_owned(), own);
            }
            (resume::peek::Peek::NAME, _) => {
                fields.insert("only_task".to_owned(), own);
                fields.insert("agent".to_owned(), json!(self.caller().agent.as_str()));
            }
            (task::get::Get::NAME | task::complete::Complete::NAME, _) => {
                self.settle(&mut fields, "id", true)?;
            }
            (event::note::Note::NAME, _) => {
                self.settle(&mut fields, "task_id", false)?;
                fields.remove("project_id");
            }
            (push::Push::NAME, _) => {
                self.settle(&mut fields, "task_id", false)?;
                self.settle_memories(&mut fields)?;
            }
            (heartbeat::Send::NAME, Some((run_id, _))) => {
                self.settle(&mut fields, "task", true)?;
                fields.insert("task".to_owned(), json!(self.reference));
                fields.insert("run".to_owned(), json!(run_id));
                fields.remove("token");
            }
            (run::submit::Submit::NAME, Some((run_id, depth))) => {
                fields.insert("depth".to_owned(), json!(depth.saturating_add(1)));
                fields.insert("parent_run".to_owned(), json!(run_id));
                fields.insert("parent_task".to_owned(), own);
            }
            _ => return Err(not_open(verb)),
        }
        Ok(Value::Object(fields))
    }

    /// Puts the caller's own task where a request names one. Another name is refused without a look at whether it exists.
    fn settle(&self, fields: &mut Map<String, Value>, field: &str, is_required: bool) -> Result<()> {
        match fields.get(field).and_then(Value::as_str).filter(|name| !name.is_empty()) {
            Some(name) if !self.is_named(name) => Err(not_own(name)),
            // The verb asks for what is missing.
            None if is_required => Ok(()),
            Some(_) | None => {
                fields.insert(field.to_owned(), json!(self.task_id));
                Ok(())
            }
        }
    }

    /// What is remembered from inside belongs to the task.
    fn settle_memories(&self, fields: &mut Map<String, Value>) -> Result<()> {
        let memories = fields.get_mut("memories").and_then(Value::as_array_mut);
        for memory in memories.into_iter().flatten().filter_map(Value::as_object_mut) {
            if memory.get("scope").and_then(Value::as_str) != Some("task") {
                let message = "a task in a sandbox stores memories of the scope `task` only";
                return Err(Error::new(ErrorCode::Denied, message).hint("use `\"scope\": \"task\"`"));
            }
            self.settle(memory, "scope_id", false)?;
            memory.insert("source_task_id".to_owned(), json!(self.task_id));
        }
        Ok(())
    }

    fn is_named(&self, name: &str) -> bool {
        let of_run = name.split_once('/').map_or(name, |(_, task)| task);
        let is_prefix = name.len() > "task_".len() && self.task_id.as_str().starts_with(name);
        of_run == self.name || of_run == self.reference || is_prefix
    }
}

fn not_own(name: &str) -> Error {
    let message = format!("`{name}` is not the task of this sandbox");
    Error::new(ErrorCode::Denied, message)
        .hint("a task in a sandbox can name only itself; WRIT_TASK has its id")
}

fn not_open(verb: &str) -> Error {
    let command = registry::find(verb).map(|entry| entry.command).filter(|command| !command.is_empty());
    let named = command.map_or_else(|| verb.to_owned(), |command| format!("writ {command}"));
    let message = format!("`{named}` is not open to a task in a sandbox");
    Error::new(ErrorCode::Denied, message).hint(OPEN_COMMANDS)
}

#[cfg(test)]
mod tests;
