//! Executors as the user configured them.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::task::Provider;
use contract::plan::executor::Pattern;
use contract::plan::{ExecutorKind, ExecutorName};

use super::acp::Acp;
use super::agent::Agent;
use super::aop_stdio::AopStdio;
use super::shell::Shell;
use super::talk::Stream;
use super::template::Template;
use super::{Executor, claude, codex, gemini, opencode};
use crate::agent_program::{AgentProgram, PROGRAMS};

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
            ExecutorKind::Claude | ExecutorKind::Codex | ExecutorKind::Gemini | ExecutorKind::OpenCode => {
                vec![kind.as_str().to_owned()]
            }
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
            ExecutorKind::Shell => Box::new(Shell { own: self }),
            ExecutorKind::AopStdio => Box::new(AopStdio { own: self }),
            ExecutorKind::Claude => agent(self, Provider::Claude, || Box::new(claude::Claude::default())),
            ExecutorKind::Codex => agent(self, Provider::Codex, || Box::new(codex::Codex)),
            ExecutorKind::Gemini => agent(self, Provider::Gemini, || Box::new(gemini::Gemini::default())),
            ExecutorKind::OpenCode => {
                agent(self, Provider::Other, || Box::new(opencode::OpenCode::default()))
            }
            ExecutorKind::Acp => Box::new(Acp { own: self }),
            ExecutorKind::Template => Box::new(Template { own: self }),
        }
    }
}

fn agent(own: Configured, provider: Provider, stream: fn() -> Box<dyn Stream>) -> Box<dyn Executor> {
    Box::new(Agent { program: program(own.kind), own, provider, stream })
}

fn program(kind: ExecutorKind) -> &'static dyn AgentProgram {
    let found = PROGRAMS.iter().find(|program| program.name() == kind.as_str());
    *found.expect("BUG: every kind of agent is a program that we know")
}
