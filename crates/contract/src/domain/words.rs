//! The words of a request's field: one declaration gives the words, the reader, its refusal and the JSON Schema. Words of
//! published documents are declared with `shape::words`, whose validator reports them instead.

use super::code::ErrorCode;
use super::task::Refusal;
use super::text::{beginning, quoted};

/// Declares an enum of words. `$what` is the field's name in the refusal of another word; an alias is read but never
/// written.
macro_rules! field_words {
    ($(#[$about:meta])* $name:ident, $what:literal {
        $($(#[$each:meta])* $variant:ident = $word:literal $(| $alias:literal)*,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$each])* $variant,)* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            pub const WORDS: &'static [&'static str] = &[$($word,)*];
            pub const ALIASES: &'static [&'static str] = &[$($($alias,)*)*];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word $(| $alias)* => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// The value with this word, or a refusal that lists the words.
            pub fn named(word: &str) -> Result<Self, $crate::domain::task::Refusal> {
                Self::parse(word).ok_or_else(|| $crate::domain::words::unknown($what, word, Self::WORDS))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                Self::named(&word).map_err(|refusal| serde::de::Error::custom(refusal.message))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let words: Vec<&str> = Self::WORDS.iter().chain(Self::ALIASES).copied().collect();
                schemars::json_schema!({"type": "string", "enum": words})
            }
        }
    };
}

pub(crate) use field_words;

pub(crate) fn unknown(what: &str, word: &str, words: &[&str]) -> Refusal {
    let message = format!("invalid {what} {}", quoted(word));
    let list = words.join(", ");
    match words {
        // The agent contract's own sentences, which scripts match.
        _ if what == "scope" => {
            let message = format!("invalid scope: {} (must be one of: {list})", beginning(word));
            Refusal::new(ErrorCode::InvalidInput, message)
        }
        // Two words are part of the message, where the agent contract's scripts look for them.
        [one, other] => Refusal::new(ErrorCode::InvalidInput, format!("{message}: must be {one} or {other}")),
        _ => Refusal::new(ErrorCode::InvalidInput, message).hint(format!("one of {list}")),
    }
}
