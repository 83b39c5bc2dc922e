//! Handoffs: a run leaves one store as a bundle and goes on in another.

pub mod brief;
pub mod export;
mod gather;
pub mod import;
mod unpack;

use contract::domain::crew::handoff::Fault;
use contract::operator::Code;
use contract::verdict::Verdict;
use serde_json::Value;

use crate::crew::denial::{denied, verdict};
use crate::error::{Error, Result};

/// A ledger that contradicts itself is not handed on. Silent workers may be, where the caller says so: the receiver
/// sweeps them.
fn refuse_contradiction(judged: &Verdict, allow_stale: bool) -> Result<()> {
    let issues = judged.details.more.get("issues").and_then(Value::as_array);
    let only_stale = issues.is_some_and(|issues| {
        !issues.is_empty() && issues.iter().all(|issue| issue["code"] == Code::TaskTimeout.as_str())
    });
    match (judged.allow, only_stale) {
        (true, _) => Ok(()),
        (false, true) if allow_stale => Ok(()),
        (false, true) => {
            let hint =
                "`writ watchdog sweep` releases what they hold; `allow_stale` leaves that to the receiver";
            Err(denied(judged).hint(hint))
        }
        (false, false) => Err(denied(judged)),
    }
}

/// A fault of a bundle as the operator's refusal, with its place.
fn faulty(fault: &Fault) -> Error {
    let mut refusal = verdict(fault.code, fault.rule, format!("{}: {}", fault.path, fault.message));
    refusal.details.kind = "handoff".to_owned();
    refusal.details.path = Some(fault.path.clone());
    denied(&refusal)
}
