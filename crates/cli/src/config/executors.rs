//! `[executor.NAME]`: the programs that do the work of tasks.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use contract::domain::executor::ExecutorName;
use contract::domain::limits;
use contract::domain::time::parse_duration;
use contract::finding::Findings;
use contract::json::{Map as Fields, Value};
use contract::plan::executor::Pattern;
use contract::shape::check::nearest;
use contract::shape::{List, Map, NON_BLANK, Object, Shape, TEXT, Text, UNBOUNDED, Unknown, optional};
use engine::{Configured, ExecutorKind, PLACEHOLDERS, Permissions};
use ops::Result;

use super::{CREDENTIALS, Config, ENDPOINTS, invalid};

pub(super) const SHAPE: Shape = Shape::Map(&EXECUTORS);

static EXECUTORS: Map =
    Map { value: Shape::Object(&EXECUTOR), key: Text { min: 1, max: UNBOUNDED, form: None } };

static EXECUTOR: Object = Object {
    name: "executor",
    about: "A program that does the work of tasks.",
    fields: &[
        optional(
            "kind",
            Shape::Word(ExecutorKind::WORDS),
            "How its program is called and read. Default: the built-in executor of this name, else `aop-stdio`.",
        ),
        optional(
            "command",
            Shape::List(&List { item: NON_BLANK, min: 1, max: 100 }),
            "The program and its arguments. Default: the built-in executor's program.",
        ),
        optional("model", NON_BLANK, "The model for tasks that name none."),
        optional(
            "env",
            Shape::Map(&ENV),
            "Variables of its program; `env:NAME` takes a value of your environment.",
        ),
        optional("silence", TEXT, "Its program is ended when it says nothing for so long, such as `5m`."),
        optional("model_free", Shape::Bool, "Its tasks spend nothing."),
        optional(
            "permissions",
            Shape::Word(&["allow", "reject"]),
            "What an agent of kind `acp` is answered that asks for permission. Default: allow in a sandbox, else reject.",
        ),
        optional(
            "success_pattern",
            NON_BLANK,
            "A regular expression that the output of a program of kind `template` has to match.",
        ),
        optional(
            "versions",
            Shape::List(&List { item: Shape::Word(&["1", "2"]), min: 1, max: 2 }),
            "The versions of AOP that a program of kind `aop-stdio` reads. Default [\"2\"].",
        ),
        optional(
            "credentials",
            CREDENTIALS,
            "Paths in the user's home that sandboxed tasks with this command may read.",
        ),
        optional(
            "endpoints",
            ENDPOINTS,
            "Where its model is: hosts that sandboxed tasks with this command reach also without network.",
        ),
    ],
    unknown: Unknown::Refused,
};

static ENV: Map = Map { value: TEXT, key: Text { min: 1, max: UNBOUNDED, form: None } };

/// One `[executor.NAME]` table.
struct ExecutorTable<'t> {
    /// `executor.NAME`, as the user wrote it.
    at: String,
    name: String,
    fields: &'t Fields<String, Value>,
}

impl Config {
    pub(super) fn take_executors(&mut self, value: &Value, from: &Path) -> Result<()> {
        let mut findings = Findings::default();
        for table in tables(value) {
            let known = self.configured.iter().any(|other| other.name.as_str() == table.name);
            if known || self.executors.commands.contains_key(&table.name) {
                findings.push(format!("$.{}", table.at), "duplicate", "this executor is configured twice");
                continue;
            }
            if let Some(command) = command_of_agent(&table) {
                self.allow_executor(&table, &command, from)?;
                self.sources.push((table.at.clone(), command.join(" "), from.to_owned()));
                self.executors.commands.insert(table.name.clone(), command);
                continue;
            }
            let Some(executor) = read(&table, &mut findings) else { continue };
            self.allow_executor(&table, &executor.command, from)?;
            self.sources.push((table.at.clone(), told(&executor), from.to_owned()));
            if speaks_for_an_agent(&table, executor.kind) {
                self.executors.commands.insert(table.name.clone(), executor.command.clone());
            } else {
                self.executors.named.push(executor.name.clone());
            }
            self.configured.push(executor);
        }
        if !findings.is_empty() {
            return Err(invalid(from, findings));
        }
        self.executors.known = engine::Executors::with(&self.configured).known();
        Ok(())
    }

    /// What sandboxed tasks with this command may read and reach.
    fn allow_executor(&mut self, table: &ExecutorTable<'_>, command: &[String], from: &Path) -> Result<()> {
        let fields = Value::Object(table.fields.clone());
        let credentials = self.credentials_in(&fields, &table.at, from)?;
        self.sandbox.credentials_of_commands.push((command.to_vec(), credentials));
        let endpoints = self.endpoints_in(&fields, &table.at, from)?;
        self.sandbox.endpoints_of_commands.push((command.to_vec(), endpoints));
        Ok(())
    }
}

fn tables(value: &Value) -> Vec<ExecutorTable<'_>> {
    let mut found = Vec::new();
    for section in ["executor", "executors"] {
        for (name, table) in value.get(section).and_then(Value::as_object).into_iter().flatten() {
            if let Some(fields) = table.as_object() {
                found.push(ExecutorTable {
                    at: format!("{section}.{name}"),
                    name: name.to_lowercase(),
                    fields,
                });
            }
        }
    }
    found
}

/// The command of an agent with a name that is invalid for executors: a TASK can name it, a plan cannot.
fn command_of_agent(table: &ExecutorTable<'_>) -> Option<Vec<String>> {
    let is_agent =
        ExecutorName::parse(&table.name).is_err() && speaks_for_an_agent(table, ExecutorKind::AopStdio);
    let words = table.fields.get("command").filter(|_| is_agent)?.as_array()?;
    Some(words.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Adds what is wrong with a table. `None` if there is no executor to be had from it.
fn read(table: &ExecutorTable<'_>, findings: &mut Findings) -> Option<Configured> {
    let text = |field: &str| table.fields.get(field).and_then(Value::as_str);
    let at = |field: &str| format!("$.{}.{field}", table.at);
    let built_in = ExecutorKind::built_in().find(|kind| kind.as_str() == table.name);
    let kind = text("kind").and_then(ExecutorKind::parse).or(built_in).unwrap_or(ExecutorKind::AopStdio);
    let Ok(name) = ExecutorName::parse(&table.name) else {
        let message = format!("the name of an executor must be {}", contract::domain::executor::FORM.name);
        findings.push(format!("$.{}", table.at), "form", message);
        return None;
    };
    let mut executor = Configured::plain(name, kind);
    if let Some(words) = table.fields.get("command").and_then(Value::as_array) {
        executor.command = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    }
    if kind == ExecutorKind::Template {
        placeholders(&executor.command, &at("command"), findings);
    }
    let needs_command = built_in.is_none() && kind != ExecutorKind::Shell;
    if needs_command && executor.command.is_empty() {
        findings.push(at("command"), "missing", format!("an executor of kind `{kind}` needs a command"));
    }
    if kind == ExecutorKind::Shell {
        for field in
            ["command", "model", "silence"].into_iter().filter(|field| table.fields.contains_key(*field))
        {
            findings.push(at(field), "unused", format!("an executor of kind `shell` takes no `{field}`"));
        }
    }
    executor.model = text("model").map(str::to_owned);
    executor.silence = text("silence").and_then(|text| silence(text, &at("silence"), findings));
    let variables = table.fields.get("env").and_then(Value::as_object).into_iter().flatten();
    let variables = variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    executor.env = variables.collect::<BTreeMap<_, _>>();
    for (field, only) in [
        ("permissions", ExecutorKind::Acp),
        ("success_pattern", ExecutorKind::Template),
        ("versions", ExecutorKind::AopStdio),
    ] {
        if table.fields.contains_key(field) && kind != only {
            findings.push(at(field), "unused", format!("only an executor of kind `{only}` takes `{field}`"));
        }
    }
    executor.permissions = text("permissions").map(|word| match word {
        "allow" => Permissions::Allow,
        _ => Permissions::Reject,
    });
    if let Some(pattern) = text("success_pattern") {
        executor.success = Pattern::parse(pattern);
        if executor.success.is_none() {
            findings.push(at("success_pattern"), "form", format!("`{pattern}` is not a regular expression"));
        }
    }
    let versions = table.fields.get("versions").and_then(Value::as_array);
    executor.is_v1_only = versions.is_some_and(|versions| !versions.iter().any(|version| version == "2"));
    executor.is_model_free |= table.fields.get("model_free").and_then(Value::as_bool) == Some(true);
    Some(executor)
}

/// Refuses words in braces that look like a placeholder and are none. JSON and text with spaces are left alone.
fn placeholders(command: &[String], at: &str, findings: &mut Findings) {
    let known = || PLACEHOLDERS.iter().map(|(name, _)| name.trim_matches(['{', '}']));
    let listed = || PLACEHOLDERS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    for (index, word) in command.iter().enumerate() {
        for rest in word.split('{').skip(1) {
            let Some((name, _)) = rest.split_once('}') else { continue };
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if !is_name || known().any(|known| known == name) {
                continue;
            }
            let message = match nearest(name, known()) {
                Some(near) => format!("unknown placeholder `{{{name}}}`; did you mean `{{{near}}}`?"),
                // In a longer word it may be a language's own, such as awk's `{print}`.
                None if word.len() > name.len() + "{}".len() => continue,
                None => format!("unknown placeholder `{{{name}}}`; use one of {}", listed()),
            };
            findings.push(format!("{at}[{index}]"), "placeholder", message);
        }
    }
}

fn silence(text: &str, at: &str, findings: &mut Findings) -> Option<Duration> {
    let length =
        parse_duration(text).filter(|length| !length.is_zero() && *length <= limits::TASK_TIMEOUT_MAX);
    if length.is_none() {
        findings.push(at, "form", format!("`{text}` is not a duration; use 30s, 10m or 2h"));
    }
    length
}

/// One that only has a command speaks AOP for the agent of its name, with any name that an agent can have.
fn speaks_for_an_agent(table: &ExecutorTable<'_>, kind: ExecutorKind) -> bool {
    let only = ["command", "credentials", "endpoints"];
    kind == ExecutorKind::AopStdio && table.fields.keys().all(|field| only.contains(&field.as_str()))
}

fn told(executor: &Configured) -> String {
    executor.command.join(" ")
}
