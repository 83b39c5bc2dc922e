//! A JSON parser that refuses what other readers would silently change: duplicate keys, trailing data, a BOM,
//! integers that some readers round.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::domain::limits;

/// The largest integer that every JSON implementation reads exactly.
const INTEGER_MAX: u64 = 1 << 53;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    pub message: String,
    /// Counted from 1; 0 where the fault has no place.
    pub line: usize,
    pub column: usize,
}

/// Parses one JSON document. The caller limits the size, because each kind of document has its own limit.
pub fn parse(bytes: &[u8]) -> Result<Value, Malformed> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(Malformed { message: "starts with a byte order mark".to_owned(), line: 1, column: 1 });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| invalid_utf8(bytes, error.valid_up_to()))?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let huge = Cell::new(false);
    let node = JsonNode { depth: 0, huge: &huge };
    let value = node.deserialize(&mut deserializer).map_err(|e| malformed(&e))?;
    deserializer.end().map_err(|e| malformed(&e))?;
    match huge.get().then(|| integer_beyond(text)).flatten() {
        Some(at) => Err(Malformed { message: BEYOND.to_owned(), ..place(bytes, at) }),
        None => Ok(value),
    }
}

const BEYOND: &str = "integer beyond 2^53, which not every reader keeps exactly";

/// The position of an integer in a JSON text that has so many digits that it was read as a float.
fn integer_beyond(text: &str) -> Option<usize> {
    const DIGITS_MAX: usize = 16;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = bytes[at..].iter().take_while(is_part).count();
                let number = &bytes[at..at + length];
                let is_integer = number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
                if is_integer && length > DIGITS_MAX {
                    return Some(at);
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    None
}

/// The position after the closing quote of the string that opens at `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The line and column of a byte.
fn place(bytes: &[u8], at: usize) -> Malformed {
    let before = &bytes[..at];
    let line = before.split(|&byte| byte == b'\n').count();
    let column = at - before.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1) + 1;
    Malformed { message: String::new(), line, column }
}

/// The error for bytes that stop being UTF-8 at `at`.
pub fn invalid_utf8(bytes: &[u8], at: usize) -> Malformed {
    Malformed { message: "not valid UTF-8".to_owned(), ..place(bytes, at) }
}

fn malformed(error: &serde_json::Error) -> Malformed {
    let full = error.to_string();
    let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message);
    Malformed { message: message.to_owned(), line: error.line(), column: error.column() }
}

#[derive(Clone, Copy)]
struct JsonNode<'h> {
    depth: usize,
    /// Set when a float was read that is too large to tell whether it was written as an integer.
    huge: &'h Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for JsonNode<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl JsonNode<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == limits::JSON_DEPTH_MAX {
            return Err(E::custom(format_args!("nested deeper than {}", limits::JSON_DEPTH_MAX)));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> Visitor<'de> for JsonNode<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() > INTEGER_MAX {
            return Err(E::custom(BEYOND));
        }
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        if value > INTEGER_MAX {
            return Err(E::custom(BEYOND));
        }
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        const HUGE: f64 = 9_007_199_254_740_992.0;
        if value.abs() > HUGE {
            self.huge.set(true);
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            match map.entry(key) {
                // Before the value is read, so that the error has the position of the key.
                Entry::Occupied(known) => {
                    return Err(A::Error::custom(format_args!("duplicate key `{}`", known.key())));
                }
                Entry::Vacant(free) => {
                    free.insert(fields.next_value_seed(inner)?);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_other_readers_would_change_is_refused() {
        let deep = format!("{}1{}", "[".repeat(101), "]".repeat(101));
        let very_deep = "[".repeat(10_000);
        let cases: [(&[u8], &str); 14] = [
            (b"{\"a\":1,\"a\":2}", "duplicate key `a`"),
            (b"{\"a\":{\"b\":1,\"\\u0062\":2}}", "duplicate key `b`"),
            (b"\xef\xbb\xbf{}", "starts with a byte order mark"),
            (b"{} {}", "trailing characters"),
            (b"NaN", "expected value"),
            (b"1e400", "number out of range"),
            (b"9007199254740993", BEYOND),
            (b"[-9007199254740993]", BEYOND),
            (b"{\"a\\\"1\": 123456789012345678901234567890}", BEYOND),
            (b"[1e30, -100000000000000000000]", BEYOND),
            (b"\"\\ud800\"", "unexpected end of hex escape"),
            (b"\"\xff\"", "not valid UTF-8"),
            (deep.as_bytes(), "nested deeper than 100"),
            (very_deep.as_bytes(), "nested deeper than 100"),
        ];
        for (bytes, message) in cases {
            let error = parse(bytes).unwrap_err();
            assert_eq!(
                error.message,
                message,
                "{:?}",
                String::from_utf8_lossy(&bytes[..bytes.len().min(40)])
            );
        }
    }

    #[test]
    fn a_fault_has_a_place() {
        let error = parse(b"{\n  \"a\": 1,\n  \"a\": 2\n}").unwrap_err();
        assert_eq!((error.line, error.column), (3, 5));
        let error = parse(b"{\n  \"a\xff\": 1}").unwrap_err();
        assert_eq!((error.line, error.column), (2, 5));
    }

    #[test]
    fn large_floats_are_no_integers() {
        for text in [
            "9007199254740992",
            "1e30",
            "-1.5e300",
            "123456789012345678901234567890.5",
            "[\"99999999999999999999\",1e99]",
        ] {
            assert!(parse(text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn one_hundred_levels_are_allowed() {
        assert!(parse(format!("{}1{}", "[".repeat(100), "]".repeat(100)).as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes: Vec<u8>) {
            parse(&bytes).ok();
        }

        #[test]
        fn parse_print_parse_is_the_identity(text in "[\\[\\]{}:,\"0-9a-e. tfn-]{0,60}") {
            if let Ok(value) = parse(text.as_bytes()) {
                prop_assert_eq!(parse(value.to_string().as_bytes()), Ok(value));
            }
        }
    }
}
