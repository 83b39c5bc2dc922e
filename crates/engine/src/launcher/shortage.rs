//! Errors that pass when the machine has more descriptors, processes or memory.

use std::fmt;

use rustix::io::Errno;

/// What the machine is short of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// Only this process can give them back.
    OwnDescriptors,
    Descriptors,
    Processes,
    Memory,
}

impl Shortage {
    /// For the number of a system error. `None` for any other error.
    pub(crate) fn of(errno: Option<i32>) -> Option<Self> {
        match errno.map(Errno::from_raw_os_error)? {
            Errno::MFILE => Some(Shortage::OwnDescriptors),
            Errno::NFILE => Some(Shortage::Descriptors),
            Errno::AGAIN => Some(Shortage::Processes),
            Errno::NOMEM => Some(Shortage::Memory),
            _ => None,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Shortage::OwnDescriptors => "free file descriptors of this process (its limit is `ulimit -n`)",
            Shortage::Descriptors => "free file descriptors of this machine",
            Shortage::Processes => "free processes (the limit is `ulimit -u` or the container's)",
            Shortage::Memory => "free memory",
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_what_passes_and_every_other_error_is_none() {
        for errno in [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM] {
            assert!(Shortage::of(Some(errno.raw_os_error())).is_some(), "{errno:?}");
        }
        for errno in [Errno::NOENT, Errno::ACCESS, Errno::TOOBIG] {
            assert_eq!(Shortage::of(Some(errno.raw_os_error())), None);
        }
        assert_eq!(Shortage::of(None), None);
    }
}
