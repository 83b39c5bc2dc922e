//! Imports a vybe database: tasks, memories, events, artifacts and the focus of agents.

mod carry;
mod report;
mod tasks;

use std::path::Path;

use contract::domain::code::ErrorCode;
use contract::domain::event_kind::VYBE_IMPORTED;
use contract::domain::limits::VYBE_ROWS_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Vybe;

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::memory::about_project;
use crate::once::Reply;
use crate::record::EventBody;
use crate::verb::{Function, Surface, Verb};
use carry::Carrier;
pub use report::{ImportedRows, VybeImportReport};

pub struct ImportVybe;

impl Verb for ImportVybe {
    const NAME: &'static str = "store.import_vybe";
    const COMMAND: &'static str = "import --from vybe";
    const SUMMARY: &'static str = "Import what a vybe database holds";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(import);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The absolute path of vybe's database, on the machine of the store. It is only read.
    pub file: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub report: VybeImportReport,
    /// Under which it was imported: the same id imports nothing twice.
    pub request_id: String,
}

/// Whether a file may be a vybe database. Only its first bytes are read; it must not be open in this process.
pub fn may_be_database(path: &Path) -> bool {
    Vybe::may_be_at(path)
}

/// Imports everything in one transaction, once for this key. What is in the store already is left as it is.
pub fn import(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let vybe = Vybe::open(Path::new(&request.file))?;
    refuse_too_many(&vybe)?;
    let Reply { answer: report, replayed } = cx.once(session, ImportVybe::NAME, request, |work| {
        let mut carrier = Carrier::new(work);
        carrier.projects(&vybe)?;
        carrier.tasks(&vybe)?;
        carrier.dependencies(&vybe)?;
        carrier.memories(&vybe)?;
        carrier.events(&vybe)?;
        carrier.artifacts(&vybe)?;
        carrier.agents(&vybe)?;
        let mut report = carrier.report;
        report.left(
            "request ids",
            vybe.count("idempotency")?,
            "vybe does not keep what was asked under them",
        );
        let about = about_project(work, None, None);
        let says = EventBody::event(VYBE_IMPORTED, "Imported from vybe", json!({"file": request.file}));
        work.say(&about, says)?;
        Ok(report)
    })?;
    let request_id = session.request().to_owned();
    Ok(Reply { answer: Answer { report, request_id }, replayed })
}

/// The tables of which rows are imported.
const TABLES: [&str; 7] =
    ["projects", "tasks", "task_dependencies", "memory", "events", "artifacts", "agent_state"];

/// Refuses a database that would take too long to import while other writers wait.
fn refuse_too_many(vybe: &Vybe) -> Result<()> {
    let mut rows = 0;
    for table in TABLES {
        rows += vybe.count(table)?;
    }
    if rows <= VYBE_ROWS_MAX {
        return Ok(());
    }
    let message =
        format!("the database has {rows} rows, and one import takes at most {VYBE_ROWS_MAX} (VYBE_ROWS_MAX)");
    let hint = "copy the database, delete the oldest rows of `events` in the copy, and import the copy";
    Err(Error::new(ErrorCode::TooLarge, message).hint(hint))
}
