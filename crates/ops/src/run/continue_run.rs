//! Continues a run that was interrupted or is parked.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::work::{RunAnswer, work};
use crate::context::{Context, Session};
use crate::error::Result;
use crate::host::HowToWork;
use crate::verb::{Function, Surface, Verb};

pub struct Continue;

impl Verb for Continue {
    const NAME: &'static str = "run.continue";
    const COMMAND: &'static str = "run --continue";
    const SUMMARY: &'static str = "Continue a run that was interrupted or is parked";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = RunAnswer;
    const FUNCTION: Function<Self> = Function::Repeatable(continue_run);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run's id, a unique prefix of it, or its correlation id.
    pub run: String,
    /// Run parked tasks again although the plan does not call that safe.
    #[serde(default)]
    pub rerun_parked: bool,
    /// How long a task waits for locks of other runs, in milliseconds.
    #[serde(default)]
    pub lock_wait_ms: Option<u64>,
    /// How long a task waits for a rate limit or usage window to end, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_wait_ms: Option<u64>,
}

/// A run that has ended is not worked again: its result is the answer.
pub fn continue_run(cx: &mut Context, session: &Session, request: &Request) -> Result<RunAnswer> {
    let run = cx.run_named(session, &request.run)?;
    let how = HowToWork {
        rerun_parked: request.rerun_parked,
        lock_wait: request.lock_wait_ms.map(Duration::from_millis),
        limit_wait: request.limit_wait_ms.map(Duration::from_millis),
        directory: None,
    };
    work(cx, &run.asked.id, &how)
}
