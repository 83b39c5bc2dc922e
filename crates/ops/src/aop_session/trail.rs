//! The audit records of a session, derived from the log.

use contract::aop::audit::trail::{Source, What};
use contract::aop::audit::{Record, Trail};
use contract::aop::event::{AuditTrail, Event as AopMessage, EventKind};
use contract::aop::task::Task as Message;
use contract::domain::change::Change;
use contract::domain::limits;
use contract::domain::rollback::Direction;
use contract::domain::run::{Run, RunId};
use contract::domain::task::{Task, TaskId};
use contract::domain::time::Timestamp;
use contract::json::Value;
use store::{Event, EventFilter};

use super::Whole;
use crate::aop_event::task_id_of;
use crate::context::Context;
use crate::error::Result;
use crate::run::show::message_of;

/// Follows the log of one run of a session.
pub struct Follower {
    trail: Trail,
    run_id: RunId,
    corr: String,
    after_id: i64,
}

impl Follower {
    /// From the beginning of the run. `None` if the run belongs to no session.
    pub fn of<'t>(run: &Run, tasks: impl IntoIterator<Item = &'t Task>) -> Option<Self> {
        let session_id = run.asked.session_id.clone()?;
        let named = |task: &Task| {
            let part = task.part.as_ref()?;
            let message = message_of(task).cloned().and_then(|it| serde_json::from_value::<Message>(it).ok());
            Some((task.id.clone(), task_id_of(part), message))
        };
        let tasks: Vec<_> = tasks.into_iter().filter_map(named).collect();
        let (run_id, corr) = (run.asked.id.clone(), run.asked.corr.clone());
        Some(Self { trail: Trail::new(session_id, tasks), run_id, corr, after_id: 0 })
    }

    /// The records of what was written since the last call, oldest first.
    pub fn next(&mut self, cx: &mut Context) -> Result<Vec<Record>> {
        let kinds = [
            Change::ATTEMPT_STARTED,
            Change::ATTEMPT_ENDED,
            &EventKind::RollbackInitiated.as_str().to_lowercase(),
            &EventKind::SessionFinalReport.as_str().to_lowercase(),
        ];
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let tx = cx.store.read()?;
        let mut records = Vec::new();
        loop {
            let page = tx.events(&EventFilter {
                corr: Some(self.corr.clone()),
                kinds: kinds.clone(),
                own: true,
                after_id: self.after_id,
                oldest_first: true,
                limit: limits::LIST_ROWS_MAX,
                ..EventFilter::default()
            })?;
            let is_full = page.len() == limits::LIST_ROWS_MAX;
            for event in page {
                self.after_id = event.id;
                // Runs that its tasks started share its correlation.
                if event.record.run_id.as_deref() != Some(self.run_id.as_str()) {
                    continue;
                }
                let source = source(event);
                records.extend(source.iter().flat_map(|source| self.trail.follow(source)));
            }
            if !is_full {
                return Ok(records);
            }
        }
    }
}

fn source(event: Event) -> Option<Source> {
    let record = event.record;
    let what = if record.is_change {
        What::Change(serde_json::from_value(record.payload).ok()?)
    } else {
        let field = |name: &str| record.payload.get(name).and_then(Value::as_str);
        // What was taken back and is reapplied is no rollback.
        if field("direction") == Some(Direction::Redo.as_str()) {
            return None;
        }
        let failed = field("code").is_some();
        let event: AopMessage = serde_json::from_value(record.payload.get("event")?.clone()).ok()?;
        let task = record.task_id.as_deref().and_then(|id| TaskId::parse(id).ok());
        What::Said { task, event: Box::new(event), failed }
    };
    Some(Source { event_id: record.event_id, at: Timestamp::from_millis(record.at), what })
}

/// All records of a session, run after run.
pub fn of_session(cx: &mut Context, session_id: &str) -> Result<Vec<OfRun>> {
    let whole = super::whole(cx, session_id)?;
    records_of(cx, &whole)
}

/// The records of one run of a session.
pub struct OfRun {
    pub run: Run,
    pub records: Vec<Record>,
}

pub(super) fn records_of(cx: &mut Context, whole: &Whole) -> Result<Vec<OfRun>> {
    let mut all = Vec::new();
    for (run, tasks) in &whole.runs {
        let follower = Follower::of(run, tasks.iter().map(|(task, _)| task));
        let records = follower.map(|mut follower| follower.next(cx)).transpose()?.unwrap_or_default();
        all.push(OfRun { run: run.clone(), records });
    }
    Ok(all)
}

/// What the final report says about the trail: where it is, and how many records it has.
pub(super) fn told(storage_path: &str, count: usize) -> AuditTrail {
    AuditTrail { storage_path: storage_path.to_owned(), record_count: Some(count as u64), extensions: None }
}

/// The bytes of a record's file.
pub fn file_of(record: &Record) -> (String, Vec<u8>) {
    let mut bytes = serde_json::to_vec_pretty(record).expect("BUG: a record has a JSON form");
    bytes.push(b'\n');
    (record.file_name(), bytes)
}
