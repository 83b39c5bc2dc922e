//! The files between a worker and its command: the packet, and the result that the command may write.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use contract::domain::attempt::AttemptId;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::json::Value;
use ops::crew::document::parse;
use ops::{Error, Result};

/// A directory that only the user can read and that goes away with the value.
pub(super) struct PacketFiles {
    directory: PathBuf,
}

impl PacketFiles {
    pub(super) fn write(place: &Path, attempt: &AttemptId, packet: &Value) -> Result<Self> {
        let directory = place.join(format!("writ-worker-{attempt}"));
        let failed = |error: std::io::Error| {
            Error::new(ErrorCode::Io, format!("could not write below {}: {error}", directory.display()))
        };
        std::fs::DirBuilder::new().mode(0o700).create(&directory).map_err(failed)?;
        let files = Self { directory: directory.clone() };
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(files.packet())
            .map_err(failed)?;
        file.write_all(format!("{packet}\n").as_bytes()).map_err(failed)?;
        Ok(files)
    }

    pub(super) fn packet(&self) -> PathBuf {
        self.directory.join("packet.json")
    }

    pub(super) fn result(&self) -> PathBuf {
        self.directory.join("result.json")
    }

    /// What the command wrote as its result; `None` if it wrote nothing.
    pub(super) fn read_result(&self) -> Result<Option<Value>> {
        let path = self.result();
        // Reading a pipe would wait for a writer.
        match std::fs::symlink_metadata(&path) {
            Err(_) => return Ok(None),
            Ok(found) if !found.is_file() => {
                return Err(Error::new(ErrorCode::SchemaInvalid, "WRIT_RESULT must be a regular file"));
            }
            Ok(_) => {}
        }
        let bytes = read_at_most(&path, limits::DOCUMENT_BYTES_MAX)
            .map_err(|error| Error::new(ErrorCode::Io, format!("could not read WRIT_RESULT: {error}")))?;
        let document = parse(&bytes, limits::DOCUMENT_BYTES_MAX)?;
        if document.is_object() {
            return Ok(Some(document));
        }
        Err(Error::new(ErrorCode::SchemaInvalid, "WRIT_RESULT must be a JSON object"))
    }
}

impl Drop for PacketFiles {
    fn drop(&mut self) {
        // What cannot be removed is in the system's directory for temporary files.
        std::fs::remove_dir_all(&self.directory).ok();
    }
}

fn read_at_most(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
