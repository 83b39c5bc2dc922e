//! `writ audit verify`, `writ audit tip` and `writ audit reseal`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::text::counted;
use ops::audit::report::{AuditFault, LogTip};
use ops::audit::reseal::Reseal;
use ops::audit::verify::{Answer, Request, Verify};
use ops::audit::{ReadTip, TipRequest};
use ops::{Error, Result, verb};

use super::run::read_bounded;
use crate::app::Globals;
use crate::host;
use crate::output::{Format, Output};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Check that nothing in the store was changed, removed or damaged
    ///
    /// The whole check reads the file, the schema, the chain of the log and every table: it rebuilds the tables from the
    /// log and compares, and checks the seal over all rows under the store's key. It exits with 65 if something is
    /// damaged.
    #[command(
        after_help = "Examples:\n  writ audit verify\n  writ audit verify --quick\n  writ audit verify --tip heads.json"
    )]
    Verify {
        /// An earlier output of `writ audit tip`: also find events that were removed since
        #[arg(long, value_name = "FILE")]
        tip: Option<PathBuf>,
        /// Check only the chain of the log
        #[arg(long)]
        quick: bool,
        /// Rebuild every table from the log and compare, as is the default
        #[arg(long, hide = true, conflicts_with = "quick")]
        replay: bool,
    },
    /// Seal the store as it is now, after a restore or a broken seal
    ///
    /// A person has to confirm it at a terminal. It makes a new key if the key is lost, and leaves an event.
    #[command(after_help = "Examples:\n  writ audit reseal --reason \"restored from the backup of May 3\"")]
    Reseal {
        /// Why, for the log
        #[arg(long)]
        reason: Option<String>,
    },
    /// Print the last event of every stream, to keep outside the store
    #[command(after_help = "Examples:\n  writ audit tip --output json > heads.json")]
    Tip,
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Tip => Ok(output.line(&host::call_existing::<ReadTip>(globals, &TipRequest {})?)),
        Command::Reseal { reason } => reseal(reason.clone(), globals, output),
        Command::Verify { tip, quick, replay: _ } => {
            let tip = tip.as_deref().map(read_tip).transpose()?;
            let found = host::call_existing::<Verify>(globals, &Request { tip, quick: *quick })?;
            let printed = match output.format {
                Format::Json | Format::Ndjson => output.envelope(found.is_clean(), &found),
                Format::Text => output.text(&text(&found, *quick)),
            };
            Ok(if found.is_clean() { printed } else { ExitCode::from(ErrorCode::Corrupt.exit()) })
        }
    }
}

fn reseal(reason: Option<String>, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let mut cx = host::open_existing(globals)?;
    let session = host::person_session(globals)?;
    let request = ops::audit::reseal::Request { reason };
    let answer = verb::call::<Reseal>(&mut cx, &session, &request)?.answer;
    let said = if answer.resealed {
        "the store is sealed as it is now\n"
    } else {
        "nothing was sealed: every seal fits; `writ audit verify` shows whether anything else is damaged\n"
    };
    Ok(output.answer(&answer, || said.to_owned()))
}

fn text(found: &Answer, quick: bool) -> String {
    let log = &found.verification;
    let events = counted(usize::try_from(log.events).unwrap_or(0), "event");
    let mut text = format!("{events} in {}\n", counted(log.streams, "stream"));
    if !quick || !log.damage.is_empty() {
        text.push_str(&listed("file", "all of it can be read", &log.damage));
    }
    if !quick {
        text.push_str(&listed("schema", "as in a new store", &log.schema));
    }
    for (name, good, faults) in [
        ("integrity", "no event was changed", &log.integrity),
        ("completeness", "no event is missing", &log.completeness),
    ] {
        if faults.is_empty() && !log.damage.is_empty() {
            text.push_str(&format!("{name}: cannot be judged while the file is damaged\n"));
        } else {
            text.push_str(&section(name, good, faults));
        }
    }
    match &log.seal_not_checked {
        Some(why) => text.push_str(&format!("seal not checked: {why}\n")),
        None if quick => {
            text.push_str(&listed("seal", "those of the ends of the streams fit", &log.tables));
        }
        None => text.push_str(&listed("seal", "every one fits", &log.tables)),
    }
    if log.seal_not_checked.is_some() {
        log.tables.iter().for_each(|fault| text.push_str(&format!("tables: {fault}\n")));
    }
    if found.pruned_events > 0 {
        text.push_str(&format!("anchors: {} old events were removed by `writ gc`\n", found.pruned_events));
    }
    match &found.not_replayed {
        Some(_) if quick => {}
        Some(why) => {
            text.push_str(&format!("replay: not possible, {why}, so the tables cannot be rebuilt\n"));
        }
        None => text.push_str(&listed("replay", "the log rebuilds every table", &found.replay_differences)),
    }
    if !found.is_clean() {
        text.push_str(
            "hint: restore a backup, or copy what is whole to a new store with `writ salvage STORE --into NEW`\n",
        );
    }
    text
}

fn listed(name: &str, good: &str, faults: &[String]) -> String {
    if faults.is_empty() {
        return format!("{name}: ok, {good}\n");
    }
    faults.iter().map(|fault| format!("{name}: {fault}\n")).collect()
}

fn section(name: &str, good: &str, faults: &[AuditFault]) -> String {
    if faults.is_empty() {
        return format!("{name}: ok, {good}\n");
    }
    let line = |fault: &AuditFault| format!("{name}: {} at {}: {}\n", fault.stream, fault.seq, fault.message);
    faults.iter().map(line).collect()
}

fn read_tip(path: &Path) -> Result<LogTip> {
    let bad = |why: String| Error::new(ErrorCode::InvalidInput, format!("{}: {why}", path.display()));
    let bytes = read_bounded(path).map_err(|error| bad(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}
