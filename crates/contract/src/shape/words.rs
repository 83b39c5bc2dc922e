//! A closed list of names on the wire: one enum, one shape, one spelling.

/// Declares an enum whose variants are the words of the contract.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord,
            ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema,
        )]
        pub enum $name {
            $($(#[$inner])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl $crate::shape::Described for $name {
            const SHAPE: $crate::shape::Shape = $crate::shape::Shape::Word(Self::WORDS);
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

pub(crate) use words;
