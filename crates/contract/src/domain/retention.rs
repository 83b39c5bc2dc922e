//! How long the log keeps events, and which may be removed.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// The kinds of events that summarize others.
pub const SUMMARY: &str = "events_summary";
pub const PRUNED: &str = "events_pruned";

pub const DAYS_MAX: u32 = 3650;
pub const BATCH_MAX: usize = 10_000;
pub const THRESHOLD_MIN: u32 = 20;
/// The largest summary threshold: with more events, a list would be slow to skip archived ones.
pub const THRESHOLD_MAX: u32 = 1_000_000;

/// Events in one summary: reading them must not block other writers.
const SUMMARIZED_AT_ONCE: i64 = 10_000;

/// What the user configured, under the names of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    pub events_retention_days: u32,
    /// Events that one transaction removes.
    pub events_prune_batch: usize,
    /// A stream with this many events that are not archived gets a summary.
    pub events_summarize_threshold: u32,
    /// How many of its newest events stay out of the summary.
    pub events_summarize_keep_recent: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            events_retention_days: 30,
            events_prune_batch: 500,
            events_summarize_threshold: 200,
            events_summarize_keep_recent: 50,
        }
    }
}

/// The extent of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamExtent {
    /// The last event's number in its stream.
    pub seq: i64,
    /// Everything up to this one was removed.
    pub anchor_seq: i64,
    /// Everything up to this one is archived.
    pub archived_seq: i64,
}

/// An event as retention sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    pub seq: i64,
    pub at: Timestamp,
    pub kind: String,
    pub task_id: Option<String>,
}

impl Retention {
    /// The first setting that is out of its bounds.
    pub fn fault(&self) -> Option<String> {
        let bounds: [(&str, u64, u64, u64); 3] = [
            ("events_retention_days", self.events_retention_days.into(), 1, DAYS_MAX.into()),
            ("events_prune_batch", self.events_prune_batch as u64, 1, BATCH_MAX as u64),
            (
                "events_summarize_threshold",
                self.events_summarize_threshold.into(),
                THRESHOLD_MIN.into(),
                THRESHOLD_MAX.into(),
            ),
        ];
        let wrong = bounds.iter().find(|(_, value, min, max)| !(min..=max).contains(&value));
        wrong.map(|(name, _, min, max)| format!("{name} must be {min} to {max}"))
    }

    /// Events before this time are old.
    pub fn cutoff(&self, now: Timestamp) -> Timestamp {
        let kept = Duration::from_hours(24 * u64::from(self.events_retention_days.min(DAYS_MAX)));
        let kept = i64::try_from(kept.as_millis()).expect("BUG: ten years fit");
        Timestamp::from_millis(now.millis().saturating_sub(kept))
    }

    /// The last event of a stream to archive, if the stream has grown enough.
    pub fn archive_to(&self, extent: &StreamExtent) -> Option<i64> {
        let archived = extent.archived_seq.max(extent.anchor_seq);
        let threshold = i64::from(self.events_summarize_threshold.max(THRESHOLD_MIN));
        if extent.seq - archived < threshold {
            return None;
        }
        let to = extent.seq - i64::from(self.events_summarize_keep_recent);
        (to > archived).then(|| to.min(archived + SUMMARIZED_AT_ONCE))
    }
}

/// The last event of a stream to remove: the one before the first event that is not old or is still needed.
/// `None` if only notes of earlier removals would be removed: each removal would add another note.
pub fn prune_to(
    beginning: &[Outline],
    cutoff: Timestamp,
    mut is_needed: impl FnMut(&Outline) -> bool,
) -> Option<i64> {
    let goes = beginning.iter().take_while(|event| event.at < cutoff && !is_needed(event));
    let goes: Vec<&Outline> = goes.collect();
    let last = goes.last().map(|event| event.seq);
    last.filter(|_| goes.iter().any(|event| event.kind != PRUNED))
}

#[cfg(test)]
mod tests;
