//! The message after a panic, and system limits that would otherwise kill writ silently.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use contract::secrets::Hidden;

use crate::output::say;

/// A panic's message may quote what a caller or a child wrote, and the program that started writ may keep it: it has no secrets.
pub(crate) fn scrub_reports() {
    std::panic::set_hook(Box::new(|panic| {
        say(&format!("{}\n", report(&panic.to_string())));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            say(&format!("{trace}\n"));
        }
    }));
}

/// The text of a panic as it may be printed.
pub(crate) fn report(panic: &str) -> String {
    Hidden::default().clean(panic).into_owned()
}

/// Makes a write beyond the limit on file sizes (`ulimit -f`) an error with an answer. A handler and not an ignored signal:
/// children would inherit that, and get the system's default instead.
pub(crate) fn survive_file_size_limit() {
    // Where this cannot be set, writ dies of the limit as any program does.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false))).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_does_not_repeat_a_secret() {
        let secret = ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
        let panic = std::panic::catch_unwind(|| panic!("could not read {secret}")).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert_eq!(report(message), "could not read [REDACTED:github_token]");
    }
}
