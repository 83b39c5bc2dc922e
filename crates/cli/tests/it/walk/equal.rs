//! What makes two calls comparable: the same files before, and placeholders for what differs by nature.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

/// Files by their paths; directories have no bytes.
pub(super) type Files = BTreeMap<PathBuf, Option<(std::fs::Permissions, Vec<u8>)>>;

/// What was printed by earlier calls is not part of the state.
const NOT_RESTORED: &str = "calls";

pub(super) fn files(root: &Path) -> Files {
    let mut found = Files::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if path == root.join(NOT_RESTORED) {
                continue;
            }
            if kind.is_dir() {
                waiting.push(path.clone());
                found.insert(path, None);
            } else if kind.is_file() {
                let mode = entry.metadata().unwrap().permissions();
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path, Some((mode, bytes)));
            }
        }
    }
    found
}

pub(super) fn restore(root: &Path, files: &Files) {
    for entry in std::fs::read_dir(root).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() == NOT_RESTORED => {}
            true => std::fs::remove_dir_all(entry.path()).unwrap(),
            false => std::fs::remove_file(entry.path()).unwrap(),
        }
    }
    for (path, bytes) in files {
        match bytes {
            None => std::fs::create_dir_all(path).unwrap(),
            Some((mode, bytes)) => {
                std::fs::write(path, bytes).unwrap();
                // Only their user may use a store and its key, and another mode is a change of the workspace.
                std::fs::set_permissions(path, mode.clone()).unwrap();
            }
        }
    }
}

/// Ids, times and digests: each stands as its kind and the number of its first appearance.
static VARYING: LazyLock<[(&str, Regex); 6]> = LazyLock::new(|| {
    [
        ("time", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
        ("digest", r"sha256:[0-9a-f]{64}"),
        ("proof", r"\b[0-9]+-[0-9a-f]{64}\b"),
        ("id", r"\b[a-z]+_[0-9a-z]{26}\b|\brun_[0-9a-f]{32}\b"),
        ("uuid", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ("mark", r"\b[0-9a-f]{12}\b"),
    ]
    .map(|(kind, pattern)| (kind, Regex::new(pattern).unwrap()))
});

/// Numbers that measure how long something took or lasts.
const MEASURED: [&str; 5] = ["timing_ms", "took_ms", "duration_ms", "age_seconds", "until_millis"];

pub(super) fn document(answer: &Value) -> Value {
    normalized(answer, &mut HashMap::new())
}

fn normalized(value: &Value, seen: &mut HashMap<String, String>) -> Value {
    match value {
        Value::String(text) => Value::String(placeholders(text, seen)),
        Value::Array(items) => items.iter().map(|item| normalized(item, seen)).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let is_measured = MEASURED.contains(&name.as_str()) && value.is_number();
                let value = if is_measured { json!("measured") } else { normalized(value, seen) };
                (placeholders(name, seen), value)
            };
            fields.iter().map(field).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn placeholders(text: &str, seen: &mut HashMap<String, String>) -> String {
    let mut text = text.to_owned();
    for (kind, pattern) in VARYING.iter() {
        let replace = |found: &regex::Captures<'_>| {
            let number = seen.len() + 1;
            seen.entry(found[0].to_owned()).or_insert_with(|| format!("<{kind} {number}>")).clone()
        };
        text = pattern.replace_all(&text, replace).into_owned();
    }
    text
}
