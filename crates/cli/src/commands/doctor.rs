//! `writ doctor`

mod beside;
mod disk;
mod namespaces;
mod sandbox;

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::epoch::Halt;
use contract::domain::run::{DocumentKind, RunState};
use contract::domain::text::counted;
use ops::run::Liveness;
use ops::verb::Surface;
use ops::{Context, Result};
use serde_json::json;

use crate::app::Globals;
use crate::local::LocalCommand;
use crate::output::{Output, one_line};
use crate::{config, host};

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::reads("doctor", Surface::Writ)];

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ doctor\n  writ doctor --output json")]
pub(crate) struct Args {}

/// One thing that was looked at.
struct DoctorFinding {
    what: &'static str,
    well: bool,
    /// Works, but may need a change.
    warns: bool,
    said: String,
}

impl DoctorFinding {
    fn new(what: &'static str, well: bool, said: String) -> Self {
        Self { what, well, warns: false, said }
    }
}

pub(crate) fn run(_: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let config = config::load(&host::absolute(".".into()));
    let mut looks = vec![supervision(), namespaces::look(), sandbox::look(config.as_ref().ok())];
    looks.push(configuration(config));
    let path = host::store_path(globals)?;
    looks.push(disk::look(&path));
    let mut damaged = false;
    if path.exists() {
        match host::open(globals) {
            Ok(mut cx) => {
                let (found, is_damaged) = store(&mut cx)?;
                looks.extend(found);
                looks.extend(beside::files(globals, &path)?);
                looks.push(beside::snapshots(globals)?);
                damaged = is_damaged;
            }
            Err(error) => {
                damaged = error.code == ErrorCode::Corrupt;
                looks.push(DoctorFinding::new("store", false, error.to_string()));
            }
        }
    } else {
        let said = format!("none yet at {}; the first command makes it", path.display());
        looks.push(DoctorFinding::new("store", true, said));
    }
    let well = looks.iter().all(|look| look.well);
    let data: Vec<_> = looks
        .iter()
        .map(|look| json!({"what": look.what, "ok": look.well, "warning": look.warns, "message": look.said}))
        .collect();
    let printed = output.answer(&json!({"ok": well, "looks": data}), || {
        let line = |look: &DoctorFinding| {
            let state = match look {
                DoctorFinding { well: false, .. } => "BAD",
                DoctorFinding { warns: true, .. } => "warn",
                DoctorFinding { .. } => "ok",
            };
            format!("{state:<4} {:<14} {}\n", look.what, look.said)
        };
        looks.iter().map(line).collect()
    });
    let code = if damaged { ErrorCode::Corrupt } else { ErrorCode::CheckFailed };
    Ok(if well { printed } else { ExitCode::from(code.exit()) })
}

fn supervision() -> DoctorFinding {
    match engine::supervisor::become_subreaper() {
        Ok(()) if cfg!(target_os = "linux") => {
            DoctorFinding::new("supervision", true, "every descendant of a task can be ended".to_owned())
        }
        Ok(()) => DoctorFinding::new("supervision", true, "only process groups can be ended here".to_owned()),
        Err(error) => DoctorFinding::new("supervision", false, format!("no child subreaper: {error}")),
    }
}

fn configuration(config: Result<config::Config>) -> DoctorFinding {
    match config {
        Ok(config) => {
            let said = format!("{} values configured", config.sources.len());
            DoctorFinding::new("configuration", true, said)
        }
        Err(error) => DoctorFinding::new("configuration", false, error.to_string()),
    }
}

/// A halt: nothing is started until it is lifted.
fn halted(halt: &Halt) -> DoctorFinding {
    let reason = halt.reason.as_deref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
    let said = format!("halted by {} at {}{reason}; lift it with `writ resume-all`", halt.by, halt.at);
    DoctorFinding { warns: true, ..DoctorFinding::new("halt", true, said) }
}

/// What was looked at, and whether something is damaged.
fn store(cx: &mut Context) -> Result<(Vec<DoctorFinding>, bool)> {
    let path = cx.store_path().display().to_string();
    let found = ops::audit::verify(cx, None)?;
    let log_is_whole = found.integrity.is_empty() && found.completeness.is_empty();
    let said = if log_is_whole && !found.damage.is_empty() {
        "cannot be judged while the file is damaged".to_owned()
    } else if log_is_whole {
        let events = counted(usize::try_from(found.events).unwrap_or(0), "event");
        let streams = counted(found.streams, "stream");
        format!("{events} in {streams} fit; `writ audit verify` compares the tables with them")
    } else {
        format!(
            "{} changed, {} missing; see `writ audit verify`",
            found.integrity.len(),
            found.completeness.len()
        )
    };
    let file = match found.damage.as_slice() {
        [] if !found.schema.is_empty() => {
            format!(
                "{path}: {} objects of the schema are not writ's; see `writ audit verify`",
                found.schema.len()
            )
        }
        [] => path,
        damage => {
            format!("{path} is damaged in {}; see `writ audit verify`", counted(damage.len(), "place"))
        }
    };
    let mut looks = vec![
        DoctorFinding::new("store", found.damage.is_empty() && found.schema.is_empty(), file),
        DoctorFinding::new("log", log_is_whole && found.damage.is_empty(), said),
        beside::seal(&found),
    ];
    if !found.damage.is_empty() {
        return Ok((looks, true));
    }
    looks.extend(ops::epoch::current(cx)?.as_ref().map(halted));
    let mut open = ops::run::list::rows(cx, Some(RunState::Running), 1000)?;
    open.extend(ops::run::list::rows(cx, Some(RunState::Submitted), 1000)?);
    // A crew works a ledger without an engine; that it is open is not a problem.
    let (ledgers, open): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|run| run.asked.kind == DocumentKind::Ledger);
    let orphaned: Vec<String> = open
        .into_iter()
        .filter(|run| run.owner.as_ref().is_none_or(|owner| engine::probe(owner) == Liveness::Dead))
        .map(|run| run.asked.id.to_string())
        .collect();
    let said = match orphaned.as_slice() {
        [] if ledgers.is_empty() => "no run lost its engine".to_owned(),
        [] => format!("no run lost its engine; {} crew ledgers are open", ledgers.len()),
        ids => format!("continue with `writ run --continue`: {}", ids.join(" ")),
    };
    looks.push(DoctorFinding::new("runs", orphaned.is_empty(), said));
    Ok((looks, !found.is_clean()))
}
