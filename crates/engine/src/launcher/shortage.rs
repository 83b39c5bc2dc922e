//! Errors that pass when the machine has more descriptors, processes or memory.

pub(crate) const OWN_DESCRIPTORS: &str = "free file descriptors of this process (its limit is `ulimit -n`)";

/// What the machine is short of, for the number of a system error. `None` for any other error.
pub(crate) fn shortage(errno: Option<i32>) -> Option<&'static str> {
    use rustix::io::Errno;
    match errno.map(Errno::from_raw_os_error)? {
        Errno::MFILE => Some(OWN_DESCRIPTORS),
        Errno::NFILE => Some("free file descriptors of this machine"),
        Errno::AGAIN => Some("free processes (the limit is `ulimit -u` or the container's)"),
        Errno::NOMEM => Some("free memory"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_what_passes_and_every_other_error_is_none() {
        use rustix::io::Errno;
        for errno in [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM] {
            assert!(shortage(Some(errno.raw_os_error())).is_some(), "{errno:?}");
        }
        for errno in [Errno::NOENT, Errno::ACCESS, Errno::TOOBIG] {
            assert_eq!(shortage(Some(errno.raw_os_error())), None);
        }
        assert_eq!(shortage(None), None);
    }
}
