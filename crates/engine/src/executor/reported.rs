//! What an executor reports besides its claim, taken from its events and its RESPONSE.

use std::time::Duration;

use contract::aop::event::{Body, EventKind, Progress, ProgressUpdate};
use contract::aop::response::{CostTracking, Response};
use contract::domain::limits::{REPORTED_TOKENS_MAX, RETRY_AFTER_MAX};
use contract::domain::money::MicroUsd;
use contract::domain::price::Tokens;
use contract::domain::reason::{Warning, WarningCode};
use contract::domain::time::human_duration;

use contract::secrets::Hidden;

use super::conversation::AgentUsage;

/// The delay before the next attempt in a failed RESPONSE: `error_details.extensions`.
const RETRY_AFTER_EXTENSION: &str = "x_retry_after_ms";

/// How many of the input tokens were read from the provider's cache: `cost_tracking.extensions`.
const CACHED_EXTENSION: &str = "x_tokens_cached_input";

/// A sign of life, with a message if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sign {
    pub(crate) percentage: Option<u64>,
    pub(crate) message: String,
    pub(crate) phase: Option<String>,
    pub(crate) checkpoint: Option<String>,
    pub(crate) seconds_left: Option<u64>,
}

impl Sign {
    /// Its text beside the percentage: `nearly there (BUILD, CP-1, about 7m left)`.
    pub(crate) fn told(&self) -> String {
        let left = self
            .seconds_left
            .map(|seconds| format!("about {} left", human_duration(Duration::from_secs(seconds))));
        let more: Vec<&str> =
            [&self.phase, &self.checkpoint, &left].into_iter().flatten().map(String::as_str).collect();
        let more = if more.is_empty() { String::new() } else { format!("({})", more.join(", ")) };
        format!("{} {more}", self.message).trim().to_owned()
    }
}

/// The sign of life in an event. Other events are none.
pub(crate) fn sign_of(body: &Body, hidden: &Hidden) -> Option<Sign> {
    let clean = |text: &Option<String>| text.as_deref().map(|text| hidden.one_line(text));
    match body {
        Body::Heartbeat(beat) => Some(Sign {
            percentage: beat.progress_percentage,
            message: String::new(),
            phase: clean(&beat.current_phase),
            checkpoint: clean(&beat.current_checkpoint),
            seconds_left: None,
        }),
        Body::ProgressUpdate(ProgressUpdate { progress, .. }) => Some(Sign {
            percentage: Some(progress.percentage),
            message: hidden.one_line(&progress.message),
            phase: clean(&progress.current_phase),
            checkpoint: clean(&progress.current_checkpoint),
            seconds_left: progress.estimated_time_remaining_seconds,
        }),
        Body::PriorityEscalation(_)
        | Body::RollbackInitiated(_)
        | Body::VersionFallback(_)
        | Body::SessionFinalReport(_) => None,
    }
}

/// What is said about an event that is not an executor's to send. It has no effect.
pub(crate) fn without_effect(body: &Body) -> Option<Warning> {
    let (event, why) = match body {
        Body::Heartbeat(_) | Body::ProgressUpdate(_) => return None,
        Body::PriorityEscalation(_) => {
            (EventKind::PriorityEscalation, "a task cannot change its own priority; `writ escalate` does")
        }
        Body::RollbackInitiated(_) => {
            (EventKind::RollbackInitiated, "writ itself takes back what a task changed")
        }
        Body::VersionFallback(_) => {
            (EventKind::VersionFallback, "writ itself decides which version an executor gets")
        }
        Body::SessionFinalReport(_) => {
            (EventKind::SessionFinalReport, "writ itself reports the end of a session")
        }
    };
    Some(Warning::coded(WarningCode::WithoutEffect, format!("the executor sent {event}: {why}")))
}

/// A progress report for the log, without what is hidden. Other events are none.
pub(crate) fn progress_of(body: &Body, hidden: &Hidden) -> Option<ProgressUpdate> {
    let Body::ProgressUpdate(update) = body else { return None };
    let sign = sign_of(body, hidden)?;
    Some(ProgressUpdate {
        agent: hidden.one_line(&update.agent),
        progress: Progress {
            percentage: update.progress.percentage,
            message: sign.message,
            current_phase: sign.phase,
            current_checkpoint: sign.checkpoint,
            estimated_time_remaining_seconds: sign.seconds_left,
            extensions: None,
        },
    })
}

/// Cost, tokens, model and summary of an attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResponseReport {
    pub(crate) cost: Option<MicroUsd>,
    pub(crate) tokens: Option<i64>,
    /// The same tokens by their kinds.
    pub(crate) used: Option<Tokens>,
    /// Either the input or the output, where the other is not known.
    pub(crate) tokens_half: Option<i64>,
    /// The model that did the work.
    pub(crate) model: Option<String>,
    pub(crate) summary: Option<String>,
    /// How long the next attempt has to wait.
    pub(crate) retry_after_ms: Option<u64>,
}

impl ResponseReport {
    pub(crate) fn of(response: &Response, hidden: &Hidden) -> Self {
        let cached = |t: &CostTracking| t.extensions.as_ref()?.get(CACHED_EXTENSION)?.as_u64();
        let usage = response.cost_tracking.as_ref().map(|tracking| AgentUsage {
            input: tracking.tokens_input,
            output: tracking.tokens_output,
            cached_input: cached(tracking),
            cost_usd: tracking.actual_cost_usd.or(tracking.estimated_cost_usd),
            ..AgentUsage::default()
        });
        let summary = response.execution_summary.as_ref().and_then(|summary| summary.summary.as_deref());
        let mut reported = Self::default();
        reported.spend(&usage.unwrap_or_default());
        reported.model = Some(response.agent.model.clone());
        reported.summary = summary.map(|summary| hidden.clean(summary).into_owned());
        reported.retry_after_ms = retry_after(response).map(shortened);
        reported
    }

    /// Takes over cost and tokens, as far as they can be believed.
    pub(crate) fn spend(&mut self, usage: &AgentUsage) {
        let used = usage.input.zip(usage.output).map(|(input, output)| Tokens {
            input: believed(Some(input)),
            output: believed(Some(output)),
            cached_input: believed(usage.cached_input),
        });
        let half = usage.input.xor(usage.output);
        self.cost = usage.cost_usd.and_then(MicroUsd::reported);
        self.tokens = used.as_ref().map(Tokens::total);
        self.used = used;
        self.tokens_half = half.map(|half| i64::try_from(believed(Some(half))).unwrap_or(i64::MAX));
    }
}

/// How many milliseconds a failed RESPONSE asks to wait for.
pub(super) fn retry_after(response: &Response) -> Option<u64> {
    let extensions = response.error_details.as_ref()?.extensions.as_ref()?;
    extensions.get(RETRY_AFTER_EXTENSION)?.as_u64()
}

/// A wait that is too long is shortened in any case.
fn shortened(millis: u64) -> u64 {
    u64::try_from(RETRY_AFTER_MAX.as_millis()).map_or(millis, |longest| millis.min(longest))
}

fn believed(tokens: Option<u64>) -> u64 {
    tokens.unwrap_or(0).min(REPORTED_TOKENS_MAX)
}
