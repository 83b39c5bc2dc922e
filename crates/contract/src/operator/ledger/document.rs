//! Applies the deltas of several envelopes in one document and returns the resulting ledger.

use serde_json::json;

use super::{DeltaOptions, KIND, Ledger, apply_deltas};
use crate::operator::delta::Delta;
use crate::operator::options::Options;
use crate::operator::report::FindingReport;
use crate::operator::{document, trust};
use crate::shape::{Described, NUMBER, Object, Unknown, optional, required};
use crate::verdict::Verdict;

/// Validates `{base, streams}` and answers with the resulting ledger.
pub fn validate_deltas(bytes: &[u8], options: &Options) -> Verdict {
    judge(bytes, options).unwrap_or_else(|refusal| *refusal)
}

fn judge(bytes: &[u8], options: &Options) -> Result<Verdict, Box<Verdict>> {
    let mut document = document::read(KIND, bytes)?;
    let mut report = document::structure(&LEDGER_DELTAS, &document, options);
    // The answer contains the ledger, and a secret in it could only be removed by changing it.
    trust::examine(&document, options, &mut report);
    if !report.is_clean() {
        return Err(Box::new(report.verdict(KIND, "")));
    }
    let base: Ledger = document::typed(KIND, document["base"].take())?;
    let streams: Vec<Vec<Delta>> = document::typed(KIND, document["streams"].take())?;
    let base_version = document["x_base_version"].as_u64();
    let applied = apply_deltas(&base, &streams, DeltaOptions { strict: options.strict, base_version })?;
    let mut report = FindingReport::default();
    report.note("ledger", json!(applied.ledger));
    report.note("ignored", json!(applied.ignored));
    Ok(report.verdict(KIND, "deltas applied"))
}

pub static LEDGER_DELTAS: Object = Object {
    name: "operator_ledger_deltas",
    about: "A ledger and the streams of deltas to apply to it, one after the other.",
    fields: &[
        required("base", Ledger::SHAPE, "The ledger before the deltas."),
        required("streams", <Vec<Vec<Delta>>>::SHAPE, "The deltas of each envelope, in order."),
        optional("x_base_version", NUMBER, "The ledger version that the first stream was written for."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};
