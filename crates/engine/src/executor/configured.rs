//! Executors as the user configured them.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::domain::executor::ExecutorName;
use contract::plan::executor::Pattern;

use super::Executor;
use super::acp::Acp;
use super::agent::AgentExecutor;
use super::aop_stdio::AopStdio;
use super::shell::ShellExecutor;
use super::template::TemplateExecutor;
use crate::agent_program::{self, AgentProgram, PROGRAMS};

/// How the program of an executor is called and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutorKind {
    /// A command; its exit code is its outcome.
    Shell,
    /// A program that reads an AOP TASK and prints AOP messages.
    AopStdio,
    Agent(&'static AgentProgram),
    /// Any agent that speaks the Agent Client Protocol over its standard streams.
    Acp,
    /// Any other program: its command has placeholders, and its text is the answer.
    Template,
}

impl ExecutorKind {
    /// The names of all kinds.
    pub const WORDS: &'static [&'static str] = &words();

    /// Those that need no configuration, each under its own name.
    pub fn built_in() -> impl Iterator<Item = Self> {
        let agents = PROGRAMS.iter().map(ExecutorKind::Agent);
        [ExecutorKind::Shell, ExecutorKind::AopStdio].into_iter().chain(agents)
    }

    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "shell" => Some(ExecutorKind::Shell),
            "aop-stdio" => Some(ExecutorKind::AopStdio),
            "acp" => Some(ExecutorKind::Acp),
            "template" => Some(ExecutorKind::Template),
            name => agent_program::find(name).map(ExecutorKind::Agent),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            ExecutorKind::Shell => "shell",
            ExecutorKind::AopStdio => "aop-stdio",
            ExecutorKind::Agent(program) => program.name,
            ExecutorKind::Acp => "acp",
            ExecutorKind::Template => "template",
        }
    }
}

impl std::fmt::Display for ExecutorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

const fn words() -> [&'static str; PROGRAMS.len() + 4] {
    let mut words = ["shell"; PROGRAMS.len() + 4];
    words[1] = "aop-stdio";
    let mut index = 0;
    while index < PROGRAMS.len() {
        words[index + 2] = PROGRAMS[index].name;
        index += 1;
    }
    words[index + 2] = "acp";
    words[index + 3] = "template";
    words
}

/// One executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    pub name: ExecutorName,
    pub kind: ExecutorKind,
    /// The program and its first arguments; empty where tasks name their own.
    pub command: Vec<String>,
    /// For tasks that name none.
    pub model: Option<String>,
    /// Values are literal, or `env:NAME` for secrets.
    pub env: BTreeMap<String, String>,
    /// How long its stream may say nothing.
    pub silence: Option<Duration>,
    /// Whether its tasks spend nothing.
    pub is_model_free: bool,
    /// What an agent that asks for permission is answered. Default: it is permitted in a sandbox, and only there.
    pub permissions: Option<Permissions>,
    /// What the output of a program has to contain besides an exit code of 0.
    pub success: Option<Pattern>,
    /// Whether it reads AOP v1 prompts only.
    pub is_v1_only: bool,
}

/// What an agent that asks for permission is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permissions {
    Allow,
    Reject,
}

impl Configured {
    /// An executor with everything at its default.
    pub fn plain(name: ExecutorName, kind: ExecutorKind) -> Self {
        let command = match kind {
            ExecutorKind::Shell | ExecutorKind::AopStdio | ExecutorKind::Acp | ExecutorKind::Template => {
                Vec::new()
            }
            ExecutorKind::Agent(program) => vec![program.name.to_owned()],
        };
        let is_model_free = kind == ExecutorKind::Shell;
        Self {
            name,
            kind,
            command,
            model: None,
            env: BTreeMap::new(),
            silence: None,
            is_model_free,
            permissions: None,
            success: None,
            is_v1_only: false,
        }
    }

    /// The one of a kind that needs no configuration, under its own name.
    pub fn built_in(kind: ExecutorKind) -> Self {
        let name = ExecutorName::parse(kind.as_str()).expect("BUG: every kind is a name");
        Self::plain(name, kind)
    }

    pub(super) fn executor(self) -> Box<dyn Executor> {
        match self.kind {
            ExecutorKind::Shell => Box::new(ShellExecutor { own: self }),
            ExecutorKind::AopStdio => Box::new(AopStdio { own: self }),
            ExecutorKind::Agent(program) => Box::new(AgentExecutor { own: self, program }),
            ExecutorKind::Acp => Box::new(Acp { own: self }),
            ExecutorKind::Template => Box::new(TemplateExecutor { own: self }),
        }
    }
}
