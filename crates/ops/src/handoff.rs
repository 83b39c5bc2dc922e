//! Handoffs: a run is exported as a bundle, and goes on in another store.

pub mod brief;
pub mod export;
mod gather;
pub mod import;
mod read;
mod unpack;

use contract::operator::handoff::bundle::BundleFault;
use contract::operator::{Code, Tripwire};
use contract::verdict::Verdict;
use serde_json::Value;

use crate::crew::denial::{denied, verdict};
use crate::error::{Error, Result};

/// An inconsistent ledger is not handed over. Tasks that timed out may be, if the caller allows it: the receiver sweeps
/// them.
fn refuse_contradiction(judged: &Verdict, allow_stale: bool) -> Result<()> {
    let issues = judged.details.more.get("issues").and_then(Value::as_array);
    let only_stale = issues.is_some_and(|issues| {
        !issues.is_empty() && issues.iter().all(|issue| issue["code"] == Code::TaskTimeout.as_str())
    });
    match (judged.allow, only_stale) {
        (true, _) => Ok(()),
        (false, true) if allow_stale => Ok(()),
        (false, true) => {
            let hint = "run `writ watchdog sweep`, or set allow_stale to leave that to the receiver";
            Err(denied(judged).hint(hint))
        }
        (false, false) if judged.details.kind == "handoff" => {
            Err(denied(judged).hint("correct the bundle; `writ validate handoff` lists every fault"))
        }
        (false, false) => Err(denied(judged)),
    }
}

/// The default of `tripwire`, which requests leave out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_deny(tripwire: &Tripwire) -> bool {
    *tripwire == Tripwire::Deny
}

/// A fault of a bundle as a refusal of the operator contract, with its path.
fn faulty(fault: &BundleFault) -> Error {
    let mut refusal = verdict(fault.code, fault.rule, format!("{}: {}", fault.path, fault.message));
    refusal.details.kind = "handoff".to_owned();
    refusal.details.path = Some(fault.path.clone());
    denied(&refusal)
}
