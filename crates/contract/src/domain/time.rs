//! Points in time and durations. Nothing here reads a clock.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since 1970 in UTC; printed as RFC 3339 with `Z` and milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a time in RFC 3339 form, such as 2026-01-26T12:00:00Z; the latest time is 9999-12-30T22:00:00Z")]
pub struct InvalidTime;

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    pub fn parse(text: &str) -> Result<Self, InvalidTime> {
        text.parse::<jiff::Timestamp>().map(|t| Self(t.as_millisecond())).map_err(|_| InvalidTime)
    }

    #[must_use]
    pub fn plus(self, length: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time that has passed since `earlier`; zero if it is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Out of the calendar's range only if a clock is broken; then print the number.
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// A point on the machine's boot clock, which cannot be set back. Leases use this clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootTime {
    /// Identifies the boot; a lease from another boot has expired, because its holder is gone.
    pub boot_id: String,
    pub millis: i64,
}

/// The current time: the wall clock for people, the boot clock for leases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    pub at: Timestamp,
    pub boot: BootTime,
}

/// The only source of the current time.
pub trait Clock {
    fn now(&self) -> Now;
}

/// A lease: until when something is granted, on the boot clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    pub boot_id: String,
    pub until_millis: i64,
}

impl Lease {
    pub fn starting(now: &Now, length: Duration) -> Self {
        let millis = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        Self { boot_id: now.boot.boot_id.clone(), until_millis: now.boot.millis.saturating_add(millis) }
    }

    pub fn is_live(&self, now: &Now) -> bool {
        self.boot_id == now.boot.boot_id && now.boot.millis < self.until_millis
    }

    /// The remaining time; `None` once the lease has expired.
    pub fn left(&self, now: &Now) -> Duration {
        if !self.is_live(now) {
            return Duration::ZERO;
        }
        Duration::from_millis(u64::try_from(self.until_millis.saturating_sub(now.boot.millis)).unwrap_or(0))
    }
}

/// Reads `90`, `90s`, `5m`, `2h`, `1500ms`, `1h30m`. A bare number is seconds.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        let unit_millis: u64 = match &rest[digits..unit_end] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            _ => return None,
        };
        total = total.checked_add(Duration::from_millis(number.checked_mul(unit_millis)?))?;
        rest = &rest[unit_end..];
    }
    (!text.is_empty()).then_some(total)
}

/// Prints a duration for people: `350ms`, `4.2s`, `3m05s`, `2h10m`.
pub fn human_duration(length: Duration) -> String {
    let millis = length.as_millis();
    let seconds = length.as_secs();
    match seconds {
        0 => format!("{millis}ms"),
        1..=59 => format!("{}.{}s", seconds, (millis % 1000) / 100),
        60..=3599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, (seconds % 3600) / 60),
    }
}

#[cfg(test)]
mod tests;
