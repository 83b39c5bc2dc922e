//! A temporary directory that is removed after the test.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Panics instead of returning errors: a test cannot continue without its files.
#[derive(Debug)]
pub struct Scratch {
    dir: TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("writ-test-").tempdir();
        Self { dir: dir.expect("a temporary directory can be made") }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn join(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(inside)
    }

    /// Makes the directory and those above it.
    pub fn dir(&self, inside: impl AsRef<Path>) -> PathBuf {
        let path = self.join(inside);
        std::fs::create_dir_all(&path)
            .unwrap_or_else(|error| panic!("could not make {}: {error}", path.display()));
        path
    }

    /// Writes the file, making the directories above it.
    pub fn write(&self, inside: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(inside);
        self.dir(path.parent().expect("a file is in a directory"));
        std::fs::write(&path, bytes)
            .unwrap_or_else(|error| panic!("could not write {}: {error}", path.display()));
        path
    }

    pub fn read(&self, inside: impl AsRef<Path>) -> String {
        let path = self.join(inside);
        std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("could not read {}: {error}", path.display()))
    }

    /// The names in the directory.
    pub fn names(&self, inside: impl AsRef<Path>) -> Vec<String> {
        let path = self.join(inside);
        let listed = std::fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = listed.unwrap_or_else(|error| panic!("could not list {}: {error}", path.display()));
        let name =
            |entry: &std::fs::DirEntry| entry.file_name().into_string().expect("tests use readable names");
        let mut names: Vec<String> = entries.iter().map(name).collect();
        names.sort();
        names
    }

    pub fn has(&self, inside: impl AsRef<Path>) -> bool {
        self.join(inside).exists()
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes a file that only its user can use, such as the key of a store.
#[track_caller]
pub fn private_file(path: &Path, bytes: &[u8]) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, mode).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
