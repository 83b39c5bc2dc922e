//! Hooks of an agent program: its settings files, the entries writ installs there, and its message format.
//!
//! A new agent program is one file beside this one with an implementation of [`HookAdapter`], and its line in
//! [`ADAPTERS`]. Flags, handlers and the status come from that list.

use ops::Result;
use ops::host::Diagnostic;
use serde_json::{Map, Value};

use super::claude::Claude;
use super::handling::tool::ToolCall;
use super::opencode::OpenCode;
use super::places::Scope;
use super::{FileChange, HookProgram};

/// Every agent program that can be hooked. The first is meant where none is named.
pub(crate) const ADAPTERS: &[&dyn HookAdapter] = &[&Claude, &OpenCode];

pub(crate) fn find(name: &str) -> Option<&'static dyn HookAdapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.name() == name)
}

/// The one that is meant where none is named, as in the agent contract.
pub(crate) fn usual() -> &'static dyn HookAdapter {
    ADAPTERS[0]
}

pub(crate) trait HookAdapter: Sync + std::fmt::Debug {
    /// Its name in flags, answers and names of agents.
    fn name(&self) -> &'static str;

    /// Its name for people.
    fn title(&self) -> &'static str;

    /// The names its process may have.
    fn process_names(&self) -> &'static [&'static str];

    /// How request ids of its hooks begin.
    fn request_prefix(&self) -> &'static str;

    /// Whether two sessions may differ in upper and lower case alone.
    fn has_case_sensitive_sessions(&self) -> bool {
        false
    }

    /// What a call of one of its tools does.
    fn tool(&self, name: &str, input: &Value) -> ToolCall;

    /// What its hook prints, so that the agent reads the context.
    fn answer(&self, event: HookEvent, context: &str) -> Value;

    /// Directories that an installation would make, outermost first.
    fn missing_directories(&self, scope: Scope) -> Result<Vec<String>>;

    /// What an installation changes. Directories that were `made` for it are removed with it.
    fn install(&self, scope: Scope, program: &HookProgram, made: &[String]) -> Result<HookPlan>;

    /// What removing the installation changes.
    fn uninstall(&self, scope: Scope, program: &HookProgram, force: bool) -> Result<HookPlan>;

    /// Adds what is installed to `hooks` of the status, and what deserves attention.
    fn status(
        &self,
        program: &HookProgram,
        hooks: &mut Map<String, Value>,
        diagnostics: &mut Vec<Diagnostic>,
    );
}

/// The hooks that return an answer to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookEvent {
    SessionStart,
    Prompt,
    SubagentStart,
}

/// What an installation or its removal would change.
#[derive(Debug)]
pub(crate) struct HookPlan {
    pub(crate) changes: Vec<FileChange>,
    /// Directories to remove afterwards if nothing is in them.
    pub(crate) directories: Vec<String>,
    /// What the command answers about this agent program.
    pub(crate) answer: Value,
}

impl HookPlan {
    pub(crate) fn new(answer: Value) -> Self {
        Self { changes: Vec::new(), directories: Vec::new(), answer }
    }
}
