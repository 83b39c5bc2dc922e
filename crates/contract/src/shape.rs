//! Shapes describe documents once. From the same description come the validator, which reports every
//! finding, and the published JSON Schema.

pub mod check;
pub mod schema;

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
    /// The first whose JSON type fits decides.
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
    pub form: Option<&'static Form>,
}

/// A named form of text, as a test for the validator and a pattern for the schema.
#[derive(Debug)]
pub struct Form {
    /// Completes the sentence "must be …".
    pub name: &'static str,
    pub pattern: &'static str,
    pub accepts: fn(&str) -> bool,
}

/// Longer than any document may be: no limit of its own.
pub const UNBOUNDED: usize = usize::MAX;

pub const TEXT: Shape = Shape::Text(Text { min: 0, max: UNBOUNDED, form: None });
pub const TEXTS: Shape = Shape::List(&List { item: TEXT, min: 0, max: UNBOUNDED });
/// At least one character that is not white space.
pub const NON_BLANK: Shape = Shape::Text(Text { min: 1, max: UNBOUNDED, form: Some(&NON_BLANK_FORM) });
pub const TIME: Shape = Shape::Text(Text { min: 0, max: UNBOUNDED, form: Some(&TIME_FORM) });
pub const NATURAL: Shape = Shape::Integer { min: 0, max: i64::MAX };
pub const POSITIVE: Shape = Shape::Integer { min: 1, max: i64::MAX };
pub const PERCENT: Shape = Shape::Integer { min: 0, max: 100 };
pub const NOT_NEGATIVE: Shape = Shape::Number { min: 0.0, max: f64::MAX };

pub static NON_BLANK_FORM: Form =
    Form { name: "text that is not blank", pattern: "\\S", accepts: |text| !text.trim().is_empty() };

pub static TIME_FORM: Form = Form {
    name: "a time in RFC 3339 form, such as 2026-01-26T12:00:00Z",
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
    accepts: |text| crate::domain::time::Timestamp::parse(text).is_ok(),
};

pub const fn required(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, required: true, shape, about }
}

pub const fn optional(name: &'static str, shape: Shape, about: &'static str) -> Field {
    Field { name, required: false, shape, about }
}

pub const fn text(min: usize, max: usize) -> Shape {
    Shape::Text(Text { min, max, form: None })
}
