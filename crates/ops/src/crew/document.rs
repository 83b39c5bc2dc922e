//! Reads documents of a crew: nothing that other readers would silently change gets through.

use contract::domain::code::ErrorCode;
use contract::json::{Value, strict};

use crate::error::{Error, Result};

/// Parses a document of at most `limit` bytes.
pub fn parse(bytes: &[u8], limit: usize) -> Result<Value> {
    if bytes.len() > limit {
        return Err(Error::new(ErrorCode::TooLarge, format!("the document is larger than {limit} bytes")));
    }
    strict::parse(bytes).map_err(|fault| {
        let message = format!("{}:{}: {fault}", fault.line, fault.column);
        Error::new(ErrorCode::SchemaInvalid, message)
    })
}
