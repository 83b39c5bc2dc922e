//! Run ids on the wire: UUIDs.

use crate::shape::{TextForm, formed_text};

formed_text! {
    /// The run a document belongs to. UUIDs are compared without case.
    RunId, RUN_ID_FORM
}

/// Whether two run ids name one run.
pub(super) fn same_run(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

static RUN_ID_FORM: TextForm = TextForm {
    name: "a UUID, such as 3f56dc4d-35cf-4f97-925c-0b04a6fe8bf4",
    pattern: "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    accepts: is_uuid,
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
