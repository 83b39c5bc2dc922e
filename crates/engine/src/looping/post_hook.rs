//! Passes the results of a loop to a command of the user. It changes nothing about them.

use std::time::Duration;

use contract::domain::attempt::AttemptId;

use super::verdict::fault;
use super::{LoopEvent, LoopObserver, LoopReport, LoopSettings};
use crate::launcher::{ChildOutput, RunError, Wish};
use crate::program::ProgramLaunch;
use crate::supervisor::ProcessExit;

const POST_HOOK_MAX: Duration = Duration::from_secs(30);

/// A command of the user, with the results on its standard input.
pub(super) struct PostHook<'h> {
    pub(super) line: &'h str,
    /// The mark of its processes.
    pub(super) mark: AttemptId,
}

pub(super) fn run(
    settings: &LoopSettings,
    hook: &PostHook<'_>,
    report: &LoopReport,
    observe: &mut LoopObserver<'_>,
) {
    let launch = ProgramLaunch {
        argv: vec!["sh".into(), "-c".into(), hook.line.into()],
        directory: settings.directory.clone(),
        environment: settings.programs.environment.clone(),
        input: serde_json::to_vec(report).unwrap_or_default(),
        timeout: POST_HOOK_MAX,
        // It is the user's own command, and sees what the user sees.
        sandbox: None,
    };
    // The stop request that ended the loop does not end this; its deadline does.
    let ended = settings.programs.launch(&hook.mark, launch, &mut |seen| {
        if let ChildOutput::Stdout(bytes) | ChildOutput::Stderr(bytes) = seen {
            observe(LoopEvent::HookOutput(bytes));
        }
        Wish::GoOn
    });
    let notice = match ended {
        Ok(ProcessExit::Code(0)) => return,
        Ok(exit) => format!("the post-hook failed: {exit:?}"),
        Err(RunError::Timeout(_)) => "the post-hook took too long and was ended".to_owned(),
        Err(error) => format!("the post-hook could not be run: {}", fault(&error)),
    };
    observe(LoopEvent::Notice(notice));
}
