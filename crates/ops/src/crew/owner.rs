//! What a worker may be called.

use contract::domain::request::Agent;
use contract::operator::Code;

use super::denial::deny;
use crate::error::Result;

/// Whoever works on a task has a name like every agent's: short, on one line, and as it looks.
pub(super) fn refuse_owner(owner: &str) -> Result<()> {
    let turns =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    let hint = "name the worker as it calls itself with `--agent`";
    if let Some(kind) = contract::secrets::find(owner) {
        let message = format!("$.owner appears to contain a secret ({kind})");
        return Err(deny(Code::UntrustedContextBlock, "secret", message).hint(hint));
    }
    match Agent::parse(owner) {
        Ok(_) if !owner.contains(turns) => Ok(()),
        Ok(_) => {
            Err(deny(Code::SchemaInvalid, "owner", "$.owner has characters that are not seen").hint(hint))
        }
        Err(fault) => Err(deny(Code::SchemaInvalid, "owner", format!("$.owner: {fault}")).hint(hint)),
    }
}
