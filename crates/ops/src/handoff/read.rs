//! Reads a bundle for the workspace it is imported into.

use contract::domain::crew::handoff::Bundle;
use contract::operator::{Options, read_handoff};
use serde_json::Value;

use super::faulty;
use super::import::Request;
use crate::crew::denial::denied;
use crate::error::Result;
use crate::host::HostView;
use crate::record::EventWriter;

/// The bundle, validated for the workspace.
pub(super) fn read(work: &EventWriter<'_, '_>, request: &Request, view: &HostView) -> Result<Bundle> {
    let root = &request.workspace;
    let links = view.links(root, &paths(&request.document))?;
    let options = Options {
        root: Some(root),
        links: Some(links),
        fold: view.folds_case(root)?,
        now: Some(work.now.at),
        allow_stale: request.allow_stale,
        tripwire: request.tripwire,
        ..Options::default()
    };
    let read = read_handoff(request.document.to_string().as_bytes(), &options);
    let (handoff, _) = read.map_err(|refusal| denied(&refusal))?;
    Bundle::of(handoff).map_err(|fault| faulty(&fault))
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
