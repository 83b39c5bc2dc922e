//! A summary of the work so far, for the log: what an agent loses when its context is compacted.

use serde_json::{Value, json};

use super::fit::{clip, one_line};
use super::found::{BriefMaterial, recorded_next};
use super::situation::Situation;

/// The longest summary, and the most of each sort in its metadata.
const MESSAGE_BYTES: usize = 1500;
const LINE_BYTES: usize = 300;
const FILES_MAX: usize = 20;
const FAILURES_MAX: usize = 5;

/// The event that a checkpoint writes.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointEvent {
    pub message: String,
    pub metadata: Value,
}

pub fn checkpoint(situation: &Situation<'_>, reason: Option<&str>) -> CheckpointEvent {
    let found = BriefMaterial::in_situation(situation, LINE_BYTES);
    let line = |text: &str| clip(&one_line(text), LINE_BYTES).into_owned();
    let files: Vec<String> = found.files.iter().take(FILES_MAX).map(|(path, _)| line(path)).collect();
    let failures: Vec<String> = found.failures.iter().take(FAILURES_MAX).map(|text| line(text)).collect();
    let next = recorded_next(situation).map(line);
    let said = situation.history.said.first().map(|event| line(&event.message));
    let parts = [
        (!files.is_empty()).then(|| format!("touched {}", files.join(", "))),
        failures.first().map(|failure| format!("last failure: {failure}")),
        said.map(|said| format!("last note: {said}")),
        next.as_ref().map(|next| format!("next: {next}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let told = if parts.is_empty() { "nothing recorded yet".to_owned() } else { parts.join("; ") };
    let mut metadata = json!({"files": files, "failures": failures});
    if let Some(next) = next {
        metadata["next_action"] = next.into();
    }
    if let Some(reason) = reason {
        metadata["reason"] = line(reason).into();
    }
    CheckpointEvent { message: clip(&format!("Checkpoint: {told}"), MESSAGE_BYTES).into_owned(), metadata }
}
