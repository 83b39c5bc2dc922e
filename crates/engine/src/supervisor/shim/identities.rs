//! The users and groups inside a namespace: every one keeps its number.

use std::io;

use rustix::process::{Pid, getegid, geteuid};

/// Maps users and groups of a new user namespace to themselves: all of them where this process may do that, as root
/// may, and else only its own. To the others, files of unmapped users belong to `nobody`.
pub(super) fn map(init: Pid) -> io::Result<()> {
    let place = |file: &str| format!("/proc/{}/{file}", init.as_raw_nonzero());
    let everyone = |file: &str| -> io::Result<()> {
        let all = std::fs::read_to_string(format!("/proc/self/{file}"))?;
        std::fs::write(place(file), themselves(&all).ok_or(io::ErrorKind::InvalidData)?)
    };
    let has_users = geteuid().is_root() && everyone("uid_map").is_ok();
    if !has_users {
        let own = geteuid();
        std::fs::write(place("uid_map"), format!("{own} {own} 1\n"))?;
    }
    if !has_users || everyone("gid_map").is_err() {
        // The kernel demands it of those who may not change groups anyway.
        std::fs::write(place("setgroups"), "deny")?;
        let own = getegid();
        std::fs::write(place("gid_map"), format!("{own} {own} 1\n"))?;
    }
    Ok(())
}

/// A map of the same numbers, each to itself: `<inside> <outside> <count>` in every line.
fn themselves(map: &str) -> Option<String> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (first, count) = (words.next()?, words.nth(1)?);
        Some(format!("{first} {first} {count}\n"))
    };
    map.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_mapped_to_itself() {
        let map = "         0          0 4294967295\n";
        assert_eq!(themselves(map).as_deref(), Some("0 0 4294967295\n"));
        let container = "0 100000 65536\n65536 1000 1\n";
        assert_eq!(themselves(container).as_deref(), Some("0 0 65536\n65536 65536 1\n"));
        assert_eq!(themselves("0 0\n"), None);
    }
}
