//! The deltas of several envelopes as one document, for whoever wants to see what comes of them.

use serde_json::json;

use super::{DeltaOptions, KIND, Ledger, apply_deltas};
use crate::operator::assignment::TaskType;
use crate::operator::assignment::shape::{HEARTBEAT, PRIORITY, TASK_IDS, TIMEOUT, TITLE};
use crate::operator::delta::{DELTA, Delta, STATUS};
use crate::operator::document::{self, INTEGER_MAX};
use crate::operator::ids::{TASK_ID_FORM, UTC};
use crate::operator::options::Options;
use crate::operator::report::Report;
use crate::operator::trust;
use crate::shape::{List, Map, Object, Shape, TEXT, TEXTS, Text, UNBOUNDED, Unknown, optional, required};
use crate::verdict::Verdict;

/// Judges `{base, streams}` and answers with the ledger that comes of it.
pub fn validate_deltas(bytes: &[u8], options: &Options) -> Verdict {
    judge(bytes, options).unwrap_or_else(|refusal| *refusal)
}

fn judge(bytes: &[u8], options: &Options) -> Result<Verdict, Box<Verdict>> {
    let mut document = document::read(KIND, bytes)?;
    let mut report = document::structure(&LEDGER_DELTAS, &document, options);
    // The answer repeats the ledger, and a secret in it could only be left out by changing it.
    trust::examine(&document, options, &mut report);
    if !report.is_clean() {
        return Err(Box::new(report.verdict(KIND, "")));
    }
    let base: Ledger = document::typed(KIND, document["base"].take())?;
    let streams: Vec<Vec<Delta>> = document::typed(KIND, document["streams"].take())?;
    let base_version = document["x_base_version"].as_u64();
    let applied = apply_deltas(&base, &streams, DeltaOptions { strict: options.strict, base_version })?;
    let mut report = Report::default();
    report.note("ledger", json!(applied.ledger));
    report.note("ignored", json!(applied.ignored));
    Ok(report.verdict(KIND, "deltas applied"))
}

pub static LEDGER_DELTAS: Object = Object {
    name: "operator_ledger_deltas",
    about: "A ledger and the streams of deltas to apply to it, one after the other.",
    fields: &[
        required("base", Shape::Object(&LEDGER), "The ledger before."),
        required("streams", STREAMS, "The deltas of each envelope, in order."),
        optional("x_base_version", NUMBER, "The ledger version the first stream was written against."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

const STREAM: Shape = Shape::List(&List { item: Shape::Object(&DELTA), min: 0, max: UNBOUNDED });
const STREAMS: Shape = Shape::List(&List { item: STREAM, min: 0, max: UNBOUNDED });
const NUMBER: Shape = Shape::Integer { min: 0, max: INTEGER_MAX };
const ANY_KEY: Text = Text { min: 0, max: UNBOUNDED, form: None };
const TASK_KEY: Text = Text { min: 0, max: UNBOUNDED, form: Some(&TASK_ID_FORM) };

static LEDGER: Object = Object {
    name: "operator_ledger",
    about: "The canonical state of a run.",
    fields: &[
        optional("version", NUMBER, "One step for every delta applied."),
        optional("applied", TEXTS, "The names of all deltas applied."),
        optional(
            "digests",
            Shape::Map(&Map { value: TEXT, key: ANY_KEY }),
            "What was applied under each name.",
        ),
        required("rows", Shape::Map(&Map { value: Shape::Object(&ROW), key: TASK_KEY }), "The tasks."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

static ROW: Object = Object {
    name: "operator_ledger_row",
    about: "",
    fields: &[
        required("status", STATUS, ""),
        optional("owner", TEXT, ""),
        optional("reason", TEXT, ""),
        optional("version", NUMBER, ""),
        optional("retry_count", NUMBER, ""),
        optional("last_heartbeat_at", Shape::Nullable(&UTC), ""),
        optional("timed_out", Shape::Bool, ""),
        optional("retry_after_ms", NUMBER, ""),
        optional("title", TITLE, ""),
        optional("type", TaskType::SHAPE, ""),
        optional("dependencies", TASK_IDS, ""),
        optional("lock_scope", TEXTS, ""),
        optional("timeout_seconds", TIMEOUT, ""),
        optional("heartbeat_interval_seconds", HEARTBEAT, ""),
        optional("priority", PRIORITY, ""),
        optional("acceptance_criteria", TEXTS, ""),
    ],
    unknown: Unknown::KeptUnlessStrict,
};
