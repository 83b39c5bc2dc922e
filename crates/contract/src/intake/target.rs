//! Which executor a TASK's target is.

use super::Executors;
use crate::aop::task::{Provider, Target};
use crate::domain::executor::ExecutorName;
use crate::plan::{CommandUse, KnownExecutor};

impl Executors {
    /// The executor of a target that names no command: one that is configured under the agent's name, else under the
    /// provider's, else the built-in one of the provider, else the built-in one of the agent's name. `None` if a command is
    /// configured for it, or nothing at all.
    pub fn of_target(&self, target: &Target) -> Option<ExecutorName> {
        let agent = target.agent_name.to_lowercase();
        let provider = target.provider.as_str().to_lowercase();
        for name in [&agent, &provider] {
            if self.commands.contains_key(name) {
                return None;
            }
            if let Some(named) = self.named.iter().find(|named| named.as_str() == name) {
                return Some(named.clone());
            }
        }
        self.built_in(target.provider, &agent)
    }

    /// The built-in executor of a provider's model, where there is one.
    pub fn of_provider(&self, provider: Provider) -> Option<ExecutorName> {
        let name = provider.as_str().to_lowercase();
        self.configured_for(provider).or_else(|| self.built_in(provider, &name))
    }

    /// The executor that the user configured under a provider's name.
    pub fn configured_for(&self, provider: Provider) -> Option<ExecutorName> {
        let name = provider.as_str().to_lowercase();
        self.named.iter().find(|named| named.as_str() == name).cloned()
    }

    fn built_in(&self, provider: Provider, agent: &str) -> Option<ExecutorName> {
        let provider_name = provider.as_str().to_lowercase();
        let name = match provider {
            Provider::Claude | Provider::Codex | Provider::Gemini => &provider_name,
            Provider::Local | Provider::Other => agent,
        };
        // An executor with a program of its own; the others run a command that a task has to name.
        let is_agent = |known: &&KnownExecutor| known.command == CommandUse::Unused;
        self.known
            .iter()
            .filter(is_agent)
            .map(|known| &known.name)
            .find(|known| known.as_str() == name)
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aop::task::Role;
    use crate::plan::PromptUse;

    fn name(text: &str) -> ExecutorName {
        ExecutorName::parse(text).unwrap()
    }

    fn target(agent: &str, provider: Provider) -> Target {
        Target {
            agent_name: agent.to_owned(),
            role: Role::Executor,
            provider,
            model: "m".to_owned(),
            execution_profile: None,
            capabilities: None,
            extensions: None,
        }
    }

    #[test]
    fn a_target_is_found_by_its_agent_then_by_its_provider_then_among_the_built_in_ones() {
        let known = |(text, command): (&str, CommandUse)| KnownExecutor {
            name: name(text),
            prompt: PromptUse::Required,
            command,
        };
        let agents = ["claude", "codex", "gemini", "opencode"].map(|agent| (agent, CommandUse::Unused));
        let executors = Executors {
            known: [("shell", CommandUse::Required)].into_iter().chain(agents).map(known).collect(),
            commands: [("emma".to_owned(), vec!["emma-agent".to_owned()])].into(),
            named: vec![name("reviewer"), name("local")],
            ..Executors::default()
        };
        for (agent, provider, expected) in [
            ("Reviewer", Provider::Claude, Some("reviewer")),
            // A command that is configured for the agent is called with the TASK.
            ("emma", Provider::Claude, None),
            ("somebody", Provider::Local, Some("local")),
            ("somebody", Provider::Claude, Some("claude")),
            ("somebody", Provider::Codex, Some("codex")),
            ("somebody", Provider::Gemini, Some("gemini")),
            ("OpenCode", Provider::Other, Some("opencode")),
            ("shell", Provider::Other, None),
            ("somebody", Provider::Other, None),
        ] {
            let found = executors.of_target(&target(agent, provider));
            assert_eq!(found.as_ref().map(ExecutorName::as_str), expected, "{agent} {provider}");
        }
    }
}
