//! `writ handoff`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::json::{Value, json};
use contract::validate::Tripwire;
use ops::handoff::{brief, export, import};
use ops::transfer::refuse_secret_name;
use ops::{Error, Result};

use super::crew::read_document_within;
use crate::app::Globals;
use crate::hooks::files;
use crate::host;
use crate::output::{Output, one_line};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Export a run as a bundle for another store
    #[command(after_help = "Examples:
  writ handoff export RUN > bundle.json
  writ handoff export RUN bundle.json --allow-stale")]
    Export(ExportArgs),
    /// Import a run from a bundle, all or nothing
    #[command(
        after_help = "A bundle comes from another store, or from another program that follows the contract: then it has \
        none of the fields that writ adds, and the answer lists what is assumed instead. A bundle's checks are commands that writ runs here before a task is \
        done; the answer lists them. Import only bundles whose commands you would run yourself.

Examples:
  writ handoff import bundle.json
  writ handoff import --workspace ~/src/parser --digest sha256:4f1c… bundle.json"
    )]
    Import(ImportArgs),
    /// Summarize a bundle or a run for an agent that does not know it
    #[command(after_help = "Examples:
  writ handoff brief bundle.json
  writ handoff brief --run RUN --budget 1000")]
    Brief(BriefArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// The run
    run: String,
    /// The file to write, or - for standard output
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Export tasks that timed out too
    #[arg(long)]
    allow_stale: bool,
    #[command(flatten)]
    trust: HandoffTrust,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The bundle, or - for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The workspace of the run from now on
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
    /// Refuse a bundle with another digest
    #[arg(long, value_name = "SHA256")]
    digest: Option<String>,
    /// Import tasks that timed out too
    #[arg(long)]
    allow_stale: bool,
    /// Refuse unknown fields without x_, and placeholders of a template
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    trust: HandoffTrust,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BriefArgs {
    /// The bundle, or - for standard input
    #[arg(default_value = "-", conflicts_with = "run")]
    file: PathBuf,
    /// A run of this store instead of a bundle
    #[arg(long)]
    run: Option<String>,
    /// The longest brief, in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = limits::BRIEF_TOKENS_DEFAULT)]
    budget: usize,
    /// Refuse unknown fields without x_, and placeholders of a template
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    trust: HandoffTrust,
}

#[derive(Debug, clap::Args)]
struct HandoffTrust {
    /// What to do with a text that looks like instructions
    #[arg(long, value_name = "deny|warn|off", default_value = "deny")]
    tripwire: String,
}

impl HandoffTrust {
    fn tripwire(&self) -> Result<Tripwire> {
        Tripwire::parse(&self.tripwire)
            .ok_or_else(|| Error::new(ErrorCode::Usage, "--tripwire must be deny, warn or off"))
    }
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Export(args) => export_run(args, globals, output),
        Command::Import(args) => import_run(args, globals, output),
        Command::Brief(args) => print_brief(args, globals, output),
    }
}

fn export_run(args: &ExportArgs, globals: &Globals, output: &Output) -> Result<ExitCode> {
    refuse_secret_name(&args.file, "FILE")?;
    let request = export::Request {
        run: args.run.clone(),
        allow_stale: args.allow_stale,
        tripwire: args.trust.tripwire()?,
    };
    let answer = host::call::<export::Export>(globals, &request)?;
    if args.file == Path::new("-") {
        return Ok(output.document(&answer.text()));
    }
    let file = host::absolute(args.file.clone());
    if file.exists() && !args.force {
        let message = format!("{} already exists", file.display());
        return Err(Error::new(ErrorCode::InvalidInput, message).hint("replace it with --force"));
    }
    files::write(&file, &answer.text())?;
    // The file holds the answer, so its name and digest are printed instead.
    let digest = answer.digest()?;
    let shown = json!({"file": file.display().to_string(), "digest": digest});
    Ok(output.answer(&shown, || format!("{}: {digest}", file.display())))
}

fn import_run(args: &ImportArgs, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let workspace = args.workspace.clone();
    let request = import::Request {
        document: read_document_within(&args.file, limits::HANDOFF_BYTES_MAX)?,
        digest: args.digest.clone(),
        workspace: host::absolute(workspace).to_string_lossy().into_owned(),
        allow_stale: args.allow_stale,
        tripwire: args.trust.tripwire()?,
        strict: args.strict,
    };
    host::answer::<import::Import>(globals, output, &request, text)
}

fn text(answer: &import::Answer) -> String {
    let word = |value: &Value| one_line(value.as_str().unwrap_or("-")).into_owned();
    let result = if answer.created { "imported" } else { "was already here" };
    let mut text = format!("run {} {result}, at version {}\n", answer.run_id, answer.version);
    for task in &answer.tasks {
        let token = task["token"].as_str().map(|token| format!(", token {token}")).unwrap_or_default();
        text.push_str(&format!("{:<8}  {}{token}\n", word(&task["task_id"]), word(&task["status"])));
        for check in task["checks"].as_array().into_iter().flatten() {
            text.push_str(&format!("          check: {}\n", word(check)));
        }
    }
    if answer.tokens_raised_by > 0 {
        text.push_str(&format!("every token is {} higher here\n", answer.tokens_raised_by));
    }
    for one in &answer.assumed {
        text.push_str(&format!("assumed: {} ({})\n", one_line(&one.path), one_line(&one.reason)));
    }
    for path in &answer.ignored {
        text.push_str(&format!("left out: {}\n", one_line(path)));
    }
    text
}

fn print_brief(args: &BriefArgs, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let document = match &args.run {
        Some(_) => None,
        None => Some(read_document_within(&args.file, limits::HANDOFF_BYTES_MAX)?),
    };
    let request = brief::Request {
        document,
        run: args.run.clone(),
        budget: Some(args.budget),
        strict: args.strict,
        tripwire: args.trust.tripwire()?,
    };
    host::answer::<brief::Brief>(globals, output, &request, |answer| answer.brief.clone())
}
