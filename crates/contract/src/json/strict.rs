//! A JSON parser that refuses what other readers would silently change: duplicate keys, trailing data, a BOM.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::domain::limits;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    pub message: String,
    /// Counted from 1; 0 where the fault has no place.
    pub line: usize,
    pub column: usize,
}

/// Parses one JSON document. Size is the caller's to bound, because each kind of document has its own limit.
pub fn parse(bytes: &[u8]) -> Result<Value, Malformed> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(Malformed { message: "starts with a byte order mark".to_owned(), line: 1, column: 1 });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| invalid_utf8(bytes, error.valid_up_to()))?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Node { depth: 0 }.deserialize(&mut deserializer).map_err(|e| malformed(&e))?;
    deserializer.end().map_err(|e| malformed(&e))?;
    Ok(value)
}

/// Says where in `bytes` the text stops being UTF-8.
pub fn invalid_utf8(bytes: &[u8], at: usize) -> Malformed {
    let before = &bytes[..at];
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    let column = at - before.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1) + 1;
    Malformed { message: "not valid UTF-8".to_owned(), line, column }
}

fn malformed(error: &serde_json::Error) -> Malformed {
    let full = error.to_string();
    let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message);
    Malformed { message: message.to_owned(), line: error.line(), column: error.column() }
}

#[derive(Clone, Copy)]
struct Node {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Node {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Node {
    fn deeper<E: serde::de::Error>(self) -> Result<Node, E> {
        if self.depth == limits::JSON_DEPTH_MAX {
            return Err(E::custom(format_args!("nested deeper than {}", limits::JSON_DEPTH_MAX)));
        }
        Ok(Node { depth: self.depth + 1 })
    }
}

impl<'de> Visitor<'de> for Node {
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

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
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
            // Before the value is read, so that the fault is placed at the key.
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let value = fields.next_value_seed(inner)?;
            map.insert(key, value);
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
        let cases: [(&[u8], &str); 10] = [
            (b"{\"a\":1,\"a\":2}", "duplicate key `a`"),
            (b"{\"a\":{\"b\":1,\"\\u0062\":2}}", "duplicate key `b`"),
            (b"\xef\xbb\xbf{}", "starts with a byte order mark"),
            (b"{} {}", "trailing characters"),
            (b"NaN", "expected value"),
            (b"1e400", "number out of range"),
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
