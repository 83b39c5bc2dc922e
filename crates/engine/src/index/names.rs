//! The names under which looks keep files: a look is written to a file, so a name that contains a secret is not in it.

use std::borrow::Cow;

use contract::{digest, secrets};

/// So many digits of a digest keep names apart.
const DIGITS: usize = 16;

/// The path with a digest in place of each name that contains a secret. The same path is always kept under the same name.
pub(super) fn kept(path: &[u8]) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(path);
    if secrets::find(&text).is_none() {
        return Cow::Borrowed(path);
    }
    let names: Vec<Cow<'_, [u8]>> = path.split(|&byte| byte == b'/').map(kept_name).collect();
    Cow::Owned(names.join(&b'/'))
}

fn kept_name(name: &[u8]) -> Cow<'_, [u8]> {
    match secrets::find(&String::from_utf8_lossy(name)) {
        None => Cow::Borrowed(name),
        Some(rule) => {
            let digest = digest::of_bytes(name);
            let digits = &digest["sha256:".len()..][..DIGITS];
            Cow::Owned(format!("[REDACTED:{rule} {digits}]").into_bytes())
        }
    }
}
