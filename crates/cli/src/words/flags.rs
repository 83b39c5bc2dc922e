//! The agent contract's rules for flags, which the parser does not know: a value may begin with a dash, an empty value
//! is none, the last of two equal flags wins, and a boolean may have a value. A command line is rewritten to one that
//! the parser reads in the same way.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};
use ops::verb::Surface;

use crate::app::grammar;
use crate::commands::schema::commands::is_required;
use crate::local;
use crate::persona::{self, Persona};

/// A rewritten command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) words: Vec<OsString>,
    /// Words that the command does not read. The agent contract's original ignores them.
    pub(crate) ignored: Vec<String>,
}

/// Whether some value may be empty: the parser would take it for a value.
pub(crate) fn may_be_empty(words: &[OsString]) -> bool {
    words.iter().skip(1).any(|word| word.is_empty() || word.as_encoded_bytes().ends_with(b"="))
}

/// Rewrites a call of the agent contract's commands; `None` for every other command.
pub(crate) fn plain(words: &[OsString]) -> Option<Plain> {
    let mut grammar = grammar();
    grammar.build();
    let mut scan = Scan::new(&grammar);
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        if word == "--" {
            scan.after.push(word.clone());
            scan.after.extend(rest.by_ref().cloned());
        } else {
            scan.take(word, || rest.next().cloned());
        }
    }
    if local::surface(&scan.path.join(" ")) != Surface::Continuity {
        return None;
    }
    let mut words = vec![words.first()?.clone()];
    words.extend(scan.kept);
    words.extend(scan.flags.into_iter().map(|(_, word)| word));
    words.extend(scan.after);
    Some(Plain { words, ignored: scan.ignored })
}

struct Scan<'g> {
    command: &'g Command,
    path: Vec<&'g str>,
    /// Names of commands, and what is left to the parser.
    kept: Vec<OsString>,
    /// The flags that were understood, with their ids.
    flags: Vec<(&'g str, OsString)>,
    after: Vec<OsString>,
    ignored: Vec<String>,
}

impl<'g> Scan<'g> {
    fn new(grammar: &'g Command) -> Self {
        Self {
            command: grammar,
            path: Vec::new(),
            kept: Vec::new(),
            flags: Vec::new(),
            after: Vec::new(),
            ignored: Vec::new(),
        }
    }

    fn take(&mut self, word: &OsStr, next: impl FnOnce() -> Option<OsString>) {
        let Some(text) = word.to_str() else { return self.kept.push(word.to_owned()) };
        let (found, value) = match (text.strip_prefix("--"), text.strip_prefix('-')) {
            (Some(flag), _) => {
                let (name, value) =
                    flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
                (self.argument(|argument| argument.get_long() == Some(name)), value)
            }
            (None, Some(flag)) if !flag.is_empty() => {
                let (name, value) = flag.split_at(flag.chars().next().map_or(0, char::len_utf8));
                let value =
                    Some(value.strip_prefix('=').unwrap_or(value)).filter(|_| flag.len() > name.len());
                (self.argument(|argument| argument.get_short().is_some_and(|c| name.starts_with(c))), value)
            }
            (None, _) => return self.positional(text),
        };
        let Some(argument) = found else { return self.kept.push(word.to_owned()) };
        match argument.get_action() {
            ArgAction::Set | ArgAction::Append => match value.map(OsString::from).or_else(next) {
                Some(value) => self.set(argument, &value),
                None => self.kept.push(word.to_owned()),
            },
            ArgAction::SetTrue => match boolean(value.unwrap_or("true")) {
                Some(yes) => self.switch(argument, yes),
                None => self.kept.push(word.to_owned()),
            },
            // Help and versions, which the parser prints.
            _ => self.kept.push(word.to_owned()),
        }
    }

    fn argument(&self, is_it: impl Fn(&Arg) -> bool) -> Option<&'g Arg> {
        self.command.get_arguments().find(|argument| !argument.is_positional() && is_it(argument))
    }

    fn positional(&mut self, text: &str) {
        if let Some(inner) = self.command.find_subcommand(text) {
            self.command = inner;
            self.path.push(inner.get_name());
            return self.kept.push(text.into());
        }
        let reads_words = self.command.has_subcommands() || self.command.get_positionals().next().is_some();
        if persona::current() == Persona::Vybe && !reads_words {
            self.ignored.push(text.to_owned());
        } else {
            self.kept.push(text.into());
        }
    }

    fn set(&mut self, argument: &'g Arg, value: &OsStr) {
        if !matches!(argument.get_action(), ArgAction::Append) {
            self.forget(argument);
        }
        // A flag that may be repeated is ours, and an empty value of it would drop what it asks for.
        let may_be_left_out = !matches!(argument.get_action(), ArgAction::Append);
        if value.is_empty() && may_be_left_out && is_text(argument) && !is_required(self.command, argument) {
            return;
        }
        let mut word = OsString::from(format!("--{}=", argument.get_long().unwrap_or_default()));
        word.push(value);
        self.flags.push((argument.get_id().as_str(), word));
    }

    fn switch(&mut self, argument: &'g Arg, yes: bool) {
        self.forget(argument);
        if yes {
            let word = format!("--{}", argument.get_long().unwrap_or_default());
            self.flags.push((argument.get_id().as_str(), word.into()));
        }
    }

    fn forget(&mut self, argument: &Arg) {
        self.flags.retain(|(id, _)| *id != argument.get_id().as_str());
    }
}

fn is_text(argument: &Arg) -> bool {
    let parsed = argument.get_value_parser().type_id();
    [TypeId::of::<String>(), TypeId::of::<OsString>(), TypeId::of::<PathBuf>()]
        .iter()
        .any(|text| parsed == *text)
}

/// The words for a boolean that the agent contract's original reads.
fn boolean(word: &str) -> Option<bool> {
    match word {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &[&str]) -> Option<Vec<String>> {
        let words: Vec<OsString> = std::iter::once(&"writ").chain(line).map(OsString::from).collect();
        let plain = plain(&words)?;
        Some(plain.words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn flags_are_read_as_the_agent_contracts_original_reads_them() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["task", "create", "--title", "-x y"], &["task", "create", "--title=-x y"]),
            (&["task", "create", "--title", "--desc", "d"], &["task", "create", "d", "--title=--desc"]),
            (&["task", "list", "--status", "", "--project-id="], &["task", "list"]),
            (&["task", "list", "--status", "blocked", "--status", ""], &["task", "list"]),
            (&["--agent", "", "task", "get", "--id", ""], &["task", "get", "--id="]),
            (
                &["memory", "set", "-k", "-1", "-v=", "-tstring"],
                &["memory", "set", "--key=-1", "--value=", "--type=string"],
            ),
            (&["events", "list", "--all=true", "--asc=false"], &["events", "list", "--all"]),
            (&["events", "list", "--all", "--all=0", "--bogus"], &["events", "list", "--bogus"]),
            (&["events", "list", "--limit", "1", "--limit=2"], &["events", "list", "--limit=2"]),
            (
                &["events", "list", "--all=maybe", "--limit", ""],
                &["events", "list", "--all=maybe", "--limit="],
            ),
            (&["task", "get", "--id"], &["task", "get", "--id"]),
            (&["memory", "search", "a", "--", "-b"], &["memory", "search", "a", "--", "-b"]),
        ];
        for (line, expected) in cases {
            assert_eq!(rewritten(line).unwrap(), *expected, "{line:?}");
        }
    }

    #[test]
    fn other_commands_keep_their_words() {
        for line in
            [&["run", "plan.toml", "--output", ""][..], &["hook", "stop", "--agent", ""], &["bogus"], &[]]
        {
            assert_eq!(rewritten(line), None, "{line:?}");
        }
    }
}
