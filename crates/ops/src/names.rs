//! Names: what a caller writes for a task or a run, turned into the one thing it means.
//!
//! A task is named by its id, a unique prefix of it, its id in a plan, its `T-n`, or `RUN/TASK`. Without a run, `@last` and
//! an id of a plan mean the newest run of the caller's project, or of its directory outside any project. What belongs to
//! another one has to be named by its id.

mod find;
pub mod last;

use contract::domain::crew::task_ref::TaskRef;
use contract::domain::id::Id;
use contract::domain::memory::{MemoryScope, Scope};
use contract::domain::run::{Run, RunId};
use contract::domain::task::Task;
use contract::domain::workspace;
use store::Tx;

use crate::context::{Context, Session};
use crate::crew::ledger_state::reference_of_task;
use crate::error::Result;

pub(crate) use find::ambiguous;

/// The name of the newest run.
pub const LAST: &str = "@last";

/// How names are understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Tasks are named by their whole ids only, as the agent contract's original does.
    pub only_ids: bool,
    /// The root of the caller's project: only its runs are meant where none is named.
    pub project: Option<String>,
    /// The caller's directory, which counts outside any project, with all that is above and below it. Without both, all
    /// runs are meant.
    pub directory: Option<String>,
}

impl Names {
    /// Whether a run in this workspace is meant where none is named.
    fn is_own(&self, workspace: &str) -> bool {
        match (&self.project, &self.directory) {
            (Some(project), _) => workspace::is_within(workspace, project),
            (None, Some(directory)) => {
                workspace::is_within(workspace, directory) || workspace::is_within(directory, workspace)
            }
            (None, None) => true,
        }
    }

    /// Where the caller is.
    fn place(&self) -> String {
        match (&self.project, &self.directory) {
            (Some(project), _) => format!("the project {project}"),
            (None, Some(directory)) => format!("the directory {directory} (in no project)"),
            (None, None) => "this store".to_owned(),
        }
    }
}

/// Whether a text names a run, where a run and a task are both accepted.
pub fn is_run(text: &str) -> bool {
    let is_id = text.starts_with("run_") && !text.contains('/');
    text == LAST || is_id || Id::<contract::domain::id::Run>::from_uuid(text).is_some()
}

impl Context {
    /// The id of the task that `text` names. A repeated request is not looked up again: its answer is stored, and the
    /// name may mean something else by now.
    pub(crate) fn task_id(&mut self, session: &Session, text: &str) -> Result<String> {
        let (found, names) = (self.look_up(session, text)?, &session.names);
        match found {
            Lookup::Done(id) => Ok(id),
            Lookup::Unknown => Err(find::unknown(&self.store.read()?, names, text)?),
        }
    }

    /// The same where the agent contract accepts the id of a task that does not exist: such a text stays as it is.
    pub(crate) fn any_task_id(&mut self, session: &Session, text: &str) -> Result<String> {
        Ok(match self.look_up(session, text)? {
            Lookup::Done(id) => id,
            Lookup::Unknown => text.to_owned(),
        })
    }

    /// The place of a memory, with the task it belongs to under its id.
    pub(crate) fn memory_place(&mut self, session: &Session, place: MemoryScope) -> Result<MemoryScope> {
        Ok(match place.scope {
            Scope::Task => MemoryScope { scope_id: self.any_task_id(session, &place.scope_id)?, ..place },
            Scope::Global | Scope::Project | Scope::Agent => place,
        })
    }

    /// The run that `text` names: an id, a unique prefix of it, a UUID, a correlation id; the newest run for `@last`.
    pub(crate) fn run_named(&mut self, session: &Session, text: &str) -> Result<Run> {
        find::run(&self.store.read()?, &session.names, text)
    }

    /// The same for a request that changes something: a repeated request is not looked up again.
    pub(crate) fn run_id_once(&mut self, session: &Session, text: &str) -> Result<String> {
        if self.was_answered(session)? {
            return Ok(text.to_owned());
        }
        Ok(self.run_named(session, text)?.asked.id.to_string())
    }

    fn look_up(&mut self, session: &Session, text: &str) -> Result<Lookup> {
        let is_whole = Id::<contract::domain::id::Task>::parse(text).is_ok_and(|id| id.bits().is_some());
        if is_whole || text.is_empty() || session.names.only_ids {
            return Ok(Lookup::Done(text.to_owned()));
        }
        if self.was_answered(session)? {
            return Ok(Lookup::Done(text.to_owned()));
        }
        Ok(find::task(&self.store.read()?, &session.names, text)?.map_or(Lookup::Unknown, Lookup::Done))
    }
}

enum Lookup {
    Done(String),
    Unknown,
}

/// The id of the run that `text` names.
pub fn run_id(cx: &mut Context, session: &Session, text: &str) -> Result<RunId> {
    Ok(cx.run_named(session, text)?.asked.id)
}

/// The name that operator documents give a task of a run, whatever the caller called it.
pub fn reference_in(cx: &mut Context, session: &Session, run: &str, text: &str) -> Result<String> {
    if TaskRef::parse(text).is_some() {
        return Ok(text.to_owned());
    }
    let run = cx.run_named(session, run)?;
    let tx = cx.store.read()?;
    let text = match text.split_once('/') {
        Some((named, task)) if find::run(&tx, &session.names, named)?.asked.id == run.asked.id => task,
        Some(_) | None => text,
    };
    let task = task_of_run(&tx, &run.asked.id, text)?;
    reference_of_task(&tx, &task).map(|reference| reference.to_string())
}

/// The task of the run that `text` names.
pub(crate) fn task_of_run(tx: &Tx<'_>, run: &RunId, text: &str) -> Result<Task> {
    let id = find::task_in(tx, run.as_str(), text)?;
    crate::task::required(tx, &id.ok_or_else(|| find::unknown_in(tx, run, text))?)
}
