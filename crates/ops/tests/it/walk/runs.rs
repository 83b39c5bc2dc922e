//! Samples of the verbs of runs, of the store and of documents.

use super::Sample;

pub(super) const SAMPLES: &[Sample] = &[];
