//! Words that call no command: indexes, versions, and what could not be understood.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use contract::domain::code::ErrorCode;
use ops::Error;
use serde_json::{Value, json};

use crate::app::grammar;
use crate::exit::Surface;
use crate::output::{Format, Output};
use crate::persona::{self, Persona};
use crate::{commands, host};

/// Called without words: people get help, programs the list of commands.
pub(crate) fn index() -> ExitCode {
    let persona = persona::current();
    let has_agent = persona::first_set(persona.agent_variables()).is_some();
    let output = Output::new(None, Surface::Continuity, has_agent);
    if output.format == Format::Text {
        return output.text(&grammar().render_help().to_string());
    }
    let mut commands: Vec<String> = grammar()
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect();
    if persona == Persona::Vybe {
        // The parser's own, and so not in its list.
        commands.push("help".to_owned());
        commands.sort();
    }
    let hint = format!("{} schema commands", persona.name());
    let index = json!({"version": env!("CARGO_PKG_VERSION"), "commands": commands, "schema_hint": hint});
    output.envelope(true, &index)
}

/// The agent contract prints its version as a document.
pub(crate) fn version(words: &[OsString]) -> Option<ExitCode> {
    let asks = |word: &OsString| word == "-v" || word == "--version";
    let before_command = words.iter().skip(1).take_while(|word| word.to_string_lossy().starts_with('-'));
    if persona::current() != Persona::Vybe || !before_command.into_iter().any(asks) {
        return None;
    }
    let output = Output::new(None, Surface::Continuity, true);
    Some(output.envelope(true, &json!({"version": env!("CARGO_PKG_VERSION")})))
}

/// The surface is known before the words are understood, because it decides how a misunderstanding is printed.
pub(crate) fn surface_of(words: &[OsString]) -> Surface {
    let mut commands = command_words(words);
    match commands.next() {
        Some(word) => Surface::of(&word, commands.next().as_deref()),
        None if persona::current() == Persona::Vybe => Surface::Continuity,
        None => Surface::Writ,
    }
}

/// The words that are neither flags nor values of the flags that every command takes.
fn command_words(words: &[OsString]) -> impl Iterator<Item = String> {
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            match word.as_str() {
                "--db-path" | "--agent" | "-a" | "--request-id" | "--output" => {
                    words.next();
                }
                flag if flag.starts_with('-') => {}
                _ => return Some(word),
            }
        }
    })
}

pub(crate) fn refuse(error: &clap::Error, surface: Surface, words: &[OsString]) -> ExitCode {
    let asked_for = !error.use_stderr();
    let output = Output::new(asked_format(words), surface, host::has_agent(words));
    if surface == Surface::Validator && !asked_for {
        // A validator that could not work still denies.
        commands::validate::refuse_words(&message(error, words));
    } else if !asked_for && (output.format != Format::Text || surface == Surface::Handler) {
        if error.kind() == ErrorKind::MissingSubcommand && command_words(words).next().is_none() {
            return index();
        }
        if let Some(index) = namespace(error, surface, words) {
            return output.answer(&index, String::new);
        }
        let refused = Error::new(ErrorCode::Usage, message(error, words));
        return output.error(&refused.hint("the command with `--help` shows its words"));
    }
    // A closed pipe must not turn help into a failure.
    error.print().ok();
    ExitCode::from(if asked_for { 0 } else { surface.exit(ErrorCode::Usage) })
}

/// What is wrong, in one line; the agent contract's scripts know some of its sentences.
fn message(error: &clap::Error, words: &[OsString]) -> String {
    if let Some(said) = negative(error, words) {
        return said;
    }
    if persona::current() == Persona::Vybe
        && let Some(known) = known_sentence(error, words)
    {
        return known;
    }
    let rendered = error.render().to_string();
    // The first paragraph says what is wrong; a list of names follows its first line.
    let lines = rendered.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
}

/// A value that begins like a flag is taken for one; what is wrong is that no such number is wanted there.
fn negative(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(taken)) = error.get(ContextKind::InvalidArg) else { return None };
    let digits = taken.strip_prefix('-')?;
    if error.kind() != ErrorKind::UnknownArgument || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let pair = words.windows(2).find(|pair| text(&pair[1]).starts_with(taken.as_str()))?;
    let (flag, value) = (text(&pair[0]), text(&pair[1]));
    flag.starts_with("--").then(|| format!("invalid value '{value}' for '{flag}': it may not be negative"))
}

fn known_sentence(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let text = |kind| texts(kind).into_iter().next();
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let unknown = text(ContextKind::InvalidSubcommand)?;
            let above = command_words(words).take_while(|word| *word != unknown);
            let above: Vec<String> = std::iter::once("vybe".to_owned()).chain(above).collect();
            Some(format!("unknown command \"{unknown}\" for \"{}\"", above.join(" ")))
        }
        ErrorKind::UnknownArgument => {
            let word = text(ContextKind::InvalidArg)?;
            word.starts_with('-').then(|| format!("unknown flag: {word}"))
        }
        ErrorKind::MissingRequiredArgument => {
            let flags = texts(ContextKind::InvalidArg);
            let mut flags = flags.iter().filter_map(|word| word.split_whitespace().next());
            if command_words(words).next().as_deref() == Some("memory") {
                let names: Vec<String> =
                    flags.map(|flag| format!("\"{}\"", flag.trim_start_matches('-'))).collect();
                return Some(format!("required flag(s) {} not set", names.join(", ")));
            }
            Some(format!("{} is required", flags.next()?))
        }
        _ => None,
    }
}

/// What the agent contract prints for a bare namespace such as `writ task`: the commands in it.
fn namespace(error: &clap::Error, surface: Surface, words: &[OsString]) -> Option<Value> {
    let bare = matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    // The parser adds its own `help` to every group.
    let mut grammar = grammar().disable_help_subcommand(true);
    grammar.build();
    let named = command_words(words).find_map(|word| grammar.find_subcommand(word).cloned());
    let space = named.filter(|_| bare && surface == Surface::Continuity)?;
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let inside: Vec<_> = space
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| json!({"name": command.get_name(), "description": about(command)}))
        .collect();
    let name = format!("{} {}", persona::current().name(), space.get_name());
    Some(json!({"namespace": name, "subcommands": inside}))
}

/// The format that words ask for which were not understood as a whole.
fn asked_format(words: &[OsString]) -> Option<Format> {
    let word = |word: &OsString| word.to_string_lossy().into_owned();
    let behind = words.windows(2).find(|pair| pair[0] == "--output").map(|pair| word(&pair[1]));
    let joined = || words.iter().find_map(|w| word(w).strip_prefix("--output=").map(str::to_owned));
    Format::from_str(&behind.or_else(joined)?, false).ok()
}
