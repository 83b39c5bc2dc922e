//! `writ run`

mod dry_run;
mod workspace;

pub(crate) use workspace::make_workspace;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::run::{DocumentKind, RunId};
use contract::intake::{self, Intake};
use engine::Settings;
use ops::run::submit::{Request, submit};
use ops::{Error, Result};
use serde_json::json;

use super::runs;
use crate::app::Globals;
use crate::config::{self, Config};
use crate::live_view::LiveView;
use crate::output::{Format, Output, say};
use crate::{env, exit, host};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan (TOML or JSON), an AOP TASK or an AEE task; - for standard input
    #[arg(required_unless_present = "continue_run", conflicts_with = "continue_run")]
    file: Option<PathBuf>,
    /// Check everything and show what would be done, but do nothing
    #[arg(long, conflicts_with = "continue_run")]
    dry_run: bool,
    /// Go on with a run that was interrupted or parked
    #[arg(long = "continue", value_name = "RUN")]
    continue_run: Option<String>,
    /// With --continue: also run parked tasks again, although the plan does not call that safe
    #[arg(long, requires = "continue_run")]
    rerun_parked: bool,
    /// How long a task waits for what other runs hold before it is left to you [default: 24h]
    #[arg(long, value_name = "LENGTH", value_parser = host::length)]
    lock_wait: Option<Duration>,
}

/// A document that was read, and where it works.
pub(crate) struct Document {
    pub(crate) intake: Intake,
    pub(crate) workspace: PathBuf,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let here = args.file.as_deref().map_or_else(|| PathBuf::from("."), directory_of);
    let mut config = config::load(&host::absolute(here))?;
    if let Some(which) = &args.continue_run {
        let mut cx = host::open(globals)?;
        let whole = ops::run::show::show(&mut cx, which)?;
        config.heed_project(Path::new(&whole.run.asked.workspace))?;
        let settings = host::engine_settings(globals, config, args.rerun_parked)?;
        let settings = Settings { lock_wait: args.lock_wait.unwrap_or(settings.lock_wait), ..settings };
        return work(&mut cx, &whole.run.asked.id, &settings, output);
    }
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    let document = read_document(file, &config)?;
    config.heed_project(&document.workspace)?;
    if args.dry_run {
        return Ok(output.answer(&dry_run::document(&document), || dry_run::text(&document)));
    }
    let key = host::any_key(globals)?;
    let workspace = workspace::workspace_name(&document.workspace)?;
    let makes_workspace = document.intake.kind == DocumentKind::Plan;
    let request = Request {
        kind: document.intake.kind,
        plan: document.intake.plan,
        objective: document.intake.objective,
        workspace: workspace.clone(),
        intent: document.intake.intent,
        corr: document.intake.corr,
        depth: depth()?,
        parent_run: env::get("WRIT_RUN").and_then(|text| Id::parse(&text).ok()),
        parent_task: env::get("WRIT_TASK").and_then(|text| Id::parse(&text).ok()),
        document_digest: document.intake.document_digest,
    };
    let mut cx = host::open(globals)?;
    // Everything that can fail or be interrupted comes before the run exists.
    let settings = host::engine_settings(globals, config, false)?;
    let settings = Settings { lock_wait: args.lock_wait.unwrap_or(settings.lock_wait), ..settings };
    let given = submit(&mut cx, &key, &request)?;
    if makes_workspace {
        make_workspace(&workspace)?;
    }
    if globals.request_id.is_none() {
        say(&format!("request {}\n", key.request_id.as_str()));
    }
    say(&format!("run {}\n", given.answer.run_id));
    work(&mut cx, &given.answer.run_id, &settings, output)
}

/// Hosts an engine until the run ends, then prints its answer.
pub(crate) fn work(
    cx: &mut ops::Context,
    id: &RunId,
    settings: &Settings,
    output: &Output,
) -> Result<ExitCode> {
    let whole = ops::run::show::show(cx, id.as_str())?;
    let mut view = LiveView::new(whole.tasks.iter().map(|(task, _)| task));
    let ending = engine::drive(cx, settings, id, &mut view);
    view.finish();
    match ending? {
        engine::Ending::Ended(run) => runs::print_result(cx, &run, output),
        engine::Ending::Stopped(run) => {
            let code = runs::print_result(cx, &run, output)?;
            // Without a result it was interrupted, and nobody has to decide anything.
            say(&match &run.result {
                Some(_) => {
                    format!(
                        "hint: decide with `writ retry TASK`; `writ run --continue {id} --rerun-parked` takes up what \
                         was interrupted\n"
                    )
                }
                None => format!("hint: continue with `writ run --continue {id}`\n"),
            });
            Ok(code)
        }
        engine::Ending::Interrupted { signal, .. } => {
            let go_on = format!("continue with `writ run --continue {id}`");
            if output.format == Format::Text {
                say(&format!("interrupted; {go_on}\n"));
            } else {
                let error = Error::new(ErrorCode::Interrupted, format!("interrupted by signal {signal}"));
                output.error(&error.hint(go_on).details(json!({"run_id": id, "signal": signal})));
            }
            Ok(exit::by_signal(signal))
        }
    }
}

/// One deeper than the run this process belongs to.
fn depth() -> Result<u32> {
    let Some(text) = env::get("WRIT_DEPTH") else { return Ok(1) };
    let message = || format!("WRIT_DEPTH is `{text}`; it is set by writ for the children of a run");
    let depth: u32 = text.parse().map_err(|_| Error::new(ErrorCode::InvalidInput, message()))?;
    Ok(depth.saturating_add(1))
}

/// Reads and checks a document. Bounded before it is read whole.
pub(crate) fn read_document(file: &Path, config: &Config) -> Result<Document> {
    let bytes = read_bounded(file)
        .map_err(|error| Error::new(ErrorCode::Io, format!("could not read {}: {error}", file.display())))?;
    let intake = intake::read(&bytes, &config.executors).map_err(|(kind, findings)| {
        Error::invalid(&format!("{} {}", what(kind), file.display()), findings)
    })?;
    let base = directory_of(file);
    let workspace = intake.workspace.as_deref().map_or_else(|| base.clone(), |path| base.join(path));
    Ok(Document { intake, workspace: host::absolute(workspace) })
}

fn what(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Plan => "plan",
        DocumentKind::AopTask => "AOP TASK",
        DocumentKind::AeeTask => "AEE task",
        DocumentKind::Ledger => "ledger",
    }
}

pub(crate) fn read_bounded(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(limits::DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX) + 1;
    if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Where a document's relative paths start.
pub(crate) fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if file != Path::new("-") && !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
