//! The rules that no shape can express: what guard rails require, what strict mode adds, what deserves a warning.

use std::collections::BTreeSet;

use serde_json::Value;

use super::event::EventKind;
use super::header::MessageType;
use super::task::GuardRails;
use crate::domain::failure_code::FailureCode;
use crate::domain::priority::Priority;
use crate::finding::Findings;

/// What a RESPONSE must contain because its TASK requires it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirements {
    pub final_signal: bool,
    pub minimal_report: bool,
}

impl Requirements {
    /// Both are required unless the TASK says otherwise.
    pub fn of(guard_rails: Option<&GuardRails>) -> Self {
        Self {
            final_signal: guard_rails.and_then(|guard| guard.require_final_signal).unwrap_or(true),
            minimal_report: guard_rails.and_then(|guard| guard.require_minimal_report).unwrap_or(true),
        }
    }
}

/// Reports required parts that the response lacks.
pub(super) fn requirements(required: Requirements, response: &Value, faults: &mut Findings) {
    let status = &response["task_status"];
    if required.final_signal && status.is_object() {
        need(faults, "$.task_status", "final_signal", &status["final_signal"]);
    }
    if !required.minimal_report {
        return;
    }
    let summary = &response["execution_summary"];
    need(faults, "$", "execution_summary", summary);
    if !summary.is_object() {
        return;
    }
    need(faults, "$.execution_summary", "summary", &summary["summary"]);
    need(faults, "$.execution_summary", "actions", &summary["actions"]);
    if summary["summary"].as_str().is_some_and(|text| text.trim().is_empty()) {
        faults.push("$.execution_summary.summary", "min_length", "must not be blank: a report is required");
    }
    if summary["actions"].as_array().is_some_and(Vec::is_empty) {
        faults.push("$.execution_summary.actions", "min_items", "must not be empty: a report is required");
    }
}

fn need(faults: &mut Findings, path: &str, name: &str, value: &Value) {
    if value.is_null() {
        faults.push(format!("{path}.{name}"), "missing", format!("`{name}` is required"));
    }
}

/// What strict mode also refuses: values of older drafts, and responses without the fields of the original.
pub(super) fn strict(message: MessageType, value: &Value, faults: &mut Findings) {
    match message {
        MessageType::Task => strict_task(value, faults),
        MessageType::Response => {
            need(faults, "$", "execution_summary", &value["execution_summary"]);
            need(faults, "$", "timing", &value["timing"]);
            need(faults, "$.task_status", "message", &value["task_status"]["message"]);
            for (index, result) in items(&value["checkpoint_results"]) {
                draft_word(faults, &format!("$.checkpoint_results[{index}]"), "status", "RECOVERED", result);
            }
        }
        MessageType::Event => {}
    }
}

fn strict_task(value: &Value, faults: &mut Findings) {
    for (index, output) in items(&value["task"]["expected_outputs"]) {
        let path = format!("$.task.expected_outputs[{index}].rollback_snapshot");
        draft_word(faults, &path, "snapshot_strategy", "NONE", &output["rollback_snapshot"]);
    }
    for (phase_index, phase) in items(&value["phases"]) {
        for (index, checkpoint) in items(&phase["checkpoints"]) {
            let path = format!("$.phases[{phase_index}].checkpoints[{index}]");
            draft_word(faults, &path, "status", "RECOVERED", checkpoint);
            draft_word(faults, &path, "recovery_strategy", "SKIP", checkpoint);
            for (artifact_index, artifact) in items(&checkpoint["expected_artifacts"]) {
                let path = format!("{path}.expected_artifacts[{artifact_index}].rollback_snapshot");
                draft_word(faults, &path, "snapshot_strategy", "NONE", &artifact["rollback_snapshot"]);
            }
        }
    }
}

fn draft_word(faults: &mut Findings, path: &str, name: &str, word: &str, object: &Value) {
    if object[name] == word {
        faults.push(format!("{path}.{name}"), "enum", format!("`{word}` is a value of an older draft"));
    }
}

/// Warnings about what is allowed but probably a mistake.
pub(super) fn doubts(message: MessageType, value: &Value, warnings: &mut Findings) {
    match message {
        MessageType::Task => phase_orders(value, warnings),
        MessageType::Response => {
            contradiction(value, warnings);
            if let Some(code) = value["error_details"]["error_code"].as_str()
                && FailureCode::parse(code).is_none()
            {
                let message = "is not a code of the taxonomy and counts as E_UNKNOWN";
                warnings.push("$.error_details.error_code", "unknown_code", message);
            }
        }
        MessageType::Event => {
            let priority = |name: &str| value[name].as_str().and_then(Priority::parse);
            if value["event"] == EventKind::PriorityEscalation.as_str()
                && priority("new_priority") <= priority("old_priority")
            {
                warnings.push("$.new_priority", "not_higher", "is not higher than the old priority");
            }
        }
    }
}

fn phase_orders(value: &Value, warnings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (index, phase) in items(&value["phases"]) {
        // Whole numbers were normalized before; anything else is already a fault.
        let Some(order) = phase["phase_order"].as_i64() else { continue };
        if !seen.insert(order) {
            let message = "another phase has the same order; they run as listed";
            warnings.push(format!("$.phases[{index}].phase_order"), "duplicate", message);
        }
    }
}

fn contradiction(value: &Value, warnings: &mut Findings) {
    let status = &value["task_status"];
    let (Some(state), Some(signal)) = (status["state"].as_str(), status["final_signal"].as_str()) else {
        return;
    };
    let fits = match state {
        "COMPLETED" => matches!(signal, "SUCCESS" | "PARTIAL_SUCCESS"),
        "FAILED" => matches!(signal, "FAILURE" | "PARTIAL_SUCCESS"),
        "ABORTED" | "SKIPPED" => matches!(signal, "ABORTED" | "FAILURE"),
        _ => false,
    };
    if !fits {
        let message = format!("the signal {signal} does not match the state {state}");
        warnings.push("$.task_status.final_signal", "contradiction", message);
    }
}

fn items(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
    list.as_array().into_iter().flatten().enumerate()
}
