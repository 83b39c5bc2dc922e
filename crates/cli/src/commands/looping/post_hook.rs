//! What is called with the results of a loop. It changes nothing about them.

use std::time::Duration;

use engine::StopSignal;
use engine::supervisor::Exit;

use super::Loop;
use super::child::{self, Ending};
use super::progress::Progress;
use super::tally::Report;
use crate::child::Child;
use crate::env;
use crate::output::say;

const POST_HOOK_MAX: Duration = Duration::from_secs(30);

pub(super) fn run(job: &Loop<'_>, line: &str, report: &Report) {
    let results = serde_json::to_vec(report).unwrap_or_default();
    let child = Child {
        argv: vec!["sh".into(), "-c".into(), line.into()],
        directory: job.directory.clone(),
        environment: env::inherited(),
        input: results,
        timeout: POST_HOOK_MAX,
        namespace: job.args.namespace,
        // It is the user's own command, and sees what the user sees.
        sandbox: None,
    };
    // A flag of its own: the request that ended the loop does not end this, its deadline does.
    let mut passed_on = Progress::raw();
    match child::run(child, &StopSignal::default(), &mut passed_on, || {}).0 {
        Ending::Exited(Exit::Code(0)) => {}
        Ending::Exited(exit) => say(&format!("the post-hook failed: {exit:?}\n")),
        Ending::Timeout | Ending::Interrupted => say("the post-hook took too long and was ended\n"),
        Ending::Fault(message) | Ending::NotStarted(message) => {
            say(&format!("the post-hook could not be run: {message}\n"));
        }
    }
}
