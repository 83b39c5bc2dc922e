//! Detects the kind of a document from its content.

use serde_json::Value;

use super::Kind;
use crate::bridge::{council, frontmatter, promise};
use crate::domain::limits;
use crate::json::strict;
use crate::plan::read::toml_value;

/// The kind of a document; `None` if it cannot be detected. A guess only chooses the validator, which then
/// says what is wrong.
pub fn detect(bytes: &[u8]) -> Option<Kind> {
    if bytes.len() > limits::WORKLOG_BYTES_MAX {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    if let Ok(value) = strict::parse(bytes) {
        return of_value(&value);
    }
    match text.trim_start().strip_prefix('\u{feff}').unwrap_or(text.trim_start()).chars().next()? {
        '{' => of_lines(text).or_else(|| of_broken(text)),
        '[' if toml_value(text).is_err() => of_broken(text),
        _ => of_text(text),
    }
}

/// Names that only occur together in one kind of document. The first matching row decides.
const SIGNS: &[(&[&str], Kind)] = &[
    (&["audit_record_id"], Kind::AopAudit),
    (&["aop_version"], Kind::Aop),
    (&["message_type", "protocol_family"], Kind::Aop),
    (&["v", "intent"], Kind::Aee),
    (&["corr", "intent"], Kind::Aee),
    (&["contract", "source_system"], Kind::Bridge),
    (&["packet_type"], Kind::Assignment),
    (&["required_output_schema"], Kind::Assignment),
    (&["assignments", "ledger_delta"], Kind::Orchestrator),
    (&["acceptance_check"], Kind::Result),
    (&["acceptance_targets"], Kind::Handoff),
    (&["open_blockers"], Kind::Handoff),
    (&["base", "streams"], Kind::Deltas),
    (&["ledger_delta"], Kind::Deltas),
    (&["ledger"], Kind::Reconcile),
    (&["locks"], Kind::Locks),
    (&["now", "tasks"], Kind::Watchdog),
    (&["actor", "files_touched"], Kind::Worklog),
    (&["stack_id"], Kind::Stack),
    (&["bead_id", "passed"], Kind::Stage1),
    (&["rollback_matrix"], Kind::Memrl),
    (&["tie_break_rules"], Kind::Memrl),
    (&["verdict", "key_insight"], Kind::Council),
    (&["schema_version", "success"], Kind::Continuity),
    (&["constraints", "schema_version"], Kind::Constraint),
    (&["pattern", "detection"], Kind::Constraint),
    (&["extracted_at"], Kind::Candidate),
    (&["quest_id", "title", "type"], Kind::Harvest),
    (&["step", "locked"], Kind::Ratchet),
    (&["step", "status"], Kind::Ratchet),
    (&["id", "started"], Kind::Ratchet),
    (&["task"], Kind::Plan),
    (&["objective", "tasks"], Kind::Plan),
];

fn of_value(value: &Value) -> Option<Kind> {
    match value {
        Value::Object(fields) => {
            let fits = |names: &&[&str]| names.iter().all(|name| fields.contains_key(*name));
            SIGNS.iter().find(|(names, _)| fits(names)).map(|(_, kind)| *kind)
        }
        // Only a quarantine file is a list.
        Value::Array(items) => items.first().map_or(Some(Kind::Constraint), of_value),
        _ => None,
    }
}

/// Several JSON documents, one per line: the first determines the kind.
fn of_lines(text: &str) -> Option<Kind> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    match of_value(&strict::parse(first.as_bytes()).ok()?)? {
        Kind::Aee => Some(Kind::Trace),
        // A document with trailing text: its validator reports that.
        kind => Some(kind),
    }
}

/// Invalid JSON still contains names, so that the right validator can report what is wrong.
fn of_broken(text: &str) -> Option<Kind> {
    let shows = |name: &&str| text.contains(&format!("\"{name}\""));
    SIGNS.iter().find(|(names, _)| names.iter().all(shows)).map(|(_, kind)| *kind)
}

fn of_text(text: &str) -> Option<Kind> {
    if let Some(fields) = frontmatter::parse(text).ok().and_then(|document| document.fields) {
        let is_pattern = fields.text("type") == Some("pattern") || fields.get("pattern").is_some();
        return Some(if is_pattern { Kind::Pattern } else { Kind::Learning });
    }
    if promise::read(text).is_some() {
        return Some(Kind::Promise);
    }
    if council::read_report(text).is_some() {
        return Some(Kind::Council);
    }
    let heading = text.lines().find(|line| !line.trim().is_empty())?;
    if heading.starts_with("# Pattern") {
        return Some(Kind::Pattern);
    }
    if heading.starts_with("# Learning") {
        return Some(Kind::Learning);
    }
    of_value(&toml_value(text).ok()?)
}
