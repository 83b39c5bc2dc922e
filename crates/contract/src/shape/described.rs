//! The shape of a Rust type on the wire, so that a declared field needs no explicit shape.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as Fields, Value};

use super::{List, Map, NATURAL, NOT_NEGATIVE, Shape, TEXT, Text, UNBOUNDED};
use crate::domain::priority::Priority;

/// A type that is read from one shape and printed in it.
pub trait Described {
    const SHAPE: Shape;

    /// Whether there is nothing to print where the field is `#[optional]`.
    fn is_left_out(&self) -> bool {
        false
    }
}

/// An optional value that is printed as `null`; a field of type `Option` is left out instead.
pub type Nullable<T> = Option<T>;

macro_rules! described {
    ($($type:ty = $shape:expr),+ $(,)?) => {
        $(impl Described for $type { const SHAPE: Shape = $shape; })+
    };
}

described! {
    String = TEXT,
    bool = Shape::Bool,
    u32 = NATURAL,
    u64 = NATURAL,
    usize = NATURAL,
    i64 = Shape::Integer { min: i64::MIN, max: i64::MAX },
    // Amounts and durations: no document has a number below zero.
    f64 = NOT_NEGATIVE,
    Value = Shape::Anything,
    Fields<String, Value> = Shape::AnyObject,
    Priority = Shape::Word(&["low", "normal", "high", "critical"]),
}

impl<T: Described> Described for Nullable<T> {
    const SHAPE: Shape = Shape::Nullable(&T::SHAPE);
}

impl<T: Described> Described for Vec<T> {
    const SHAPE: Shape = Shape::List(&List { item: T::SHAPE, min: 0, max: UNBOUNDED });

    fn is_left_out(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Described> Described for BTreeSet<T> {
    const SHAPE: Shape = <Vec<T>>::SHAPE;
}

impl<T: Described> Described for BTreeMap<String, T> {
    const SHAPE: Shape =
        Shape::Map(&Map { value: T::SHAPE, key: Text { min: 0, max: UNBOUNDED, form: None } });

    fn is_left_out(&self) -> bool {
        self.is_empty()
    }
}

/// A doc comment as the schema's description: without the space after the slashes.
pub(crate) const fn about(comment: &'static str) -> &'static str {
    match comment.as_bytes() {
        [b' ', ..] => comment.split_at(1).1,
        _ => comment,
    }
}
