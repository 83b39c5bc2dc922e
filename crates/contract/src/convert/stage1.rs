//! A stage-1 result in its checkpoint handoff envelope, and out of it.

use serde_json::{Value, json};

use super::ConvertContext;
use super::source::ConvertSource;
use crate::bridge::envelope::Contract;
use crate::bridge::{VERSIONS, stage1};

/// OL reports its checks to AO. A bead that is checked again has the same correlation id.
pub(super) fn envelope(source: &mut ConvertSource<'_>, context: &ConvertContext) -> Value {
    let correlation = ["/quest_id", "/bead_id"].map(|id| source.text(id).unwrap_or_default().to_owned());
    let payload = source.whole();
    json!({
        "schema_version": VERSIONS.end(),
        "contract": Contract::CheckpointHandoff.as_str(),
        "source_system": "ol",
        "target_system": "ao",
        "operation": stage1::OPERATION,
        "payload": payload,
        "meta": {"timestamp": context.now.to_string(), "correlation_id": correlation.join("/")},
    })
}

pub(super) fn result(source: &mut ConvertSource<'_>, _: &ConvertContext) -> Value {
    for implied in ["/schema_version", "/contract", "/operation"] {
        source.take(implied);
    }
    source.take("/payload").cloned().unwrap_or_default()
}
