//! What is in the store, in a few numbers.

use std::time::Duration;

use contract::continuity::brief::Counts;
use contract::domain::limits;
use contract::domain::run::RunState;
use contract::domain::time::Timestamp;
use serde::Serialize;
use store::RunFilter;

use crate::context::Context;
use crate::error::Result;

/// An agent that did something in this time counts as active.
const ACTIVE: Duration = Duration::from_hours(7 * 24);

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    pub tasks: Vec<(String, i64)>,
    /// The same in the agent contract's states.
    pub counts: Counts,
    pub events: i64,
    pub archived_events: i64,
    pub memories: i64,
    pub expired_memories: i64,
    pub agents: i64,
    pub active_agents: i64,
    pub projects: i64,
    pub running: Vec<String>,
    pub stopped: Vec<String>,
    /// Of the agent that was asked about, once it has done something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentView>,
}

/// What is known of an agent, as the agent contract shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentView {
    pub agent_name: String,
    pub last_seen_event_id: i64,
    pub focus_task_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus_project_id: Option<String>,
    pub version: i64,
    pub last_active_at: String,
}

pub fn status(cx: &mut Context, agent: Option<&str>) -> Result<Status> {
    let at = cx.clock.now().at;
    let tx = cx.store.read()?;
    let runs = |state| -> Result<Vec<String>> {
        let filter = RunFilter { state: Some(state), limit: limits::LIST_ROWS_DEFAULT };
        Ok(tx.runs(&filter)?.into_iter().map(|run| run.asked.id.to_string()).collect())
    };
    let known = agent.map(|name| Ok::<_, store::Error>((name, tx.agent(name)?))).transpose()?;
    let agent = match known {
        Some((name, Some(state))) => Some(AgentView {
            agent_name: name.to_owned(),
            last_seen_event_id: tx.cursor(name, state.focus_project_id.as_deref())?,
            focus_task_id: state.focus_task_id.unwrap_or_default(),
            focus_project_id: state.focus_project_id,
            version: state.version,
            last_active_at: state.last_active_at.to_string(),
        }),
        Some((_, None)) | None => None,
    };
    let counts = tx.counts(at, before(at, ACTIVE))?;
    let mut states = Counts::default();
    counts.tasks.iter().for_each(|(status, tasks)| states.add(*status, *tasks));
    Ok(Status {
        counts: states,
        tasks: counts.tasks.iter().map(|(status, count)| (status.as_str().to_owned(), *count)).collect(),
        events: counts.events,
        archived_events: counts.archived_events,
        memories: counts.memories,
        expired_memories: counts.expired_memories,
        agents: counts.agents,
        active_agents: counts.active_agents,
        projects: counts.projects,
        running: runs(RunState::Running)?,
        stopped: runs(RunState::Stopped)?,
        agent,
    })
}

fn before(at: Timestamp, length: Duration) -> Timestamp {
    let millis = i64::try_from(length.as_millis()).expect("BUG: a week fits");
    Timestamp::from_millis(at.millis().saturating_sub(millis))
}
