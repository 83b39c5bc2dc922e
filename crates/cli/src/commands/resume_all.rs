//! `writ resume-all`

use std::process::ExitCode;

use ops::epoch::resume_all::{Answer, Request, ResumeAll};
use ops::{Result, verb};

use crate::app::Globals;
use crate::host;
use crate::output::Output;
use crate::person::PersonArgs;

#[derive(Debug, clap::Args)]
#[command(
    long_about = "Lift a halt, and list the runs that it interrupted\n\n\
                  You confirm it on the terminal. Nothing continues by itself: the answer lists each interrupted run with the \
                  command that continues it.",
    after_help = "Examples:\n  writ resume-all"
)]
pub(crate) struct Args {
    /// Why, for the log
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    decider: PersonArgs,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let globals = &args.decider.globals(globals);
    let mut cx = host::open(globals)?;
    let session = host::person_session(globals)?;
    let request = Request { reason: args.reason.clone() };
    let answer = verb::call::<ResumeAll>(&mut cx, &session, &request)?.answer;
    Ok(output.answer(&answer, || text(&answer)))
}

fn text(answer: &Answer) -> String {
    let mut text = "the halt is lifted\n".to_owned();
    for run in &answer.interrupted {
        text.push_str(&format!("{}  continue with `{}`\n", run.run_id, run.command));
    }
    text
}
