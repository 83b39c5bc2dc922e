//! Whole numbers of JSON documents, which may be written `60.0`.

use serde::{Deserialize, Deserializer};

use super::Shape;

/// The largest whole number that every JSON reader reads exactly, and so the largest in these documents.
pub(crate) const INTEGER_MAX: i64 = 1 << 53;
pub(crate) const NUMBER: Shape = Shape::Integer { min: 0, max: INTEGER_MAX };

/// Reads a whole number that may be written `60.0`, as the shapes do.
pub(crate) fn whole<'de, D: Deserializer<'de>, T: TryFrom<i64>>(deserializer: D) -> Result<T, D::Error> {
    let number = f64::deserialize(deserializer)?;
    whole_of(number).ok_or_else(|| serde::de::Error::custom("not a whole number"))
}

/// The same, for an optional number.
pub(crate) fn whole_or_none<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let number = Option::<f64>::deserialize(deserializer)?;
    number
        .map(|number| whole_of(number).ok_or_else(|| serde::de::Error::custom("not a whole number")))
        .transpose()
}

fn whole_of<T: TryFrom<i64>>(number: f64) -> Option<T> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() != 0.0 || number.abs() > EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
    let whole = number as i64;
    T::try_from(whole).ok()
}
