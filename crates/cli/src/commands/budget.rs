//! `writ budget`

use std::process::ExitCode;

use contract::json::json;
use ops::Result;
use ops::budget::{Answer, Request, set, show};

use super::assignment::dollars;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Set what a run may spend; a limit that is not named stays as it was
    Set {
        /// The run
        #[arg(long)]
        run: String,
        /// In dollars
        #[arg(long, value_name = "USD", required_unless_present = "tokens")]
        cost: Option<f64>,
        /// In tokens
        #[arg(long, value_name = "COUNT")]
        tokens: Option<i64>,
    },
    /// Show what a run may spend, has reserved and has spent
    Show {
        /// The run
        #[arg(long)]
        run: String,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open(globals)?;
    match command {
        Command::Set { run, cost, tokens } => {
            let cost = cost.map(dollars).transpose()?;
            let request = Request { run: run.clone(), cost, tokens: *tokens };
            let given = set(&mut cx, &host::any_key(globals)?, &request)?;
            Ok(output.answer(&given.answer, || text(&given.answer)))
        }
        Command::Show { run } => match show(&mut cx, run)? {
            Some(answer) => Ok(output.answer(&answer, || text(&answer))),
            None => Ok(output.answer(&json!({"limit": null}), || "the run has no budget".to_owned())),
        },
    }
}

fn text(answer: &Answer) -> String {
    let purse = &answer.purse;
    let line = |name: &str, amount: contract::domain::crew::budget::Amount| {
        format!("{name:<9}  {:>12}  {:>12} tokens\n", amount.cost.to_string(), amount.tokens)
    };
    [("limit", purse.limit), ("reserved", purse.reserved), ("spent", purse.spent), ("free", answer.free)]
        .map(|(name, amount)| line(name, amount))
        .concat()
}
