//! Works a run through the host, and gives its answer.

use std::collections::BTreeMap;

use contract::domain::code::ErrorCode;
use contract::domain::limit_window::waiting;
use contract::domain::run::{Run, RunId, RunState, RunWarning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::list::RunBrief;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::host::{HowToWork, WorkEnd};
use crate::limit_window;

/// The result of a run that ended; where it has none yet, its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RunAnswer(#[schemars(with = "RunShape")] pub Value);

/// What both forms have in common, and what a result adds.
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "only its schema is used: results of old stores are returned as they were stored"
)]
struct RunShape {
    corr: String,
    objective: String,
    state: RunState,
    /// Of a run that ended.
    #[serde(default)]
    run_id: Option<RunId>,
    /// How the run ended, in a word of AOP.
    #[serde(default)]
    final_signal: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    /// What a layer answered without running anything.
    #[serde(default)]
    answer: Value,
    #[serde(default)]
    tasks: Vec<Value>,
    /// The AOP session of its TASKs.
    #[serde(default)]
    session_id: Option<String>,
    /// What the author of its document should know although it was accepted.
    #[serde(default)]
    warnings: Vec<RunWarning>,
    /// Of a run that has not ended.
    #[serde(default)]
    id: Option<RunId>,
}

impl RunAnswer {
    pub fn of(run: &Run) -> Self {
        Self(run.result.clone().unwrap_or_else(|| json!(RunBrief::from(run))))
    }

    pub fn has_result(&self) -> bool {
        self.0.get("run_id").is_some()
    }

    /// The run's id.
    pub fn run_id(&self) -> &str {
        let id = self.0.get("run_id").or_else(|| self.0.get("id"));
        id.and_then(Value::as_str).unwrap_or_default()
    }

    pub fn state(&self) -> Option<RunState> {
        self.0.get("state").and_then(Value::as_str).and_then(RunState::parse)
    }
}

/// Works the run, or waits for the engine that works it. Being told to stop is an error: the run has no answer yet.
pub(super) fn work(cx: &mut Context, id: &RunId, how: &HowToWork) -> Result<RunAnswer> {
    let host = cx.host();
    match host.work(cx, id, how)? {
        WorkEnd::Ended | WorkEnd::Stopped => Ok(RunAnswer::of(&super::show::state(cx, id)?)),
        WorkEnd::Interrupted(signal) => {
            let message = format!("interrupted by signal {signal}");
            // The hint is shorter if the store cannot say it: that it was interrupted is the answer.
            let waits = waits(cx, id).ok().flatten().map(|waits| format!("; {waits}")).unwrap_or_default();
            Err(Error::new(ErrorCode::Interrupted, message)
                .hint(format!("continue with `writ run --continue {id}`{waits}"))
                .details(json!({"run_id": id, "signal": signal})))
        }
    }
}

/// What tasks of the run wait for, where providers refuse work: `2 tasks wait for claude until …`.
fn waits(cx: &mut Context, id: &RunId) -> Result<Option<String>> {
    let (now, tx) = (cx.clock.now(), cx.store.read()?);
    let mut told: BTreeMap<String, u64> = BTreeMap::new();
    for task in tx.tasks_of_run(id)? {
        if let Some(awaited) = limit_window::awaited(&tx, &task, &now)? {
            *told.entry(awaited.told).or_default() += 1;
        }
    }
    let line = |(told, tasks): (String, u64)| format!("{} for {told}", waiting(tasks));
    let lines: Vec<String> = told.into_iter().map(line).collect();
    Ok(if lines.is_empty() { None } else { Some(lines.join(", ")) })
}
