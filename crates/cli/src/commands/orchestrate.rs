//! `writ orchestrate`

use std::process::ExitCode;

use engine::ground::Disk;
use ops::Result;
use ops::orchestrate::step;

use super::assignment::take_snapshot;
use super::ledger::ApplyArgs;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Take one round of an orchestrator: apply its deltas, reconcile, give out its assignments, or nothing
    Step(ApplyArgs),
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let Command::Step(args) = command;
    let request = args.request()?;
    let key = host::any_key(globals)?;
    let mut cx = host::open(globals)?;
    let given = step(&mut cx, &key, &request, &Disk)?;
    let answer = &given.answer;
    for assignment in &answer.assignments {
        take_snapshot(&mut cx, &key, assignment.token, &answer.run_id)?;
    }
    Ok(output.answer(answer, || {
        let mut text = format!("run {} is at version {}\n", answer.run_id, answer.version);
        for assignment in &answer.assignments {
            text.push_str(&format!("{} is given out with token {}\n", assignment.task_id, assignment.token));
        }
        for action in &answer.next_actions {
            text.push_str(&format!("next: {action}\n"));
        }
        text
    }))
}
