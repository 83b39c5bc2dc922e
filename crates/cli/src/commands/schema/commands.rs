//! `writ schema commands`: every command, its arguments and whether it changes something.

use std::any::TypeId;
use std::process::ExitCode;

use clap::ArgAction;
use serde_json::{Map, Value, json};

use crate::app::grammar;
use crate::output::{Output, in_own_words};
use crate::{local, persona};

pub(super) fn run(output: &Output) -> ExitCode {
    let mut grammar = grammar();
    grammar.build();
    let mut rows = Vec::new();
    collect(&grammar, "", &mut rows);
    output.answer(&json!({ "commands": rows }), || {
        let field = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let line = |row: &Value| format!("{:<24} {}\n", field(row, "command"), field(row, "description"));
        rows.iter().map(line).collect()
    })
}

fn collect(command: &clap::Command, above: &str, rows: &mut Vec<Value>) {
    // The parser's own `help` describes the same commands once more.
    let is_shown = |inner: &&clap::Command| !inner.is_hide_set() && inner.get_name() != "help";
    for inner in command.get_subcommands().filter(is_shown) {
        let path = if above.is_empty() {
            inner.get_name().to_owned()
        } else {
            format!("{above} {}", inner.get_name())
        };
        rows.push(described(inner, &path));
        collect(inner, &path, rows);
    }
}

pub(crate) fn described(command: &clap::Command, path: &str) -> Value {
    let shown: Vec<&clap::Arg> =
        command.get_arguments().filter(|argument| !argument.is_hide_set() && !is_prose(argument)).collect();
    let properties: Map<String, Value> =
        shown.iter().map(|argument| (name(argument), property(argument))).collect();
    let required: Vec<String> = shown
        .iter()
        .filter(|argument| is_required(command, argument))
        .map(|argument| name(argument))
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let mut row = json!({
        "command": format!("{} {path}", persona::current().name()),
        "args_schema": schema,
        "mutates": local::mutates(path),
        "requires_request_id": local::requires_request_id(path),
    });
    if let Some(about) = command.get_about() {
        row["description"] = json!(about.to_string());
    }
    row
}

/// The name of an argument: its flag, or its place.
fn name(argument: &clap::Arg) -> String {
    argument.get_long().map_or_else(|| argument.get_id().to_string(), str::to_owned)
}

/// Required by itself, or the visible member of a group of which one is required.
pub(crate) fn is_required(command: &clap::Command, argument: &clap::Arg) -> bool {
    let in_group = |group: &clap::ArgGroup| {
        group.is_required_set()
            && group.get_args().any(|id| id == argument.get_id())
            && group.get_args().filter(|id| is_visible(command, id)).count() == 1
    };
    argument.is_required_set() || command.get_groups().any(in_group)
}

fn is_visible(command: &clap::Command, id: &clap::Id) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == id && !argument.is_hide_set())
}

fn property(argument: &clap::Arg) -> Value {
    let mut property = json!({"type": kind(argument)});
    if let Some(help) = argument.get_help() {
        property["description"] = json!(in_own_words(&help.to_string()));
    }
    if let Some(default) = argument.get_default_values().first().map(|value| value.to_string_lossy()) {
        let number = default.parse::<i64>().ok().filter(|_| kind(argument) == "integer");
        let flag = (kind(argument) == "boolean").then_some(default == "true");
        property["default"] =
            number.map(Value::from).or(flag.map(Value::from)).unwrap_or_else(|| json!(default));
    }
    let words: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect();
    if !words.is_empty() && kind(argument) != "boolean" {
        property["enum"] = json!(words);
    }
    property
}

fn kind(argument: &clap::Arg) -> &'static str {
    let integers = [
        TypeId::of::<i64>(),
        TypeId::of::<u64>(),
        TypeId::of::<u32>(),
        TypeId::of::<u16>(),
        TypeId::of::<usize>(),
    ];
    let parsed = argument.get_value_parser().type_id();
    match argument.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => "boolean",
        _ if integers.iter().any(|integer| parsed == *integer) => "integer",
        _ => "string",
    }
}

/// What prints prose instead of doing anything.
fn is_prose(argument: &clap::Arg) -> bool {
    matches!(
        argument.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}
