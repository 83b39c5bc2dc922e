//! `writ ledger`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::json::Value;
use ops::Result;
use ops::crew::LockDifference;
use ops::ledger::{apply, close, open, reconcile, repair, show};
use ops::run::document::DocumentInput;

use super::crew::{answer_verdict, read_document};
use crate::app::Globals;
use crate::output::{Output, one_line};
use crate::{config, host};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Open the ledger of a plan whose tasks are assigned to workers
    #[command(after_help = "Examples:
  writ ledger open plan.toml")]
    Open {
        /// A plan in TOML or JSON, or - for standard input
        plan: PathBuf,
    },
    /// Show the ledger of a run
    #[command(after_help = "Examples:
  writ ledger show RUN")]
    Show {
        /// The run
        run: String,
    },
    /// Apply the deltas of a document to a ledger, all or none
    #[command(after_help = "Examples:
  writ ledger apply deltas.json
  writ ledger apply --objective \"Port the parser\" --workspace ~/src/parser deltas.json")]
    Apply(ApplyArgs),
    /// Close a ledger whose rows have all ended
    #[command(after_help = "Examples:
  writ ledger close RUN")]
    Close {
        /// The run
        run: String,
    },
    /// Check a ledger's consistency: its rows, locks, heartbeats, blockers and results
    #[command(after_help = "Exit codes: 0 consistent, 1 not.

Examples:
  writ ledger reconcile RUN")]
    Reconcile {
        /// The run
        run: String,
    },
    /// Resolve the inconsistencies of a ledger, so that tasks can be assigned again
    ///
    /// Tasks that cannot go on are blocked, and locks of tasks that ended are released. Rows that are done without a
    /// result stay as they are unless --accept says why they count as done.
    #[command(after_help = "Examples:
  writ ledger repair RUN
  writ ledger repair RUN --accept \"I read the change and ran the tests\"")]
    Repair {
        /// The run
        run: String,
        /// Why rows that are done without a result count as done
        #[arg(long, value_name = "REASON")]
        accept: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {
    /// An orchestrator's output, or only its `run_id` and `ledger_delta`; - for standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The objective, if the run is new
    #[arg(long, value_name = "TEXT")]
    objective: Option<String>,
    /// The workspace, if the run is new [default: the current directory]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Require every delta to name the version it read, and a repeated delta to repeat its content
    #[arg(long)]
    strict: bool,
}

impl ApplyArgs {
    pub(crate) fn read(&self) -> Result<Value> {
        read_document(&self.file)
    }

    pub(crate) fn objective(&self) -> Option<String> {
        self.objective.clone()
    }

    pub(crate) fn workspace(&self) -> String {
        let workspace = self.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
        host::absolute(workspace).to_string_lossy().into_owned()
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Open { plan } => open_plan(plan, globals, output),
        Command::Show { run } => {
            host::answer::<show::Show>(globals, output, &show::Request { run: run.clone() }, text)
        }
        Command::Apply(args) => {
            let request = apply::Request {
                document: args.read()?,
                objective: args.objective(),
                workspace: Some(args.workspace()),
                strict: args.strict,
            };
            host::answer::<apply::Apply>(globals, output, &request, |answer| {
                let reconciled = answer.reconcile["reason"].as_str().unwrap_or_default();
                let mut text = format!("run {} is at version {}\n", answer.run_id, answer.version);
                text.push_str(&format!("{}\n", one_line(reconciled)));
                text.extend(lock_differences(&answer.lock_differences));
                text
            })
        }
        Command::Close { run } => {
            let request = close::Request { run: run.clone() };
            host::answer::<close::Close>(globals, output, &request, |answer| {
                format!("the run {}", answer.state.said())
            })
        }
        Command::Reconcile { run } => {
            let request = show::Request { run: run.clone() };
            Ok(answer_verdict::<reconcile::Reconcile>(globals, output, &request))
        }
        Command::Repair { run, accept } => {
            let request = repair::Request { run: run.clone(), accept: accept.clone() };
            host::answer::<repair::Repair>(globals, output, &request, repaired)
        }
    }
}

fn repaired(answer: &repair::Answer) -> String {
    let line = |one: &repair::Repaired| format!("{}  {}  {}\n", one.task_id, one.rule, one_line(&one.action));
    let mut text: String = answer.repaired.iter().map(line).collect();
    let reason = one_line(answer.reconcile["reason"].as_str().unwrap_or_default()).into_owned();
    text.push_str(&format!("{reason}\n"));
    text
}

/// Each lock that the document and the store disagree about, on a line.
pub(crate) fn lock_differences(found: &[LockDifference]) -> impl Iterator<Item = String> {
    found.iter().map(|one| {
        let path = one.path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default();
        format!("{path}{}\n", one_line(&one.message))
    })
}

fn open_plan(plan: &Path, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let directory = host::absolute(super::run::directory_of(plan));
    let text_of_plan = super::run::text_of(plan)?;
    // A bad plan is reported before a store is made.
    super::run::understood_text(&text_of_plan, plan, &config::load(&directory)?)?;
    let request = open::Request {
        document: DocumentInput::Text(text_of_plan),
        directory: directory.to_string_lossy().into_owned(),
        name: Some(plan.display().to_string()),
    };
    host::answer::<open::Open>(globals, output, &request, text)
}

fn text(shown: &show::Answer) -> String {
    let word = |value: &Value| one_line(value.as_str().unwrap_or("-")).into_owned();
    let mut text = format!("{}  version {}  {}\n", shown.run_id, shown.version, one_line(&shown.objective));
    for row in &shown.ledger {
        text.push_str(&format!(
            "{:<8}  {:<11}  v{:<3}  {:<12}  {}\n",
            word(&row["task_id"]),
            word(&row["status"]),
            row["version"],
            word(&row["owner"]),
            word(&row["title"]),
        ));
    }
    for blocker in &shown.open_blockers {
        let (task, code) = (word(&blocker["task_id"]), word(&blocker["code"]));
        text.push_str(&format!("{task} is blocked: {code} {}\n", word(&blocker["reason"])));
    }
    text
}
