//! The verbs of runs, of the store and of documents.

use super::Row;

pub(super) const ROWS: &[Row] = &[];
