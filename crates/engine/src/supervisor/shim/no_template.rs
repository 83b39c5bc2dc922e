//! Systems without templates: every shim was started as a program.

use std::io;

#[derive(PartialEq, Eq)]
pub(super) enum TemplateRole {
    Shim,
    #[expect(dead_code, reason = "there are none")]
    Ended,
}

#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
pub(super) fn role() -> io::Result<TemplateRole> {
    Ok(TemplateRole::Shim)
}
