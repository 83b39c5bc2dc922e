//! `shell`: a command. Exit code 0 claims success, anything else is a failure.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::event::Body;
use contract::plan::{CommandUse, PromptUse};

use super::{
    AttemptWork, ChildEnd, Configured, Executor, OutputLine, PreparedChild, Reader, Returned, Stdout,
    command_line, failure,
};
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::supervisor::Stdin;

pub(super) struct ShellExecutor {
    pub(super) own: Configured,
}

impl Executor for ShellExecutor {
    fn configured(&self) -> &Configured {
        &self.own
    }

    fn command(&self) -> CommandUse {
        CommandUse::Required
    }

    fn prompt(&self) -> PromptUse {
        PromptUse::Unused
    }

    fn retry_after_max(&self) -> Duration {
        Duration::ZERO
    }

    fn prepare(&self, work: &AttemptWork<'_>) -> PreparedChild {
        PreparedChild {
            argv: command_line(work.command, work.spec().shell),
            env: BTreeMap::new(),
            stdin: Stdin::Closed,
            silence_max: None,
            stdout: Stdout::Text,
            reader: Box::new(Silent),
        }
    }
}

/// A command's output has no messages for writ.
struct Silent;

impl Reader for Silent {
    fn line(&mut self, _: OutputLine<'_>) -> Vec<Body> {
        Vec::new()
    }

    fn end(&mut self, ended: &ChildEnd) -> Returned {
        let is_good = ended.exit_code == Some(0);
        Returned::plain(if is_good {
            ExecutorClaim::Success
        } else {
            failure("E_PROCESS_CRASH", ended.how())
        })
    }
}
