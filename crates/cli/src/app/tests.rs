mod pages;

use std::collections::BTreeMap;

use ops::registry;
use ops::verb::{Effect, Surface};
use serde_json::Value;

use super::grammar;
use crate::commands::schema::commands::described;
use crate::{commands, local};

/// What each command below `above` says of itself, by its words.
fn abouts(above: &clap::Command, words: &str, found: &mut Vec<(String, String)>) {
    let shown = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    for command in above.get_subcommands().filter(shown) {
        let words = format!("{words} {}", command.get_name());
        let about = command.get_long_about().or_else(|| command.get_about());
        found.push((words.clone(), about.map(ToString::to_string).unwrap_or_default()));
        abouts(command, &words, found);
    }
}

#[test]
fn every_command_is_described_by_a_sentence_of_its_own() {
    let mut grammar = grammar();
    grammar.build();
    let mut found = Vec::new();
    abouts(&grammar, "writ", &mut found);
    assert!(found.len() > 80, "{}", found.len());
    let mut said: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (words, about) in &found {
        assert!(!about.is_empty() && !about.contains("grammar"), "{words}: {about:?}");
        said.entry(about).or_default().push(words);
    }
    let above = |words: &str| words.rsplit_once(' ').map(|(above, _)| above.to_owned());
    for (about, words) in said {
        // Two words may name one thing, but beside each other they have to be told apart.
        let mut places: Vec<_> = words.iter().map(|words| above(words)).collect();
        places.sort();
        let count = places.len();
        places.dedup();
        assert!(places.len() == count && count <= 2, "{words:?} all say {about:?}");
    }
}

/// Every leaf command with its path, hidden ones included.
fn leaves<'g>(above: &'g clap::Command, path: &str, found: &mut Vec<(String, &'g clap::Command)>) {
    for command in above.get_subcommands().filter(|command| command.get_name() != "help") {
        let path = format!("{path} {}", command.get_name()).trim_start().to_owned();
        // `loop` does something by itself and has a command inside.
        if !command.is_subcommand_required_set() {
            found.push((path.clone(), command));
        }
        leaves(command, &path, found);
    }
}

fn built() -> clap::Command {
    let mut grammar = grammar();
    grammar.build();
    grammar
}

#[test]
fn every_command_is_a_verb_or_a_declared_local_command_and_not_both() {
    let grammar = built();
    let mut found = Vec::new();
    leaves(&grammar, "", &mut found);
    for (path, _) in &found {
        assert!(registry::of_command(path).is_some() || local::local(path).is_some(), "{path} is undeclared");
    }
    // A verb may be called by some form of a command: `run --dry-run`, `cancel TASK`.
    let is_name = |word: &&str| word.starts_with(char::is_lowercase);
    let is_command = |command: &str| {
        let names: Vec<&str> = command.split(' ').take_while(is_name).collect();
        found.iter().any(|(path, _)| *path == names.join(" "))
    };
    for verb in registry::VERBS.iter().filter(|verb| !verb.command.is_empty()) {
        assert!(is_command(verb.command), "the command of {} does not exist", verb.name);
    }
    for local in commands::LOCAL.iter().copied().flatten() {
        assert!(is_command(local.command), "{} does not exist", local.command);
        assert!(registry::of_command(local.command).is_none(), "{} is a verb", local.command);
    }
}

/// The calls of writ below `Examples:` in a command's help, without what a shell keeps for itself.
fn examples(command: &clap::Command) -> Vec<String> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let Some((_, examples)) = help.split_once("Examples:\n") else { return Vec::new() };
    let joined = examples.replace("\\\n", " ");
    let parts = joined.lines().flat_map(|line| line.split(['|', '<', '>'])).map(str::trim);
    parts.filter(|part| part.starts_with("writ ")).map(str::to_owned).collect()
}

#[test]
fn every_help_ends_with_examples_that_the_grammar_accepts() {
    let grammar = built();
    let mut found = Vec::new();
    leaves(&grammar, "", &mut found);
    let mut faults = Vec::new();
    for (path, command) in found.into_iter().filter(|(_, command)| !command.is_hide_set()) {
        let examples = examples(command);
        if !(1..=3).contains(&examples.len()) {
            faults.push(format!("`writ {path} --help` has {} examples", examples.len()));
        }
        for example in examples {
            let words = shlex::split(&example).unwrap_or_else(|| panic!("{path}: {example}"));
            match super::grammar().try_get_matches_from(words) {
                Ok(parsed) if super::path_of(&parsed) == path => {}
                Ok(parsed) => faults.push(format!("{path}: {example} calls {}", super::path_of(&parsed))),
                Err(error) => faults.push(format!("{path}: {example}: {error}")),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn help_lines_are_short_and_imperative_and_every_command_is_in_a_section() {
    let grammar = built();
    let mut found = Vec::new();
    abouts(&grammar, "writ", &mut found);
    let is_good = |line: &str| {
        line.chars().count() <= 80 && !line.ends_with('.') && line.starts_with(char::is_uppercase)
    };
    let first = |about: &str| about.lines().next().unwrap_or_default().to_owned();
    found.retain(|(_, about)| !is_good(&first(about)));
    assert_eq!(found, Vec::new());
    let help = super::root_help();
    for command in grammar.get_subcommands() {
        let order = command.get_display_order();
        let is_section = |(section, _): &(usize, &str)| *section == order;
        assert!(super::help::SECTIONS.iter().any(is_section), "{} is in no section", command.get_name());
        assert!(help.contains(&format!("\n  {} ", command.get_name())), "{help}");
    }
    let (options, globals) = (help.find("\nOptions:").unwrap(), help.find("\nGlobal options:").unwrap());
    assert!(options < globals && help[globals..].contains("--db-path"), "{help}");
}

#[test]
fn what_schema_commands_says_of_a_verb_is_what_the_registry_says() {
    let grammar = built();
    let mut found = Vec::new();
    leaves(&grammar, "", &mut found);
    let mut faults = Vec::new();
    for (path, command) in found {
        let Some(verb) = registry::of_command(&path) else { continue };
        let row = described(command, &path);
        assert_eq!(row["mutates"], verb.effect.mutates(), "{path}");
        let keyed = verb.effect == Effect::Once && verb.surface == Surface::Continuity;
        assert_eq!(row["requires_request_id"], keyed, "{path}");
        let request = (verb.request_schema)();
        let names = |schema: &Value| -> Vec<String> {
            let list = schema["required"].as_array().into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let (typed, fields) = (names(&row["args_schema"]), names(&request));
        for argument in command.get_arguments() {
            let (field, flag) = (argument.get_id().as_str(), argument.get_long());
            let Some(property) = request["properties"].get(field) else { continue };
            let flag = flag.unwrap_or(field);
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let has_default =
                !argument.get_default_values().is_empty() || help.contains("[default in a sandbox: ");
            let is_typed = typed.iter().any(|name| name == flag);
            let is_field = fields.iter().any(|name| name == field);
            if is_typed != is_field && !(has_default && is_field) {
                faults.push(format!("{path} --{flag}: required {is_typed}, in the request {is_field}"));
            }
            let words: Vec<String> =
                argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            let is_flag = matches!(argument.get_action(), clap::ArgAction::SetTrue);
            if let Some(listed) = enum_of(property).filter(|_| !is_flag)
                && words != listed
            {
                faults.push(format!("{path} --{flag}: {words:?}, in the request {listed:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The words of a field, which may be optional.
fn enum_of(property: &Value) -> Option<Vec<String>> {
    let listed = property["enum"]
        .as_array()
        .or_else(|| property["anyOf"].as_array()?.iter().find_map(|choice| choice["enum"].as_array()))?;
    Some(listed.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}
