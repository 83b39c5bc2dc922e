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

    /// Reads a time with the zone UTC. Other zones, leap seconds and days that do not exist are refused.
    pub fn parse_utc(text: &str) -> Option<Self> {
        let local = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
        let (whole, fraction) = local.split_once('.').unwrap_or((local, "0"));
        let whole_fits = whole.len() == 19
            && whole.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                10 => byte == b'T',
                13 | 16 => byte == b':',
                _ => byte.is_ascii_digit(),
            });
        let fraction_fits = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|b| b.is_ascii_digit());
        // The calendar below would read a 60th second as the 59th.
        if !whole_fits || !fraction_fits || &whole[17..] == "60" {
            return None;
        }
        Self::parse(text).ok()
    }

    pub fn parse(text: &str) -> Result<Self, InvalidTime> {
        text.parse::<jiff::Timestamp>().map(|t| Self(t.as_millisecond())).map_err(|_| InvalidTime)
    }

    #[must_use]
    pub fn plus(self, length: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
    }

    #[must_use]
    pub fn minus(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
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

    /// When a lease of this length was taken or renewed last. Of one from before the machine was started, the time of the
    /// start: nothing that held it can have lived longer.
    pub fn renewed_at(&self, now: &Now, length: Duration) -> Timestamp {
        let millis = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        let began_ms =
            if self.boot_id == now.boot.boot_id { self.until_millis.saturating_sub(millis) } else { 0 };
        Timestamp::from_millis(now.at.millis().saturating_sub(now.boot.millis.saturating_sub(began_ms)))
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

/// Prints a duration as it is typed, so that [`parse_duration`] reads it: `8d`, `1h30m`, `0s`.
pub fn typed_duration(length: Duration) -> String {
    let mut left = length.as_millis();
    if left == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, millis) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if left >= millis {
            text.push_str(&format!("{}{unit}", left / millis));
            left %= millis;
        }
    }
    text
}

/// A length of time that may be negative, as the agent contract's durations are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedDuration {
    pub is_negative: bool,
    pub length: Duration,
}

/// Reads what [`parse_duration`] reads, and the forms of the agent contract: fractions, `us`, `ns` and a sign
/// (`1.5h`, `100us`, `-1h30m`).
pub fn parse_signed_duration(text: &str) -> Option<SignedDuration> {
    let text = text.trim();
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let length = parse_duration(rest).or_else(|| parse_fractions(rest))?;
    Some(SignedDuration { is_negative, length })
}

fn parse_fractions(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let digits = rest.find(|c: char| !is_number(c))?;
        let unit_end = rest[digits..].find(is_number).map_or(rest.len(), |at| digits + at);
        let nanos = unit_nanos(&rest[digits..unit_end])?;
        total = total.checked_add(part(&rest[..digits], nanos)?)?;
        rest = &rest[unit_end..];
    }
    (!text.is_empty()).then_some(total)
}

/// `number` times the unit; what is smaller than a nanosecond is dropped.
fn part(number: &str, unit_nanos: u64) -> Option<Duration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = u128::from(whole) * u128::from(unit_nanos);
    let mut share = u128::from(unit_nanos);
    for digit in fraction.chars() {
        share /= 10;
        nanos += u128::from(digit.to_digit(10)?) * share;
    }
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, u32::try_from(nanos % 1_000_000_000).ok()?))
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        "w" => 604_800_000_000_000,
        _ => return None,
    })
}

/// Prints a duration as the agent contract does, to a tenth of a second: `1.2s`, `2m5s`, `1h0m3.4s`, `350ms`.
pub fn contract_duration(length: Duration) -> String {
    if length < Duration::from_secs(1) {
        let millis = length.as_millis();
        return if millis == 0 { "0s".to_owned() } else { format!("{millis}ms") };
    }
    let tenths = (length.as_millis() + 50) / 100;
    let (minutes, tenths) = (tenths / 600, tenths % 600);
    let fraction = if tenths % 10 == 0 { String::new() } else { format!(".{}", tenths % 10) };
    let seconds = format!("{}{fraction}s", tenths / 10);
    match (minutes / 60, minutes % 60) {
        (0, 0) => seconds,
        (0, minutes) => format!("{minutes}m{seconds}"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
    }
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
