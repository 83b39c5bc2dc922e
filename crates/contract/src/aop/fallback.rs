//! Falls back from v2 to v1: the event that reports it and the prompt to send.

use serde_json::Value;

use super::effective;
use super::event::{Body, Event, VersionFallback};
use super::header::MessageType;
use super::task::Task;
use super::v1;
use crate::domain::failure_code::FailureCode;
use crate::domain::text::cut;
use crate::domain::time::Timestamp;
use crate::shape::words;
use crate::verdict::Verdict;

/// How much of the refused input the event shows.
const PREVIEW_CHARS_MAX: usize = 200;
const TO_VERSION: &str = "1.x";

/// A message that is sent as v1 instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Fallback {
    pub session_id: Option<String>,
    pub task_id: Option<String>,
    pub from_version: Option<String>,
    pub reason: FallbackReason,
    pub code: Option<FailureCode>,
    pub errors: Vec<String>,
    pub preview: Option<String>,
    /// The prompt for the executor. `None` if the message requests no work.
    pub prompt: Option<String>,
}

words! {
    FallbackReason { SchemaFailed = "V2_SCHEMA_VALIDATION_FAILED", TargetV1Only = "TARGET_V1_ONLY" }
}

impl Fallback {
    /// The fallback for a valid task whose target does not read v2; `None` if it does.
    pub fn for_target(task: &Task) -> Option<Self> {
        (!effective::speaks_v2(task)).then(|| Self {
            session_id: Some(task.session.session_id.clone()),
            task_id: Some(task.task.task_id.clone()),
            from_version: Some(task.aop_version.clone()),
            reason: FallbackReason::TargetV1Only,
            code: None,
            errors: Vec::new(),
            preview: None,
            prompt: Some(v1::prompt(task)),
        })
    }

    pub(crate) fn from_refusal(bytes: &[u8], value: &Value, verdict: &Verdict) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let named = |places: [&Value; 2]| {
            let names = places.into_iter().filter_map(Value::as_str);
            names.map(str::to_owned).find(|name| !name.trim().is_empty())
        };
        let message = value["message_type"].as_str().and_then(MessageType::parse);
        let asks_for_work = !matches!(message, Some(MessageType::Response | MessageType::Event));
        Self {
            session_id: named([&value["session"]["session_id"], &value["session_id"]]),
            task_id: named([&value["task"]["task_id"], &value["task_id"]]),
            from_version: value["aop_version"].as_str().map(str::to_owned),
            reason: FallbackReason::SchemaFailed,
            code: Some(FailureCode::read(&verdict.code)),
            errors: verdict.details.findings.iter().map(ToString::to_string).collect(),
            preview: Some(cut(&text, PREVIEW_CHARS_MAX)),
            prompt: asks_for_work.then(|| v1::prompt_from_raw(value, &text)),
        }
    }

    /// The `VERSION_FALLBACK` event for the session.
    pub fn event(&self, now: Timestamp) -> Event {
        Event::new(self.session_id.clone(), self.task_id.clone(), now, self.body())
    }

    /// What the event says.
    pub fn body(&self) -> Body {
        Body::VersionFallback(VersionFallback {
            agent: None,
            from_version: self.from_version.clone(),
            to_version: Some(TO_VERSION.to_owned()),
            reason: self.reason.as_str().to_owned(),
            error_code: self.code.map(|code| code.as_str().to_owned()),
            validation_errors: self.errors.iter().cloned().map(Value::String).collect(),
            input_preview: self.preview.clone(),
        })
    }
}
