//! How many rows a caller wants.

use contract::domain::code::ErrorCode;
use contract::domain::limits;

use crate::error::{Error, Result};

/// Rows of a list: what was asked for, or the default; never more than a list may have.
pub(crate) fn rows(asked: Option<i64>, default: usize) -> Result<usize> {
    Ok(asked.map_or(Ok(default), positive)?.min(limits::LIST_ROWS_MAX))
}

pub(crate) fn positive(number: i64) -> Result<usize> {
    usize::try_from(number)
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| Error::new(ErrorCode::InvalidInput, "limit must be > 0"))
}
