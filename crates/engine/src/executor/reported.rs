//! What an executor reports besides its claim, taken from its events and its RESPONSE.

use contract::aop::event::Body;
use contract::aop::response::Response;
use contract::domain::money::MicroUsd;
use contract::json::Value;

use contract::secrets::Hidden;

/// Where a RESPONSE that failed says how long to wait before the next attempt: `error_details.extensions`.
const RETRY_AFTER_EXTENSION: &str = "x_retry_after_ms";

/// A sign of life, with a message if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sign {
    pub(crate) percentage: Option<u64>,
    pub(crate) message: String,
}

/// The sign of life in an event. Other events are none.
pub(crate) fn sign_of(body: &Body, hidden: &Hidden) -> Option<Sign> {
    match body {
        Body::Heartbeat(beat) => Some(Sign {
            percentage: beat.progress_percentage,
            message: hidden.one_line(beat.current_phase.as_deref().unwrap_or_default()),
        }),
        Body::ProgressUpdate(update) => Some(Sign {
            percentage: Some(update.progress.percentage),
            message: hidden.one_line(&update.progress.message),
        }),
        Body::PriorityEscalation(_)
        | Body::RollbackInitiated(_)
        | Body::VersionFallback(_)
        | Body::SessionFinalReport(_) => None,
    }
}

/// What a RESPONSE reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    pub(crate) cost: Option<MicroUsd>,
    pub(crate) tokens: Option<i64>,
    pub(crate) summary: Option<String>,
    /// How long the next attempt has to wait.
    pub(crate) retry_after_ms: Option<u64>,
}

impl Reported {
    pub(crate) fn of(response: &Response, hidden: &Hidden) -> Self {
        let tracking = response.cost_tracking.as_ref();
        let tokens = tracking.and_then(|t| match (t.tokens_input, t.tokens_output) {
            (None, None) => None,
            (input, output) => i64::try_from(input.unwrap_or(0).saturating_add(output.unwrap_or(0))).ok(),
        });
        let cost = tracking.and_then(|t| t.actual_cost_usd.or(t.estimated_cost_usd));
        let summary = response.execution_summary.as_ref().and_then(|summary| summary.summary.as_deref());
        let extensions = response.error_details.as_ref().and_then(|details| details.extensions.as_ref());
        let retry_after = extensions.and_then(|extensions| extensions.get(RETRY_AFTER_EXTENSION));
        Self {
            cost: cost.and_then(MicroUsd::from_dollars),
            tokens,
            summary: summary.map(|summary| hidden.clean(summary).into_owned()),
            retry_after_ms: retry_after.and_then(Value::as_u64),
        }
    }
}
