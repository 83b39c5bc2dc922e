//! Sockets that other programs have bound to a path. Landlock does not know them before its version 9.

use std::collections::BTreeSet;
use std::path::PathBuf;

use contract::domain::limits::SANDBOX_SOCKETS_MAX;

/// Where sockets usually are: the system's directory and those for temporary files.
pub(super) const DIRECTORIES: [&str; 2] = ["/run", "/var/run"];

/// The sockets on this machine that have a path, as the kernel lists them. To be read before `/proc` is another one.
/// `None` if there are more than anybody would cover.
pub(in crate::supervisor) fn bound() -> Option<Vec<PathBuf>> {
    // A process that cannot read the list cannot read it inside either; the directories are covered anyway.
    let list = std::fs::read_to_string("/proc/self/net/unix").unwrap_or_default();
    let paths = paths_in(&list);
    (paths.len() <= SANDBOX_SOCKETS_MAX).then(|| paths.into_iter().collect())
}

/// The eighth word of a line, if it is a path. Names of abstract sockets begin with `@`.
fn paths_in(list: &str) -> BTreeSet<PathBuf> {
    let path = |line: &str| {
        let start = line.find(" /")? + 1;
        Some(PathBuf::from(&line[start..]))
    };
    list.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_with_spaces_and_abstract_names_are_not() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 2216 /run/a b.sock\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 2217 @/abstract\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 2218 /run/a b.sock\n\
                    0000000000000000: 00000003 00000000 00000000 0001 03 2219\n";
        assert_eq!(paths_in(list).into_iter().collect::<Vec<_>>(), [PathBuf::from("/run/a b.sock")]);
    }
}
