//! `writ halt`

use std::process::ExitCode;

use contract::domain::process::Remains;
use ops::epoch::halt::{Answer, HaltAll, HaltedProcess, Request, summary};
use ops::{Result, verb};

use crate::app::Globals;
use crate::host;
use crate::output::Output;
use crate::person::PersonArgs;

#[derive(Debug, clap::Args)]
#[command(
    long_about = "End everything that writ started, and refuse new work\n\n\
                  You confirm it on the terminal. When the command returns, every process that writ started for this store is \
                  ended, with everything that it started, and nothing of it can write to the store any more: claims, leases and \
                  tokens from before are dead. Runs and agents are refused until `writ resume-all`. Reading, `writ cancel`, \
                  `writ backup` and your decisions stay possible.",
    after_help = "Exit codes: 0 if nothing is left, 1 if a process could not be ended or seen.\n\nExamples:\n  writ halt\n  \
                  writ halt --reason \"the agents delete files\""
)]
pub(crate) struct Args {
    /// Why, for the log and for everyone who is refused
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
    let answer = verb::call::<HaltAll>(&mut cx, &session, &request)?.answer;
    let printed = output.answer(&answer, || text(&answer));
    let is_whole = answer.processes.iter().all(HaltedProcess::is_gone);
    Ok(if is_whole { printed } else { ExitCode::FAILURE })
}

fn text(answer: &Answer) -> String {
    let mut text = format!("writ is halted: {}\n", summary(answer));
    for process in &answer.processes {
        let remains = process.remains.unwrap_or(Remains::Unseen);
        let runs: String = process.runs.iter().map(|run| format!("  {run}")).collect();
        let told = remains.of_process(process.process.pid);
        text.push_str(&format!("writ {:<10}  {told}{runs}\n", process.command));
    }
    if !answer.processes.iter().all(HaltedProcess::is_gone) {
        text.push_str("what still runs cannot write to the store; end it where it runs\n");
    }
    text.push_str("lift it with `writ resume-all`\n");
    text
}
