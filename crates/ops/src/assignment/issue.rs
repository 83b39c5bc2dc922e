//! Gives a task out: the packet, its locks, its share of the budget and the row in progress, in one transaction.

use contract::domain::crew::budget::Amount;
use contract::domain::money::MicroUsd;
use contract::domain::task::Task;
use contract::operator::assignment::{ContextItem, TaskType};
use contract::operator::{SCHEMA_VERSION, TaskRef};
use contract::plan::Budget;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::{Context, Key};
use crate::crew::denial::{denied, deny};
use crate::crew::packet::{Draft, GivenOut, give_out};
use crate::crew::sheet::{Sheet, reference};
use crate::error::Result;
use crate::host::HostView;
use crate::once::Reply;

/// The longest time between two heartbeats that is asked for where nobody says otherwise.
const HEARTBEAT_SECONDS_DEFAULT: u64 = 120;
const HEARTBEAT_SECONDS_MIN: u64 = 5;
/// A task without a timeout of its own.
const TIMEOUT_SECONDS_DEFAULT: u64 = 1200;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    pub task: String,
    /// Who works on it; the caller where nothing is said.
    #[serde(default)]
    pub owner: Option<String>,
    #[serde(default)]
    pub forbidden_scope: Vec<String>,
    #[serde(default)]
    pub context_package: Vec<Value>,
    #[serde(default)]
    pub worklog_path: Option<String>,
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
    #[serde(default)]
    pub heartbeat_interval_seconds: Option<u64>,
    /// What it may spend; the plan's budget where nothing is said.
    #[serde(default)]
    pub cost: Option<MicroUsd>,
    #[serde(default)]
    pub tokens: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The number of the grant: it goes with every heartbeat and with the result.
    pub token: i64,
    pub run_id: String,
    pub task_id: String,
    pub reserved: Option<Amount>,
    pub packet: Value,
}

pub fn issue(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let name = reference(&request.task)?;
    cx.once_viewing(key, "assignment.issue", request, |work| {
        let view = work.view;
        let mut sheet = Sheet::of(work.tx, &request.run)?.of_a_crew()?;
        let owner = request.owner.clone().unwrap_or_else(|| work.caller.agent.as_str().to_owned());
        let mut packet = packet(&sheet, &name, request)?;
        packet["generated_at"] = json!(work.now.at);
        let share = share(sheet.task(&name)?, request);
        let draft = Draft { reference: name.clone(), packet, owner, share };
        let given = give_out(work, &mut sheet, view, draft)?;
        settled(work.tx, &sheet, work.now, view)?;
        answer(&sheet, &name, given)
    })
}

/// No assignment leaves while the ledger contradicts itself.
pub(crate) fn settled(
    tx: &store::Tx<'_>,
    sheet: &Sheet,
    now: &contract::domain::time::Now,
    view: &HostView,
) -> Result<()> {
    let fold = view.folds_case(&sheet.run.asked.workspace)?;
    let verdict = sheet.reconcile(tx, now, fold)?;
    if verdict.allow { Ok(()) } else { Err(denied(&verdict)) }
}

pub(crate) fn answer(sheet: &Sheet, name: &TaskRef, given: GivenOut) -> Result<Answer> {
    Ok(Answer {
        token: given.token,
        run_id: sheet.run_uuid()?,
        task_id: name.to_string(),
        reserved: given.reserved,
        packet: given.packet,
    })
}

/// The packet that the row, the plan and the request make together.
fn packet(sheet: &Sheet, name: &TaskRef, request: &Request) -> Result<Value> {
    let (task, row) = (sheet.task(name)?, sheet.row(name)?);
    let columns = &row.columns;
    let kind = columns.kind.unwrap_or(TaskType::Parallelizable);
    let (timeout, heartbeat) = times(
        request.timeout_seconds.or(columns.timeout_seconds),
        request.heartbeat_interval_seconds.or(columns.heartbeat_interval_seconds),
    );
    let serial = (kind == TaskType::Serial).then(|| vec![".".to_owned()]);
    let lock_scope = columns.lock_scope.clone().or(serial).unwrap_or_default();
    let worklog = request.worklog_path.clone().unwrap_or_else(|| crate::worklog::default_path(name));
    Ok(json!({
        "schema_version": SCHEMA_VERSION,
        "run_id": sheet.run_uuid()?,
        "packet_type": "assignment",
        "global_objective": sheet.run.asked.objective,
        "task": {
            "task_id": name,
            "title": columns.title.as_deref().unwrap_or(&task.title),
            "type": kind,
            "dependencies": row.dependencies(),
            "lock_scope": lock_scope,
            "forbidden_scope": request.forbidden_scope,
            "acceptance_criteria": columns.acceptance_criteria.clone().unwrap_or_default(),
            "worklog_path": worklog,
            "timeout_seconds": timeout,
            "heartbeat_interval_seconds": heartbeat,
            "priority": columns.priority.unwrap_or_default(),
        },
        "active_locks": [],
        "context_package": context(task, request)?,
        "required_output_schema": "subagent_result_v1",
    }))
}

/// How long a worker may be silent, and how often it is to be heard, where somebody said so or nobody did.
pub(crate) fn times(timeout: Option<u64>, heartbeat: Option<u64>) -> (u64, u64) {
    let timeout = timeout.unwrap_or(TIMEOUT_SECONDS_DEFAULT);
    let usual = (timeout / 4).clamp(HEARTBEAT_SECONDS_MIN, HEARTBEAT_SECONDS_DEFAULT);
    (timeout, heartbeat.unwrap_or(usual))
}

/// What the worker gets to know: what the caller says, and what the plan asks for and reads.
fn context(task: &Task, request: &Request) -> Result<Vec<Value>> {
    let mut items = request.context_package.clone();
    for item in &items {
        serde_json::from_value::<ContextItem>(item.clone()).map_err(|error| {
            deny(contract::operator::Code::SchemaInvalid, "item_field", format!("a context item: {error}"))
        })?;
    }
    if let Some(part) = &task.part {
        items.extend(part.spec.prompt.iter().map(|prompt| json!({"kind": "note", "value": prompt})));
        items.extend(part.spec.reads.iter().map(|path| json!({"kind": "file", "value": path})));
    }
    Ok(items)
}

fn share(task: &Task, request: &Request) -> Option<Amount> {
    let planned = task.part.as_ref().map(|part| part.spec.budget).unwrap_or_default();
    Budget { cost: request.cost.or(planned.cost), tokens: request.tokens.or(planned.tokens) }.share()
}
