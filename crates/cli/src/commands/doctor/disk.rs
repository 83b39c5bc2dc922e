//! Whether there is room for the store to work.

use std::path::Path;

use rustix::fs::StatVfsMountFlags;

use super::DoctorFinding;

/// A run writes its log, backups are as large as the store, and SQLite needs room for its own log.
const DISK_BYTES_MIN: u64 = 64 * 1024 * 1024;
const DISK_FILES_MIN: u64 = 100;

/// The file system of the store. Its directory may not exist yet; then the nearest one above counts.
pub(super) fn look(store: &Path) -> DoctorFinding {
    let there = store.ancestors().skip(1).find(|place| place.is_dir()).unwrap_or(Path::new("/"));
    match rustix::fs::statvfs(there) {
        Ok(found) => {
            let bytes = found.f_bavail.saturating_mul(found.f_frsize);
            // Some file systems have no fixed number of files, and say 0 of 0.
            let files = (found.f_files > 0).then_some(found.f_favail);
            let (well, said) = room(bytes, files, found.f_flag.contains(StatVfsMountFlags::RDONLY));
            DoctorFinding::new("disk", well, said)
        }
        Err(error) => {
            let said = format!("could not be looked at: {}: {error}", there.display());
            DoctorFinding::new("disk", false, said)
        }
    }
}

/// Whether there is room to work, and a sentence about it.
fn room(free_bytes: u64, free_files: Option<u64>, is_read_only: bool) -> (bool, String) {
    if is_read_only {
        (false, "is mounted read-only; the store can be read and not written".to_owned())
    } else if free_bytes < DISK_BYTES_MIN {
        (false, format!("is full or nearly: {} free, and {} needed", size(free_bytes), size(DISK_BYTES_MIN)))
    } else if free_files.is_some_and(|files| files < DISK_FILES_MIN) {
        (
            false,
            format!("has room for {} more files, and {DISK_FILES_MIN} are needed", free_files.unwrap_or(0)),
        )
    } else {
        (true, format!("{} free", size(free_bytes)))
    }
}

/// Bytes in a unit that keeps the number short.
fn size(bytes: u64) -> String {
    let mebibytes = bytes / (1024 * 1024);
    match mebibytes {
        0..1024 => format!("{mebibytes} MiB"),
        _ => format!("{} GiB", mebibytes / 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_trouble() {
        let judged = |bytes, files, read_only| room(bytes, files, read_only).0;
        assert!(judged(DISK_BYTES_MIN, Some(DISK_FILES_MIN), false));
        assert!(judged(DISK_BYTES_MIN, None, false));
        assert!(!judged(DISK_BYTES_MIN - 1, None, false));
        assert!(!judged(DISK_BYTES_MIN, Some(DISK_FILES_MIN - 1), false));
        assert!(!judged(u64::MAX, None, true));
    }
}
