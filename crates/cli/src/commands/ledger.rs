//! `writ ledger`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::json::Value;
use engine::disk::real_root;
use ops::Result;
use ops::ledger::{apply, close, open, show};
use ops::run::accept::Submission;

use super::crew::{print_verdict, read_document};
use crate::app::Globals;
use crate::output::{Output, one_line};
use crate::{config, host};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Open the ledger of a plan: its tasks are given out, and no engine works them
    Open {
        /// A plan (TOML or JSON); - for standard input
        plan: PathBuf,
    },
    /// Show the ledger of a run
    Show {
        /// The run
        run: String,
    },
    /// Change a ledger by the deltas of a document
    Apply(ApplyArgs),
    /// Close a ledger whose rows have all come to an end
    Close {
        /// The run
        run: String,
    },
    /// Say whether a ledger agrees with its locks, heartbeats, blockers and results
    Reconcile {
        /// The run
        run: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {
    /// An orchestrator's output, or only its `run_id` and `ledger_delta`; - for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// What a run that is new is for
    #[arg(long, value_name = "TEXT")]
    objective: Option<String>,
    /// Where a run that is new works [default: here]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Every delta says which version it read, and a repeated name repeats its content
    #[arg(long)]
    strict: bool,
}

impl ApplyArgs {
    pub(crate) fn request(&self) -> Result<apply::Request> {
        Ok(self.request_for(read_document(&self.file)?))
    }

    /// The same for a document that came from elsewhere.
    pub(crate) fn request_for(&self, document: Value) -> apply::Request {
        let here = self.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        let workspace = real_root(&host::absolute(here));
        apply::Request {
            document,
            objective: self.objective.clone(),
            workspace: Some(workspace.to_string_lossy().into_owned()),
            strict: self.strict,
        }
    }
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Open { plan } => open_plan(plan, globals, output),
        Command::Show { run } => {
            let shown = show::show(&mut host::open(globals)?, run)?;
            Ok(output.answer(&shown, || text(&shown)))
        }
        Command::Apply(args) => {
            let request = args.request()?;
            let key = host::any_key(globals)?;
            let given = apply::apply(&mut host::open(globals)?, &key, &request)?;
            let answer = &given.answer;
            Ok(output.answer(answer, || {
                let reconciled = answer.reconcile["reason"].as_str().unwrap_or_default();
                format!("run {} is at version {}\n{}", answer.run_id, answer.version, one_line(reconciled))
            }))
        }
        Command::Close { run } => {
            let request = close::Request { run: run.clone() };
            let key = host::any_key(globals)?;
            let given = close::close(&mut host::open(globals)?, &key, &request)?;
            Ok(output.answer(&given.answer, || format!("the run is {}", given.answer.state.as_str())))
        }
        Command::Reconcile { run } => {
            let verdict = show::reconcile(&mut host::open(globals)?, run)?;
            Ok(print_verdict(&verdict, output))
        }
    }
}

fn open_plan(plan: &Path, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let config = config::load(&host::absolute(super::run::directory_of(plan)))?;
    let document = super::run::read_document(plan, &config)?;
    super::run::make_workspace(&document.workspace)?;
    let request = Submission {
        kind: document.intake.kind,
        workspace: real_root(Path::new(&document.workspace)).to_string_lossy().into_owned(),
        plan: document.intake.plan,
        objective: document.intake.objective,
        intent: document.intake.intent,
        corr: document.intake.corr,
        depth: 1,
        parent_run: None,
        parent_task: None,
        document_digest: document.intake.document_digest,
    };
    let key = host::any_key(globals)?;
    let mut cx = host::open(globals)?;
    let given = open::open(&mut cx, &key, &request)?;
    let shown = show::show(&mut cx, given.answer.run_id.as_str())?;
    Ok(output.answer(&shown, || text(&shown)))
}

fn text(shown: &Value) -> String {
    let word = |value: &Value| one_line(value.as_str().unwrap_or("-")).into_owned();
    let mut text =
        format!("{}  version {}  {}\n", word(&shown["run_id"]), shown["version"], word(&shown["objective"]));
    for row in shown["ledger"].as_array().into_iter().flatten() {
        text.push_str(&format!(
            "{:<8}  {:<11}  v{:<3}  {:<12}  {}\n",
            word(&row["task_id"]),
            word(&row["status"]),
            row["version"],
            word(&row["owner"]),
            word(&row["title"]),
        ));
    }
    for blocker in shown["open_blockers"].as_array().into_iter().flatten() {
        let (task, code) = (word(&blocker["task_id"]), word(&blocker["code"]));
        text.push_str(&format!("{task} is blocked: {code} {}\n", word(&blocker["reason"])));
    }
    text
}
