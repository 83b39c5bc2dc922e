//! The audit records of a session, derived from the log.

use contract::aop::audit::trail::{AuditedEvent, TrailEvent};
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
use store::{EventFilter, LoggedEvent, Stream};

use crate::aop_event::task_id_of;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::run::show::message_of;

/// Follows the log of one run of a session.
pub struct Follower {
    trail: Trail,
    run_id: RunId,
    corr: String,
    after_id: i64,
    unread: usize,
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
        Some(Self { trail: Trail::new(session_id, tasks), run_id, corr, after_id: 0, unread: 0 })
    }

    /// The records of what was written since the last call, oldest first.
    pub fn next(&mut self, cx: &mut Context) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        self.each(cx, |trail, source| records.extend(trail.follow(source)))?;
        Ok(records)
    }

    /// How many records the same has.
    fn count(&mut self, cx: &mut Context) -> Result<usize> {
        let mut count = 0;
        self.each(cx, |trail, source| count += trail.count(source))?;
        Ok(count)
    }

    /// How many events could not be read so far, so that their records are missing.
    pub fn unread(&self) -> usize {
        self.unread
    }

    fn each(&mut self, cx: &mut Context, mut follow: impl FnMut(&mut Trail, &TrailEvent)) -> Result<()> {
        let kinds = [
            Change::ATTEMPT_STARTED,
            Change::ATTEMPT_ENDED,
            &EventKind::RollbackInitiated.as_str().to_lowercase(),
            &EventKind::SessionFinalReport.as_str().to_lowercase(),
        ];
        let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let tx = cx.store.read()?;
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
                match source(event) {
                    Some(Ok(source)) => follow(&mut self.trail, &source),
                    Some(Err(_)) => self.unread += 1,
                    None => {}
                }
            }
            if !is_full {
                return Ok(());
            }
        }
    }
}

/// `None` if an audit trail does not have it.
fn source(event: LoggedEvent) -> Option<serde_json::Result<TrailEvent>> {
    let record = event.record;
    let what = if record.is_change {
        serde_json::from_value(record.payload).map(AuditedEvent::Change)
    } else {
        let field = |name: &str| record.payload.get(name).and_then(Value::as_str);
        // What was taken back and is reapplied is no rollback.
        if field("direction") == Some(Direction::Redo.as_str()) {
            return None;
        }
        let failed = field("code").is_some();
        let event = record.payload.get("event").cloned().unwrap_or_default();
        let task = record.task_id.as_deref().and_then(|id| TaskId::parse(id).ok());
        let event = serde_json::from_value::<AopMessage>(event);
        event.map(|event| AuditedEvent::Aop { task, event: Box::new(event), failed })
    };
    let (event_id, at) = (record.event_id, Timestamp::from_millis(record.at));
    Some(what.map(|what| TrailEvent { event_id, at, what }))
}

/// The runs of a session, oldest first.
pub fn runs_of(cx: &mut Context, session_id: &str) -> Result<Vec<Run>> {
    let mut runs = cx.store.read()?.runs_of_session(session_id, limits::SESSION_RUNS_MAX)?;
    if runs.is_empty() {
        return Err(Error::not_found("session", session_id).hint("`writ session list` lists sessions"));
    }
    runs.reverse();
    Ok(runs)
}

/// The directories in which tasks of a session may have made links.
pub fn workspaces(cx: &mut Context, session_id: &str) -> Result<Vec<String>> {
    Ok(cx.store.read()?.workspaces_of_session(session_id)?)
}

/// The records of one run of a session.
pub struct RunRecords {
    pub records: Vec<Record>,
    /// Events that could not be read.
    pub unread: usize,
    /// Its first events were removed, so that what is derived from the rest may lack what they said.
    pub is_pruned: bool,
}

/// All records of a run.
pub fn of_run(cx: &mut Context, run: &Run) -> Result<RunRecords> {
    let stream = Stream::Run(run.asked.id.clone()).name();
    let tx = cx.store.read()?;
    let is_pruned = tx.stream_extent(&stream)?.is_some_and(|extent| extent.anchor_seq > 0);
    let tasks = tx.tasks_of_run(&run.asked.id)?;
    drop(tx);
    let Some(mut follower) = Follower::of(run, &tasks) else {
        return Ok(RunRecords { records: Vec::new(), unread: 0, is_pruned });
    };
    let records = follower.next(cx)?;
    Ok(RunRecords { records, unread: follower.unread(), is_pruned })
}

/// How many records the runs have, each with its tasks.
pub(super) fn count<'r>(
    cx: &mut Context,
    runs: impl IntoIterator<Item = (&'r Run, Vec<&'r Task>)>,
) -> Result<usize> {
    let mut count = 0;
    for (run, tasks) in runs {
        if let Some(mut follower) = Follower::of(run, tasks) {
            count += follower.count(cx)?;
        }
    }
    Ok(count)
}

/// The trail's part of the final report: its location and its number of records, if known.
pub(super) fn told(storage_path: &str, count: Option<usize>) -> AuditTrail {
    let record_count = count.map(|count| count as u64);
    AuditTrail { storage_path: storage_path.to_owned(), record_count, extensions: None }
}

/// The bytes of a record's file.
pub fn file_of(record: &Record) -> (String, Vec<u8>) {
    let mut bytes = serde_json::to_vec_pretty(record).expect("BUG: a record has a JSON form");
    bytes.push(b'\n');
    (record.file_name(), bytes)
}
