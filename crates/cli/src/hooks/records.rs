//! What is remembered of an installation, so that it can be undone.

use std::path::Path;

use ops::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::adapter::HookPlan;
use super::{FileChange, files, places};

/// The record of an installation into this file. One that cannot be read is treated as missing.
pub(crate) fn load<R: DeserializeOwned>(of: &Path) -> Result<Option<R>> {
    let Some(file) = places::record(of) else { return Ok(None) };
    Ok(files::read(&file)?.and_then(|text| serde_json::from_str(&text).ok()))
}

/// The change that stores a record; none where there is no place for it.
pub(crate) fn store(record: &impl Serialize, of: &Path) -> Option<FileChange> {
    let path = places::record(of)?;
    let text = serde_json::to_string(record).ok()? + "\n";
    Some(FileChange::new(path.clone(), files::read(&path).ok().flatten(), Some(text)))
}

/// Removes the record with the installation, and then the directories that were made for it.
pub(crate) fn forget(of: &Path, directories: Vec<String>, plan: &mut HookPlan) -> Result<()> {
    if let Some(file) = places::record(of) {
        let before = files::read(&file)?;
        plan.changes.push(FileChange::new(file, before, None));
    }
    plan.directories.extend(directories);
    Ok(())
}
