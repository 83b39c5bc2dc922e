//! Which events say what an agent did, decided and met, and which only keep the books.

/// A tool that failed. Its message says which and how; `output` in its metadata is what it printed.
pub const TOOL_FAILURE: &str = "tool_failure";
/// A tool that changed something: `Edit: src/parser.rs`, `Bash: cargo test`.
pub const TOOL_SUCCESS: &str = "tool_success";
/// What a user asked.
pub const USER_PROMPT: &str = "user_prompt";
/// What an agent said at the end of a turn or a session.
pub const LAST_WORDS: &str = "last_words";
/// A summary of the work, written before an agent's context is compacted.
pub const CHECKPOINT: &str = "checkpoint";
/// An agent's own list of what is left to do.
pub const TODO_SNAPSHOT: &str = "todo_snapshot";

/// Kinds that occur again and again. Each is looked up by itself, so that none of them pushes out another.
pub const REPEATED: &[&str] =
    &[CHECKPOINT, LAST_WORDS, TODO_SNAPSHOT, TOOL_FAILURE, TOOL_SUCCESS, USER_PROMPT];

/// Kinds that tell an agent nothing about the work. Changes of tables are left out by what they are; these are the
/// kinds that have no change, and those of imported events.
pub const WITHOUT_SUBSTANCE: &[&str] = &[
    "agent_completed",
    "agent_focus",
    "agent_spawned",
    "artifact_added",
    "events_pruned",
    "events_summary",
    "heartbeat",
    "memory_delete",
    "memory_gc",
    "memory_upserted",
    "project_created",
    "run_completed",
    "session_end",
    "session_start",
    "task_assigned",
    "task_completed_signal",
    "task_created",
    "task_deleted",
    "task_dependency_added",
    "task_dependency_removed",
    "task_priority_changed",
    "task_status",
    "task_verified",
];

/// The sender of what the engine records about its own work.
pub const ENGINE: &str = "service.writ";

/// What an event is to a brief. Stored with the event, so that an index finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Substance {
    /// It keeps the books.
    None,
    /// What an agent decided, met or noted.
    Note,
    /// One of the kinds that occur again and again.
    Repeated,
}

impl Substance {
    pub fn of(kind: &str, sender: &str, is_change: bool) -> Self {
        if REPEATED.contains(&kind) {
            Substance::Repeated
        } else if is_change || sender == ENGINE || WITHOUT_SUBSTANCE.contains(&kind) {
            Substance::None
        } else {
            Substance::Note
        }
    }

    /// Its number in the store.
    pub fn code(self) -> i64 {
        match self {
            Substance::None => 0,
            Substance::Note => 1,
            Substance::Repeated => 2,
        }
    }
}
