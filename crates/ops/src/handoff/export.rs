//! Exports a run as a bundle. Changes nothing.

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::time::Now;
use contract::operator::{Code, Options, Tripwire, validate_handoff};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Tx;

use super::gather::{gather, print};
use super::refuse_contradiction;
use crate::context::Context;
use crate::crew::denial::{denied, deny};
use crate::crew::ledger_state::LedgerState;
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::verb::{Function, Surface, Verb};

pub struct Export;

impl Verb for Export {
    const NAME: &'static str = "handoff.export";
    const COMMAND: &'static str = "handoff export";
    const SUMMARY: &'static str = "Export a run as a bundle for another store";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| export(cx, request));
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    /// Export tasks that timed out too.
    #[serde(default)]
    pub allow_stale: bool,
    /// What happens to a text that looks like instructions.
    #[serde(default, skip_serializing_if = "super::is_deny")]
    pub tripwire: Tripwire,
}

/// The answer is the bundle itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Answer {
    pub document: Value,
}

impl Answer {
    /// The bytes of the bundle's file.
    pub fn text(&self) -> String {
        print(&self.document)
    }

    /// The digest that the receiver of the bundle can ask for.
    pub fn digest(&self) -> Result<String> {
        super::import::digest_of(&self.document)
    }
}

/// The bundle, as `writ validate handoff` accepts it.
pub fn export(cx: &mut Context, request: &Request) -> Result<Answer> {
    let now = cx.clock.now();
    cx.read_viewing(|tx, view| bundle(tx, view, &now, request))
}

fn bundle(tx: &Tx<'_>, view: &HostView, now: &Now, request: &Request) -> Result<Answer> {
    let state = LedgerState::of(tx, &request.run)?.of_a_crew()?;
    if state.run.state.is_terminal() {
        let message = format!("the run {}; only an open run can be exported", state.run.state.said());
        return Err(deny(Code::InvalidTransition, "run_ended", message));
    }
    let fold = view.folds_case(&state.run.asked.workspace)?;
    refuse_contradiction(&state.reconcile(tx, now, fold)?, request.allow_stale)?;
    let document = gather(tx, &state)?.document();
    let text = print(&document);
    if text.len() > limits::HANDOFF_BYTES_MAX {
        let message =
            format!("the bundle has {} bytes; the limit is {}", text.len(), limits::HANDOFF_BYTES_MAX);
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    let options = Options { fold, tripwire: request.tripwire, ..Options::default() };
    let judged = validate_handoff(text.as_bytes(), &options);
    if !judged.allow {
        return Err(denied(&judged));
    }
    Ok(Answer { document })
}
