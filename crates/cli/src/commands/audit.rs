//! `writ audit verify` and `writ audit tip`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::{Error, Fault, Result, Tip, Verification};
use serde_json::{Value, json};

use super::run::read_bounded;
use crate::app::Globals;
use crate::host;
use crate::output::{Format, Output};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Check that the file is readable, and that no event was changed or removed
    #[command(after_help = "Examples:\n  writ audit verify\n  writ audit verify --tip heads.json --replay")]
    Verify {
        /// An earlier output of `writ audit tip`: also find events that were removed since
        #[arg(long, value_name = "FILE")]
        tip: Option<PathBuf>,
        /// Also rebuild every table from the log and compare
        #[arg(long)]
        replay: bool,
    },
    /// Print the last event of every stream, to keep outside the store
    #[command(after_help = "Examples:\n  writ audit tip --output json > heads.json")]
    Tip,
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open_existing(globals)?;
    match command {
        Command::Tip => Ok(output.line(&ops::audit::tip(&mut cx)?)),
        Command::Verify { tip, replay } => {
            let earlier = tip.as_deref().map(read_tip).transpose()?;
            let found = ops::audit::verify(&mut cx, earlier.as_ref())?;
            // What a damaged file says besides is nothing to compare with.
            let readable = found.damage.is_empty();
            let replay = *replay && readable;
            let replayed = if replay { ops::audit::replay_differences(&mut cx)? } else { Vec::new() };
            let pruned = if readable { ops::audit::pruned(&mut cx)? } else { 0 };
            let clean = found.is_clean() && replayed.is_empty();
            let printed = match output.format {
                Format::Json | Format::Ndjson => {
                    output.envelope(clean, &report(&found, replay && pruned == 0, &replayed, pruned))
                }
                Format::Text => {
                    let mut text = format!("{} events in {} streams\n", found.events, found.streams);
                    text.push_str(&file(&found.damage));
                    text.push_str(&section("integrity", "no event was changed", &found.integrity));
                    text.push_str(&section("completeness", "no event is missing", &found.completeness));
                    if pruned > 0 {
                        text.push_str(&format!("anchors: {pruned} old events were removed by `writ gc`\n"));
                    }
                    if replay && pruned > 0 {
                        let why = "the log begins at anchors, so the tables cannot be rebuilt from it";
                        text.push_str(&format!("replay: not possible, {why}\n"));
                    }
                    for difference in &replayed {
                        text.push_str(&format!("replay: {difference}\n"));
                    }
                    output.text(&text)
                }
            };
            Ok(if clean { printed } else { ExitCode::from(ErrorCode::CheckFailed.exit()) })
        }
    }
}

fn report(found: &Verification, replayed: bool, differences: &[String], pruned: i64) -> Value {
    json!({
        "verification": found,
        "replayed": replayed,
        "replay_differences": differences,
        "pruned_events": pruned,
    })
}

fn file(damage: &[String]) -> String {
    if damage.is_empty() {
        return "file: ok, all of it can be read\n".to_owned();
    }
    damage.iter().map(|sentence| format!("file: {sentence}\n")).collect()
}

fn section(name: &str, good: &str, faults: &[Fault]) -> String {
    if faults.is_empty() {
        return format!("{name}: ok, {good}\n");
    }
    let line = |fault: &Fault| format!("{name}: {} at {}: {}\n", fault.stream, fault.seq, fault.message);
    faults.iter().map(line).collect()
}

fn read_tip(path: &Path) -> Result<Tip> {
    let bad = |why: String| Error::new(ErrorCode::InvalidInput, format!("{}: {why}", path.display()));
    let bytes = read_bounded(path).map_err(|error| bad(error.to_string()))?;
    let tip: Tip = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
    if tip.is_genuine() { Ok(tip) } else { Err(bad("its digest does not fit its contents".to_owned())) }
}
