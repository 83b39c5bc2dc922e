//! Shows what happened in a run, as the envelopes of its events.

use contract::domain::code::ErrorCode;
use contract::domain::run::{Run, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{LoggedEvent, Stream};

use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::names::LAST;
use crate::verb::{Function, Surface, Verb};

pub struct Trace;

impl Verb for Trace {
    const NAME: &'static str = "run.trace";
    const COMMAND: &'static str = "trace";
    const SUMMARY: &'static str = "Show a run's events as AEE envelopes, oldest first";
    const SURFACE: Surface = Surface::Writ;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, session, request: &Request| {
        Ok(Answer::from(&events(cx, session, &request.run)?))
    });
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The run's id, a unique prefix of it, or a correlation id.
    pub run: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// `null` where the correlation id belongs to no run.
    pub run_id: Option<RunId>,
    pub corr: Option<String>,
    /// Documents of the AEE contract.
    pub envelopes: Vec<Value>,
    /// How many of the run's oldest events were removed by `gc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_events: Option<i64>,
}

/// The events behind the envelopes, for a door that shows them to a person.
pub struct Events {
    pub run: Option<Run>,
    pub events: Vec<LoggedEvent>,
    pub removed: Option<i64>,
}

impl From<&Events> for Answer {
    fn from(found: &Events) -> Self {
        Self {
            run_id: found.run.as_ref().map(|run| run.asked.id.clone()),
            corr: found.events.first().map(|event| event.record.corr.clone()),
            envelopes: found.events.iter().map(|event| json!(crate::event::envelope(event))).collect(),
            removed_events: found.removed,
        }
    }
}

/// By run or by correlation id. A task outside a run has a correlation id of its own.
pub fn events(cx: &mut Context, session: &Session, which: &str) -> Result<Events> {
    let found = cx.run_named(session, which);
    let run = match found {
        Ok(run) => run,
        Err(error) if error.code == ErrorCode::NotFound => {
            let events = crate::event::by_corr(cx, which)?;
            if events.is_empty() {
                let unknown = Error::not_found("trace", which);
                let hint = "name a run or a correlation id; `writ runs list` lists runs";
                return Err(if which == LAST { error } else { unknown.hint(hint) });
            }
            return Ok(Events { run: None, events, removed: None });
        }
        Err(error) => return Err(error),
    };
    let mut events = crate::event::by_corr(cx, &run.asked.corr)?;
    // Others may share the correlation; asked for by its id, a run shows only its own events.
    if which != run.asked.corr {
        events.retain(|event| event.record.run_id.as_deref() == Some(run.asked.id.as_str()));
    }
    let removed = Some(removed_events(cx, &run.asked.id)?).filter(|events| *events > 0);
    Ok(Events { run: Some(run), events, removed })
}

fn removed_events(cx: &mut Context, id: &RunId) -> Result<i64> {
    let stream = Stream::Run(id.clone()).name();
    Ok(cx.store.read()?.stream_extent(&stream)?.map_or(0, |extent| extent.anchor_seq))
}
