//! A file named by an executor: whether it exists, and its contents. Links are not followed.

use std::io;
use std::path::Path;

use contract::domain::limits;

use crate::regular_file;
use crate::snapshots::open_inside;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClaimedFile {
    File { digest: String, size: u64 },
    Nothing,
}

/// The entry at a path of the workspace. The error is the reason it cannot be read.
pub(crate) fn look(root: &Path, path: &str) -> Result<ClaimedFile, String> {
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidInput => "it is not a regular file".to_owned(),
        _ => error.to_string(),
    };
    let Some(mut file) = open_inside(root, path.as_bytes()).map_err(told)? else {
        return Ok(ClaimedFile::Nothing);
    };
    let size = file.metadata().map_err(told)?.len();
    let too_large = || format!("it has {size} bytes, more than are read (CLAIMED_FILE_BYTES_MAX)");
    if size > limits::CLAIMED_FILE_BYTES_MAX {
        return Err(too_large());
    }
    let digested = regular_file::digest(&mut file, limits::CLAIMED_FILE_BYTES_MAX).map_err(told)?;
    if digested.is_whole {
        Ok(ClaimedFile::File { digest: digested.running.finish(), size })
    } else {
        Err(too_large())
    }
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    #[test]
    fn only_regular_files_inside_are_read() {
        let scratch = Scratch::new();
        scratch.write("in/a", "12");
        let root = scratch.join("in");
        let digest = contract::digest::of_bytes(b"12");
        assert_eq!(look(&root, "a"), Ok(ClaimedFile::File { digest, size: 2 }));
        assert_eq!(look(&root, "b"), Ok(ClaimedFile::Nothing));
        assert_eq!(look(&root, "none/b"), Ok(ClaimedFile::Nothing));
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("loop")).unwrap();
        assert!(look(&root, "link").is_err() && look(&root, "loop/a").is_err());
        assert!(look(&root, ".").is_err());
    }
}
