//! Times as vybe's databases hold them: RFC 3339, `SQLite`'s own text, Go's `String()`, or numbers.

use crate::domain::time::Timestamp;

/// The time a text names; `None` if it does not name one.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(time) = Timestamp::parse(text) {
        return Some(time);
    }
    if let Ok(number) = text.parse::<i64>() {
        return Some(from_number(number));
    }
    // `2026-02-21 10:00:00.123 +0100 CET m=+0.012`: a date, a time, an offset, and parts that are ignored.
    let mut words = text.split(' ');
    let (date, time) = match (words.next()?, words.next()) {
        (date, Some(time)) => (date.to_owned(), time.to_owned()),
        (both, None) => {
            let (date, time) = both.split_once('T')?;
            (date.to_owned(), time.to_owned())
        }
    };
    let offset =
        words.next().filter(|word| word.starts_with(['+', '-'])).map_or(Some("Z".to_owned()), colon)?;
    let has_offset = time.ends_with('Z') || time.len() > 8 && time[8..].contains(['+', '-']);
    let whole = if has_offset { format!("{date}T{time}") } else { format!("{date}T{time}{offset}") };
    Timestamp::parse(&whole).ok()
}

/// Seconds, milliseconds, microseconds or nanoseconds since 1970, whichever gives a plausible time.
pub fn from_number(number: i64) -> Timestamp {
    let millis = match number.unsigned_abs() {
        0..100_000_000_000 => number.saturating_mul(1000),
        100_000_000_000..100_000_000_000_000 => number,
        100_000_000_000_000..100_000_000_000_000_000 => number / 1000,
        _ => number / 1_000_000,
    };
    Timestamp::from_millis(millis)
}

/// `+0100` as `+01:00`.
fn colon(offset: &str) -> Option<String> {
    match offset.len() {
        5 if offset.is_ascii() => Some(format!("{}:{}", &offset[..3], &offset[3..])),
        6 => Some(offset.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_was_seen_in_a_database_is_read() {
        let moment = Timestamp::parse("2026-02-21T09:00:00.123Z").unwrap();
        for text in [
            "2026-02-21T09:00:00.123Z",
            "2026-02-21T10:00:00.123+01:00",
            "2026-02-21 09:00:00.123",
            "2026-02-21 10:00:00.123+01:00",
            "2026-02-21 10:00:00.123456789 +0100 CET m=+0.012345",
            "2026-02-21 09:00:00.123 +0000 UTC",
            "1771664400123",
            "1771664400123456",
            "1771664400123456789",
        ] {
            assert_eq!(parse_time(text), Some(moment), "{text}");
        }
        assert_eq!(parse_time("1771664400"), Timestamp::parse("2026-02-21T09:00:00Z").ok());
        for text in ["", "soon", "2026-02-21", "2026-13-21 10:00:00", "2026-02-21 10:00:00 +01 CET"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
