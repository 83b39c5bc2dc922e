//! The event log: append-only, hash-chained per stream, printable as AEE envelopes.

use contract::chain;
use contract::continuity::event::{BOOKKEEPING, RESUME_INTENT};
use contract::continuity::substance::{ENGINE, Substance};
use contract::domain::change::Change;
use contract::domain::event_kind::own_intent;
use contract::domain::id::{self, Id};
use contract::domain::run::RunId;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use contract::secrets::{self, Secret};
use rusqlite::{Row, params};
use serde::Serialize;
use serde_json::Value;

use crate::Tx;
use crate::conditions::Conditions;
use crate::error::{Result, unreadable};

/// Which chain an event belongs to. Writers of different streams do not wait for each other's hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    Run(RunId),
    Project(String),
    /// Events that belong to no project and no run.
    Store,
}

impl Stream {
    pub fn name(&self) -> String {
        match self {
            Stream::Run(id) => format!("run:{id}"),
            Stream::Project(id) => format!("project:{id}"),
            Stream::Store => "store".to_owned(),
        }
    }

    /// The stream of this name; `None` if writ does not use such a name.
    pub fn named(name: &str) -> Option<Self> {
        match name.split_once(':') {
            None => (name == "store").then_some(Stream::Store),
            Some(("run", id)) => Id::parse(id).ok().map(Stream::Run),
            Some(("project", id)) => Some(Stream::Project(id.to_owned())),
            Some(_) => None,
        }
    }
}

/// An event before it is appended. The field names are AEE's where AEE has one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewEvent {
    pub event_id: Id<id::Event>,
    pub at: Timestamp,
    /// AEE's type: task, result, event, error or stream.
    pub r#type: &'static str,
    pub from: String,
    pub to: String,
    pub intent: String,
    pub corr: String,
    pub reply_to: Option<String>,
    pub priority: &'static str,
    pub requires: Option<Value>,
    pub payload: Value,
    /// The continuity contract's kind, agent, project, task and message.
    pub kind: String,
    pub agent: String,
    pub project_id: Option<String>,
    pub task_id: Option<TaskId>,
    pub run_id: Option<RunId>,
    pub message: String,
}

impl NewEvent {
    /// An event that the store itself writes, under its id and time.
    pub(crate) fn by_store(
        event_id: Id<id::Event>,
        at: Timestamp,
        kind: &str,
        message: String,
        payload: Value,
    ) -> Self {
        Self {
            event_id,
            at,
            r#type: "event",
            from: ENGINE.to_owned(),
            to: "log.writ".to_owned(),
            intent: own_intent(kind),
            corr: "store".to_owned(),
            reply_to: None,
            priority: "normal",
            requires: None,
            payload,
            kind: kind.to_owned(),
            agent: "writ".to_owned(),
            project_id: None,
            task_id: None,
            run_id: None,
            message,
        }
    }
}

/// An event of the log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoggedEvent {
    pub id: i64,
    pub stream: String,
    pub seq: i64,
    pub hash: String,
    pub record: ChainedColumns,
}

/// The columns that the hash chain covers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainedColumns {
    pub event_id: String,
    pub at: i64,
    pub r#type: String,
    pub from: String,
    pub to: String,
    pub intent: String,
    pub corr: String,
    pub reply_to: Option<String>,
    pub priority: String,
    pub requires: Option<Value>,
    pub payload: Value,
    pub kind: String,
    pub agent: String,
    pub project_id: Option<String>,
    pub task_id: Option<String>,
    pub run_id: Option<String>,
    pub message: String,
    /// Whether the payload is a change that was made with this event. Other payloads have any form.
    pub is_change: bool,
    /// By how many milliseconds this event's time is before that of the event before it in the store. The order of
    /// events is that of their numbers; such a time was read from a clock that was set back, or was imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_back_ms: Option<i64>,
}

impl From<NewEvent> for ChainedColumns {
    fn from(event: NewEvent) -> Self {
        ChainedColumns {
            event_id: event.event_id.to_string(),
            at: event.at.millis(),
            r#type: event.r#type.to_owned(),
            from: event.from,
            to: event.to,
            intent: event.intent,
            corr: event.corr,
            reply_to: event.reply_to,
            priority: event.priority.to_owned(),
            requires: event.requires,
            payload: event.payload,
            kind: event.kind,
            agent: event.agent,
            project_id: event.project_id,
            task_id: event.task_id.map(|id| id.to_string()),
            run_id: event.run_id.map(|id| id.to_string()),
            message: event.message,
            is_change: false,
            steps_back_ms: None,
        }
    }
}

/// The last gate: texts were scrubbed before, so a secret that is still there is in a name, and a name is not rewritten.
fn refuse_secrets(stream: &str, record: &ChainedColumns) -> Result<()> {
    let names = [
        ("stream", Some(stream)),
        ("from", Some(&*record.from)),
        ("to", Some(&*record.to)),
        ("intent", Some(&*record.intent)),
        ("corr", Some(&*record.corr)),
        ("reply_to", record.reply_to.as_deref()),
        ("kind", Some(&*record.kind)),
        ("agent", Some(&*record.agent)),
        ("project_id", record.project_id.as_deref()),
        ("message", Some(&*record.message)),
    ];
    for (field, text) in names {
        if let Some(rule) = text.and_then(secrets::find) {
            return Err(crate::Error::Secret(Secret { path: format!("$.{field}"), rule }));
        }
    }
    let found =
        secrets::find_in(&record.payload).or_else(|| record.requires.as_ref().and_then(secrets::find_in));
    found.map_or(Ok(()), |secret| Err(crate::Error::Secret(secret)))
}

/// Which events to list. Every set field narrows.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each narrows the list on its own")]
pub struct EventFilter {
    pub agent: Option<String>,
    pub task_id: Option<String>,
    /// One of these kinds; any, where it is empty.
    pub kinds: Vec<String>,
    /// Only what writ wrote itself, not what an agent recorded under the same kind.
    pub own: bool,
    pub corr: Option<String>,
    pub after_id: i64,
    /// Leaves out what only the store needs: claims, projects, and what a resume writes for itself.
    pub without_bookkeeping: bool,
    /// Leaves out archived events, which a summary replaces.
    pub without_archived: bool,
    pub oldest_first: bool,
    pub limit: usize,
}

/// Not archived. Looks up the head for each event, so that archiving a thousand events changes one row.
pub(crate) const LIVE: &str =
    "NOT EXISTS (SELECT 1 FROM heads h WHERE h.stream = events.stream AND h.archived_seq >= events.seq)";

/// Written by writ itself; see `contract::domain::event_kind::is_own`.
pub(crate) const OWN: &str = "intent = 'writ.' || kind";

/// Not bookkeeping.
pub(crate) fn news() -> String {
    let kinds = BOOKKEEPING.map(|kind| format!("'{kind}'")).join(", ");
    format!("NOT (is_change = 1 AND (kind IN ({kinds}) OR intent = '{RESUME_INTENT}'))")
}

pub(crate) const COLUMNS: &str = "id, stream, seq, hash, event_id, at, type, sender, recipient, intent, corr, reply_to, \
     priority, requires, payload, kind, agent, project_id, task_id, run_id, message, is_change, steps_back_ms";

impl Tx<'_> {
    /// Appends an event that changes no table. Returns the number of the event.
    pub fn append(&self, stream: &Stream, event: NewEvent) -> Result<i64> {
        self.record(stream, ChainedColumns::from(event))
    }

    fn record(&self, stream: &Stream, mut record: ChainedColumns) -> Result<i64> {
        record.steps_back_ms = self.steps_back_ms(record.at)?;
        let record = &record;
        let name = stream.name();
        refuse_secrets(&name, record)?;
        let (last, previous) = self.checked_head(&name)?.unwrap_or_else(|| (0, chain::GENESIS.to_owned()));
        let seq = last + 1;
        let hash = chain::link(&name, seq, &previous, record)?;
        let number = self.insert(&name, seq, &hash, record)?;
        self.prepare(
            "INSERT INTO heads (stream, seq, hash, anchor_seq, anchor_hash) VALUES (?1, ?2, ?3, 0, ?4)
                 ON CONFLICT (stream) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
        )?
        .execute(params![name, seq, hash, chain::GENESIS])?;
        self.event_happened(record.at);
        Ok(number)
    }

    /// Appends the event of a change, then applies the change to the tables. No other function does.
    pub fn change(&self, stream: &Stream, mut event: NewEvent, change: &Change) -> Result<i64> {
        event.payload = serde_json::to_value(change)
            .map_err(|error| crate::Error::Corrupt(format!("a change has no JSON form: {error}")))?;
        let at = event.at;
        let number =
            self.record(stream, ChainedColumns { is_change: true, ..ChainedColumns::from(event) })?;
        self.project(change, at, number)?;
        Ok(number)
    }

    /// Returns the event's number.
    pub(crate) fn insert(&self, stream: &str, seq: i64, hash: &str, record: &ChainedColumns) -> Result<i64> {
        let mut statement = self.prepare(
                "INSERT INTO events (stream, seq, hash, event_id, at, type, sender, recipient, intent, corr, reply_to,
                 priority, requires, payload, kind, agent, project_id, task_id, run_id, message, is_change,
                 substance, steps_back_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                 ?21, ?22, ?23) RETURNING id",
            )?;
        let values = params![
            stream,
            seq,
            hash,
            record.event_id,
            record.at,
            record.r#type,
            record.from,
            record.to,
            record.intent,
            record.corr,
            record.reply_to,
            record.priority,
            record.requires.as_ref().map(Value::to_string),
            record.payload.to_string(),
            record.kind,
            record.agent,
            record.project_id,
            record.task_id,
            record.run_id,
            record.message,
            record.is_change,
            substance_of(record).code(),
            record.steps_back_ms,
        ];
        Ok(statement.query_row(values, |row| row.get(0))?)
    }

    /// The events that match the filter, newest first unless it says otherwise.
    pub fn events(&self, filter: &EventFilter) -> Result<Vec<LoggedEvent>> {
        if filter.kinds.len() < 2 {
            return self.events_of(filter, filter.kinds.first().map(String::as_str));
        }
        // A look-up for each kind: one statement for all would have to sort everything it finds.
        let mut found = Vec::new();
        for kind in &filter.kinds {
            found.extend(self.events_of(filter, Some(kind))?);
        }
        found.sort_unstable_by_key(|event| if filter.oldest_first { event.id } else { -event.id });
        found.truncate(filter.limit);
        Ok(found)
    }

    fn events_of(&self, filter: &EventFilter, kind: Option<&str>) -> Result<Vec<LoggedEvent>> {
        let mut conditions = Conditions::default();
        conditions.and("id >", filter.after_id);
        let named = [("agent =", &filter.agent), ("task_id =", &filter.task_id), ("corr =", &filter.corr)];
        for (beginning, wanted) in named {
            if let Some(wanted) = wanted {
                conditions.and(beginning, wanted.clone());
            }
        }
        if let Some(kind) = kind {
            conditions.and("kind =", kind.to_owned());
        }
        if filter.own {
            conditions.hold(OWN);
        }
        if filter.without_bookkeeping {
            conditions.hold(&news());
        }
        if filter.without_archived {
            conditions.hold(LIVE);
        }
        let order = if filter.oldest_first { "id" } else { "id DESC" };
        let sql = conditions.statement(&format!("SELECT {COLUMNS} FROM events"), order, filter.limit);
        self.list(&sql, rusqlite::params_from_iter(conditions.values), event_of)
    }

    /// The event whose envelope has this id.
    pub fn event_by_id(&self, id: &str) -> Result<Option<LoggedEvent>> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE event_id = ?1");
        Ok(self.list(&sql, params![id], event_of)?.pop())
    }
}

pub(crate) fn substance_of(record: &ChainedColumns) -> Substance {
    Substance::of(&record.kind, &record.from, record.is_change)
}

pub(crate) fn event_of(row: &Row<'_>) -> Result<LoggedEvent> {
    let id: i64 = row.get(0)?;
    let json = |column: &str, text: String| {
        serde_json::from_str(&text).map_err(|_| unreadable(column, &format!("event {id}"), &text))
    };
    let requires: Option<String> = row.get(13)?;
    Ok(LoggedEvent {
        id,
        stream: row.get(1)?,
        seq: row.get(2)?,
        hash: row.get(3)?,
        record: ChainedColumns {
            event_id: row.get(4)?,
            at: row.get(5)?,
            r#type: row.get(6)?,
            from: row.get(7)?,
            to: row.get(8)?,
            intent: row.get(9)?,
            corr: row.get(10)?,
            reply_to: row.get(11)?,
            priority: row.get(12)?,
            requires: requires.map(|text| json("requires", text)).transpose()?,
            payload: json("payload", row.get(14)?)?,
            kind: row.get(15)?,
            agent: row.get(16)?,
            project_id: row.get(17)?,
            task_id: row.get(18)?,
            run_id: row.get(19)?,
            message: row.get(20)?,
            is_change: row.get(21)?,
            steps_back_ms: row.get(22)?,
        },
    })
}
