//! The vectors of AEE beside its verdicts: what a signature covers.

use super::table::Table;
use super::{Case, File, listed, parsed};

static SIGNATURE_INPUT: Table =
    Table { ask: "aee-signature-input", given: &["input"], may: &[], wanted: &["signed"] };

pub(super) fn cases(file: &File<'_>) -> Vec<Case> {
    let Some(value) = parsed(file.bytes) else { return Vec::new() };
    listed(&value).iter().filter_map(|vector| SIGNATURE_INPUT.case("aee", vector)).collect()
}
