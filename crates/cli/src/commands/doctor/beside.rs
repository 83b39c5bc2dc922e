//! What is beside the log: the key and what it seals, and the output of children.

use ops::Result;

use super::Look;
use crate::app::Globals;
use crate::host;

/// Whether the key is there, and everything beside the log is as it was sealed.
pub(super) fn seal(found: &ops::audit::Found) -> Look {
    let (well, said) = match (&found.seal_not_checked, found.tables.as_slice()) {
        (_, [first, ..]) => (false, format!("{first}; see `writ audit verify`")),
        (Some(why), []) => (false, format!("not checked: {why}")),
        (None, []) => (true, "every row beside the log is as writ left it".to_owned()),
    };
    Look { what: "seal", well, said }
}

/// The output of children, which is not part of a backup.
pub(super) fn logs(globals: &Globals) -> Result<Look> {
    let logs = host::logs_directory(globals)?;
    let sizes = |directory: &std::path::Path| -> (usize, u64) {
        let Ok(entries) = std::fs::read_dir(directory) else { return (0, 0) };
        let sizes: Vec<u64> =
            entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|m| m.len()).collect();
        (sizes.len(), sizes.iter().sum())
    };
    let (files, bytes) = sizes(&logs);
    let said = format!("{files} files of children's output, {} KiB, in {}", bytes / 1024, logs.display());
    Ok(Look { what: "logs", well: true, said })
}
