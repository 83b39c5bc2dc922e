//! Names on the wire: run ids are UUIDs, task ids are `T-<number>` or 36 hexadecimal digits and dashes, times are UTC.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::domain::time::Timestamp;
use crate::shape::{Described, Form, Map, Shape, Text, UNBOUNDED};

macro_rules! id {
    ($(#[$about:meta])* $name:ident, $form:ident) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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

        impl Described for $name {
            const SHAPE: Shape = formed(&$form);
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::custom(concat!("no ", stringify!($name))))
            }
        }
    };
}

id! {
    /// The run a document belongs to. UUIDs are compared without case.
    RunId, RUN_ID_FORM
}
id! {
    /// One task of a run.
    TaskRef, TASK_ID_FORM
}

impl<T: Described> Described for BTreeMap<TaskRef, T> {
    const SHAPE: Shape =
        Shape::Map(&Map { value: T::SHAPE, key: Text { min: 0, max: UNBOUNDED, form: Some(&TASK_ID_FORM) } });
}

/// Whether two run ids name one run.
pub(super) fn same_run(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

pub(super) const UTC: Shape = formed(&UTC_FORM);

const fn formed(form: &'static Form) -> Shape {
    Shape::Text(Text { min: 0, max: UNBOUNDED, form: Some(form) })
}

static RUN_ID_FORM: Form = Form {
    name: "a UUID, such as 3f56dc4d-35cf-4f97-925c-0b04a6fe8bf4",
    pattern: "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    accepts: is_uuid,
};

pub(crate) static TASK_ID_FORM: Form = Form {
    name: "`T-` and a number, or 36 hexadecimal digits and dashes, such as a UUID",
    pattern: "^(T-[0-9]+|[0-9a-fA-F-]{36})$",
    accepts: |text| {
        let number = text.strip_prefix("T-").unwrap_or("");
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        is_number || (text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'))
    },
};

static UTC_FORM: Form = Form {
    name: "a real time in UTC, such as 2026-02-14T20:00:00Z",
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?(Z|\\+00:00)$",
    accepts: |text| parse_utc(text).is_some(),
};

fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether a UUID is of version 4 (random), as run ids should be.
pub(super) fn is_uuid_v4(text: &str) -> bool {
    let bytes = text.as_bytes();
    is_uuid(text) && bytes[14] == b'4' && matches!(bytes[19], b'8' | b'9' | b'a' | b'b' | b'A' | b'B')
}

/// Reads a time with the zone UTC. Other zones, leap seconds and days that do not exist are refused.
pub fn parse_utc(text: &str) -> Option<Timestamp> {
    let local = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
    let (whole, fraction) = local.split_once('.').unwrap_or((local, "0"));
    let whole_fits = whole.len() == 19
        && whole.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
    let fraction_fits = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|b| b.is_ascii_digit());
    // The calendar below would read a 60th second as the 59th.
    if !whole_fits || !fraction_fits || &whole[17..] == "60" {
        return None;
    }
    Timestamp::parse(text).ok()
}
