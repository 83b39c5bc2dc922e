//! The words of the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use contract::domain::code::ErrorCode;
use ops::Error;

use crate::exit::Surface;
use crate::output::{Format, Output};
use crate::persona::{self, Persona};
use crate::{commands, env, host, words};

#[derive(Debug, Parser)]
#[command(
    name = "writ",
    version,
    about = "One control plane for a crew of coding agents",
    long_about = "writ makes many AI coding agents work as a crew: durable tasks, supervised runs, checks that \
                  writ itself runs before anything is done, and a trace that explains every step.\n\n\
                  Start with `writ run PLAN`, read it back with `writ runs show` and `writ trace`.",
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct App {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Globals {
    /// The store's file [default: WRIT_DB, else $XDG_DATA_HOME/writ/writ.db]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) db_path: Option<PathBuf>,
    /// The identity to act under [default: WRIT_AGENT]
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The key under which a retry is recognised [default: WRIT_REQUEST_ID]
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) request_id: Option<String>,
    /// How to print the answer
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
}

// Commands below a word. They are described only where the word is used: every call pays for the grammar. The parser
// would show a doc comment here instead of the word's own.
#[derive(Debug, clap::Args)]
pub(crate) struct Group<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Make a project's .writ directory
    Init(commands::init::Args),
    /// Run a plan, an AOP TASK or an AEE task
    Run(commands::run::Args),
    /// Check a plan, or print its schema
    Plan(Group<commands::plan::Command>),
    /// List runs, or show one
    Runs(Group<commands::runs::Command>),
    /// Print what a task's child printed
    Logs(commands::logs::Args),
    /// Give a failed, skipped or parked task another chance
    Retry(commands::retry::Args),
    /// End a run or a task before it is finished
    Cancel(commands::cancel::Args),
    /// List what could be started now
    Ready(commands::ready::Args),
    /// Show what every layer decided in a run
    Trace(commands::trace::Args),
    /// Say where the work stands, and claim what comes next
    Resume(commands::resume::Args),
    /// Create, read and move tasks
    Task(Group<commands::task::Command>),
    /// Remember, find and forget
    Memory(Group<commands::memory::Command>),
    /// Write down an event, memories, artifacts and a status in one piece
    Push(commands::push::Args),
    /// List the files of a task
    Artifacts(Group<commands::artifacts::Command>),
    /// Read the event log
    Events(Group<commands::events::Command>),
    /// Give one task after the other to an agent program
    Loop(commands::looping::Args),
    /// Let agent programs call writ, and stop that
    Hook(Group<commands::hook::Command>),
    /// Show what is in the store
    Status(commands::status::Args),
    /// Open, read, change and reconcile the ledger of a crew
    Ledger(Group<commands::ledger::Command>),
    /// Give tasks out to workers
    Assignment(Group<commands::assignment::Command>),
    /// Submit what workers did
    Result(Group<commands::result::Command>),
    /// Say that a worker lives
    Heartbeat(commands::heartbeat::Args),
    /// Take back what silent workers hold
    Watchdog(Group<commands::watchdog::Command>),
    /// Take one round of an orchestrator
    Orchestrate(Group<commands::orchestrate::Command>),
    /// Take, show and give back locks
    Lock(Group<commands::lock::Command>),
    /// Carry a run from one store to another
    Handoff(Group<commands::handoff::Command>),
    /// Write down what a worker does, and see that it stays written
    Worklog(Group<commands::worklog::Command>),
    /// Set and show what a run may spend
    Budget(Group<commands::budget::Command>),
    /// Ask for a person's word, and give it
    Approval(Group<commands::approval::Command>),
    /// Bring the store to this program's schema
    Upgrade(commands::upgrade::Args),
    /// Copy the store to a file while others use it
    Backup(commands::backup::Args),
    /// Write everything in the store as lines of JSON
    Export(commands::export::Args),
    /// Fill an empty store from an export, or carry over another program's data
    Import(commands::import::Args),
    /// Archive long streams of events and remove what is old
    Gc(commands::gc::Args),
    /// Verify the log, or print where it ends
    Audit(Group<commands::audit::Command>),
    /// Show the configuration and where each value comes from
    Config(Group<commands::config::Command>),
    /// Look for trouble on this machine and in the store
    Doctor(commands::doctor::Args),
    /// Judge a document by its contract
    Validate(commands::validate::Args),
    /// Write a document as another contract's, and say what is lost
    Convert(commands::convert::Args),
    /// Print the JSON Schemas of documents
    Schema(Group<commands::schema::Command>),
    /// Judge this or another program by a directory of vectors
    Conformance(Group<commands::conformance::Command>),
    /// Let scripts and dashboards on this machine read over HTTP
    Serve(commands::serve::Args),
    /// Answer to the names of other command lines
    Personality(Group<commands::personality::Command>),
    /// Print a shell's completion script
    Completions(commands::completions::Args),
}

/// Parses the words and runs the command.
pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    persona::adopt(words.first().map(OsString::as_os_str));
    let surface = words::surface_of(&words);
    if surface == Surface::Handler {
        commands::hook::never_fail();
    }
    if words.len() == 1 {
        return words::index();
    }
    if let Some(answer) = words::version(&words) {
        return answer;
    }
    let app = match grammar().try_get_matches_from(&words).and_then(|found| App::from_arg_matches(&found)) {
        Ok(app) => app,
        Err(error) => return words::refuse(&error, surface, &words),
    };
    let globals = &app.globals;
    if let Some(name) = env::unreadable() {
        let refused = Error::new(ErrorCode::Usage, format!("the environment variable {name} is not UTF-8"));
        return Output::new(globals.output, surface, false).error(&refused);
    }
    let output = Output::new(globals.output, surface, host::agent_name(globals).is_some());
    let done = commands::run_command(&app.command, globals, &output);
    done.unwrap_or_else(|error| output.error(&error))
}

/// The grammar, for parsing, completions and documentation. Each name shows its own contract's commands.
pub(crate) fn grammar() -> clap::Command {
    let whole = App::command();
    let persona = persona::current();
    match persona {
        Persona::Writ => whole,
        Persona::Vybe => clap::Command::new(persona.name())
            .about("Durable tasks, memory and context for coding agents")
            .version(env!("CARGO_PKG_VERSION"))
            .max_term_width(100)
            .subcommand_required(true)
            .args(whole.get_arguments().map(|argument| argument.clone().hide(argument.get_id() == "output")))
            .subcommands(
                whole.get_subcommands().filter(|command| persona.shows(command.get_name())).cloned(),
            ),
    }
}

#[cfg(test)]
mod tests;
