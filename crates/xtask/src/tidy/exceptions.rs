//! Exceptions from the rules, each with its reason.

use super::Violation;

pub(super) struct Exception {
    pub(super) rule: &'static str,
    /// A file, or a folder with its closing `/`.
    pub(super) path: &'static str,
    pub(super) reason: &'static str,
}

pub(super) const LISTED: &[Exception] = &[
    Exception { rule: "leftover", path: OLD_STORES, reason: "stores that earlier versions wrote" },
    Exception { rule: "blob", path: OLD_STORES, reason: "a store consists of whole pages, mostly empty" },
];

/// Kept byte for byte, so that every later version is tested against them.
const OLD_STORES: &str = "crates/cli/tests/fixtures/stores/";

/// Removes the violations that have an exception. An exception that is no longer needed is itself a violation.
pub(super) fn apply(found: Vec<Violation>, listed: &[Exception]) -> Vec<Violation> {
    let covers = |exception: &Exception, violation: &Violation| {
        let place = if exception.path.ends_with('/') {
            violation.path.starts_with(exception.path)
        } else {
            violation.path == exception.path
        };
        place && exception.rule == violation.rule
    };
    let idle = listed.iter().filter(|exception| !found.iter().any(|violation| covers(exception, violation)));
    let mut left: Vec<Violation> = idle
        .map(|exception| {
            let message =
                format!("no longer needs its exception from `{}` ({})", exception.rule, exception.reason);
            Violation::new("idle-exception", exception.path, 0, message)
        })
        .collect();
    left.extend(
        found.into_iter().filter(|violation| !listed.iter().any(|exception| covers(exception, violation))),
    );
    left
}
