//! Applies the deltas of a trace again and compares the digests.

use super::{digests_of, is_digest, read};
use crate::aee::Envelope;
use crate::aocl::{Bundle, ContextPatch, Digests, LayerPayload, intents};
use crate::finding::Findings;
use crate::json::{Map, Value};

/// Applies the trace to `bundle`. Reports digests that do not match.
pub fn replay(bundle: &mut Bundle, envelopes: &[Envelope]) -> Findings {
    let mut findings = Findings::default();
    let mut last: Option<Digests> = None;
    for (index, envelope) in envelopes.iter().enumerate() {
        let Some(delta) = delta_of(envelope) else { continue };
        let digests = digests_of(envelope);
        // The four-event form has each delta twice: in the decision and in the patch.
        if digests.is_some() && digests == last && delta_repeats(&delta, bundle) {
            continue;
        }
        let place = format!("$[{index}].payload");
        let mut compare = |name: &str, told: Option<&String>, bundle: &Bundle| {
            if told.is_some_and(|told| is_digest(told) && *told != bundle.digest()) {
                let message = "is not the digest of the replayed context";
                findings.push(format!("{place}.digests.{name}"), "digest", message);
            }
        };
        compare("context_in", digests.as_ref().map(|d| &d.context_in), bundle);
        let applied = bundle.apply(&delta);
        compare("context_out", digests.as_ref().map(|d| &d.context_out), bundle);
        if let Err(error) = applied {
            findings.push(format!("{place}.delta"), "delta", error.to_string());
        }
        last = digests;
    }
    findings
}

fn delta_of(envelope: &Envelope) -> Option<Map<String, Value>> {
    match envelope.intent.as_str() {
        intents::LAYER_DECISION => read::<LayerPayload>(envelope).map(|payload| payload.delta),
        intents::CONTEXT_PATCH => read::<ContextPatch>(envelope).map(|payload| payload.delta),
        _ => None,
    }
}

/// Whether applying the delta again would change nothing.
fn delta_repeats(delta: &Map<String, Value>, bundle: &Bundle) -> bool {
    let mut again = bundle.clone();
    again.apply(delta).is_ok() && again == *bundle
}
