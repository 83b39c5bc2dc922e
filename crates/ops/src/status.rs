//! Shows the store and the installation around it, in a few numbers.

use std::time::Duration;

use contract::continuity::brief::TaskCounts;
use contract::domain::code::ErrorCode;
use contract::domain::epoch::Halt;
use contract::domain::event_kind::VYBE_IMPORTED;
use contract::domain::limits;
use contract::domain::retention::Retention;
use contract::domain::run::{RunState, ShownState};
use contract::domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{EventFilter, Tx};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::host::{Diagnostic, Installation};
use crate::limit_window::list::Limit;
use crate::run::list::{briefs, rows};
use crate::verb::{Function, Surface, Verb};

/// An agent that did something in this time counts as active.
const ACTIVE: Duration = Duration::from_hours(7 * 24);

/// The code of the diagnostic that a database of the agent contract's original was found. It is shown until that is
/// imported.
pub const VYBE_FOUND: &str = "VYBE_FOUND";

pub struct Show;

impl Verb for Show {
    const NAME: &'static str = "status.show";
    const COMMAND: &'static str = "status";
    const SUMMARY: &'static str = "Show the store, its counts and which agent programs call writ";
    const SURFACE: Surface = Surface::Continuity;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| show(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Also show the state of this agent.
    #[serde(default)]
    pub agent: Option<String>,
    /// Also report whether the store answers.
    #[serde(default)]
    pub check: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub db: Database,
    /// Why writ refuses work, if a person halted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted: Option<Halt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<CountsView>,
    /// What providers refuse, and how many tasks wait for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunsView>,
    /// The agent that was asked about, whether or not it has done anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_state: Option<AgentView>,
    /// Which agent programs call writ.
    pub hooks: Value,
    /// What hooks and `gc` do about old events.
    pub maintenance: Maintenance,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// What to do about a store that could not be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_ok: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Database {
    pub path: String,
    /// What decided where the store is.
    pub source: String,
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountsView {
    /// Tasks by state.
    pub tasks: TaskCounts,
    pub events: i64,
    pub memory: i64,
    pub agents: i64,
    pub projects: i64,
    pub tasks_detail: TasksDetail,
    pub events_detail: EventsDetail,
    pub memory_detail: MemoryDetail,
    pub agents_detail: AgentsDetail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TasksDetail {
    /// The tasks of all states.
    pub total: i64,
    /// Always 0: every task is in a known state. The agent contract has this field.
    pub unknown: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventsDetail {
    pub active: i64,
    pub archived: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryDetail {
    pub active: i64,
    pub expired: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsDetail {
    pub active_7d: i64,
}

/// Ids of runs that have not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunsView {
    pub running: Vec<String>,
    /// Their engine died; `writ run --continue RUN` continues them.
    #[serde(default)]
    pub interrupted: Vec<String>,
    pub stopped: Vec<String>,
}

/// An agent's state, as the agent contract shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentView {
    pub agent_name: String,
    pub last_seen_event_id: i64,
    pub focus_task_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus_project_id: Option<String>,
    pub version: i64,
    pub last_active_at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Maintenance {
    pub retention_days: u32,
    pub prune_batch: usize,
    pub summarize_threshold: u32,
    pub summarize_keep_recent: u32,
}

impl AgentView {
    /// The state of an agent that has done nothing, at this time.
    pub fn unseen(name: &str, at: Timestamp) -> Self {
        Self {
            agent_name: name.to_owned(),
            last_seen_event_id: 0,
            focus_task_id: String::new(),
            focus_project_id: None,
            version: 0,
            last_active_at: at.to_string(),
        }
    }
}

impl From<Retention> for Maintenance {
    fn from(retention: Retention) -> Self {
        Self {
            retention_days: retention.events_retention_days,
            prune_batch: retention.events_prune_batch,
            summarize_threshold: retention.events_summarize_threshold,
            summarize_keep_recent: retention.events_summarize_keep_recent,
        }
    }
}

fn show(cx: &mut Context, request: &Request) -> Result<Answer> {
    let path = cx.store_path().to_owned();
    let installation = cx.host().installation(&path);
    let now = cx.now();
    let at = now.at;
    let mut answer = around(&path.display().to_string(), installation);
    let (running, interrupted) = started(cx)?;
    answer.runs = Some(RunsView { running, interrupted, stopped: stopped(cx)? });
    let tx = cx.store.read()?;
    answer.halted = tx.epoch()?.halt;
    answer.counts = Some(counts(&tx, at)?);
    answer.limits = crate::limit_window::list::open(&tx, &now)?;
    answer.agent_state = request.agent.as_deref().map(|name| agent(&tx, name, at)).transpose()?;
    if is_imported(&tx)? {
        answer.diagnostics.retain(|diagnostic| diagnostic.code != VYBE_FOUND);
    }
    answer.query_ok = request.check.then_some(true);
    Ok(answer)
}

/// The answer of a door that could not open the store: what is known without it.
pub fn unopened(path: &str, installation: Installation, error: &Error, check: bool) -> Answer {
    let said = match &error.source {
        Some(source) => format!("{}: {source}", error.message),
        None => error.message.clone(),
    };
    let level = if error.code == ErrorCode::NotFound { "info" } else { "error" };
    let diagnostic = Diagnostic {
        level: level.to_owned(),
        code: error.code.as_str().to_owned(),
        message: said.clone(),
        suggested_action: error.hint.clone(),
    };
    let mut answer = around(path, installation);
    answer.db.ok = false;
    answer.db.error = Some(said.clone());
    answer.diagnostics.insert(0, diagnostic);
    answer.hint.clone_from(&error.hint);
    answer.query_ok = check.then_some(false);
    answer.query_error = check.then_some(said);
    answer
}

/// The part of an answer that does not come from the store.
fn around(path: &str, installation: Installation) -> Answer {
    Answer {
        db: Database {
            path: path.to_owned(),
            source: installation.store_source,
            ok: true,
            size_bytes: installation.store_bytes,
            error: None,
        },
        halted: None,
        counts: None,
        limits: Vec::new(),
        runs: None,
        agent_state: None,
        hooks: installation.hooks,
        maintenance: installation.retention.into(),
        diagnostics: installation.diagnostics,
        hint: None,
        query_ok: None,
        query_error: None,
    }
}

fn counts(tx: &Tx<'_>, at: Timestamp) -> Result<CountsView> {
    let found = tx.counts(at, before(at, ACTIVE))?;
    let mut states = TaskCounts::default();
    found.tasks.iter().for_each(|(status, tasks)| states.add(*status, *tasks));
    let total = found.tasks.iter().map(|(_, tasks)| tasks).sum();
    Ok(CountsView {
        tasks: states,
        events: found.events,
        memory: found.memories,
        agents: found.agents,
        projects: found.projects,
        tasks_detail: TasksDetail { total, unknown: 0 },
        events_detail: EventsDetail {
            active: found.events - found.archived_events,
            archived: found.archived_events,
        },
        memory_detail: MemoryDetail {
            active: found.memories - found.expired_memories,
            expired: found.expired_memories,
        },
        agents_detail: AgentsDetail { active_7d: found.active_agents },
    })
}

/// Runs that an engine or a crew works, and interrupted runs. The store has one state for all of them.
fn started(cx: &mut Context) -> Result<(Vec<String>, Vec<String>)> {
    let (mut running, mut interrupted) = (Vec::new(), Vec::new());
    for run in rows(cx, Some(RunState::Running), limits::LIST_ROWS_MAX)? {
        let list = match crate::run::shown_state(cx, &run) {
            ShownState::Interrupted => &mut interrupted,
            _ => &mut running,
        };
        if list.len() < limits::LIST_ROWS_DEFAULT {
            list.push(run.asked.id.to_string());
        }
    }
    Ok((running, interrupted))
}

fn stopped(cx: &mut Context) -> Result<Vec<String>> {
    let found = briefs(cx, Some(ShownState::Stopped), limits::LIST_ROWS_DEFAULT)?;
    Ok(found.into_iter().map(|run| run.id.to_string()).collect())
}

fn agent(tx: &Tx<'_>, name: &str, at: Timestamp) -> Result<AgentView> {
    let Some(state) = tx.agent(name)? else { return Ok(AgentView::unseen(name, at)) };
    Ok(AgentView {
        agent_name: name.to_owned(),
        last_seen_event_id: tx.cursor(name, state.focus_project_id.as_deref())?,
        focus_task_id: state.focus_task_id.unwrap_or_default(),
        focus_project_id: state.focus_project_id,
        version: state.version,
        last_active_at: state.last_active_at.to_string(),
    })
}

/// Whether the store has what the agent contract's original knew.
fn is_imported(tx: &Tx<'_>) -> Result<bool> {
    let filter =
        EventFilter { kinds: vec![VYBE_IMPORTED.to_owned()], own: true, limit: 1, ..EventFilter::default() };
    Ok(!tx.events(&filter)?.is_empty())
}

fn before(at: Timestamp, length: Duration) -> Timestamp {
    let millis = i64::try_from(length.as_millis()).expect("BUG: a week fits");
    Timestamp::from_millis(at.millis().saturating_sub(millis))
}
