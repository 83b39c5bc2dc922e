//! Shapes describe documents once. The validator, which reports every finding, and the published JSON Schema
//! come from the same description.

pub mod check;
mod described;
mod document;
mod formed_text;
pub mod ignored;
pub mod schema;
mod whole;
mod words;

pub(crate) use described::about;
pub use described::{Described, Nullable};
pub(crate) use document::document;
pub(crate) use formed_text::formed_text;
pub(crate) use whole::{INTEGER_MAX, NUMBER, whole, whole_or_none};
pub(crate) use words::words;

use crate::domain::time::Timestamp;

/// What a JSON value must look like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Object(&'static Object),
    List(&'static List),
    /// An object whose keys are free but whose values share one shape.
    Map(&'static Map),
    Text(Text),
    /// One of these words.
    Word(&'static [&'static str]),
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    Bool,
    /// Any object.
    AnyObject,
    Anything,
    /// `null`, or the shape.
    Nullable(&'static Shape),
    /// The first one whose JSON type matches is used.
    Either(&'static [Shape]),
}

#[derive(Debug)]
pub struct Object {
    pub name: &'static str,
    pub about: &'static str,
    pub fields: &'static [Field],
    pub unknown: Unknown,
}

#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub required: bool,
    pub shape: Shape,
    pub about: &'static str,
}

/// What happens to fields that the object does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// A fault.
    Refused,
    /// Kept and ignored.
    Kept,
    /// A fault unless the name starts with `x_`.
    OnlyExtensions,
    /// Kept, but a fault in strict mode unless the name starts with `x_`.
    KeptUnlessStrict,
}

#[derive(Debug)]
pub struct List {
    pub item: Shape,
    pub min: usize,
    pub max: usize,
}

#[derive(Debug)]
pub struct Map {
    pub value: Shape,
    pub key: Text,
}

/// A string: its length in characters and its form.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    pub min: usize,
    pub max: usize,
    pub form: Option<&'static TextForm>,
}

/// A named form of text, as a test for the validator and a pattern for the schema.
#[derive(Debug)]
pub struct TextForm {
    /// Completes the sentence "must be …".
    pub name: &'static str,
    pub pattern: &'static str,
    pub accepts: fn(&str) -> bool,
}

/// No limit other than the size of the document.
pub const UNBOUNDED: usize = usize::MAX;

pub const TEXT: Shape = Shape::Text(Text { min: 0, max: UNBOUNDED, form: None });
pub const TEXTS: Shape = Shape::List(&List { item: TEXT, min: 0, max: UNBOUNDED });
/// At least one character that is not white space.
pub const NON_BLANK: Shape = Shape::Text(Text { min: 1, max: UNBOUNDED, form: Some(&NON_BLANK_FORM) });
pub const TIME: Shape = formed(&TIME_FORM);
pub const UTC: Shape = formed(&UTC_FORM);
pub const NATURAL: Shape = Shape::Integer { min: 0, max: i64::MAX };
pub const POSITIVE: Shape = Shape::Integer { min: 1, max: i64::MAX };
pub const PERCENT: Shape = Shape::Integer { min: 0, max: 100 };
pub const NOT_NEGATIVE: Shape = Shape::Number { min: 0.0, max: f64::MAX };

pub static NON_BLANK_FORM: TextForm =
    TextForm { name: "text that is not blank", pattern: NOT_WHITE, accepts: |text| !text.trim().is_empty() };

/// One character that is not white space, written out because dialects of `\\S` differ.
const NOT_WHITE: &str =
    "[^\\u0009-\\u000d\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";

pub static TIME_FORM: TextForm = TextForm {
    name: "a time in RFC 3339 form, such as 2026-01-26T12:00:00Z",
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
    accepts: |text| is_rfc_3339(text) && Timestamp::parse(text).is_ok(),
};

static UTC_FORM: TextForm = TextForm {
    name: "a real time in UTC, such as 2026-02-14T20:00:00Z",
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?(Z|\\+00:00)$",
    accepts: |text| Timestamp::parse_utc(text).is_some(),
};

/// Whether a text has the form of a time in RFC 3339; our parser also reads shorter ones. The date may still not
/// exist.
pub(crate) fn is_rfc_3339(text: &str) -> bool {
    let Some((clock, rest)) = text.as_bytes().split_at_checked(19) else { return false };
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't' | b' '),
        form => byte == form,
    };
    if !clock.iter().zip(b"0000-00-00T00:00:00").all(fits) {
        return false;
    }
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let zone = match rest.split_first() {
        Some((b'.', rest)) if digits(rest) > 0 => &rest[digits(rest)..],
        Some((b'.', _)) => return false,
        _ => rest,
    };
    match zone {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', offset @ ..] => offset.len() == 5 && offset.iter().zip(b"00:00").all(fits),
        _ => false,
    }
}

/// A text of this form.
pub const fn formed(form: &'static TextForm) -> Shape {
    Shape::Text(Text { min: 0, max: UNBOUNDED, form: Some(form) })
}

/// A text that is not blank, of at most `max` characters.
pub const fn bounded(max: usize) -> Shape {
    const FORM: &TextForm = &NON_BLANK_FORM;
    Shape::Text(Text { min: 1, max, form: Some(FORM) })
}

pub const fn required(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, required: true, shape, about }
}

pub const fn optional(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, required: false, shape, about }
}

const EXTENSIONS: Shape = Shape::Map(&Map {
    value: Shape::Anything,
    key: Text { min: 0, max: UNBOUNDED, form: Some(&EXTENSION_FORM) },
});

static EXTENSION_FORM: TextForm =
    TextForm { name: "prefixed with `x_`", pattern: "^x_", accepts: |name| name.starts_with("x_") };

/// Vendor data, which every object of a contract may carry.
pub const fn extensions() -> Field {
    let shape = Shape::Nullable(&EXTENSIONS);
    optional("extensions", shape, "vendor data under names that start with x_")
}

/// A list of this many items.
macro_rules! list {
    ($item:expr) => {
        $crate::shape::list!($item, 0, $crate::shape::UNBOUNDED)
    };
    ($item:expr, $min:expr, $max:expr) => {
        $crate::shape::Shape::List(&$crate::shape::List { item: $item, min: $min, max: $max })
    };
}

pub(crate) use list;

pub const fn text(min: usize, max: usize) -> Shape {
    Shape::Text(Text { min, max, form: None })
}
