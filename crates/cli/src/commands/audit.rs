//! `writ audit verify` and `writ audit tip`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::audit::report::{Fault, Tip};
use ops::audit::verify::{Answer, Request, Verify};
use ops::audit::{ReadTip, TipRequest};
use ops::{Error, Result};

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
    match command {
        Command::Tip => Ok(output.line(&host::call_existing::<ReadTip>(globals, &TipRequest {})?)),
        Command::Verify { tip, replay } => {
            let tip = tip.as_deref().map(read_tip).transpose()?;
            let found = host::call_existing::<Verify>(globals, &Request { tip, replay: *replay })?;
            let printed = match output.format {
                Format::Json | Format::Ndjson => output.envelope(found.is_clean(), &found),
                Format::Text => output.text(&text(&found, *replay)),
            };
            Ok(if found.is_clean() { printed } else { ExitCode::from(ErrorCode::CheckFailed.exit()) })
        }
    }
}

fn text(found: &Answer, replay: bool) -> String {
    let log = &found.verification;
    let mut text = format!("{} events in {} streams\n", log.events, log.streams);
    text.push_str(&file(&log.damage));
    text.push_str(&section("integrity", "no event was changed", &log.integrity));
    text.push_str(&section("completeness", "no event is missing", &log.completeness));
    let pruned = found.pruned_events;
    if pruned > 0 {
        text.push_str(&format!("anchors: {pruned} old events were removed by `writ gc`\n"));
    }
    if replay && pruned > 0 {
        let why = "the log begins at anchors, so the tables cannot be rebuilt from it";
        text.push_str(&format!("replay: not possible, {why}\n"));
    }
    for difference in &found.replay_differences {
        text.push_str(&format!("replay: {difference}\n"));
    }
    text
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
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}
