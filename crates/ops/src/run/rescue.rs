//! Keeps what a run knows when its store was deleted, moved or replaced under it.

use std::path::{Path, PathBuf};

use contract::domain::run::{Owner, RunId};
use serde_json::json;
use store::Store;

use super::journal::{self, Entry};
use crate::context::{Caller, Context};
use crate::error::{Error, Result};

/// Copies the store as this process still sees it beside the old one, writes `entries` into the copy, and returns `error`
/// with the place of the copy and how to go on with it.
pub fn rescue(
    cx: &mut Context,
    caller: &Caller,
    (run, owner): (&RunId, &Owner),
    entries: &[Entry],
    error: Error,
) -> Error {
    let path = cx.store.path().to_owned();
    let copy = name_of_copy(&path, cx.now().at.millis());
    if let Err(failed) = cx.store.rescue_to(&copy) {
        let message = format!(
            "{}; what the run knew could not be saved at {}: {failed}",
            error.message,
            copy.display()
        );
        return Error { message, ..error };
    }
    // What was written in the last moment is in the copy already.
    let is_written = error.details["written"] == json!(true);
    let missing = if is_written { None } else { write(cx, caller, (run, owner), (&copy, entries)).err() };
    let (old, kept) = (path.display(), copy.display());
    let mut message = format!("{}; everything that the run knew is in {kept}", error.message);
    if let Some(missing) = missing {
        message.push_str(&format!(", except its last step: {}", missing.message));
    }
    let hint = format!(
        "go on with `writ run --continue {run} --db-path {kept}`; to make it the store again, end every writ that uses \
         {old}, then `rm -f {old}-wal {old}-shm && mv {kept} {old}`"
    );
    let details = json!({"path": path, "rescued": copy, "run": run});
    Error { message, ..error }.hint(hint).details(details)
}

/// Writes the entries into the copy.
fn write(
    cx: &mut Context,
    caller: &Caller,
    (run, owner): (&RunId, &Owner),
    (copy, entries): (&Path, &[Entry]),
) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let opened = Store::open(copy, cx.now().at)?;
    let lost = std::mem::replace(&mut cx.store, opened);
    let written = journal::write(cx, caller, run, owner, entries);
    cx.store = lost;
    written.map(drop)
}

fn name_of_copy(path: &Path, millis: i64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".rescued-{millis}"));
    PathBuf::from(name)
}
