//! Authorization: one function decides whether a principal may act on a resource.

use std::fmt;
use std::time::Duration;

use super::confinement::SandboxMode;
use super::trust::TrustState;

/// The rules in force: the user's, and those that a project adds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Executors that may not be used.
    pub deny_executors: Vec<String>,
    /// Whether commands may be given to a shell.
    pub deny_shell: bool,
    /// No attempt may take longer than this.
    pub timeout_max: Option<Duration>,
    /// How strictly tasks are confined at least.
    pub sandbox: Option<SandboxMode>,
}

/// What a principal wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyAction {
    /// Run a task or a check.
    Run,
    /// Run the commands of a project's `.writ/`.
    UseCommands,
    /// Set a value in a project's configuration.
    Configure,
}

/// What the action is about, with the attributes that rules look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyResource<'r> {
    /// A task of a plan, and every executor that it may be given to.
    Task { name: &'r str, executors: Vec<&'r str>, uses_shell: bool },
    /// A check that belongs to no run.
    Check { line: &'r str, uses_shell: bool },
    /// The commands of a project; `was_trusted` if a person trusted some, even if they are gone.
    Project { directory: &'r str, trust: TrustState, was_trusted: bool },
    /// A setting by its dotted name, and its value if that is a text.
    Setting { name: &'r str, value: Option<&'r str> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {
    Allow,
    Deny(Denial),
}

/// Why an action is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub rule: DenyRule,
    /// The reason for people: the resource and the rule.
    pub text: String,
}

/// The rule that denies an action. Printed for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenyRule {
    /// The policy lists this executor.
    Executor(String),
    Shell,
    /// The commands of the project are in this state.
    Untrusted(TrustState),
    /// Only the user's configuration may have the setting.
    Misplaced(&'static str),
    /// A project may only make the setting stricter.
    Looser(&'static str),
    /// The action is not defined for the resource.
    Undefined,
}

/// Decides whether `principal`, an entity such as `human.ann`, may do this under the rules of `context`. Depends on
/// nothing but its arguments. Today's rules treat all principals alike.
pub fn authorize(
    _principal: &str,
    action: PolicyAction,
    resource: &PolicyResource<'_>,
    context: &Policy,
) -> Authorization {
    let broken = match (action, resource) {
        (PolicyAction::Run, PolicyResource::Task { executors, uses_shell, .. }) => {
            denied_executor(executors, context).or_else(|| denied_shell(*uses_shell, context))
        }
        (PolicyAction::Run, PolicyResource::Check { uses_shell, .. }) => denied_shell(*uses_shell, context),
        (PolicyAction::UseCommands, PolicyResource::Project { trust, was_trusted, .. }) => {
            untrusted(*trust, *was_trusted)
        }
        (PolicyAction::Configure, PolicyResource::Setting { name, value }) => of_the_user(name, *value),
        (PolicyAction::Run, PolicyResource::Project { .. } | PolicyResource::Setting { .. })
        | (
            PolicyAction::UseCommands | PolicyAction::Configure,
            PolicyResource::Task { .. } | PolicyResource::Check { .. },
        )
        | (PolicyAction::UseCommands, PolicyResource::Setting { .. })
        | (PolicyAction::Configure, PolicyResource::Project { .. }) => Some(DenyRule::Undefined),
    };
    match broken {
        None => Authorization::Allow,
        Some(rule) => Authorization::Deny(Denial { text: format!("{resource} is denied: {rule}"), rule }),
    }
}

impl Authorization {
    /// The code of the decision in traces.
    pub fn code(&self) -> &'static str {
        match self {
            Authorization::Allow => "POLICY_ALLOW",
            Authorization::Deny(_) => "POLICY_DENY",
        }
    }

    pub fn denial(self) -> Option<Denial> {
        match self {
            Authorization::Allow => None,
            Authorization::Deny(denial) => Some(denial),
        }
    }
}

fn denied_executor(executors: &[&str], policy: &Policy) -> Option<DenyRule> {
    let is_listed = |name: &&&str| policy.deny_executors.iter().any(|denied| denied == **name);
    executors.iter().find(is_listed).map(|name| DenyRule::Executor((*name).to_owned()))
}

fn denied_shell(uses_shell: bool, policy: &Policy) -> Option<DenyRule> {
    (policy.deny_shell && uses_shell).then_some(DenyRule::Shell)
}

fn untrusted(trust: TrustState, was_trusted: bool) -> Option<DenyRule> {
    // Removing commands that a person trusted does not switch them off.
    let are_removed = trust == TrustState::NoCommands && was_trusted;
    (are_removed || !trust.may_run()).then_some(DenyRule::Untrusted(trust))
}

/// A cloned repository or an earlier task must not loosen the rules, name programs or choose where files are.
fn of_the_user(name: &str, value: Option<&str>) -> Option<DenyRule> {
    match name {
        "sandbox.mode" if value == Some(SandboxMode::Off.as_str()) => Some(DenyRule::Misplaced(
            "a project can only make the mode stricter; `off` belongs in the user's configuration",
        )),
        "sandbox.credentials" | "sandbox.memory_mib" | "sandbox.processes_max" => {
            Some(DenyRule::Misplaced("belongs in the user's configuration; a project can only set the mode"))
        }
        "prices" | "escalation" => Some(DenyRule::Misplaced("belongs in the user's configuration")),
        "aop.fallback" if value == Some("v1") => {
            Some(DenyRule::Looser("a project can only make this stricter: refuse"))
        }
        "aop.fallback" => None,
        name if name.starts_with("aop.") => Some(DenyRule::Misplaced(
            "belongs in the user's configuration; a project can only set `fallback = \"refuse\"`",
        )),
        _ => None,
    }
}

impl DenyRule {
    /// What programs branch on.
    pub fn code(&self) -> &'static str {
        match self {
            DenyRule::Executor(_) => "deny_executors",
            DenyRule::Shell => "deny_shell",
            DenyRule::Untrusted(_) => "untrusted_project",
            DenyRule::Misplaced(_) => "misplaced",
            DenyRule::Looser(_) => "looser",
            DenyRule::Undefined => "undefined",
        }
    }
}

impl fmt::Display for DenyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DenyRule::Executor(name) => write!(f, "policy.deny_executors has `{name}`"),
            DenyRule::Shell => f.write_str("policy.deny_shell is set"),
            DenyRule::Untrusted(TrustState::Changed) => f.write_str("changed since a person allowed them"),
            DenyRule::Untrusted(TrustState::NoCommands) => {
                f.write_str("were removed after a person allowed them")
            }
            DenyRule::Untrusted(TrustState::Untrusted | TrustState::Trusted) => {
                f.write_str("are not trusted")
            }
            DenyRule::Misplaced(text) | DenyRule::Looser(text) => f.write_str(text),
            DenyRule::Undefined => f.write_str("no rule knows this action"),
        }
    }
}

impl fmt::Display for PolicyResource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyResource::Task { name, .. } => write!(f, "task `{name}`"),
            PolicyResource::Check { line, .. } => write!(f, "check `{line}`"),
            PolicyResource::Project { directory, .. } => write!(f, "project `{directory}`"),
            PolicyResource::Setting { name, .. } => write!(f, "setting `{name}`"),
        }
    }
}

#[cfg(test)]
mod tests;
