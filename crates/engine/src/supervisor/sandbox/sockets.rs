//! Sockets that other programs have bound to a path. Landlock does not know them before its version 9.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use contract::domain::limits::SANDBOX_SOCKETS_MAX;

/// Where the system's programs have their sockets.
pub(super) const DIRECTORIES: [&str; 2] = ["/run", "/var/run"];

/// The kernel's list of sockets. To be opened before `/proc` is another one; it tells what there is when it is read.
pub(in crate::supervisor) fn open_socket_list() -> Option<File> {
    File::open("/proc/self/net/unix").ok()
}

/// The sockets on this machine that have a path. `None` if there are more than anybody would cover, or if the list
/// cannot be read.
pub(in crate::supervisor) fn bound_sockets(list: Option<File>) -> Option<Vec<PathBuf>> {
    let mut text = Vec::new();
    list?.read_to_end(&mut text).ok()?;
    let paths = paths_in(&text);
    (paths.len() <= SANDBOX_SOCKETS_MAX).then(|| paths.into_iter().collect())
}

/// The eighth word of a line, if it is a path. Names of abstract sockets begin with `@`.
fn paths_in(list: &[u8]) -> BTreeSet<PathBuf> {
    let path = |line: &[u8]| {
        let start = line.windows(2).position(|bytes| bytes == b" /")? + 1;
        Some(PathBuf::from(OsStr::from_bytes(&line[start..])))
    };
    list.split(|byte| *byte == b'\n').filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_with_spaces_and_abstract_names_are_not() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 2216 /run/a b.sock\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 2217 @/abstract\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 2218 /run/a b.sock\n\
                    0000000000000000: 00000003 00000000 00000000 0001 03 2219\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 2220 /run/\xff\n";
        let odd = PathBuf::from(OsStr::from_bytes(b"/run/\xff"));
        assert_eq!(paths_in(list).into_iter().collect::<Vec<_>>(), [PathBuf::from("/run/a b.sock"), odd]);
    }
}
