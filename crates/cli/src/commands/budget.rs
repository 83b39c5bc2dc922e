//! `writ budget`

use std::process::ExitCode;

use contract::domain::crew::budget::Amount;
use ops::Result;
use ops::budget::{set, show};

use super::assignment::dollars;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Set the budget of a run; a limit that is not named does not change
    #[command(after_help = "Examples:
  writ budget set --run RUN --cost 5
  writ budget set --run RUN --cost 5 --tokens 2000000")]
    Set {
        /// The run
        #[arg(long)]
        run: String,
        /// The limit in dollars
        #[arg(long, value_name = "USD", required_unless_present = "tokens")]
        cost: Option<f64>,
        /// The limit in tokens
        #[arg(long, value_name = "COUNT")]
        tokens: Option<i64>,
    },
    /// Show the budget of a run: its limit, what is reserved, spent and free
    #[command(after_help = "Examples:
  writ budget show --run RUN")]
    Show {
        /// The run
        #[arg(long)]
        run: String,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Set { run, cost, tokens } => {
            let cost = cost.map(dollars).transpose()?;
            let request = set::Request { run: run.clone(), cost, tokens: *tokens };
            host::answer::<set::Set>(globals, output, &request, |answer| {
                let purse = &answer.purse;
                text(Some(purse.limit), Some(purse.reserved), Some(purse.spent), Some(answer.free))
            })
        }
        Command::Show { run } => {
            let request = show::Request { run: run.clone() };
            host::answer::<show::Show>(globals, output, &request, |answer| {
                text(answer.limit, answer.reserved, answer.spent, answer.free)
            })
        }
    }
}

fn text(
    limit: Option<Amount>,
    reserved: Option<Amount>,
    spent: Option<Amount>,
    free: Option<Amount>,
) -> String {
    if limit.is_none() {
        return "the run has no budget".to_owned();
    }
    let line = |(name, amount): (&str, Option<Amount>)| {
        let amount = amount.unwrap_or_default();
        format!("{name:<9}  {:>12}  {:>12} tokens\n", amount.cost.to_string(), amount.tokens)
    };
    [("limit", limit), ("reserved", reserved), ("spent", spent), ("free", free)].map(line).concat()
}
