//! Names of one form on the wire.

/// Declares a type for text of one form, which is checked when it is read.
macro_rules! formed_text {
    ($(#[$about:meta])* $name:ident, $form:ident) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn parse(text: &str) -> Option<Self> {
                ($form.accepts)(text).then(|| Self(text.to_owned()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl $crate::shape::Described for $name {
            const SHAPE: $crate::shape::Shape = $crate::shape::formed(&$form);
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as ::serde::Deserialize>::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| ::serde::de::Error::custom(concat!("no ", stringify!($name))))
            }
        }
    };
}

pub(crate) use formed_text;
