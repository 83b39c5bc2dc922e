//! Executors: what is started for a task, how its output is read, and what its end means. One file each.
//!
//! To add one: write its file, and add its line to [`Executors::built_in`].

mod aop_stdio;
mod claims;
mod end;
mod lines;
mod reported;
mod shell;

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::Code;
use contract::aop::event::Body;
use contract::aop::response::Response;
use contract::domain::attempt::Limited;
use contract::domain::run::NewRun;
use contract::domain::task::{PlanPart, Task};
use contract::domain::time::Timestamp;
use contract::plan::{ExecutorName, KnownExecutor, PromptUse};

use crate::pipeline::l7_delegate::Claim;
use crate::supervisor::Stdin;
use contract::secrets::Hidden;

pub(crate) use claims::Claims;
pub(crate) use end::{Ended, Stopped, forced_failure, with_denial};
pub(crate) use lines::{Line, Lines};
pub(crate) use reported::{Reported, Sign, sign_of};

/// Everything that is known about how to run one kind of task.
pub(crate) trait Executor: Send + Sync {
    /// The name under which a plan finds it.
    fn name(&self) -> ExecutorName;

    /// Whether its tasks have a prompt.
    fn prompt(&self) -> PromptUse;

    /// The longest pause before the next attempt that a failed one can ask for.
    fn retry_after_max(&self) -> Duration;

    /// The child that does the work.
    fn prepare(&self, work: &Work<'_>) -> Prepared;
}

/// One attempt at a task.
pub(crate) struct Work<'w> {
    pub(crate) run: &'w NewRun,
    /// Where the child works.
    pub(crate) workspace: &'w str,
    pub(crate) task: &'w Task,
    pub(crate) part: &'w PlanPart,
    /// What is called, with `shell` as in the plan's task.
    pub(crate) command: &'w [String],
    pub(crate) model: Option<&'w str>,
    /// The executor's own conversation of an earlier attempt, which it can go on with.
    pub(crate) resume: Option<&'w str>,
    pub(crate) attempt_number: i64,
    pub(crate) brief: &'w str,
    /// Values that must not be repeated in what is stored or shown.
    pub(crate) hidden: &'w Hidden,
    pub(crate) now: Timestamp,
}

/// A child to start, and how to read it.
pub(crate) struct Prepared {
    pub(crate) argv: Vec<String>,
    /// In addition to what every task gets.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) stdin: Stdin,
    /// The child is stopped when it is silent for longer.
    pub(crate) silence_max: Option<Duration>,
    pub(crate) stdout: Stdout,
    pub(crate) reader: Box<dyn Reader>,
}

/// What is on the child's standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// Text for people; its last line is shown as progress.
    Text,
    /// Messages of a protocol; only their events are shown.
    Messages,
}

/// Reads one child.
pub(crate) trait Reader {
    /// Takes one line of standard output, and gives the AOP events in it.
    fn line(&mut self, line: Line<'_>) -> Vec<Body>;

    /// Takes the end of the child.
    fn end(&mut self, ended: &Ended) -> Returned;
}

/// What an attempt returned.
#[derive(Debug)]
pub(crate) struct Returned {
    /// The child's RESPONSE, or one made of what it printed. `None` if there is nothing to report.
    pub(crate) response: Option<Box<Response>>,
    pub(crate) claim: Claim,
    /// The executor's own name for its conversation.
    pub(crate) agent_session: Option<String>,
    /// The rate limit or usage window that ended it.
    pub(crate) limited: Option<Limited>,
}

impl Returned {
    /// Of an executor that has no conversations of its own.
    pub(crate) fn plain(claim: Claim, response: Option<Box<Response>>) -> Self {
        Self { response, claim, agent_session: None, limited: None }
    }
}

/// The executors that an engine can use.
pub struct Executors(Vec<Box<dyn Executor>>);

impl Executors {
    pub fn built_in() -> Self {
        Self(vec![Box::new(shell::Shell), Box::new(aop_stdio::AopStdio)])
    }

    /// What the reader of a plan has to know about each.
    pub fn known(&self) -> Vec<KnownExecutor> {
        self.0.iter().map(|each| KnownExecutor { name: each.name(), prompt: each.prompt() }).collect()
    }

    pub(crate) fn find(&self, name: &ExecutorName) -> Option<&dyn Executor> {
        self.0.iter().find(|each| each.name() == *name).map(AsRef::as_ref)
    }
}

/// The arguments of a command: as they are, or as one line for the shell that its author asked for.
pub(crate) fn command_line(command: &[String], shell: bool) -> Vec<String> {
    if shell {
        ["sh", "-c"].iter().map(|s| (*s).to_owned()).chain(command.iter().cloned()).collect()
    } else {
        command.to_vec()
    }
}

/// A failure with a code of AOP. A word that AOP does not have is kept in the message.
pub(crate) fn failure(code: &str, message: impl Into<String>) -> Claim {
    let message = message.into();
    match Code::parse(code) {
        Some(code) => Claim::Failure { code: code.as_str().to_owned(), message },
        None => {
            let message = format!("{code}: {message}");
            Claim::Failure { code: Code::Unknown.as_str().to_owned(), message }
        }
    }
}

#[cfg(test)]
mod tests;
