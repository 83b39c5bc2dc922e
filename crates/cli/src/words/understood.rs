//! What the parser understands of a command line that is wrong somewhere: the command and the format.

use std::ffi::OsString;

use clap::ValueEnum;
use clap::builder::OsStringValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::app::{grammar, path_of};
use crate::output::Format;

pub(super) struct ParsedWords {
    /// The command's names, from the outermost: `task`, `create`.
    pub(super) names: Vec<String>,
    pub(super) format: Option<Format>,
}

impl ParsedWords {
    /// The parser stops at the first word that it does not know. That word is left out, and the rest is parsed again.
    pub(super) fn of(words: &[OsString]) -> Self {
        let mut words = words.to_vec();
        let strict = lenient(false);
        let mut names = None;
        for _ in 0..words.len() {
            let Err(error) = strict.clone().try_get_matches_from(&words) else { break };
            let context = match error.kind() {
                ErrorKind::UnknownArgument => ContextKind::InvalidArg,
                ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
                _ => break,
            };
            let Some(place) = place_of(&error, context, &words) else { break };
            if error.kind() == ErrorKind::InvalidSubcommand {
                // What follows may look like a command, but belongs to the one that is not known.
                names.get_or_insert_with(|| parsed(&words[..place]).names);
            }
            words.remove(place);
        }
        let mut understood = parsed(&words);
        if let Some(names) = names {
            understood.names = names;
        }
        understood
    }

    pub(super) fn path(&self) -> String {
        self.names.join(" ")
    }
}

fn parsed(words: &[OsString]) -> ParsedWords {
    let found = lenient(true).try_get_matches_from(words).ok();
    let text = |name: &str| {
        let value = found.as_ref()?.try_get_one::<OsString>(name).ok()??;
        Some(value.to_string_lossy().into_owned())
    };
    let path = found.as_ref().map(path_of).unwrap_or_default();
    ParsedWords {
        names: path.split_whitespace().map(str::to_owned).collect(),
        format: text("output").and_then(|word| Format::from_str(&word, false).ok()),
    }
}

/// Where the word stands that the parser does not know.
fn place_of(error: &clap::Error, context: ContextKind, words: &[OsString]) -> Option<usize> {
    let Some(ContextValue::String(unknown)) = error.get(context) else { return None };
    let is_it = |word: &OsString| {
        let word = word.to_string_lossy();
        word == unknown.as_str()
            || word.strip_prefix(unknown.as_str()).is_some_and(|rest| rest.starts_with('='))
    };
    words.iter().skip(1).position(is_it).map(|place| place + 1)
}

/// The grammar without anything that a value or a missing argument could fail at.
fn lenient(ignore_errors: bool) -> clap::Command {
    let mut grammar =
        grammar().ignore_errors(ignore_errors).disable_help_flag(true).disable_version_flag(true);
    grammar.build();
    loosened(grammar)
}

fn loosened(command: clap::Command) -> clap::Command {
    let any_value = |argument: clap::Arg| match argument.get_action() {
        clap::ArgAction::Set | clap::ArgAction::Append => {
            argument.required(false).value_parser(OsStringValueParser::new())
        }
        _ => argument,
    };
    command.mut_args(any_value).mut_subcommands(loosened)
}
