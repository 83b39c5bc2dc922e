//! Reads files that others may change or replace at any moment: never waits for the other end of a pipe, and never
//! reads without bound.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use contract::digest;

/// Opens a regular file. A link is not followed, and something else in its place is `InvalidInput`.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// The first bytes of a file.
pub(crate) fn read(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A digest, and of what.
pub(crate) struct Digested {
    pub(crate) running: digest::Running,
    /// The file has no more bytes than were allowed.
    pub(crate) is_whole: bool,
}

/// The digest of an open file, of which little more than `bytes_max` is read.
pub(crate) fn digest(file: &mut File, bytes_max: u64) -> io::Result<Digested> {
    let mut running = digest::Running::default();
    let mut buffer = vec![0; 64 * 1024];
    let mut read = 0;
    while read <= bytes_max {
        let got = file.read(&mut buffer)?;
        if got == 0 {
            return Ok(Digested { running, is_whole: true });
        }
        running.update(&buffer[..got]);
        read += got as u64;
    }
    Ok(Digested { running, is_whole: false })
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    #[test]
    fn a_pipe_or_a_link_in_the_place_of_a_file_is_refused_at_once() {
        let scratch = Scratch::new();
        let pipe = scratch.join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let link = scratch.join("link");
        std::os::unix::fs::symlink("pipe", &link).unwrap();
        assert_eq!(open(&pipe).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(open(&scratch.join(".")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(open(&link).is_err());
        assert!(read(&pipe, 10).is_err());
    }

    #[test]
    fn no_more_is_read_than_allowed() {
        let scratch = Scratch::new();
        let path = scratch.write("file", "12345");
        let of = |max| digest(&mut open(&path).unwrap(), max).unwrap();
        assert!(!of(4).is_whole && of(5).is_whole);
        assert_eq!(of(5).running.finish(), digest::of_bytes(b"12345"));
        assert_eq!(read(&path, 2).unwrap(), b"12");
    }
}
