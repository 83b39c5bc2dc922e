//! RFC 8785 canonical JSON, the only form that is hashed or signed.

use serde::Serialize;
use serde_json::Value;

/// The largest integer that every JSON implementation reads back exactly.
const INTEGER_MAX: u64 = 1 << 53;

#[derive(Debug, thiserror::Error)]
pub enum NotCanonical {
    #[error("an integer beyond 2^53 has no canonical form")]
    LargeInteger,
    #[error("the value has no JSON form")]
    Unprintable(#[source] serde_json::Error),
}

/// The canonical bytes of a value. Refuses integers beyond 2^53, which other implementations would round.
pub fn canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, NotCanonical> {
    canonical_json(&serde_json::to_value(value).map_err(NotCanonical::Unprintable)?)
}

/// The same for what is JSON already.
pub fn canonical_json(value: &Value) -> Result<Vec<u8>, NotCanonical> {
    match spelling(value) {
        Spelling::Refused => Err(NotCanonical::LargeInteger),
        Spelling::Plain => serde_json::to_vec(value).map_err(NotCanonical::Unprintable),
        Spelling::Special => serde_json_canonicalizer::to_vec(value).map_err(NotCanonical::Unprintable),
    }
}

/// Refuses what has no canonical form.
pub fn check(value: &Value) -> Result<(), NotCanonical> {
    match spelling(value) {
        Spelling::Refused => Err(NotCanonical::LargeInteger),
        Spelling::Plain | Spelling::Special => Ok(()),
    }
}

/// How the canonical form of a value is spelled, from the least to the most special.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spelling {
    /// As `serde_json` prints it. Nearly every value is, and this takes a fifth of the time.
    Plain,
    /// It has a float, or names that sort in another way as UTF-16.
    Special,
    /// It has none.
    Refused,
}

fn spelling(value: &Value) -> Spelling {
    match value {
        Value::Number(number) => match number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs)) {
            Some(integer) if integer > INTEGER_MAX => Spelling::Refused,
            Some(_) => Spelling::Plain,
            None => Spelling::Special,
        },
        Value::Array(items) => items.iter().map(spelling).max().unwrap_or(Spelling::Plain),
        Value::Object(fields) => {
            let names = if fields.keys().all(|name| sorts_as_bytes(name)) && fields.keys().is_sorted() {
                Spelling::Plain
            } else {
                Spelling::Special
            };
            fields.values().map(spelling).fold(names, Ord::max)
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Spelling::Plain,
    }
}

/// Below U+E000 the order of UTF-8 is that of UTF-16. U+E000 and above begin with a byte of 0xEE or more.
fn sorts_as_bytes(name: &str) -> bool {
    name.bytes().all(|byte| byte < 0xee)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::strict;
    use proptest::prelude::*;
    use serde_json::json;

    fn text(value: &Value) -> String {
        String::from_utf8(canonical(value).unwrap()).unwrap()
    }

    #[test]
    fn the_rules_of_rfc_8785_hold() {
        // Keys sort by UTF-16 code units: U+1F600 is a surrogate pair and comes before U+FB33.
        assert_eq!(
            text(&json!({"\u{fb33}": 1, "\u{1f600}": 2, "a": 3})),
            "{\"a\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}"
        );
        assert_eq!(text(&json!([1e21, 1e-7, 0.000_001, 100.0, -0.0])), "[1e+21,1e-7,0.000001,100,0]");
        assert_eq!(text(&json!("\u{8}\u{1f}\"\\/é")), "\"\\b\\u001f\\\"\\\\/é\"");
    }

    #[test]
    fn integers_beyond_two_to_the_53_are_refused() {
        assert_eq!(text(&json!(9_007_199_254_740_992_u64)), "9007199254740992");
        for value in [json!(9_007_199_254_740_993_u64), json!([{"a": -9_007_199_254_740_993_i64}])] {
            assert!(matches!(canonical(&value), Err(NotCanonical::LargeInteger)), "{value}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            "[\\x00-\\x7f]{0,12}".prop_map(Value::from),
            (-9_007_199_254_740_992_i64..=9_007_199_254_740_992).prop_map(Value::from),
            any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,6}", inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_a_fixed_point(value in any_json()) {
            // A float beyond 2^53 may print as an integer, which the second pass refuses; both are right.
            let once = canonical(&value).unwrap();
            prop_assert_eq!(&once, &serde_json_canonicalizer::to_vec(&value).unwrap());
            if let Ok(again) = strict::parse(&once) {
                prop_assert_eq!(once, canonical(&again).unwrap());
            }
        }
    }
}
