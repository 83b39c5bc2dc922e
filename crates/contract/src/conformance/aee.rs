//! The vectors of AEE beside its verdicts: what a signature covers.

use super::table::VectorTable;
use super::{Case, VectorFile, listed, parsed};

static SIGNATURE_INPUT: VectorTable =
    VectorTable { ask: "aee-signature-input", given: &["input"], may: &[], wanted: &["signed"] };

pub(super) fn cases(file: &VectorFile<'_>) -> Vec<Case> {
    let Some(value) = parsed(file.bytes) else { return Vec::new() };
    listed(&value).iter().filter_map(|vector| SIGNATURE_INPUT.case("aee", vector)).collect()
}
