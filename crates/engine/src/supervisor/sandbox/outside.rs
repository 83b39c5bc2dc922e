//! What a helper outside of a sandbox keeps: it talks with those inside, and so it can do little more than its work.

use super::files::{self, FileRuleInput};
use super::{Reach, syscalls};

/// Takes from this process and its later threads what a proxy does not need: writing files, signals to others, and the calls
/// that no sandbox allows. As far as the system can: the work does not depend on it.
pub(in crate::supervisor) fn harden() {
    let wanted = FileRuleInput { writes: Some(&[]), denies_tcp: false, ports: &[], takes_less: true };
    if let Ok(rules) = files::rules(&wanted) {
        rules.apply().ok();
    }
    if let Ok(program) = syscalls::program(Reach::Open) {
        syscalls::put_in_force(&program).ok();
    }
}
