//! `writ handoff`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::json::{Value, json};
use contract::validate::Tripwire;
use engine::disk::real_root;
use ops::handoff::{brief, export, import};
use ops::{Context, Error, Result};

use super::crew::{Which, read_document_within};
use crate::app::Globals;
use crate::hooks::files;
use crate::output::{Output, one_line};
use crate::{host, persona};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Write a run as a bundle that another store can take over
    Export(ExportArgs),
    /// Take a run over from a bundle: all of it, or nothing
    #[command(
        after_help = "The bundle is another store's word. Its checks are commands that are run here before a \
        task is done; the answer lists them. Import only what you would run."
    )]
    Import(ImportArgs),
    /// Say what is in a bundle, or in a run, for an agent that has never seen it
    Brief(BriefArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// The run
    run: String,
    /// The file to write; - prints
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Hand on tasks whose workers have been silent for too long
    #[arg(long)]
    allow_stale: bool,
    #[command(flatten)]
    trust: Trust,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The bundle; - for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Where the run works from now on [default: here]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Refuse a bundle that has another digest than this
    #[arg(long, value_name = "SHA256")]
    digest: Option<String>,
    /// Take over tasks whose workers have been silent for too long
    #[arg(long)]
    allow_stale: bool,
    #[command(flatten)]
    trust: Trust,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BriefArgs {
    /// The bundle; - for standard input
    #[arg(default_value = "-", conflicts_with = "run")]
    file: PathBuf,
    /// A run of this store instead of a bundle
    #[arg(long)]
    run: Option<String>,
    /// How long it may be, in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = limits::BRIEF_TOKENS_DEFAULT)]
    budget: usize,
    #[command(flatten)]
    trust: Trust,
}

#[derive(Debug, clap::Args)]
struct Trust {
    /// What happens when a text seems to give orders
    #[arg(long, value_name = "deny|warn|off", default_value = "deny")]
    tripwire: String,
}

impl Trust {
    fn tripwire(&self) -> Result<Tripwire> {
        Tripwire::parse(&self.tripwire)
            .ok_or_else(|| Error::new(ErrorCode::Usage, "--tripwire wants deny, warn or off"))
    }
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Export(args) => write(args, globals, output),
        Command::Import(args) => take(args, globals, output),
        Command::Brief(args) => say(args, globals, output),
    }
}

fn write(args: &ExportArgs, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = export::Request {
        run: args.run.clone(),
        allow_stale: args.allow_stale,
        tripwire: args.trust.tripwire()?,
    };
    let exported = export::export(&mut host::open(globals)?, &request)?;
    if args.file == Path::new("-") {
        return Ok(output.document(&exported.text));
    }
    let file = host::absolute(args.file.clone());
    if file.exists() && !args.force {
        let message = format!("{} is there already", file.display());
        return Err(Error::new(ErrorCode::InvalidInput, message).hint("--force replaces it"));
    }
    files::write(&file, &exported.text)?;
    let shown = json!({"file": file.display().to_string(), "digest": exported.digest});
    Ok(output.answer(&shown, || format!("{}: {}", file.display(), exported.digest)))
}

fn take(args: &ImportArgs, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let here = args.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let workspace = real_root(&host::absolute(here));
    if !workspace.is_dir() {
        let message = format!("the workspace {} is no directory", workspace.display());
        return Err(Error::new(ErrorCode::InvalidInput, message));
    }
    let request = import::Request {
        document: read_document_within(&args.file, limits::HANDOFF_BYTES_MAX)?,
        digest: args.digest.clone(),
        workspace: workspace.to_string_lossy().into_owned(),
        allow_stale: args.allow_stale,
        tripwire: args.trust.tripwire()?,
    };
    let key = host::any_key(globals)?;
    let mut cx = host::open(globals)?;
    let answer = import::import(&mut cx, &key, &request)?.answer;
    let mut shown = json!(answer);
    let set_aside = bring_files(&mut cx, &answer)?;
    if !set_aside.is_empty() {
        shown["x_set_aside"] = json!(set_aside);
    }
    Ok(output.answer(&shown, || text(&answer)))
}

/// Lets the files of the worklogs follow the store. One in which something else stood is kept under another name.
fn bring_files(cx: &mut Context, answer: &import::Answer) -> Result<Vec<String>> {
    let mut set_aside = Vec::new();
    for task in &answer.worklogs {
        let which = Which { run: answer.run_id.clone(), task: task.clone() };
        if let engine::worklog::Followed::Renewed { set_aside: name } = super::worklog::bring(cx, &which)? {
            set_aside.push(name);
        }
    }
    Ok(set_aside)
}

fn text(answer: &import::Answer) -> String {
    let word = |value: &Value| one_line(value.as_str().unwrap_or("-")).into_owned();
    let came = if answer.created { "is here now" } else { "was here already" };
    let mut text = format!("run {} {came}, at version {}\n", answer.run_id, answer.version);
    for task in &answer.tasks {
        let token = task["token"].as_i64().map(|token| format!(", token {token}")).unwrap_or_default();
        text.push_str(&format!("{:<8}  {}{token}\n", word(&task["task_id"]), word(&task["status"])));
        for check in task["checks"].as_array().into_iter().flatten() {
            text.push_str(&format!("          will be checked by: {}\n", word(check)));
        }
    }
    if answer.tokens_raised_by > 0 {
        text.push_str(&format!("every token is {} higher here\n", answer.tokens_raised_by));
    }
    text
}

fn say(args: &BriefArgs, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let program = persona::current().name();
    let tripwire = args.trust.tripwire()?;
    let asked = brief::Asked { program, budget: Some(args.budget), tripwire };
    let brief = match &args.run {
        Some(run) => brief::of_run(&mut host::open(globals)?, run, asked)?,
        None => {
            let document = read_document_within(&args.file, limits::HANDOFF_BYTES_MAX)?;
            brief::of_bundle(&document, asked)?
        }
    };
    let shown = json!({
        "brief": brief.text, "approx_tokens": brief.approx_tokens, "budget_tokens": brief.budget_tokens,
        "omitted": brief.omitted,
    });
    Ok(output.answer(&shown, || brief.text.clone()))
}
