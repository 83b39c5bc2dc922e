//! Writes the bundle of a run. Changes nothing.

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::time::Now;
use contract::operator::{Code, Options, Tripwire, validate_handoff};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Tx;

use super::gather::{gather, print};
use super::refuse_contradiction;
use crate::context::Context;
use crate::crew::denial::{denied, deny};
use crate::crew::sheet::Sheet;
use crate::error::{Error, Result};
use crate::host::HostView;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
    /// Hand on tasks whose workers have been silent for too long.
    #[serde(default)]
    pub allow_stale: bool,
    /// An operator's choice.
    #[serde(skip)]
    pub tripwire: Tripwire,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    pub document: Value,
    /// What is written to a file.
    pub text: String,
    pub digest: String,
}

/// The bundle, which a validator lets through.
pub fn export(cx: &mut Context, request: &Request) -> Result<Exported> {
    let now = cx.clock.now();
    cx.read_viewing(|tx, view| bundle(tx, view, &now, request))
}

fn bundle(tx: &Tx<'_>, view: &HostView, now: &Now, request: &Request) -> Result<Exported> {
    let sheet = Sheet::of(tx, &request.run)?.of_a_crew()?;
    if sheet.run.state.is_terminal() {
        let message = format!("the run is {}; there is nothing to go on with", sheet.run.state.as_str());
        return Err(deny(Code::InvalidTransition, "run_ended", message));
    }
    let fold = view.folds_case(&sheet.run.asked.workspace)?;
    refuse_contradiction(&sheet.reconcile(tx, now, fold)?, request.allow_stale)?;
    let document = gather(tx, &sheet)?.document();
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
    let digest = super::import::digest_of(&document)?;
    Ok(Exported { document, text, digest })
}
