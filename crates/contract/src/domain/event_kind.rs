//! The kinds of events that writ itself relies on. Agents choose the kinds of their own events, but not these.

use super::code::ErrorCode;
use super::retention::{PRUNED, SUMMARY};
use super::task::Refusal;

/// What the checks of a done task showed.
pub const TASK_VERIFIED: &str = "task_verified";
/// The same where done is only claimed.
pub const TASK_WITHHELD: &str = "task_withheld";
/// What a task's own program reported as its outcome. The run decides.
pub const TASK_REPORTED: &str = "task_reported";
/// A person sealed the store as it was found.
pub const STORE_RESEALED: &str = "store_resealed";
/// writ sealed a store of an older schema as it was found.
pub const STORE_SEALED: &str = "store_sealed";
/// The store came out of a damaged one.
pub const STORE_SALVAGED: &str = "store_salvaged";
/// The store took over what vybe had.
pub const VYBE_IMPORTED: &str = "vybe_imported";

/// Somebody discards the clone of a task with its work. It begins before the clone is taken away.
pub const WORKTREE_DISCARD_BEGUN: &str = "worktree_discard_begun";
pub const WORKTREE_DISCARDED: &str = "worktree_discarded";

/// What confined a command that no run started.
pub const SANDBOX_IN_FORCE: &str = "sandbox_in_force";

/// Kinds that only writ writes. Events that are changes need no place here: no agent can write one.
const RESERVED: [&str; 12] = [
    TASK_VERIFIED,
    TASK_WITHHELD,
    TASK_REPORTED,
    STORE_RESEALED,
    STORE_SEALED,
    STORE_SALVAGED,
    VYBE_IMPORTED,
    WORKTREE_DISCARD_BEGUN,
    WORKTREE_DISCARDED,
    SANDBOX_IN_FORCE,
    PRUNED,
    SUMMARY,
];

/// The intent of an event that writ writes itself.
pub fn own_intent(kind: &str) -> String {
    format!("writ.{kind}")
}

/// The intent of an event whose kind is somebody else's word.
pub fn agents_intent(kind: &str) -> String {
    format!("agent.{kind}")
}

/// Whether writ wrote this event. The kind alone proves nothing: before kinds were reserved, agents could use all of them.
pub fn is_own(kind: &str, intent: &str) -> bool {
    intent.strip_prefix("writ.") == Some(kind)
}

pub fn is_reserved(kind: &str) -> bool {
    RESERVED.contains(&kind)
}

/// Refuses an agent's event of a kind that only writ writes.
pub fn open_to_agents(kind: &str) -> Result<(), Refusal> {
    if !is_reserved(kind) {
        return Ok(());
    }
    let message = format!("only writ itself writes events of the kind `{kind}`");
    Err(Refusal::new(ErrorCode::InvalidInput, message).hint("choose another kind"))
}
