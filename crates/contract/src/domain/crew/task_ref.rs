//! The name of a task in a crew's documents: `T-<number>`, or 36 hexadecimal digits and dashes.

use std::collections::BTreeMap;

use crate::shape::{Described, Map, Shape, Text, TextForm, UNBOUNDED, formed_text};

formed_text! {
    /// One task of a run.
    TaskRef, TASK_ID_FORM
}

impl<T: Described> Described for BTreeMap<TaskRef, T> {
    const SHAPE: Shape =
        Shape::Map(&Map { value: T::SHAPE, key: Text { min: 0, max: UNBOUNDED, form: Some(&TASK_ID_FORM) } });
}

pub(crate) static TASK_ID_FORM: TextForm = TextForm {
    name: "`T-` and a number, or 36 hexadecimal digits and dashes, such as a UUID",
    pattern: "^(T-[0-9]+|[0-9a-fA-F-]{36})$",
    accepts: |text| {
        let number = text.strip_prefix("T-").unwrap_or("");
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        is_number || (text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'))
    },
};
