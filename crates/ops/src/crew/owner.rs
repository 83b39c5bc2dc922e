//! Names of workers.

use contract::domain::request::Agent;
use contract::operator::Code;

use super::denial::deny;
use crate::error::Result;

/// A worker's name follows the rules of agent names: short, on one line, without invisible characters.
pub(super) fn refuse_owner(owner: &str) -> Result<()> {
    let is_invisible =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    let hint = "use the name under which the worker calls writ";
    if let Some(kind) = contract::secrets::find(owner) {
        let message = format!("$.owner appears to contain a secret ({kind})");
        return Err(deny(Code::UntrustedContextBlock, "secret", message).hint(hint));
    }
    match Agent::parse(owner) {
        Ok(_) if !owner.contains(is_invisible) => Ok(()),
        Ok(_) => Err(deny(Code::SchemaInvalid, "owner", "$.owner has invisible characters").hint(hint)),
        Err(fault) => Err(deny(Code::SchemaInvalid, "owner", format!("$.owner: {fault}")).hint(hint)),
    }
}
