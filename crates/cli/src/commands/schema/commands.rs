//! `writ schema commands`: every command, what it takes and whether it changes something.

use std::any::TypeId;
use std::process::ExitCode;

use clap::ArgAction;
use ops::registry;
use serde_json::{Map, Value, json};

use crate::app::grammar;
use crate::output::Output;
use crate::persona;

/// Commands that change something and are no operation of their own.
const CHANGING: &[&str] = &[
    "cancel",
    "hook install",
    "hook uninstall",
    "init",
    "loop",
    "personality install",
    "retry",
    "run",
    "upgrade",
];

/// Arguments that a command cannot do without although its grammar takes them in another form too.
const REQUIRED: &[(&str, &str)] = &[("loop", "agent"), ("memory search", "query")];

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
    // The command that prints this is left out, as its contract does.
    let is_itself = |inner: &clap::Command| above.is_empty() && inner.get_name() == "schema";
    let is_shown = |inner: &&clap::Command| !inner.is_hide_set() && !is_itself(inner);
    for inner in command.get_subcommands().filter(is_shown) {
        let path = if above.is_empty() {
            inner.get_name().to_owned()
        } else {
            format!("{above} {}", inner.get_name())
        };
        rows.push(described(inner, &path));
        // What `help` lists below itself are the same commands once more.
        if inner.get_name() != "help" {
            collect(inner, &path, rows);
        }
    }
}

fn described(command: &clap::Command, path: &str) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set() && !is_prose(argument))
    {
        let name = argument.get_long().map_or_else(|| argument.get_id().to_string(), str::to_owned);
        if argument.is_required_set() {
            required.push(name.clone());
        }
        properties.insert(name, property(argument));
    }
    let known = registry::of_command(path);
    // Everything a command of the agent contract writes is written under an agent's name and a request id.
    let keyed = known.is_some_and(|verb| verb.effect.mutates());
    required
        .extend(REQUIRED.iter().filter(|(command, _)| *command == path).map(|(_, name)| (*name).to_owned()));
    if keyed {
        required.push("agent".to_owned());
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let mut row = json!({
        "command": format!("{} {path}", persona::current().name()),
        "args_schema": schema,
        "mutates": keyed || CHANGING.contains(&path),
        "requires_request_id": keyed,
    });
    if let Some(about) = command.get_about() {
        row["description"] = json!(about.to_string());
    }
    row
}

fn property(argument: &clap::Arg) -> Value {
    let mut property = json!({"type": kind(argument)});
    if let Some(help) = argument.get_help() {
        property["description"] = json!(help.to_string());
    }
    if let Some(default) = argument.get_default_values().first().map(|value| value.to_string_lossy()) {
        let number = default.parse::<i64>().ok().filter(|_| kind(argument) == "integer");
        let flag = (kind(argument) == "boolean").then_some(default == "true");
        property["default"] =
            number.map(Value::from).or(flag.map(Value::from)).unwrap_or_else(|| json!(default));
    }
    let words: Vec<String> =
        argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
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
