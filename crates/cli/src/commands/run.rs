//! `writ run`

mod dry_run;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::id::Id;
use contract::domain::limits;
use contract::domain::run::{DocumentKind, RunId};
use contract::intake::{self, Intake};
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
}

/// A document that was read, and where it works.
pub(crate) struct Document {
    pub(crate) intake: Intake,
    workspace: PathBuf,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let here = args.file.as_deref().map_or_else(|| PathBuf::from("."), directory_of);
    let mut config = config::load(&host::absolute(here))?;
    if let Some(which) = &args.continue_run {
        let mut cx = host::open(globals)?;
        let whole = ops::run::show::show(&mut cx, which)?;
        config.heed_project(Path::new(&whole.run.asked.workspace))?;
        let bench = Bench { config, globals, output, rerun_parked: args.rerun_parked };
        return work(&mut cx, &whole.run.asked.id, bench);
    }
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    let document = read_document(file, &config)?;
    config.heed_project(&document.workspace)?;
    if args.dry_run {
        return Ok(output.answer(&dry_run::document(&document), || dry_run::text(&document)));
    }
    let key = host::any_key(globals)?;
    let request = Request {
        kind: document.intake.kind,
        plan: document.intake.plan,
        objective: document.intake.objective,
        workspace: prepare_workspace(&document.workspace, document.intake.kind)?,
        intent: document.intake.intent,
        corr: document.intake.corr,
        origin_id: None,
        depth: env::get("WRIT_DEPTH").and_then(|text| text.parse::<u32>().ok()).unwrap_or(0) + 1,
        parent_run: env::get("WRIT_RUN").and_then(|text| Id::parse(&text).ok()),
        document_digest: document.intake.document_digest,
    };
    let mut cx = host::open(globals)?;
    let given = submit(&mut cx, &key, &request)?;
    if globals.request_id.is_none() {
        say(&format!("request {}\n", key.request_id.as_str()));
    }
    say(&format!("run {}\n", given.answer.run_id));
    work(&mut cx, &given.answer.run_id, Bench { config, globals, output, rerun_parked: false })
}

/// Where a run is worked, and who is told.
pub(crate) struct Bench<'b> {
    pub(crate) config: Config,
    pub(crate) globals: &'b Globals,
    pub(crate) output: &'b Output,
    pub(crate) rerun_parked: bool,
}

/// Hosts an engine until the run ends, then prints its answer.
pub(crate) fn work(cx: &mut ops::Context, id: &RunId, bench: Bench<'_>) -> Result<ExitCode> {
    let output = bench.output;
    let settings = host::engine_settings(bench.globals, bench.config, bench.rerun_parked)?;
    let whole = ops::run::show::show(cx, id.as_str())?;
    let mut view = LiveView::new(whole.tasks.iter().map(|(task, _)| task));
    let ending = engine::drive(cx, &settings, id, &mut view);
    view.finish();
    match ending? {
        engine::Ending::Ended(run) => runs::print_result(cx, &run, output),
        engine::Ending::Stopped(run) => {
            let code = runs::print_result(cx, &run, output)?;
            // Without a result it was interrupted, and nobody has to decide anything.
            say(&match &run.result {
                Some(_) => {
                    format!(
                        "hint: decide with `writ retry TASK` or `writ run --continue {id} --rerun-parked`\n"
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
    }
}

fn read_bounded(file: &Path) -> std::io::Result<Vec<u8>> {
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

/// A plan's workspace is made where it is missing; others name one that must be there, and L0 looks.
fn prepare_workspace(path: &Path, kind: DocumentKind) -> Result<String> {
    if kind == DocumentKind::Plan && !path.exists() {
        std::fs::create_dir_all(path).map_err(|error| {
            Error::new(ErrorCode::Io, format!("could not make the workspace {}: {error}", path.display()))
        })?;
    }
    // Canonical, so that the same place under another name is the same workspace.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, format!("the workspace {} is not UTF-8", path.display()))
    })
}
