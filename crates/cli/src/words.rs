//! Command lines that call no command: the index, help, the version, and usage errors.

pub(crate) mod flags;
mod understood;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use contract::domain::code::ErrorCode;
use ops::Error;
use ops::verb::Surface;
use serde_json::{Value, json};

use crate::app::{grammar, root_help};
use crate::output::{Format, Output, format_in_environment, is_terminal, one_line, say};
use crate::persona::{self, Persona};
use crate::{commands, env, exit, local};
use understood::ParsedWords;

/// Called without arguments: people get help, programs the list of commands.
pub(crate) fn index() -> ExitCode {
    let persona = persona::current();
    let output = Output::new(format_in_environment().ok().flatten(), Surface::Continuity).paged(true);
    if output.format == Format::Text {
        return output.text(&root_help());
    }
    let mut commands: Vec<String> = grammar()
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect();
    if persona == Persona::Vybe {
        // The parser adds it, so it is not in the parser's list.
        commands.push("help".to_owned());
        commands.sort();
    }
    let hint = format!("{} schema commands", persona.name());
    let index = json!({"version": env!("CARGO_PKG_VERSION"), "commands": commands, "schema_hint": hint});
    output.envelope(true, &index)
}

/// Prints help, a version or a usage error, in the form of the surface of the command that was meant.
pub(crate) fn refuse(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let understood = ParsedWords::of(words);
    let surface = local::surface(&understood.path());
    let asked = understood.format.or_else(|| format_in_environment().ok().flatten());
    let pages = !words.iter().any(|word| word == "--no-pager");
    let output = Output::new(asked, surface).paged(pages);
    if !error.use_stderr() {
        return print_help(error, &understood, &output);
    }
    if surface == Surface::Validator {
        // A validator that could not work still denies.
        commands::validate::refuse_words(&message(error, &understood, words));
    } else if output.format != Format::Text || surface == Surface::Handler {
        if error.kind() == ErrorKind::MissingSubcommand && understood.names.is_empty() {
            return index();
        }
        if let Some(index) = namespace(error, surface, &understood) {
            return output.answer(&index, String::new);
        }
        let refused = Error::new(ErrorCode::Usage, message(error, &understood, words));
        return output.error(&refused.hint("run the command with `--help` to see its arguments"));
    }
    say(&usage(error, words));
    ExitCode::from(exit::code(surface, ErrorCode::Usage))
}

/// A usage error repeats arguments, and the parser drops some of what it cannot print. So the arguments are made
/// visible first, and parsed again: they are as wrong as before.
fn usage(error: &clap::Error, words: &[OsString]) -> String {
    let visible = |word: &OsString| OsString::from(one_line(&word.to_string_lossy()).into_owned());
    let shown: Vec<OsString> = words.iter().map(visible).collect();
    match grammar().try_get_matches_from(&shown) {
        Err(again) if shown != words => plain(&again.render().to_string()),
        Err(_) | Ok(_) => plain(&error.render().to_string()),
    }
}

/// Plain messages for the standard library's number parsing errors.
fn plain(text: &str) -> String {
    [
        ("invalid digit found in string", "it is not a whole number"),
        ("cannot parse integer from empty string", "it is not a whole number"),
        ("number too large to fit in target type", "it is too large"),
        ("number too small to fit in target type", "it is too small"),
        ("invalid float literal", "it is not a number"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (said, plain)| text.replace(said, plain))
}

/// What was asked for instead of a command: a version or a help text.
fn print_help(error: &clap::Error, understood: &ParsedWords, output: &Output) -> ExitCode {
    match (persona::current(), error.kind()) {
        (Persona::Vybe, ErrorKind::DisplayVersion) => {
            output.envelope(true, &json!({"version": env!("CARGO_PKG_VERSION")}))
        }
        (Persona::Writ, ErrorKind::DisplayHelp) if understood.names.is_empty() => output.text(&root_help()),
        // The examples are written for writ.
        (Persona::Vybe, _) => output.text(&error.render().to_string().replace("\n  writ ", "\n  vybe ")),
        (Persona::Writ | Persona::Ol | Persona::Ao, kind) => {
            let is_colored = is_terminal() && env::get("NO_COLOR").is_none();
            let rendered = error.render();
            let text = if is_colored { rendered.ansi().to_string() } else { rendered.to_string() };
            let prints = if kind == ErrorKind::DisplayHelp { prints(&understood.path()) } else { "" };
            output.show(&(text + prints))
        }
    }
}

/// What a command prints where nothing else is asked for.
fn prints(path: &str) -> &'static str {
    match local::declared(path) {
        Some(Surface::Continuity | Surface::Crew | Surface::Validator) => {
            "\nOutput: text on a terminal, JSON elsewhere; --output and WRIT_OUTPUT override it\n"
        }
        Some(Surface::Writ | Surface::Conformance) => {
            "\nOutput: text; --output and WRIT_OUTPUT override it\n"
        }
        // A group of commands prints nothing, and a handler answers in the form of its agent program.
        Some(Surface::Handler) | None => "",
    }
}

/// An error with flags instead of field names in message and hint: verbs know only the fields of their requests.
pub(crate) fn naming_flags(mut error: Error, path: &str) -> Error {
    let mut grammar = grammar();
    grammar.build();
    let Some(command) = path.split(' ').try_fold(&grammar, |command, name| command.find_subcommand(name))
    else {
        return error;
    };
    for argument in command.get_arguments() {
        let (field, flag) = (argument.get_id().as_str(), argument.get_long().map(|long| format!("--{long}")));
        let shown = flag.unwrap_or_else(|| argument.to_string());
        if error.field == Some(field) {
            error.message = error.message_naming(&shown);
        }
        // Hints write fields in backquotes.
        error.hint = error.hint.map(|hint| hint.replace(&format!("`{field}`"), &shown));
    }
    error
}

/// What is wrong, in one line; the agent contract's scripts know some of its sentences.
fn message(error: &clap::Error, understood: &ParsedWords, words: &[OsString]) -> String {
    if let Some(said) = negative(error, words) {
        return said;
    }
    let is_contract = local::surface(&understood.path()) == Surface::Continuity;
    if is_contract && let Some(known) = known_sentence(error, understood) {
        return known;
    }
    let rendered = plain(&error.render().to_string());
    // The first paragraph is the fault; a list of names follows its first line.
    let lines = rendered.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
}

/// The parser takes a negative number for a flag. What is wrong is that the flag before it takes no negative number.
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

fn known_sentence(error: &clap::Error, understood: &ParsedWords) -> Option<String> {
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let text = |kind| texts(kind).into_iter().next();
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let unknown = text(ContextKind::InvalidSubcommand)?;
            let above = understood.names.iter().map(String::as_str);
            let above: Vec<&str> = std::iter::once(persona::current().name()).chain(above).collect();
            Some(format!("unknown command \"{unknown}\" for \"{}\"", above.join(" ")))
        }
        ErrorKind::UnknownArgument => {
            let word = text(ContextKind::InvalidArg)?;
            match word.strip_prefix('-') {
                Some(long) if long.starts_with('-') => Some(format!("unknown flag: {word}")),
                Some(short) => Some(format!("unknown shorthand flag: '{}' in {word}", short.chars().next()?)),
                None => None,
            }
        }
        ErrorKind::InvalidValue if text(ContextKind::InvalidValue).is_some_and(|value| value.is_empty()) => {
            let flag = text(ContextKind::InvalidArg)?;
            Some(format!("flag needs an argument: {}", flag.split_whitespace().next()?))
        }
        ErrorKind::MissingRequiredArgument => {
            let flags = texts(ContextKind::InvalidArg);
            let mut flags = flags.iter().filter_map(|word| word.split_whitespace().next());
            if understood.names.first().is_some_and(|name| name == "memory") {
                let names: Vec<String> =
                    flags.map(|flag| format!("\"{}\"", flag.trim_start_matches('-'))).collect();
                return Some(format!("required flag(s) {} not set", names.join(", ")));
            }
            let flag = flags.next()?;
            let words = if flag == "--outcome" { " (done|blocked)" } else { "" };
            Some(format!("{flag} is required{words}"))
        }
        _ => None,
    }
}

/// What the agent contract prints for a bare namespace such as `writ task`: the commands in it.
fn namespace(error: &clap::Error, surface: Surface, understood: &ParsedWords) -> Option<Value> {
    let bare = matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    // The parser adds its own `help` to every group.
    let mut grammar = grammar().disable_help_subcommand(true);
    grammar.build();
    let space = understood.names.first().and_then(|name| grammar.find_subcommand(name));
    let space = space.filter(|_| bare && surface == Surface::Continuity)?;
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let inside: Vec<_> = space
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| json!({"name": command.get_name(), "description": about(command)}))
        .collect();
    let name = format!("{} {}", persona::current().name(), space.get_name());
    Some(json!({"namespace": name, "subcommands": inside}))
}
