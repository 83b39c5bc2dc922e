//! Prints what an installation changes.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::apply::Plans;
use crate::hooks::{FileChange, files};
use crate::output::Output;

/// The installation plan of each agent program.
pub(super) fn answers(plans: &Plans) -> Map<String, Value> {
    plans.iter().map(|(adapter, plan)| (adapter.name().to_owned(), plan.answer.clone())).collect()
}

pub(super) fn print(
    output: &Output,
    mut answer: Map<String, Value>,
    changes: &[FileChange],
    dry_run: bool,
    notes: &str,
) -> ExitCode {
    if dry_run {
        answer.insert("dry_run".to_owned(), json!(true));
        answer.insert("files".to_owned(), changes.iter().map(described).collect());
    }
    output.answer(&answer, || {
        let mut text: String = changes.iter().map(|change| line(change, dry_run)).collect();
        if changes.is_empty() {
            text.push_str("nothing to do\n");
        }
        text + notes
    })
}

/// One change for people.
pub(super) fn line(change: &FileChange, dry_run: bool) -> String {
    let done = if dry_run { format!("would {}", action(change)) } else { format!("{}d", action(change)) };
    format!("{done} {}\n{}", change.path.display(), bytes(change, dry_run))
}

fn action(change: &FileChange) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "create",
        (Some(_), Some(_)) => "change",
        (Some(_), None) => "remove",
    }
}

pub(super) fn described(change: &FileChange) -> Value {
    let (at, removed, inserted) = difference(change);
    let directories: Vec<String> =
        files::missing_directories(&change.path).iter().map(|path| path.display().to_string()).collect();
    let mut value = json!({
        "path": change.path.display().to_string(),
        "action": action(change),
        "at": at,
        "removed": removed,
        "inserted": inserted,
    });
    if !directories.is_empty() && change.after.is_some() {
        value["directories"] = json!(directories);
    }
    value
}

/// The changed bytes for people, as removed and added lines.
fn bytes(change: &FileChange, dry_run: bool) -> String {
    if !dry_run {
        return String::new();
    }
    let (at, removed, inserted) = difference(change);
    let lines =
        |mark: char, text: &str| text.lines().map(|line| format!("  {mark} {line}\n")).collect::<String>();
    format!("  at byte {at}\n{}{}", lines('-', removed), lines('+', inserted))
}

/// From the first byte that differs to the last.
fn difference(change: &FileChange) -> (usize, &str, &str) {
    let before = change.before.as_deref().unwrap_or_default();
    let after = change.after.as_deref().unwrap_or_default();
    let mut start = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    while !before.is_char_boundary(start) || !after.is_char_boundary(start) {
        start -= 1;
    }
    let rest = before.len().min(after.len()) - start;
    let same = |(a, b): &(u8, u8)| a == b;
    let mut end = before.bytes().rev().zip(after.bytes().rev()).take(rest).take_while(same).count();
    while !before.is_char_boundary(before.len() - end) || !after.is_char_boundary(after.len() - end) {
        end -= 1;
    }
    (start, &before[start..before.len() - end], &after[start..after.len() - end])
}
