//! The agent contract's original as it was recorded: every command, flag, default, field and error string, as rows of
//! JSON. Each row is a call and what it prints, under both names of the program where it applies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use testkit::{Cli, Output};

use crate::documents::writ;

const TABLES: [(&str, &str); 6] = [
    ("tasks", include_str!("reference/tasks.json")),
    ("memory", include_str!("reference/memory.json")),
    ("push_and_lists", include_str!("reference/push_and_lists.json")),
    ("events", include_str!("reference/events.json")),
    ("resume", include_str!("reference/resume.json")),
    ("rest", include_str!("reference/rest.json")),
];
const SURFACE: &str = include_str!("reference/surface.json");

/// One call. `$NAME` in it is what an earlier row saved.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(rename = "do")]
    words: Vec<String>,
    /// Variables that differ from those of the other rows; null removes one.
    #[serde(default)]
    env: BTreeMap<String, Option<String>>,
    #[serde(default)]
    stdin: Option<String>,
    /// Names for parts of the data.
    #[serde(default)]
    save: BTreeMap<String, String>,
    /// The form of the data; see [`differs`].
    #[serde(default)]
    data: Option<Value>,
    /// The kind, message and metadata of the only event in the data.
    #[serde(default)]
    event: Option<Value>,
    /// The exact error; a final `*` stands for anything.
    #[serde(default)]
    error: Option<String>,
    /// What the log on standard error has to mention.
    #[serde(default)]
    note: Option<String>,
    /// The only name under which the row applies.
    #[serde(default)]
    only: Option<String>,
}

fn rows(name: &str) -> Vec<Row> {
    let (_, text) = TABLES.iter().find(|(table, _)| *table == name).unwrap();
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A store and what rows saved, under one name of the program.
struct World {
    cli: Cli,
    name: &'static str,
    saved: BTreeMap<String, String>,
}

impl World {
    fn new(name: &'static str) -> Self {
        let cli = writ();
        let saved = BTreeMap::from([("DB".to_owned(), cli.db().to_str().unwrap().to_owned())]);
        Self { cli, name, saved }
    }

    /// Longer names first: `$DB` is not `$D` and a letter.
    fn filled(&self, text: &str) -> String {
        self.saved
            .iter()
            .rev()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }

    /// What is expected under this name: only the program's name and its variables differ.
    fn in_own_words(&self, text: &str) -> String {
        let text = self.filled(text);
        if self.name == "vybe" {
            return text;
        }
        text.replace("VYBE_AGENT", "WRIT_AGENT")
            .replace("VYBE_REQUEST_ID", "WRIT_REQUEST_ID")
            .replace("vybe", "writ")
    }

    fn pattern(&self, pattern: &Value) -> Value {
        match pattern {
            Value::String(text) => Value::String(self.in_own_words(text)),
            Value::Array(items) => items.iter().map(|item| self.pattern(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.pattern(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn call(&self, row: &Row, number: usize) -> Output {
        let words = row.words.iter().map(|word| self.filled(word));
        let mut call = self.cli.call(words.collect::<Vec<_>>()).named(self.name).without_env("WRIT_DB");
        let usual =
            [("VYBE_DB_PATH", "$DB"), ("VYBE_AGENT", "ann"), ("VYBE_REQUEST_ID", &format!("row-{number}"))];
        for (name, value) in usual {
            call = call.env(name, self.filled(value));
        }
        for (name, value) in &row.env {
            call = match value {
                Some(value) => call.env(name, value),
                None => call.without_env(name),
            };
        }
        match &row.stdin {
            Some(text) => call.stdin(self.filled(text)).run(),
            None => call.run(),
        }
    }

    fn check(&mut self, row: &Row, number: usize) {
        let output = self.call(row, number);
        let place = format!("row {number} as {}: {output}", self.name);
        assert_eq!(output.stdout.lines().count(), 1, "one envelope: {place}");
        let envelope = output.json();
        assert_eq!(envelope["schema_version"], "v1", "{place}");
        if let Some(expected) = &row.error {
            self.check_error(&output, &envelope, expected, &place);
            return;
        }
        let data = &envelope["data"];
        assert_eq!((output.status.code(), &envelope["success"]), (Some(0), &json!(true)), "{place}");
        assert_eq!(envelope.as_object().unwrap().len(), 3, "{place}");
        if let Some(pattern) = &row.data {
            assert_eq!(differs(data, &self.pattern(pattern), "$"), None, "{place}");
        }
        if let Some(pattern) = &row.event {
            let events = data["events"].as_array().unwrap();
            assert_eq!(events.len(), 1, "{place}");
            let parts =
                ["kind", "message", "metadata"].map(|name| (name.to_owned(), events[0][name].clone()));
            let event = Value::Object(Map::from_iter(parts));
            assert_eq!(differs(&event, &self.pattern(pattern), "$"), None, "{place}");
        }
        if let Some(note) = &row.note {
            assert!(output.stderr.contains(note), "{place}");
        }
        for (name, pointer) in &row.save {
            let value = data.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{place}"));
            self.saved.insert(name.clone(), value.to_owned());
        }
    }

    fn check_error(&self, output: &Output, envelope: &Value, expected: &str, place: &str) {
        assert_eq!((output.status.code(), &envelope["success"]), (Some(1), &json!(false)), "{place}");
        let (said, expected) = (envelope["error"].as_str().unwrap(), self.in_own_words(expected));
        match expected.strip_suffix('*') {
            Some(beginning) => assert!(said.starts_with(beginning), "{place}"),
            None => assert_eq!(said, expected, "{place}"),
        }
        // What programs branch on stands beside the sentence.
        assert!(envelope["error_code"].is_string() && envelope["retry"].is_string(), "{place}");
        let context = envelope.get("error_context").is_none_or(|context| {
            context.as_object().is_some_and(|fields| fields.values().all(Value::is_string))
        });
        assert!(context, "{place}");
    }
}

/// Where a value differs from its form. `<int>`, `<text>` and the like stand for any value of that kind, `["*", form]`
/// for a list of at least one such item, `"name?"` for a field that may be missing, and `"..."` for more fields.
fn differs(value: &Value, form: &Value, path: &str) -> Option<String> {
    let fails = |is_good: bool| (!is_good).then(|| format!("{path} is {value}, not {form}"));
    match form {
        Value::String(word) => match word.as_str() {
            "<any>" => None,
            "<text>" => fails(value.is_string()),
            "<int>" => fails(value.is_i64()),
            "<number>" => fails(value.is_number()),
            "<task>" => fails(value.as_str().is_some_and(|id| id.starts_with("task_"))),
            "<time>" => fails(value.as_str().is_some_and(|at| at.len() >= 20 && at.ends_with('Z'))),
            "<duration>" => {
                fails(value.as_str().is_some_and(|length| length.ends_with('s') && length.len() > 1))
            }
            _ => fails(value == form),
        },
        Value::Array(forms) => {
            let items = value.as_array().map_or(&[][..], Vec::as_slice);
            let forms: Vec<&Value> = match forms.as_slice() {
                [star, every] if star == "*" && !items.is_empty() => vec![every; items.len()],
                forms => forms.iter().collect(),
            };
            if !value.is_array() || items.len() != forms.len() {
                return fails(false);
            }
            let item = |(index, (item, form))| differs(item, form, &format!("{path}[{index}]"));
            items.iter().zip(forms).enumerate().find_map(item)
        }
        Value::Object(forms) => match value.as_object() {
            Some(fields) => fields_differ(fields, forms, path),
            None => fails(false),
        },
        _ => fails(value == form),
    }
}

fn fields_differ(fields: &Map<String, Value>, forms: &Map<String, Value>, path: &str) -> Option<String> {
    for (name, form) in forms.iter().filter(|(name, _)| *name != "...") {
        let (name, is_optional) = name.strip_suffix('?').map_or((name.as_str(), false), |name| (name, true));
        match fields.get(name) {
            Some(value) => {
                if let Some(found) = differs(value, form, &format!("{path}.{name}")) {
                    return Some(found);
                }
            }
            None if is_optional => {}
            None => return Some(format!("{path}.{name} is missing")),
        }
    }
    let is_known = |name: &String| forms.contains_key(name) || forms.contains_key(&format!("{name}?"));
    let more = fields.keys().find(|name| !is_known(name)).filter(|_| !forms.contains_key("..."));
    more.map(|name| format!("{path}.{name} is one too many"))
}

fn check_table(name: &str) {
    for program in ["vybe", "writ"] {
        let mut world = World::new(program);
        for (number, row) in rows(name).iter().enumerate() {
            if row.only.as_deref().is_none_or(|only| only == program) {
                world.check(row, number);
            }
        }
    }
}

#[test]
fn tasks_are_as_the_original_has_them() {
    check_table("tasks");
}

#[test]
fn memory_is_as_the_original_has_it() {
    check_table("memory");
}

#[test]
fn pushes_artifacts_and_event_lists_are_as_the_original_has_them() {
    check_table("push_and_lists");
}

#[test]
fn events_carry_what_the_original_carries_and_no_internals() {
    check_table("events");
}

#[test]
fn resuming_is_as_the_original_has_it_and_is_not_news_to_itself() {
    check_table("resume");
}

#[test]
fn status_hooks_loops_and_indexes_are_as_the_original_has_them() {
    check_table("rest");
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    command: String,
    mutates: bool,
    request_id: bool,
    required: Vec<String>,
    /// The flags with their defaults.
    flags: BTreeMap<String, Value>,
}

fn surface() -> Vec<Command> {
    serde_json::from_str(SURFACE).unwrap()
}

#[test]
fn the_schema_lists_every_recorded_command_and_flag_with_its_default() {
    let cli = writ();
    let described = cli.call(["schema", "commands"]).named("vybe").run().success().json();
    let listed = described["data"]["commands"].as_array().unwrap();
    for Command { command, mutates, request_id, required, flags } in surface() {
        let row = listed.iter().find(|row| row["command"] == format!("vybe {command}"));
        let row = row.unwrap_or_else(|| panic!("{command} is not listed"));
        assert_eq!(row["mutates"], mutates, "{command}");
        assert_eq!(row["requires_request_id"], request_id, "{command}");
        let schema = &row["args_schema"];
        let named: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        assert_eq!(named, required.iter().map(String::as_str).collect(), "{command}");
        for (flag, default) in flags {
            let found = &schema["properties"][&flag];
            assert!(found["description"].is_string(), "{command} --{flag}: {schema}");
            assert_eq!(found["default"], default, "{command} --{flag}");
        }
        for global in ["db-path", "agent", "request-id"] {
            assert_eq!(schema["properties"][global]["type"], "string", "{command} --{global}");
        }
    }
    let text = described.to_string();
    assert!(!text.contains("WRIT_") && !text.contains("`writ "), "{text}");
    let is_help = |row: &&Value| row["command"].as_str().unwrap().split(' ').any(|word| word == "help");
    assert_eq!(listed.iter().find(is_help), None);
}

#[test]
fn every_recorded_command_and_flag_has_a_row() {
    let all: Vec<Row> = TABLES.iter().flat_map(|(name, _)| rows(name)).collect();
    let short = |word: &str| match word {
        "-k" => Some("key"),
        "-v" => Some("value"),
        "-t" => Some("type"),
        "-s" => Some("scope"),
        _ => None,
    };
    let used: BTreeSet<(String, String)> = all
        .iter()
        .flat_map(|row| {
            let named = row.words.iter().take_while(|word| !word.starts_with('-'));
            let command = named.cloned().collect::<Vec<_>>().join(" ");
            row.words.iter().filter_map(move |word| {
                let flag = short(word).or_else(|| word.strip_prefix("--")?.split('=').next())?;
                Some((command.clone(), flag.to_owned()))
            })
        })
        .collect();
    for Command { command, flags, .. } in surface().into_iter().filter(|row| row.command != "schema commands")
    {
        let words: Vec<&str> = command.split(' ').collect();
        assert!(
            all.iter()
                .any(|row| row.words.starts_with(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()))
        );
        for flag in flags.keys() {
            // Hooks have tests of their own for the rest.
            let elsewhere = command.starts_with("hook ") && flag != "claude";
            assert!(
                elsewhere || used.contains(&(command.clone(), flag.clone())),
                "no row has {command} --{flag}"
            );
        }
    }
}

#[test]
fn forty_events_are_a_resume_of_fifteen_kilobytes() {
    let world = World::new("vybe");
    let row = |words: &[&str]| Row {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        env: BTreeMap::new(),
        stdin: None,
        save: BTreeMap::new(),
        data: None,
        event: None,
        error: None,
        note: None,
        only: None,
    };
    for number in 0..10 {
        let made = world.call(&row(&["task", "create", "--title", "a task of usual length"]), number * 10);
        let id = made.success().json()["data"]["task"]["id"].as_str().unwrap().to_owned();
        let note =
            json!({"task_id": id, "event": {"kind": "progress", "message": "some progress"}}).to_string();
        world.call(&row(&["push", "--json", &note]), number * 10 + 1).success();
        let complete = ["task", "complete", "--id", &id, "--outcome", "done", "--summary", "done as asked"];
        world.call(&row(&complete), number * 10 + 2).success();
    }
    let resumed = world.call(&row(&["resume", "--agent", "bob"]), 1000);
    let deltas = resumed.success().json()["data"]["deltas"].clone();
    assert_eq!(deltas.as_array().unwrap().len(), 40, "{resumed}");
    let bytes = deltas.to_string().len();
    assert!(bytes <= 15_000, "{bytes}");
}

#[test]
fn events_of_an_old_store_are_printed_in_the_same_words() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stores/0001-f434e81.db");
    let cli = writ();
    std::fs::copy(fixture, cli.db()).unwrap();
    let list = |more: &[&str]| {
        let words = ["events", "list", "--all", "--limit", "1000"];
        let listed = cli.call(words.iter().chain(more)).named("vybe").run();
        listed.success().json()["data"]["events"].as_array().unwrap().clone()
    };
    let first = |kind: &str| list(&["--kind", kind])[0].clone();
    assert_eq!(first("task_priority_changed")["metadata"], json!({"priority": 7}));
    assert_eq!(first("memory_delete")["metadata"], json!({"key": "forgotten", "scope": "global"}));
    let closed = json!({"outcome": "completed", "summary": "it works", "label": "good"});
    assert!(list(&["--kind", "task_closed"]).iter().any(|event| event["metadata"] == closed));
    let file = "/tmp/writ-store-fixture/notes.txt";
    assert_eq!(first("artifact_added")["metadata"]["file_path"], file);
    for event in list(&[]) {
        let text = event.to_string();
        assert!(!text.contains("boot_id") && !text.contains("\"change\""), "{text}");
        let kind = event["kind"].as_str().unwrap();
        assert!(
            !["task_claimed", "task_released", "project_created", "task_priority"].contains(&kind),
            "{text}"
        );
        let names_status = kind != "task_status" || text.contains("Status changed to: ");
        assert!(names_status, "{text}");
    }
}
