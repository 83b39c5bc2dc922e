//! `writ memory set`

use std::process::ExitCode;

use contract::continuity::memory::MemoryText;
use ops::Result;
use ops::memory::set::{Request, set};

use super::NameArgs;
use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    name: NameArgs,
    /// What is to be remembered
    #[arg(short, long, allow_hyphen_values = true)]
    value: String,
    /// string, number, boolean, json or array [default: what the value looks like]
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    value_type: Option<String>,
    /// Forget it after this time: 90s, 1h30m, 7d, 2w
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    expires_in: Option<String>,
    /// fact, directive or lesson: how fast it fades [default: what it is, or fact]
    #[arg(long)]
    kind: Option<String>,
    /// Fade by half in this many days, instead of what the kind says
    #[arg(long, value_name = "DAYS", allow_negative_numbers = true)]
    half_life_days: Option<f64>,
    /// Never let it fade or expire
    #[arg(long)]
    pin: bool,
    /// The task that taught it
    #[arg(long, value_name = "ID")]
    source_task_id: Option<String>,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let key = host::required_key(globals)?;
    let name = args.name.name();
    let memory = MemoryText {
        key: name.key,
        value: args.value.clone(),
        value_type: args.value_type.clone(),
        scope: name.scope,
        scope_id: name.scope_id,
        expires_at: None,
        kind: args.kind.clone(),
        half_life_days: args.half_life_days,
        pinned: Some(args.pin),
        source_task_id: args.source_task_id.clone(),
    };
    let request = Request { memory, expires_in: args.expires_in.clone() };
    let given = set(&mut host::open(globals)?, &key, &request)?;
    Ok(output.answer(&given.answer, || format!("remembered {}", given.answer.key)))
}
