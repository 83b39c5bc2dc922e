//! The ledger of a run and how deltas change it: in order, once each, all deltas of an envelope or none.

mod accepted;
mod apply;
mod document;
mod spec;

pub use accepted::{DoneEvidence, NotAccepted};
pub use document::{LEDGER_DELTAS, validate_deltas};
pub use spec::spec_of;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::delta::Delta;
use crate::domain::crew::row::CrewRow;
use crate::domain::crew::task_ref::TaskRef;
use crate::shape::{NUMBER, document, whole};
use crate::verdict::Verdict;

const KIND: &str = "ledger_delta";

document! {
    /// The canonical state of a run.
    #[shape(name = "operator_ledger", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    pub struct Ledger {
        /// Increases with every applied delta.
        #[serde(default, deserialize_with = "whole")]
        pub version: u64 as NUMBER,
        /// The ids of all applied deltas.
        #[serde(default)]
        pub applied: BTreeSet<String>,
        /// The digest of each applied delta.
        #[optional]
        pub digests: BTreeMap<String, String>,
        /// The tasks.
        pub rows: BTreeMap<TaskRef, CrewRow>,
    }
}

/// How strictly deltas are checked.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeltaOptions {
    /// Every delta must name the version it read, and a repeated id must repeat its content.
    pub strict: bool,
    /// The ledger version that the envelope was written for (`x_base_version`).
    pub base_version: Option<u64>,
}

/// A delta that was ignored because its id was already applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ignored {
    pub delta_id: String,
    /// Its content differs from the delta that was applied under its id.
    pub mismatch: bool,
}

/// A ledger after some streams, and the deltas that were ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    pub ledger: Ledger,
    pub ignored: Vec<Ignored>,
}

impl Ledger {
    /// Applies the deltas of one envelope. A refusal names the first delta that cannot be applied and changes nothing.
    pub fn apply(&mut self, deltas: &[Delta], options: DeltaOptions) -> Result<Vec<Ignored>, Box<Verdict>> {
        let draft = apply::draft(self, deltas, options).map_err(apply::DeltaRefusal::verdict)?;
        Ok(draft.commit(self))
    }
}

/// Applies streams one after the other, each completely or not at all. Stops at the first refusal; its details name
/// the stream and the delta. The earlier streams would stay applied.
pub fn apply_deltas(
    base: &Ledger,
    streams: &[Vec<Delta>],
    options: DeltaOptions,
) -> Result<Applied, Box<Verdict>> {
    let mut applied = Applied { ledger: base.clone(), ignored: Vec::new() };
    for (index, stream) in streams.iter().enumerate() {
        // The expected version of the ledger applies to the first stream only.
        let options = DeltaOptions { base_version: options.base_version.filter(|_| index == 0), ..options };
        let ignored = applied.ledger.apply(stream, options).map_err(|mut refusal| {
            refusal.details.more.insert("stream".to_owned(), index.into());
            refusal
        })?;
        applied.ignored.extend(ignored);
    }
    Ok(applied)
}

#[cfg(test)]
mod tests;
