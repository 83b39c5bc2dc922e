//! Claude Code's settings: which hooks we want there, which are ours, and what has to change. Pure.

use contract::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Program;
use super::edits::{self, Edit};
use super::json_edit::{self, Item};
use super::json_text::{self, Node};

/// An event of Claude Code, the handler that takes it, and the seconds it may take.
struct Event {
    name: &'static str,
    handler: &'static str,
    matcher: &'static str,
    seconds: u32,
}

const EVENTS: &[Event] = &[
    Event {
        name: "SessionStart",
        handler: "session-start",
        matcher: "startup|resume|clear|compact",
        seconds: 10,
    },
    Event { name: "UserPromptSubmit", handler: "prompt", matcher: "", seconds: 5 },
    Event { name: "PostToolUseFailure", handler: "tool-failure", matcher: "", seconds: 5 },
    Event {
        name: "PostToolUse",
        handler: "tool-success",
        matcher: "Write|Edit|MultiEdit|Bash|NotebookEdit",
        seconds: 5,
    },
    Event { name: "PreCompact", handler: "checkpoint", matcher: "", seconds: 10 },
    Event { name: "SessionEnd", handler: "session-end", matcher: "", seconds: 10 },
    Event { name: "TaskCompleted", handler: "task-completed", matcher: "", seconds: 5 },
    Event { name: "SubagentStart", handler: "subagent-start", matcher: "", seconds: 5 },
    Event { name: "SubagentStop", handler: "subagent-stop", matcher: "", seconds: 5 },
    Event { name: "Stop", handler: "stop", matcher: "", seconds: 5 },
];

/// Kept after an installation, so that it can be taken back byte for byte. It holds nothing of the user's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) path: String,
    /// The digest of the file as we left it.
    installed: String,
    /// The digest of the file before; absent where there was none.
    original: Option<String>,
    /// What leads back.
    back: Vec<Edit>,
    /// Parts of the hooks that were there before, and stay when they are empty again.
    had: Vec<String>,
    /// Directories that were made for the file, outermost first.
    pub(crate) directories: Vec<String>,
}

/// What an installation would do.
#[derive(Debug, Default)]
pub(crate) struct Install {
    pub(crate) installed: Vec<&'static str>,
    pub(crate) updated: Vec<&'static str>,
    pub(crate) skipped: Vec<&'static str>,
    /// The new text and how to take it back; nothing where all is there already.
    pub(crate) change: Option<(String, Record)>,
}

/// What taking our entries out would do.
#[derive(Debug)]
pub(crate) struct Uninstall {
    pub(crate) removed: Vec<String>,
    /// Without our entries; `None` where the file goes away.
    pub(crate) text: Option<String>,
    /// The bytes are those of before the installation.
    pub(crate) restored: bool,
}

pub(crate) fn install(
    path: &str,
    current: Option<&str>,
    record: Option<&Record>,
    program: &Program,
) -> Result<Install, String> {
    let mut found = Install::default();
    let root = current.filter(|text| !is_blank(text)).map(|text| read(text).map(|root| (text, root)));
    let root = root.transpose()?;
    for event in EVENTS {
        let ours =
            root.as_ref().map_or_else(Vec::new, |(text, root)| ours_of(text, root, event.name, program));
        match ours.as_slice() {
            [] => found.installed.push(event.name),
            [only] if *only == entry(event, program) => found.skipped.push(event.name),
            _ => found.updated.push(event.name),
        }
    }
    if found.installed.is_empty() && found.updated.is_empty() {
        return Ok(found);
    }
    let base = match current {
        None => None,
        Some(text) => uninstall(text, record, program)?.text,
    };
    let edits = additions(base.as_deref().unwrap_or_default(), program)?;
    let text =
        edits::apply(base.as_deref().unwrap_or_default(), &edits).ok_or("BUG: our edits do not fit")?;
    let record = Record {
        path: path.to_owned(),
        installed: digest::of_bytes(text.as_bytes()),
        original: base.as_ref().map(|text| digest::of_bytes(text.as_bytes())),
        back: edits::reversed(&edits),
        had: base.as_deref().map_or_else(Vec::new, had),
        directories: record.map_or_else(Vec::new, |record| record.directories.clone()),
    };
    found.change = Some((text, record));
    Ok(found)
}

pub(crate) fn uninstall(text: &str, record: Option<&Record>, program: &Program) -> Result<Uninstall, String> {
    if is_blank(text) {
        return Ok(Uninstall { removed: Vec::new(), text: Some(text.to_owned()), restored: false });
    }
    let root = read(text)?;
    let mut removed: Vec<String> = Vec::new();
    for member in hooks_of(&root) {
        if !ours_of(text, &root, &member, program).is_empty() {
            removed.push(member);
        }
    }
    if let Some(record) = record.filter(|record| record.installed == digest::of_bytes(text.as_bytes())) {
        let before = edits::apply(text, &record.back);
        let digest = before.as_ref().map(|text| digest::of_bytes(text.as_bytes()));
        if record.original.is_none() {
            return Ok(Uninstall { removed, text: None, restored: true });
        }
        if digest == record.original {
            return Ok(Uninstall { removed, text: before, restored: true });
        }
    }
    let had = record.map_or(&[][..], |record| &record.had);
    let edits = removals(text, &root, had, program);
    let text = edits::apply(text, &edits).ok_or("BUG: our edits do not fit")?;
    let is_ours_alone = record.is_some_and(|record| record.original.is_none());
    let is_empty = read(&text)?.inside().is_empty();
    Ok(Uninstall { removed, text: (!(is_ours_alone && is_empty)).then_some(text), restored: false })
}

/// Which of our events the settings have.
pub(crate) fn events_in(text: &str, program: &Program) -> Vec<&'static str> {
    let Ok(root) = read(text) else { return Vec::new() };
    let has = |event: &&Event| !ours_of(text, &root, event.name, program).is_empty();
    EVENTS.iter().filter(has).map(|event| event.name).collect()
}

/// The programs that our entries call.
pub(crate) fn programs_in(text: &str, program: &Program) -> Vec<String> {
    let Ok(root) = read(text) else { return Vec::new() };
    let mut called: Vec<String> = hooks_of(&root)
        .iter()
        .flat_map(|event| ours_of(text, &root, event, program))
        .flat_map(|entry| commands(&entry).map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| program.is_ours(line))
        .filter_map(|line| shlex::split(&line)?.into_iter().next())
        .collect();
    called.sort();
    called.dedup();
    called
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Reads settings and refuses shapes that we could only guess about.
fn read(text: &str) -> Result<Node, String> {
    let root = json_text::read(text).map_err(|error| format!("is not valid JSON: {error}"))?;
    if !matches!(root.kind, json_text::Kind::Object(_)) {
        return Err("is JSON, but not an object".to_owned());
    }
    let Some(hooks) = root.member("hooks") else { return Ok(root) };
    let json_text::Kind::Object(events) = &hooks.value.kind else {
        return Err("has `hooks` that are not an object".to_owned());
    };
    match events.iter().find(|event| event.value.items().is_none()) {
        Some(event) => Err(format!("has `hooks.{}` that is not a list", event.key)),
        None => Ok(root),
    }
}

fn hooks_of(root: &Node) -> Vec<String> {
    match root.member("hooks").map(|hooks| &hooks.value.kind) {
        Some(json_text::Kind::Object(events)) => events.iter().map(|event| event.key.clone()).collect(),
        _ => Vec::new(),
    }
}

fn event_node<'n>(root: &'n Node, event: &str) -> Option<&'n Node> {
    root.member("hooks")?.value.member(event).map(|member| &member.value)
}

/// Entries that hold a command of ours.
fn ours_of(text: &str, root: &Node, event: &str, program: &Program) -> Vec<Value> {
    let entries = event_node(root, event).and_then(Node::items).unwrap_or_default();
    let values = entries.iter().map(|entry| entry.value(text));
    values.filter(|entry| commands(entry).any(|command| program.is_ours(command))).collect()
}

fn commands(entry: &Value) -> impl Iterator<Item = &str> {
    let hooks = entry["hooks"].as_array().into_iter().flatten();
    hooks.filter_map(|hook| hook["command"].as_str())
}

fn entry(event: &Event, program: &Program) -> Value {
    let hook =
        json!({"type": "command", "command": program.hook_line(event.handler), "timeout": event.seconds});
    json!({"matcher": event.matcher, "hooks": [hook]})
}

/// The parts of the hooks that a text has before we touch it.
fn had(text: &str) -> Vec<String> {
    let Ok(root) = json_text::read(text) else { return Vec::new() };
    let own = root.member("hooks").map(|_| "hooks".to_owned());
    own.into_iter().chain(hooks_of(&root).into_iter().map(|event| format!("hooks.{event}"))).collect()
}

fn additions(base: &str, program: &Program) -> Result<Vec<Edit>, String> {
    let entries: Vec<(&Event, Value)> = EVENTS.iter().map(|event| (event, entry(event, program))).collect();
    let all: serde_json::Map<String, Value> =
        entries.iter().map(|(event, entry)| (event.name.to_owned(), json!([entry]))).collect();
    let all = Value::Object(all);
    if is_blank(base) {
        let document = json_edit::document(&json!({ "hooks": all }));
        return Ok(vec![Edit::replace(base, 0..base.len(), document)]);
    }
    let root = read(base)?;
    let Some(hooks) = root.member("hooks") else {
        return Ok(vec![json_edit::append(base, &root, &[Item { key: Some("hooks"), value: &all }])]);
    };
    let mut edits = Vec::new();
    let mut missing: Vec<(&str, Value)> = Vec::new();
    for (event, entry) in &entries {
        match event_node(&root, event.name) {
            Some(list) => edits.push(json_edit::append(base, list, &[Item { key: None, value: entry }])),
            None => missing.push((event.name, json!([entry]))),
        }
    }
    if !missing.is_empty() {
        let items: Vec<Item<'_>> =
            missing.iter().map(|(name, value)| Item { key: Some(name), value }).collect();
        edits.push(json_edit::append(base, &hooks.value, &items));
    }
    edits.sort_by_key(|edit| edit.at);
    Ok(edits)
}

/// Takes out our commands, the entries that held nothing else, and the lists that held nothing else.
fn removals(text: &str, root: &Node, had: &[String], program: &Program) -> Vec<Edit> {
    let Some(hooks) = root.member("hooks") else { return Vec::new() };
    let json_text::Kind::Object(events) = &hooks.value.kind else { return Vec::new() };
    let mut edits = Vec::new();
    let mut emptied = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let entries = event.value.items().unwrap_or_default();
        let is_gone = |entry: &Node| {
            let value = entry.value(text);
            let mut all = commands(&value).peekable();
            let total = value["hooks"].as_array().map_or(0, Vec::len);
            all.peek().is_some() && all.filter(|command| program.is_ours(command)).count() == total
        };
        let gone: Vec<bool> = entries.iter().map(is_gone).collect();
        let stays = had.contains(&format!("hooks.{}", event.key));
        if !gone.is_empty() && gone.iter().all(|gone| *gone) && !stays {
            emptied.push(index);
            continue;
        }
        edits.extend(json_edit::remove(text, &event.value, |index| gone[index]));
        for (entry, _) in entries.iter().zip(&gone).filter(|(_, gone)| !**gone) {
            edits.extend(inner_removals(text, entry, program));
        }
    }
    let all_gone = !events.is_empty() && emptied.len() == events.len();
    if all_gone && !had.contains(&"hooks".to_owned()) {
        let place = root.inside().iter().position(|place| place.start == hooks.start);
        return json_edit::remove(text, root, |index| Some(index) == place);
    }
    edits.extend(json_edit::remove(text, &hooks.value, |index| emptied.contains(&index)));
    edits.sort_by_key(|edit| edit.at);
    edits
}

/// Of an entry that others use too, only our commands go.
fn inner_removals(text: &str, entry: &Node, program: &Program) -> Vec<Edit> {
    let Some(list) = entry.member("hooks").map(|member| &member.value) else { return Vec::new() };
    let items = list.items().unwrap_or_default();
    let is_ours =
        |item: &Node| item.value(text)["command"].as_str().is_some_and(|line| program.is_ours(line));
    json_edit::remove(text, list, |index| is_ours(&items[index]))
}

#[cfg(test)]
mod tests;
