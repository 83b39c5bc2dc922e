//! The commands of the program, and how one is parsed and run.

mod help;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use contract::domain::code::ErrorCode;
use ops::Error;
use ops::verb::Surface;

use crate::output::{Format, Output, format_in_environment, one_line, say};
use crate::persona::{self, Persona};
use crate::words::flags::{self, Plain};
use crate::{commands, env, local, words};
use help::{CREW, DOCUMENTS, MEMORY, RUN, SETUP, START, STORE};

pub(crate) use help::root as root_help;

#[derive(Debug, Parser)]
#[command(
    name = "writ",
    version,
    about = "Run a crew of coding agents: durable tasks, checked results, a full trace",
    long_about = "Run a crew of coding agents: durable tasks, supervised runs, results that writ checks itself, and \
                  a trace of every step.\n\n\
                  Start with `writ run PLAN`, then look at the run with `writ runs show` and `writ trace`.",
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
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The store's file [default: WRIT_DB, else $XDG_DATA_HOME/writ/writ.db]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) db_path: Option<PathBuf>,
    /// The agent to act as [default: WRIT_AGENT]
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// An id for this request; a retry with the same id changes nothing twice [default: WRIT_REQUEST_ID]
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) request_id: Option<String>,
    /// How to print the answer [default: WRIT_OUTPUT, else text on a terminal]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    /// Print long text without a pager [default: WRIT_PAGER, PAGER, else less]
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    // Set by commands that have the flag.
    #[arg(skip)]
    pub(crate) token_file: Option<PathBuf>,
}

// A command with subcommands. They are described only where the command is used: every call pays for the grammar. The
// parser would show a doc comment here instead of the command's own.
#[derive(Debug, clap::Args)]
pub(crate) struct CommandGroup<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Create the .writ directory of a project and the store
    #[command(display_order = START)]
    Init(commands::init::Args),
    /// Run a plan, an AOP TASK or an AEE task
    #[command(display_order = START)]
    Run(commands::run::Args),
    /// Show current state and claim the next task
    #[command(display_order = START)]
    Resume(commands::resume::Args),
    /// Show the store, its counts and which agent programs call writ
    #[command(display_order = START)]
    Status(commands::status::Args),
    /// Check a plan, or print the schema of plans
    #[command(display_order = RUN)]
    Plan(CommandGroup<commands::plan::Command>),
    /// List runs, or show one
    #[command(display_order = RUN)]
    Runs(CommandGroup<commands::runs::Command>),
    /// Print the output of a task's process
    #[command(display_order = RUN)]
    Logs(commands::logs::Args),
    /// Show what each control layer decided in a run
    #[command(display_order = RUN)]
    Trace(commands::trace::Args),
    /// Run a failed, skipped or parked task again
    #[command(display_order = RUN)]
    Retry(commands::retry::Args),
    /// Cancel a run or a task
    #[command(display_order = RUN)]
    Cancel(commands::cancel::Args),
    /// Change the priority of a task in a run
    #[command(display_order = RUN)]
    Escalate(commands::escalate::Args),
    /// End everything that writ started, and refuse new work
    #[command(display_order = RUN)]
    Halt(commands::halt::Args),
    /// Lift a halt, and list the runs that it interrupted
    #[command(display_order = RUN)]
    ResumeAll(commands::resume_all::Args),
    /// Take back what a task changed, or redo it
    #[command(display_order = RUN)]
    Rollback(commands::rollback::Args),
    /// List tasks that could be started now
    #[command(display_order = RUN)]
    Ready(commands::ready::Args),
    /// Run an agent program on one task after another
    #[command(display_order = RUN)]
    Loop(commands::looping::Args),
    /// List rate limits and usage windows, and clear them
    #[command(display_order = RUN)]
    Limits(CommandGroup<commands::limits::Command>),
    /// Show AOP sessions and their final reports
    #[command(display_order = RUN)]
    Session(CommandGroup<commands::session::Command>),
    /// Open, show, change and check a crew's ledger
    #[command(display_order = CREW)]
    Ledger(CommandGroup<commands::ledger::Command>),
    /// Assign tasks to workers
    #[command(display_order = CREW)]
    Assignment(CommandGroup<commands::assignment::Command>),
    /// Run a command as a worker of a crew
    #[command(display_order = CREW)]
    Worker(CommandGroup<commands::worker::Command>),
    /// Submit workers' results
    #[command(display_order = CREW)]
    Result(CommandGroup<commands::result::Command>),
    /// Send a worker's heartbeat
    #[command(display_order = CREW)]
    Heartbeat(commands::heartbeat::Args),
    /// Release what silent workers hold
    #[command(display_order = CREW)]
    Watchdog(CommandGroup<commands::watchdog::Command>),
    /// Run one step of an orchestrator
    #[command(display_order = CREW)]
    Orchestrate(CommandGroup<commands::orchestrate::Command>),
    /// Acquire, list and release locks on files
    #[command(display_order = CREW)]
    Lock(CommandGroup<commands::lock::Command>),
    /// Append to and verify worklogs
    #[command(display_order = CREW)]
    Worklog(CommandGroup<commands::worklog::Command>),
    /// Set and show a run's budget
    #[command(display_order = CREW)]
    Budget(CommandGroup<commands::budget::Command>),
    /// Request and decide approvals
    #[command(display_order = CREW)]
    Approval(CommandGroup<commands::approval::Command>),
    /// Move a run from one store to another
    #[command(display_order = CREW)]
    Handoff(CommandGroup<commands::handoff::Command>),
    /// Create, show and change tasks
    #[command(display_order = MEMORY)]
    Task(CommandGroup<commands::task::Command>),
    /// Store, search and delete memories
    #[command(display_order = MEMORY)]
    Memory(CommandGroup<commands::memory::Command>),
    /// Write an event, memories, artifacts and a task status in one transaction
    #[command(display_order = MEMORY)]
    Push(commands::push::Args),
    /// List the artifacts of a task
    #[command(display_order = MEMORY)]
    Artifacts(CommandGroup<commands::artifacts::Command>),
    /// Read the event log
    #[command(display_order = MEMORY)]
    Events(CommandGroup<commands::events::Command>),
    /// List and remove the snapshots that rollbacks need
    #[command(display_order = STORE)]
    Snapshots(CommandGroup<commands::snapshots::Command>),
    /// List and remove the clones in which tasks work
    #[command(display_order = STORE)]
    Worktree(CommandGroup<commands::worktree::Command>),
    /// Migrate the store to this program's schema
    #[command(display_order = STORE)]
    Upgrade(commands::upgrade::Args),
    /// Copy the store to a file while it is in use
    #[command(display_order = STORE)]
    Backup(commands::backup::Args),
    /// Get what is whole out of a damaged store, into a new one
    #[command(display_order = STORE)]
    Salvage(commands::salvage::Args),
    /// Write the whole store as lines of JSON
    #[command(display_order = STORE)]
    Export(commands::export::Args),
    /// Import an export, or the database of another program
    #[command(display_order = STORE)]
    Import(commands::import::Args),
    /// Archive long event streams and delete old events
    #[command(display_order = STORE)]
    Gc(commands::gc::Args),
    /// Verify the store, print the heads of its log, or seal it anew
    #[command(display_order = STORE)]
    Audit(CommandGroup<commands::audit::Command>),
    /// Validate a document against its contract
    #[command(display_order = DOCUMENTS)]
    Validate(commands::validate::Args),
    /// Convert a document to another contract, and list what is lost
    #[command(display_order = DOCUMENTS)]
    Convert(commands::convert::Args),
    /// Print JSON Schemas of documents and commands
    #[command(display_order = DOCUMENTS)]
    Schema(CommandGroup<commands::schema::Command>),
    /// Run test vectors against this or another program
    #[command(display_order = DOCUMENTS)]
    Conformance(CommandGroup<commands::conformance::Command>),
    /// Install or remove hooks in agent programs
    #[command(display_order = SETUP)]
    Hook(CommandGroup<commands::hook::Command>),
    /// Allow the commands in a project's .writ directory
    #[command(display_order = SETUP)]
    Trust(commands::trust::Args),
    /// Create, list and revoke tokens that let a program decide for a person
    #[command(display_order = SETUP)]
    Token(CommandGroup<commands::token::Command>),
    /// Show the configuration and the source of each value
    #[command(display_order = SETUP)]
    Config(CommandGroup<commands::config::Command>),
    /// Check this machine and the store for problems
    #[command(display_order = SETUP)]
    Doctor(commands::doctor::Args),
    /// List and test the programs that do the work of tasks
    #[command(display_order = SETUP)]
    Executors(CommandGroup<commands::executors::Command>),
    /// Try what a sandboxed command can do
    #[command(display_order = SETUP)]
    Sandbox(CommandGroup<commands::sandbox::Command>),
    /// Serve the store to this machine over HTTP, read-only
    #[command(display_order = SETUP)]
    Serve(commands::serve::Args),
    /// Install links that make writ answer to other names
    #[command(display_order = SETUP)]
    Personality(CommandGroup<commands::personality::Command>),
    /// Remove what writ installed on this machine
    #[command(display_order = SETUP)]
    Uninstall(commands::uninstall::Args),
    /// Print a completion script for a shell
    #[command(display_order = SETUP)]
    Completions(commands::completions::Args),
}

/// Parses the command line and runs the command.
pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    persona::adopt(words.first().map(OsString::as_os_str));
    match persona::current() {
        Persona::Ol => return commands::ol::main(&words),
        Persona::Ao => return commands::ao::main(&words),
        Persona::Writ | Persona::Vybe => {}
    }
    if words.len() == 1 {
        return words::index();
    }
    let (found, words) = match parsed(words) {
        Ok(parsed) => parsed,
        Err(refused) => return refused,
    };
    let path = path_of(&found);
    let surface = local::surface(&path);
    if surface == Surface::Handler {
        commands::hook::never_fail();
    }
    let app = match App::from_arg_matches(&found) {
        Ok(app) => app,
        Err(error) => return words::refuse(&error, &words),
    };
    let globals = &app.globals;
    if let Some(name) = env::unreadable() {
        let refused = Error::new(ErrorCode::Usage, format!("the environment variable {name} is not UTF-8"));
        return Output::new(globals.output, surface).error(&refused);
    }
    let output = match globals.output.map_or_else(format_in_environment, |format| Ok(Some(format))) {
        Ok(asked) => Output::new(asked, surface).paged(!globals.no_pager && !shows_progress(&path)),
        Err(word) => {
            let refused =
                Error::new(ErrorCode::Usage, format!("WRIT_OUTPUT is `{word}`, which is not a format"));
            return Output::new(None, surface).error(&refused.hint("use text, json or ndjson"));
        }
    };
    let done = commands::run_command(&app.command, globals, &output);
    done.unwrap_or_else(|error| {
        output.error(&words::naming_flags(crate::host::damage_or(error, globals), &path))
    })
}

/// Parses the words; the agent contract's commands by its own rules for flags, where those of the parser do not do.
fn parsed(words: Vec<OsString>) -> Result<(ArgMatches, Vec<OsString>), ExitCode> {
    let refuse = |error: clap::Error, words: &[OsString]| words::refuse(&error, words);
    let as_they_are = (!flags::may_be_empty(&words)).then(|| grammar().try_get_matches_from(&words));
    let error = match as_they_are {
        Some(Ok(found)) => return Ok((found, words)),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let plain = match (flags::plain(&words), error) {
        (Some(plain), _) => plain,
        (None, Some(error)) => return Err(refuse(error, &words)),
        (None, None) => Plain { words, ignored: Vec::new() },
    };
    for word in &plain.ignored {
        say(&format!("ignored the argument {}\n", one_line(word)));
    }
    match grammar().try_get_matches_from(&plain.words) {
        Ok(found) => Ok((found, plain.words)),
        Err(error) => Err(refuse(error, &plain.words)),
    }
}

/// Whether a command shows what it does while it works: its answer follows on the same screen.
fn shows_progress(path: &str) -> bool {
    matches!(path, "run" | "retry" | "loop" | "serve" | "worker run" | "orchestrate step")
}

/// The command that was called, without the program's name: `task create`.
pub(crate) fn path_of(found: &ArgMatches) -> String {
    let mut path = Vec::new();
    let mut next = found.subcommand();
    while let Some((name, inner)) = next {
        path.push(name);
        next = inner.subcommand();
    }
    path.join(" ")
}

/// The grammar, for parsing, completions and documentation. Each name shows its own contract's commands.
pub(crate) fn grammar() -> clap::Command {
    let whole = App::command();
    let persona = persona::current();
    match persona {
        Persona::Writ | Persona::Ol | Persona::Ao => whole,
        Persona::Vybe => clap::Command::new(persona.name())
            .about("Durable tasks, memory and context for coding agents")
            .version(env!("CARGO_PKG_VERSION"))
            .disable_version_flag(true)
            .max_term_width(100)
            .subcommand_required(true)
            .args(whole.get_arguments().map(help::in_the_words_of_vybe))
            .arg(help::version_of_vybe())
            .subcommands(whole.get_subcommands().filter(|command| persona.shows(command.get_name())).cloned())
            // Not a command of the contract, but the way from its original to here.
            .subcommands(whole.find_subcommand("import").cloned().map(|command| command.hide(true))),
    }
}

#[cfg(test)]
mod tests;
