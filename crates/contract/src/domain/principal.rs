//! Who acts. One of these is behind every change, and its name is the actor of the change's events.

use crate::digest;
use crate::domain::id::{self, Id};
use crate::domain::request::Agent;

/// How many digits a person types back to confirm an action.
const DIGITS: u32 = 6;

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// An agent under the name that it gave itself, or that its assignment gives it.
    Agent(Agent),
    /// A program that an engine started for a task.
    Executor(Id<id::Task>),
    /// A person. Only a decision that one has confirmed at a terminal proves it.
    Person(Agent),
    /// A token that a person created.
    Token(String),
}

impl Principal {
    /// The name that lists of events show.
    pub fn name(&self) -> String {
        match self {
            Principal::Agent(name) | Principal::Person(name) => name.as_str().to_owned(),
            Principal::Executor(task) => task.to_string(),
            Principal::Token(name) => format!("token.{name}"),
        }
    }

    /// The name in AEE's `from`, and wherever a document says who acted.
    pub fn entity(&self) -> String {
        match self {
            Principal::Agent(name) => format!("agent.{}", name.as_str()),
            Principal::Executor(task) => format!("agent.{task}"),
            Principal::Person(name) => format!("human.{}", name.as_str()),
            Principal::Token(name) => format!("service.token.{name}"),
        }
    }
}

/// One exact action that only a person may decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// What a person is shown: everything that the decision depends on.
    question: String,
    digits: String,
}

impl Action {
    /// `verb` names the kind of action; `question` shows all of it, so another action has another digest.
    pub fn new(verb: &str, question: String) -> Self {
        let digest = digest::of_bytes(format!("{verb}\n{question}").as_bytes());
        let hex = digest.strip_prefix("sha256:").expect("BUG: a digest names its function");
        let number = u64::from_str_radix(&hex[..15], 16).expect("BUG: a digest is hexadecimal");
        let digits = format!("{:0width$}", number % 10_u64.pow(DIGITS), width = DIGITS as usize);
        Self { question, digits }
    }

    pub fn question(&self) -> &str {
        &self.question
    }

    /// Decimal digits made of the action's digest, which a person types to confirm this action and no other.
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// Whether what a person typed confirms this action.
    pub fn is_confirmed_by(&self, typed: &str) -> bool {
        typed.trim() == self.digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_digits_of_the_same_action_confirm_it() {
        let action = Action::new("budget.set", "raise the limit of run 1 to $5".to_owned());
        let other = Action::new("budget.set", "raise the limit of run 1 to $50".to_owned());
        assert_eq!(action.digits().len(), 6);
        assert!(action.digits().bytes().all(|byte| byte.is_ascii_digit()));
        assert!(action.is_confirmed_by(&format!(" {}\n", action.digits())));
        for typed in ["", "y", "yes", other.digits(), &action.digits()[..5]] {
            assert!(!action.is_confirmed_by(typed), "{typed:?}");
        }
    }
}
