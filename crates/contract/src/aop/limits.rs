//! How much a message may carry: hard limits refuse, soft limits warn.

use serde_json::Value;

use super::header::MessageType;
use crate::domain::failure_code::FailureCode;
use crate::finding::{Finding, Findings};

/// "200KB" and "500KB" in the contract; we use 1024 bytes, the larger of the two common meanings.
pub const TASK_BYTES_MAX: usize = 200 * 1024;
pub const RESPONSE_BYTES_MAX: usize = 500 * 1024;
/// The contract has no limit for an EVENT; a final report can be as long as a RESPONSE.
pub const EVENT_BYTES_MAX: usize = RESPONSE_BYTES_MAX;

pub const INPUTS_MAX: usize = 100;
pub const OUTPUTS_MAX: usize = 50;

/// A longer objective gets a warning; one above the next limit a stronger one.
pub const OBJECTIVE_CHARS_WARN: usize = 40_000;
pub const OBJECTIVE_CHARS_SOFT: usize = 50_000;
pub const PHASES_SOFT: usize = 10;
pub const CHECKPOINTS_SOFT: usize = 20;
pub const ACTIONS_SOFT: usize = 200;

const SOFT: &str = FailureCode::PayloadSizeWarning.as_str();

pub(super) fn bytes_max(message: Option<MessageType>) -> usize {
    match message {
        Some(MessageType::Task) => TASK_BYTES_MAX,
        Some(MessageType::Event) => EVENT_BYTES_MAX,
        Some(MessageType::Response) | None => RESPONSE_BYTES_MAX,
    }
}

/// Checks every soft limit of a message.
pub(super) fn soft(message: MessageType, value: &Value, over: &mut SoftLimits) {
    match message {
        MessageType::Task => {
            over.text("$.task.objective", &value["task"]["objective"]);
            over.list("$.phases", &value["phases"], "phases", PHASES_SOFT);
            for (index, phase) in value["phases"].as_array().into_iter().flatten().enumerate() {
                let path = format!("$.phases[{index}].checkpoints");
                over.list(&path, &phase["checkpoints"], "checkpoints", CHECKPOINTS_SOFT);
            }
        }
        MessageType::Response => {
            let actions = &value["execution_summary"]["actions"];
            over.list("$.execution_summary.actions", actions, "actions", ACTIONS_SOFT);
        }
        MessageType::Event => {}
    }
}

/// The soft limits of an objective that is not in a message yet.
pub(crate) fn of_objective(text: &str) -> Vec<Finding> {
    let mut warnings = Findings::default();
    SoftLimits { warnings: &mut warnings, faults: None }.text("$.task.objective", &Value::from(text));
    warnings.sorted()
}

/// Reports exceeded soft limits: as warnings, or in strict mode as faults.
pub(super) struct SoftLimits<'a> {
    pub(super) warnings: &'a mut Findings,
    pub(super) faults: Option<&'a mut Findings>,
}

impl SoftLimits<'_> {
    fn list(&mut self, path: &str, value: &Value, what: &str, most: usize) {
        let count = value.as_array().map_or(0, Vec::len);
        if count > most {
            self.exceeded(path, TOO_MANY, format!("has {count} {what}; at most {most} are recommended"));
        }
    }

    fn text(&mut self, path: &str, value: &Value) {
        let Some(text) = value.as_str().filter(|text| text.len() > OBJECTIVE_CHARS_WARN) else { return };
        let chars = text.chars().count();
        if chars > OBJECTIVE_CHARS_SOFT {
            self.exceeded(
                path,
                TOO_LONG,
                format!("has {chars} characters; the limit is {OBJECTIVE_CHARS_SOFT}"),
            );
        } else if chars > OBJECTIVE_CHARS_WARN {
            let message = format!("has {chars} characters, close to the limit of {OBJECTIVE_CHARS_SOFT}");
            self.warnings.push(path, SOFT, message);
        }
    }

    fn exceeded(&mut self, path: &str, rule: &'static str, message: String) {
        match &mut self.faults {
            Some(faults) => faults.push(path, rule, message),
            None => self.warnings.push(path, SOFT, message),
        }
    }
}

const TOO_MANY: &str = "max_items";
const TOO_LONG: &str = "max_length";

/// Whether a finding says that a hard limit was exceeded.
pub(super) fn is_overflow(finding: &Finding) -> bool {
    [TOO_MANY, TOO_LONG].contains(&finding.rule)
}
