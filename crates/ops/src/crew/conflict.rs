//! Conflicts between locks: who holds the other one, and what can be done about it.

use contract::domain::crew::lock::{HeldLock, LockRefusal};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::process::Remains;
use contract::domain::run::Run;
use contract::domain::scope::Scope;
use contract::operator::Code;
use serde_json::json;

use super::denial::{denied, verdict};

/// A lock of another task that overlaps a requested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockConflict {
    pub lock: HeldLock,
    /// The requested scope, as an absolute path.
    pub wanted: Scope,
    /// The remains of the engine that holds it, if known.
    pub remains: Option<Remains>,
    /// The engine's pid in this namespace, if known.
    pub pid: Option<u32>,
}

impl LockConflict {
    /// The holder: `T-1 of run_…`, and its process if it has one.
    pub fn held_by(&self) -> String {
        let LockConflict { lock, remains, pid, .. } = self;
        let task = format!("{} of {}", lock.reference, lock.run_id);
        match &lock.holder {
            // Outside its namespace, its pid there is that of another process.
            Some(holder) if pid.is_none() && !holder.within.is_empty() => {
                format!("{task}, process {} of a namespace", holder.pid)
            }
            Some(holder) => {
                let pid = pid.unwrap_or(holder.pid);
                format!("{task}, {}", remains.unwrap_or(Remains::Running).of_process(pid))
            }
            None => task,
        }
    }

    /// What a person can do about it; nothing where waiting helps.
    pub fn remedy(&self) -> Option<String> {
        let holder = self.lock.holder.as_ref()?;
        self.remains?.remedy(self.pid.unwrap_or(holder.pid))
    }
}

/// The refusal, which names the holder of the other lock.
pub(crate) fn refusal(run: &Run, reference: &TaskRef, conflict: &LockConflict) -> crate::Error {
    let LockConflict { lock, wanted, .. } = conflict;
    let other = if lock.run_id == run.asked.id { lock.reference.to_string() } else { conflict.held_by() };
    let remedy = conflict.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
    let message = format!("{reference} conflicts with the lock on `{}` held by {other}{remedy}", lock.scope);
    let mut verdict = verdict(Code::LockConflict, LockRefusal::Conflict.rule(), message);
    let conflict = json!({
        "task_a": lock.reference, "resource_a": lock.scope, "run_a": lock.run_id.uuid(),
        "task_b": reference, "resource_b": wanted,
    });
    verdict.details.more.insert("conflicts".to_owned(), json!([conflict]));
    denied(&verdict)
}
