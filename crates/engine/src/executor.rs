//! Executors: what is started for a task, how its output is read, and what its end means. One file each.
//!
//! To add one: write its file and add its [`ExecutorKind`]. An agent program needs none: see [`crate::agent_program`].

mod acp;
mod agent;
mod aop_stdio;
mod claims;
mod configured;
mod conversation;
mod end;
mod error_tail;
mod free;
mod lines;
mod prompt;
mod repeats;
mod reported;
mod shell;
mod talk;
mod template;
mod text_answer;
mod trouble;

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::event::Body;
use contract::aop::response::Response;
use contract::domain::attempt::{Attempt, Dispatch, Limited, SessionTotal};
use contract::domain::executor::ExecutorName;
use contract::domain::failure_code::FailureCode;
use contract::domain::plan::PlanTask;
use contract::domain::reason::Warning;
use contract::domain::run::NewRun;
use contract::domain::task::Task;
use contract::domain::time::Timestamp;
use contract::plan::{CommandUse, KnownExecutor, PromptUse};

use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::supervisor::Stdin;
use contract::secrets::Hidden;

pub(crate) use claims::Claims;
pub use configured::{Configured, ExecutorKind, Permissions};
pub(crate) use end::{ChildEnd, Stopped, forced_failure, with_denial};
pub(crate) use free::Free;
pub(crate) use lines::{LineBuffer, OutputLine};
pub(crate) use reported::{ResponseReport, Sign, progress_of, sign_of, without_effect};
pub(crate) use talk::{AgentStream, Talk, TurnEnd, sum};
pub use template::PLACEHOLDERS;
pub(crate) use trouble::{Trouble, TroubleKind};

/// Everything that is known about how to run one kind of task.
pub(crate) trait Executor: Send + Sync {
    /// The name under which a plan finds it.
    fn name(&self) -> ExecutorName {
        self.configured().name.clone()
    }

    /// Whether its tasks have a prompt.
    fn prompt(&self) -> PromptUse;

    /// Whether its tasks have a command.
    fn command(&self) -> CommandUse;

    /// What the user configured for it.
    fn configured(&self) -> &Configured;

    /// Whether it has a setting for the effort.
    fn has_effort(&self) -> bool {
        false
    }

    /// Whether it has a setting for the model.
    fn takes_model(&self) -> bool {
        true
    }

    /// The longest pause before the next attempt that a failed one can ask for.
    fn retry_after_max(&self) -> Duration;

    /// Whether it uses no model, so that its work costs nothing.
    fn is_model_free(&self) -> bool {
        self.configured().is_model_free
    }

    /// The child that does the work.
    fn prepare(&self, work: &AttemptWork<'_>) -> PreparedChild;
}

/// One attempt at a task.
pub(crate) struct AttemptWork<'w> {
    pub(crate) run: &'w NewRun,
    /// Where the child works.
    pub(crate) workspace: &'w str,
    pub(crate) task: &'w Task,
    /// What is called, with `shell` as in the plan's task.
    pub(crate) command: &'w [String],
    pub(crate) model: Option<&'w str>,
    /// Which of the task's alternatives it is.
    pub(crate) alternative: Option<u32>,
    /// How a submitted TASK differs for this attempt.
    pub(crate) dispatch: Option<&'w Dispatch>,
    /// The executor's own conversation of an earlier attempt, which it can go on with.
    pub(crate) resume: Option<&'w str>,
    /// The attempt before this one.
    pub(crate) before: Option<&'w Attempt>,
    /// What that conversation had used when it was last reported.
    pub(crate) so_far: Option<&'w SessionTotal>,
    /// Whether the kernel keeps the child to what it may write. Finding out takes a while, so only who needs it asks.
    pub(crate) is_confined: &'w dyn Fn() -> bool,
    pub(crate) attempt_number: i64,
    pub(crate) brief: &'w str,
    /// Values that must not be repeated in what is stored or shown.
    pub(crate) hidden: &'w Hidden,
    pub(crate) now: Timestamp,
}

impl AttemptWork<'_> {
    pub(crate) fn spec(&self) -> &PlanTask {
        &self.task.part.as_ref().expect("BUG: every task of a run is part of its plan").spec
    }
}

/// A child to start, and how to read it.
pub(crate) struct PreparedChild {
    pub(crate) argv: Vec<String>,
    /// In addition to what every task gets.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) stdin: Stdin,
    /// The child is stopped after a longer silence, unless its task sets heartbeats.
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
    fn line(&mut self, line: OutputLine<'_>) -> Vec<Body>;

    /// Takes some of standard error.
    fn error_output(&mut self, _bytes: &[u8]) {}

    /// What it wants done after what it has read.
    fn wishes(&mut self) -> Wishes {
        Wishes::default()
    }

    /// What people should know about the lines since the last call.
    fn warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }

    /// Takes the digest of the workspace that it wished for; `None` if there is none.
    fn seen(&mut self, _digest: Option<String>) {}

    /// Takes the end of the child.
    fn end(&mut self, ended: &ChildEnd) -> Returned;
}

/// What a reader wants done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// The name of its conversation, to be stored at once.
    pub(crate) session: Option<String>,
    /// The child leads nowhere and is to be ended.
    pub(crate) stop: bool,
    /// A look at the workspace, to see whether it changes.
    pub(crate) look: bool,
    /// For the child to read, where its input is kept open.
    pub(crate) input: Vec<u8>,
}

/// What an attempt returned.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) claim: ExecutorClaim,
    /// What it reports about its work, if it reports at all.
    pub(crate) claims: Claims,
    /// What it used.
    pub(crate) reported: ResponseReport,
    /// The executor's own name for its conversation.
    pub(crate) agent_session: Option<String>,
    /// The rate limit or usage window that ended it.
    pub(crate) limited: Option<Limited>,
    /// What the conversation has used with all its attempts.
    pub(crate) session_total: Option<SessionTotal>,
}

impl Returned {
    /// Of an executor that reports nothing but its end.
    pub(crate) fn plain(claim: ExecutorClaim) -> Self {
        let (claims, reported) = (Claims::default(), ResponseReport::default());
        Self { claim, claims, reported, agent_session: None, limited: None, session_total: None }
    }

    /// Of an executor that answers with an AOP RESPONSE.
    pub(crate) fn response(claim: ExecutorClaim, response: Response, hidden: &Hidden) -> Self {
        let reported = ResponseReport::of(&response, hidden);
        Self { reported, claims: Claims::of(response, hidden), ..Self::plain(claim) }
    }
}

/// The executors that an engine can use.
pub struct Executors(Vec<Box<dyn Executor>>);

impl Executors {
    pub fn built_in() -> Self {
        Self::with(&[])
    }

    /// The built-in ones and these; one with the name of a built-in one takes its place.
    pub fn with(configured: &[Configured]) -> Self {
        let is_replaced = |name: &ExecutorName| configured.iter().any(|other| other.name == *name);
        let usual = ExecutorKind::built_in().map(Configured::built_in);
        let usual = usual.filter(|usual| !is_replaced(&usual.name));
        Self(usual.chain(configured.iter().cloned()).map(Configured::executor).collect())
    }

    /// What the reader of a plan has to know about each.
    pub fn known(&self) -> Vec<KnownExecutor> {
        let known = |each: &dyn Executor| KnownExecutor {
            name: each.name(),
            prompt: each.prompt(),
            command: each.command(),
        };
        self.0.iter().map(|each| known(&**each)).collect()
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
pub(crate) fn failure(code: &str, message: impl Into<String>) -> ExecutorClaim {
    let message = message.into();
    match FailureCode::parse(code) {
        Some(code) => ExecutorClaim::Failure { code, message },
        None => ExecutorClaim::Failure { code: FailureCode::Unknown, message: format!("{code}: {message}") },
    }
}

#[cfg(test)]
mod tests;
