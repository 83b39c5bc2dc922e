//! The words of the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use contract::domain::code::ErrorCode;
use ops::Error;
use serde_json::json;

use crate::exit::Surface;
use crate::host;
use crate::output::{Format, Output};
use crate::{commands, env};

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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a project's .writ directory
    Init(commands::init::Args),
    /// Run a plan, an AOP TASK or an AEE task
    Run(commands::run::Args),
    /// Check a plan, or print its schema
    #[command(subcommand)]
    Plan(commands::plan::Command),
    /// List runs, or show one
    #[command(subcommand)]
    Runs(commands::runs::Command),
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
    /// Create, read and move tasks
    #[command(subcommand)]
    Task(commands::task::Command),
    /// Read the event log
    #[command(subcommand)]
    Events(commands::events::Command),
    /// Show what is in the store
    Status(commands::status::Args),
    /// Copy the store to a file while others use it
    Backup(commands::backup::Args),
    /// Write everything in the store as lines of JSON
    Export(commands::export::Args),
    /// Fill an empty store from an export, or carry over another program's data
    Import(commands::import::Args),
    /// Archive long streams of events and remove what is old
    Gc(commands::gc::Args),
    /// Verify the log, or print where it ends
    #[command(subcommand)]
    Audit(commands::audit::Command),
    /// Show the configuration and where each value comes from
    #[command(subcommand)]
    Config(commands::config::Command),
    /// Look for trouble on this machine and in the store
    Doctor(commands::doctor::Args),
    /// Judge a document by its contract
    Validate(commands::validate::Args),
    /// Write a document as another contract's, and say what is lost
    Convert(commands::convert::Args),
    /// Print the JSON Schemas of documents
    #[command(subcommand)]
    Schema(commands::schema::Command),
    /// Judge this or another program by a directory of vectors
    #[command(subcommand)]
    Conformance(commands::conformance::Command),
    /// Let scripts and dashboards on this machine read over HTTP
    Serve(commands::serve::Args),
    /// Print a shell's completion script
    Completions(commands::completions::Args),
}

/// Parses the words and runs the command.
pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    let surface = surface_of(&words);
    if words.len() == 1 {
        return index();
    }
    let app = match App::try_parse_from(&words) {
        Ok(app) => app,
        Err(error) => return refuse_words(&error, surface, &words),
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

/// Called without words: people get help, programs the list of commands.
fn index() -> ExitCode {
    let output = Output::new(None, Surface::Continuity, env::get("WRIT_AGENT").is_some());
    if output.format == Format::Text {
        return output.text(&grammar().render_help().to_string());
    }
    let commands: Vec<String> =
        grammar().get_subcommands().map(|command| command.get_name().to_owned()).collect();
    output.envelope(true, &json!({"version": env!("CARGO_PKG_VERSION"), "commands": commands}))
}

/// The surface is known before the words are understood, because it decides how a misunderstanding is printed.
fn surface_of(words: &[OsString]) -> Surface {
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        match word.as_ref() {
            "--db-path" | "--agent" | "-a" | "--request-id" | "--output" => {
                words.next();
            }
            word if word.starts_with('-') => {}
            word => return Surface::of(word),
        }
    }
    Surface::Writ
}

fn refuse_words(error: &clap::Error, surface: Surface, words: &[OsString]) -> ExitCode {
    let asked_for = !error.use_stderr();
    let output = Output::new(asked_format(words), surface, host::has_agent(words));
    if surface == Surface::Validator && !asked_for {
        // A validator that could not work still denies.
        commands::validate::refuse_words(&error.render().to_string());
    } else if output.format != Format::Text && !asked_for {
        if let Some(index) = namespace(error, surface, words) {
            return output.answer(&index, String::new);
        }
        let rendered = error.render().to_string();
        // The first paragraph says what is wrong; a list of names follows its first line.
        let lines = rendered.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
        let message = lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned();
        let refused = Error::new(ErrorCode::Usage, message).hint("the command with `--help` shows its words");
        return output.error(&refused);
    }
    // A closed pipe must not turn help into a failure.
    error.print().ok();
    ExitCode::from(if asked_for { 0 } else { surface.exit(ErrorCode::Usage) })
}

/// What the agent contract prints for a bare namespace such as `writ task`: the commands in it.
fn namespace(error: &clap::Error, surface: Surface, words: &[OsString]) -> Option<serde_json::Value> {
    let bare = matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let grammar = grammar();
    let named = words.iter().find_map(|word| grammar.find_subcommand(word));
    let space = named.filter(|_| bare && surface == Surface::Continuity)?;
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let inside: Vec<_> = space
        .get_subcommands()
        .map(|command| json!({"name": command.get_name(), "description": about(command)}))
        .collect();
    Some(json!({"namespace": format!("writ {}", space.get_name()), "subcommands": inside}))
}

/// The format that words ask for which were not understood as a whole.
fn asked_format(words: &[OsString]) -> Option<Format> {
    let word = |word: &OsString| word.to_string_lossy().into_owned();
    let behind = words.windows(2).find(|pair| pair[0] == "--output").map(|pair| word(&pair[1]));
    let joined = || words.iter().find_map(|w| word(w).strip_prefix("--output=").map(str::to_owned));
    Format::from_str(&behind.or_else(joined)?, false).ok()
}

/// The grammar, for completions and documentation.
pub(crate) fn grammar() -> clap::Command {
    App::command()
}
