//! `writ budget`

use std::process::ExitCode;

use contract::domain::crew::budget::{Amount, Bound};
use contract::domain::run::RunId;
use ops::Result;
use ops::budget::{Shares, set, settle, show};
use ops::names::LAST;

use super::assignment::dollars;
use crate::app::Globals;
use crate::host;
use crate::output::{Output, one_line};
use crate::person::PersonArgs;

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
        #[command(flatten)]
        decider: PersonArgs,
    },
    /// Say what a task spent that did not report it, and free the rest
    #[command(after_help = "Examples:
  writ budget settle RUN TASK --cost 0.12
  writ budget settle RUN TASK --cost 0 --tokens 0")]
    Settle {
        /// The run
        run: String,
        /// The task: its id in the plan, its T-n, or its id
        task: String,
        /// What all of its attempts without a report cost together, in dollars
        #[arg(long, value_name = "USD", required_unless_present = "tokens")]
        cost: Option<f64>,
        /// How many tokens they used together
        #[arg(long, value_name = "COUNT")]
        tokens: Option<i64>,
        #[command(flatten)]
        decider: PersonArgs,
    },
    /// Show what is free, reserved, spent and withheld of a run's budget
    #[command(after_help = "Examples:
  writ budget show
  writ budget show RUN")]
    Show {
        /// The run's id, a unique prefix of it, or its correlation id
        which: Option<String>,
        /// The same, as the crew's other commands have it
        #[arg(long, default_value = LAST, conflicts_with = "which")]
        run: String,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Set { run, cost, tokens, decider } => {
            let cost = cost.map(dollars).transpose()?;
            let request = set::Request { run: run.clone(), cost, tokens: *tokens };
            host::answer::<set::Set>(&decider.globals(globals), output, &request, text)
        }
        Command::Settle { run, task, cost, tokens, decider } => {
            let cost = cost.map(dollars).transpose()?;
            let (run, task) = (run.clone(), task.clone());
            let request = settle::Request { run, task, cost, tokens: *tokens };
            host::answer_decided::<settle::Settle>(globals, decider, output, &request, text)
        }
        Command::Show { which, run } => {
            let run = which.as_ref().unwrap_or(run).clone();
            let request = show::Request { run };
            host::answer::<show::Show>(globals, output, &request, shown)
        }
    }
}

fn shown(answer: &show::Answer) -> String {
    let (Some(uuid), Some(limit)) = (answer.run_id.clone(), answer.limit) else {
        return "the run has no budget\n".to_owned();
    };
    // Programs of a crew know runs by their UUIDs, people by their ids.
    let run_id = RunId::from_uuid(&uuid).map_or(uuid, |id| id.to_string());
    let parts = [answer.reserved, answer.spent, answer.withheld].map(Option::unwrap_or_default);
    let mut lines = table(limit, answer.free.unwrap_or_default(), parts);
    for withheld in &answer.withheld_for {
        let task = shlex::try_quote(&withheld.task).unwrap_or_else(|_| withheld.task.as_str().into());
        // Only what is withheld can be settled.
        let amount = Bound {
            cost: Some(withheld.amount.cost).filter(|cost| cost.0 > 0),
            tokens: Some(withheld.amount.tokens).filter(|tokens| *tokens > 0),
        };
        let cost = amount.cost.map_or("", |_| " --cost USD");
        let tokens = amount.tokens.map_or("", |_| " --tokens COUNT");
        lines.push_str(&format!(
            "\n`{}` did not report what it spent; {} withheld until someone does:\n  \
             writ budget settle {run_id} {task}{cost}{tokens}\n",
            one_line(&withheld.task),
            if amount.tokens.is_some() {
                format!("{} are", amount.told())
            } else {
                format!("{} is", amount.told())
            },
        ));
    }
    lines
}

fn text(shares: &Shares) -> String {
    let bound = |part| Bound::of(shares.limit, part);
    let parts = [shares.reserved, shares.spent, shares.withheld.unwrap_or_default()];
    table(bound(shares.limit), bound(shares.free), parts)
}

/// The limit and what is free of it, then what is reserved, spent and withheld.
fn table(limit: Bound, free: Bound, [reserved, spent, withheld]: [Amount; 3]) -> String {
    let word = |text: Option<String>| text.unwrap_or_else(|| "no limit".to_owned());
    let line = |(name, part): (&str, Bound)| {
        let (cost, tokens) = (part.cost.map(|cost| cost.to_string()), part.tokens.map(|n| n.to_string()));
        format!("{name:<9}  {:>13}  {:>13} tokens\n", word(cost), word(tokens))
    };
    let used = |part: Amount| Bound { cost: Some(part.cost), tokens: Some(part.tokens) };
    [
        ("limit", limit),
        ("free", free),
        ("reserved", used(reserved)),
        ("spent", used(spent)),
        ("withheld", used(withheld)),
    ]
    .map(line)
    .concat()
}
