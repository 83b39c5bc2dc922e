//! What a model's provider refused, and which error it is.

use std::time::Duration;

use contract::domain::attempt::Limited;
use contract::domain::failure_code::FailureCode;
use contract::domain::limits::LIMIT_RESET_MAX;
use contract::domain::time::{Timestamp, parse_duration};

/// Something went wrong between a program and its model, as the program tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// The HTTP status, where the program names it.
    pub(crate) status: Option<u16>,
    pub(crate) words: String,
    /// How long the provider asks to wait.
    pub(crate) wait: Option<Duration>,
    /// The kind that the program reports, if its text does not show it.
    pub(crate) known: Option<TroubleKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TroubleKind {
    Authentication,
    RateLimit,
    /// Overloaded, broken, out of reach, or without this model.
    Unavailable,
    /// The conversation is longer than the model takes.
    Overflow,
    /// The program's own limit of cost.
    Cost,
    Other,
}

/// The statuses that are looked for in words.
const STATUSES: &[u16] = &[400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529];

const OVERFLOW: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "prompt_too_long",
    "context_length",
    "context length",
    "context window",
    "contextoverflow",
    "maximum context",
    "input token count",
    "too many tokens",
];
const AUTHENTICATION: &[&str] = &[
    "authentication",
    "unauthorized",
    "invalid api key",
    "api key not valid",
    "invalid_api_key",
    "not logged in",
    "please run /login",
    "please set an auth method",
];
const RATE_LIMIT: &[&str] =
    &["rate limit", "rate_limit", "too many requests", "usage limit", "quota", "resource_exhausted"];
const UNAVAILABLE: &[&str] = &[
    "overloaded",
    "server_error",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "stream disconnected",
    "connection error",
    "connection refused",
    "connection reset",
    "error sending request",
    "fetch failed",
    "econnreset",
    "econnrefused",
    "socket hang up",
    "socket connection was closed",
    "network error",
    "premature close",
    "terminated",
    "model not found",
    "does not exist or you do not have access",
    "invalid stream",
    "without a finish reason",
    "high demand",
    "stream closed",
    "empty response",
    "incomplete",
];

impl Trouble {
    pub(crate) fn said(words: impl Into<String>) -> Self {
        let words = words.into();
        Self { status: status_in(&words), wait: wait_in(&words), words, known: None }
    }

    /// The same of a program that writ does not know. A number among its words is a status only if they say so: it may be
    /// the number of a line.
    pub(crate) fn printed(words: impl Into<String>) -> Self {
        let words = words.into();
        let status = status_in(&words).filter(|status| is_called_status(&words, *status));
        Self { status, wait: wait_in(&words), words, known: None }
    }

    /// Whether such a program means its model, and not something of its own.
    pub(crate) fn is_surely_of_the_model(&self) -> bool {
        self.status.is_some() || matches!(self.reason(), TroubleKind::RateLimit | TroubleKind::Overflow)
    }

    /// The same with a status that the program names, if it does.
    pub(crate) fn with_status(self, status: Option<u64>) -> Self {
        Self { status: status.and_then(|status| u16::try_from(status).ok()).or(self.status), ..self }
    }

    pub(crate) fn known_as(self, reason: TroubleKind) -> Self {
        Self { known: Some(reason), ..self }
    }

    pub(crate) fn reason(&self) -> TroubleKind {
        if let Some(reason) = self.known {
            return reason;
        }
        // A full disk is no provider's limit.
        let words = self.words.to_lowercase().replace("disk quota", "disk");
        let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
        match self.status {
            _ if says(OVERFLOW) => TroubleKind::Overflow,
            Some(413) => TroubleKind::Overflow,
            Some(401..=403) => TroubleKind::Authentication,
            Some(429) => TroubleKind::RateLimit,
            Some(400..=599) => TroubleKind::Unavailable,
            _ if says(AUTHENTICATION) => TroubleKind::Authentication,
            _ if says(RATE_LIMIT) => TroubleKind::RateLimit,
            _ if says(UNAVAILABLE) => TroubleKind::Unavailable,
            _ => TroubleKind::Other,
        }
    }

    /// Whether the model or its provider is the reason, and not the program itself.
    pub(crate) fn is_of_the_model(&self) -> bool {
        self.reason() != TroubleKind::Other
    }

    /// The error code, and what happened.
    pub(crate) fn told(&self) -> (FailureCode, String) {
        let words = &self.words;
        match self.reason() {
            TroubleKind::Authentication => {
                (FailureCode::ModelUnavailable, format!("authentication failed: {words}"))
            }
            TroubleKind::RateLimit => (FailureCode::ModelUnavailable, format!("rate limit: {words}")),
            TroubleKind::Unavailable => (FailureCode::ModelUnavailable, words.clone()),
            TroubleKind::Overflow => (FailureCode::ContextOverflow, words.clone()),
            TroubleKind::Cost => (FailureCode::CostLimitExceeded, words.clone()),
            TroubleKind::Other => (FailureCode::Unknown, words.clone()),
        }
    }

    /// The resource that is used up, where that is the trouble.
    pub(crate) fn limited(&self, resource: &str, reason: String, now: Timestamp) -> Option<Limited> {
        if self.reason() != TroubleKind::RateLimit {
            return None;
        }
        let after = self.wait.map(|wait| now.plus(wait));
        let until = reset_in(&self.words).or(after).or_else(|| reset_at(&self.words, now));
        let is_believed = |until: &Timestamp| until.since(now) <= LIMIT_RESET_MAX;
        Some(Limited { resource: resource.to_owned(), until: until.filter(is_believed), reason })
    }
}

/// A status code among the words: `unexpected status 429 Too Many Requests`.
fn status_in(words: &str) -> Option<u16> {
    let numbers = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == 3);
    numbers.filter_map(|word| word.parse().ok()).find(|number| STATUSES.contains(number))
}

/// Whether a number follows a word for a status: `HTTP/1.1 429`, `status code 429`, `API Error: 429`.
fn is_called_status(words: &str, status: u16) -> bool {
    const NAMES: &[(&str, usize)] = &[("http", 3), ("https", 3), ("status", 2), ("code", 1), ("error", 1)];
    let words = words.to_lowercase();
    let words: Vec<&str> =
        words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let number = status.to_string();
    let is_called = |at: usize| {
        NAMES.iter().any(|(name, distance)| words[at.saturating_sub(*distance)..at].contains(name))
    };
    (0..words.len()).any(|at| words[at] == number && is_called(at))
}

/// How long to wait, where the words say it: `retry after 30s`, `try again in 2 hours 5 minutes`, `"retryDelay":"34s"`.
fn wait_in(words: &str) -> Option<Duration> {
    let words = words.to_lowercase();
    for sign in
        ["retry after ", "retry-after: ", "try again in ", "retry in ", "retrydelay\":\"", "retrydelay\": \""]
    {
        let Some((_, rest)) = words.split_once(sign) else { continue };
        if let Some(wait) = spelled(rest) {
            return Some(wait);
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
        let text = rest[..end].trim_end_matches('.');
        // Fractions of a second are rounded up.
        let (whole, has_fraction) = match text.split_once('.') {
            Some((whole, fraction)) => {
                let unit = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
                (format!("{whole}{unit}"), true)
            }
            None => (text.to_owned(), false),
        };
        let wait = parse_duration(&whole)?;
        return Some(if has_fraction { wait + Duration::from_secs(1) } else { wait });
    }
    None
}

/// A length of time with its units in words: `3 days 2 hours`. `None` if the first number has no such unit.
fn spelled(text: &str) -> Option<Duration> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut total = None;
    while let (Some(number), Some(unit)) =
        (words.next().and_then(|word| word.parse::<u64>().ok()), words.next())
    {
        let seconds = match unit.trim_end_matches('s') {
            "sec" | "second" => 1,
            "min" | "minute" => 60,
            "hr" | "hour" => 3_600,
            "day" => 86_400,
            "week" => 604_800,
            _ => break,
        };
        let length = Duration::from_secs(number.checked_mul(seconds)?);
        total = Some(total.unwrap_or(Duration::ZERO).checked_add(length)?);
    }
    total
}

/// When a usage window ends, where the words end with it: `usage limit reached|1763400000`.
fn reset_in(words: &str) -> Option<Timestamp> {
    let (_, digits) = words.rsplit_once('|')?;
    let seconds: i64 = digits.trim().parse().ok()?;
    Some(Timestamp::from_millis(seconds.checked_mul(1000)?))
}

/// The next time of day that the words name in UTC: `resets 3pm (UTC)`, `resets at 3:30pm (UTC)`. A time without a zone,
/// in a named one or on a named day is none: it could be hours too early or too late.
fn reset_at(words: &str, now: Timestamp) -> Option<Timestamp> {
    const DAY_MS: i64 = 86_400_000;
    let words = words.to_lowercase();
    let (_, rest) = words.split_once("resets ")?;
    let (time, zone) = rest.trim_start_matches("at ").split_once(' ')?;
    if !zone.starts_with("(utc)") {
        return None;
    }
    let (time, noon) = match time.strip_suffix("pm") {
        Some(time) => (time, 12),
        None => (time.strip_suffix("am")?, 0),
    };
    let (hour, minute) = time.split_once(':').unwrap_or((time, "0"));
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    if !(1..=12).contains(&hour) || !(0..60).contains(&minute) {
        return None;
    }
    let of_day = ((hour % 12 + noon) * 60 + minute) * 60_000;
    let left = (of_day - now.millis()).rem_euclid(DAY_MS);
    Some(Timestamp::from_millis(now.millis().checked_add(if left == 0 { DAY_MS } else { left })?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_refuses_has_one_code() {
        for (words, status, expected) in [
            ("Invalid API key", Some(401), ("E_MODEL_UNAVAILABLE", "authentication failed: Invalid API key")),
            (
                "unexpected status 401 Unauthorized",
                None,
                ("E_MODEL_UNAVAILABLE", "authentication failed: unexpected status 401 Unauthorized"),
            ),
            ("slow down", Some(429), ("E_MODEL_UNAVAILABLE", "rate limit: slow down")),
            ("RESOURCE_EXHAUSTED", None, ("E_MODEL_UNAVAILABLE", "rate limit: RESOURCE_EXHAUSTED")),
            ("Overloaded", Some(529), ("E_MODEL_UNAVAILABLE", "Overloaded")),
            ("oops", Some(500), ("E_MODEL_UNAVAILABLE", "oops")),
            (
                "stream disconnected before completion",
                None,
                ("E_MODEL_UNAVAILABLE", "stream disconnected before completion"),
            ),
            (
                "prompt is too long: 9 tokens > 8",
                Some(400),
                ("E_CONTEXT_OVERFLOW", "prompt is too long: 9 tokens > 8"),
            ),
            ("the field is wrong", Some(400), ("E_MODEL_UNAVAILABLE", "the field is wrong")),
            ("something else", None, ("E_UNKNOWN", "something else")),
        ] {
            let trouble = Trouble::said(words).with_status(status);
            let (code, message) = trouble.told();
            assert_eq!((code.as_str(), message.as_str()), expected);
        }
    }

    #[test]
    fn a_number_that_an_unknown_program_prints_is_a_status_if_it_is_called_one() {
        let reason = |words: &str| {
            let trouble = Trouble::printed(words);
            trouble.is_surely_of_the_model().then(|| trouble.reason())
        };
        for limited in [
            "HTTP/1.1 429",
            "curl: (22) The requested URL returned error: 429",
            "API Error: 429 {}",
            "status code: 429",
            "Too Many Requests",
            "You exceeded your current quota",
        ] {
            assert_eq!(reason(limited), Some(TroubleKind::RateLimit), "{limited}");
        }
        assert_eq!(reason("error 401"), Some(TroubleKind::Authentication));
        assert_eq!(reason("status 503"), Some(TroubleKind::Unavailable));
        assert_eq!(reason("prompt is too long"), Some(TroubleKind::Overflow));
        for other in [
            "agent.sh: line 429: foo: command not found",
            "wrote 500 files",
            "Disk quota exceeded",
            "git: authentication failed",
            "terminated",
        ] {
            assert_eq!(reason(other), None, "{other}");
        }
    }

    #[test]
    fn a_rate_limit_says_when_it_ends_where_the_provider_does() {
        let now = Timestamp::from_millis(1_000_000);
        let until = |words: &str| {
            Trouble::said(words).limited("claude", String::new(), now).and_then(|limited| limited.until)
        };
        assert_eq!(until("429, retry after 30s"), Some(Timestamp::from_millis(1_030_000)));
        assert_eq!(until("rate limit: try again in 1.5s."), Some(Timestamp::from_millis(1_002_000)));
        assert_eq!(
            until("You've hit your usage limit. Try again in 1 day 2 hours 5 minutes."),
            Some(Timestamp::from_millis(1_000_000 + 93_900_000))
        );
        assert_eq!(until("429, try again in 20 seconds"), Some(Timestamp::from_millis(1_020_000)));
        assert_eq!(until(r#"quota {"retryDelay":"34s"}"#), Some(Timestamp::from_millis(1_034_000)));
        assert_eq!(until("Claude AI usage limit reached|90000"), Some(Timestamp::from_millis(90_000_000)));
        for far in ["usage limit reached|253402300799", "429, retry after 18446744073709551615 seconds"] {
            assert_eq!(until(far), None, "{far}");
        }
        assert_eq!(until("rate limit"), None);
        // It is 00:16:40.
        let at = |hour: i64, minute: i64| Some(Timestamp::from_millis((hour * 60 + minute) * 60_000));
        assert_eq!(until("usage limit reached, resets 3pm (UTC)"), at(15, 0));
        assert_eq!(until("usage limit reached, resets at 3:30am (UTC)."), at(3, 30));
        assert_eq!(until("usage limit reached, resets 12:10am (UTC)"), at(24, 10), "tomorrow");
        assert_eq!(until("usage limit reached, resets 12pm (UTC)"), at(12, 0));
        for unclear in
            ["3pm", "3pm (Europe/Berlin)", "Oct 7, 3pm (UTC)", "13pm (UTC)", "3:60pm (UTC)", "15:00 (UTC)"]
        {
            assert_eq!(until(&format!("usage limit reached, resets {unclear}")), None, "{unclear}");
        }
        assert!(Trouble::said("500").limited("claude", String::new(), now).is_none());
    }
}
