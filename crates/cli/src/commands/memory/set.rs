//! `writ memory set`

use std::process::ExitCode;

use contract::domain::memory::{MemoryKind, ValueType};
use ops::Result;
use ops::memory::Name;
use ops::memory::set::{Request, Set};

use super::NameArgs;
use crate::app::Globals;
use crate::host;
use crate::output::Output;
use crate::word::Words;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    name: NameArgs,
    /// The value to store
    #[arg(short, long, allow_hyphen_values = true)]
    value: String,
    /// What the value holds [default: inferred from the value]
    #[arg(short = 't', long = "type", value_name = "TYPE", value_parser = Words::of(ValueType::WORDS))]
    value_type: Option<String>,
    /// Delete it after this time: 90s, 1h30m, 7d, 2w
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    expires_in: Option<String>,
    /// How fast it fades: facts slowly, lessons quickly, directives never [default: fact]
    #[arg(long, value_parser = Words::of(MemoryKind::WORDS))]
    kind: Option<String>,
    /// Fade by half in this many days, instead of the kind's own number
    #[arg(long, value_name = "DAYS", allow_negative_numbers = true)]
    half_life_days: Option<f64>,
    /// Never let it fade or expire
    #[arg(long = "pin")]
    pinned: bool,
    /// The task it was learned from
    #[arg(long, value_name = "ID")]
    source_task_id: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    // Report a missing agent before an invalid value, as the agent contract does.
    host::required_session(globals)?;
    let Name { key, scope, scope_id } = args.name.name()?;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let request = Request {
        key,
        value: args.value.clone(),
        value_type: given(&args.value_type).as_deref().map(ValueType::named).transpose()?,
        scope,
        scope_id,
        expires_at: None,
        kind: given(&args.kind).as_deref().map(MemoryKind::named).transpose()?,
        half_life_days: args.half_life_days,
        pinned: Some(args.pinned),
        source_task_id: args.source_task_id.clone(),
        expires_in: args.expires_in.clone(),
    };
    host::answer::<Set>(globals, output, &request, |answer| format!("stored {}", answer.key))
}
