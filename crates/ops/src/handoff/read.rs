//! Reads a bundle for the workspace it is imported into.

use contract::domain::id::{Corr, mint};
use contract::domain::plan::Plan;
use contract::operator::handoff::bundle::HandoffBundle;
use contract::operator::handoff::bundle::foreign::{self, Completed, ImportingStore, is_foreign};
use contract::operator::{Handoff, Options, read_handoff};
use serde_json::Value;

use super::import::Request;
use super::{faulty, refuse_contradiction};
use crate::crew::denial::denied;
use crate::error::Result;
use crate::host::HostView;
use crate::record::EventWriter;

/// The bundle as it was sent, validated for the workspace.
pub(super) fn read(work: &EventWriter<'_, '_>, request: &Request, view: &HostView) -> Result<Handoff> {
    let root = &request.workspace;
    let links = view.links(root, &paths(&request.document))?;
    let options = Options {
        root: Some(root),
        links: Some(links),
        fold: view.folds_case(root)?,
        now: Some(work.now.at),
        allow_stale: request.allow_stale,
        tripwire: request.tripwire,
        strict: request.strict,
        ..Options::default()
    };
    let read = read_handoff(request.document.to_string().as_bytes(), &options);
    match read {
        Ok((handoff, _)) => Ok(handoff),
        Err(refusal) => {
            // Explains how to import a bundle with timed-out tasks as its only fault.
            refuse_contradiction(&refusal, false)?;
            Err(denied(&refusal))
        }
    }
}

/// A bundle of `writ handoff export`, or the bundle of another program, completed for this store.
pub(super) fn complete(
    work: &mut EventWriter<'_, '_>,
    request: &Request,
    handoff: Handoff,
    digest: &str,
) -> Result<Completed> {
    if !is_foreign(&handoff) {
        let bundle = HandoffBundle::of(handoff).map_err(|fault| faulty(&fault))?;
        return Ok(Completed { bundle, assumed: Vec::new(), ignored: Vec::new() });
    }
    let receiver = ImportingStore {
        workspace: &request.workspace,
        corr: mint::<Corr>(work.ids, work.now.at).to_string(),
        document_digest: digest,
        by: &work.caller.entity,
        first_token: work.tx.last_number("fencing")?.saturating_add(1),
        max_parallel: Plan::default().max_parallel,
    };
    foreign::complete(&handoff, &receiver).map_err(|fault| faulty(&fault))
}

/// Every path in the bundle.
fn paths(document: &Value) -> Vec<&str> {
    let rows = document["ledger"].as_array().into_iter().flatten();
    let scopes = rows.flat_map(|row| row["lock_scope"].as_array().into_iter().flatten());
    let locks = document["active_locks"].as_array().into_iter().flatten().map(|lock| &lock["resource"]);
    let given = document["x_assignments"].as_array().into_iter().flatten();
    let logs = given.map(|given| &given["packet"]["task"]["worklog_path"]);
    scopes.chain(locks).chain(logs).filter_map(Value::as_str).collect()
}
