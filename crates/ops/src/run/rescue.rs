//! Keeps what a run knows when its store was deleted, moved or replaced under it.

use std::path::{Path, PathBuf};

use contract::command_line::quoted;
use contract::domain::run::{Owner, RunId};
use serde_json::json;
use store::Store;

use super::journal::{self, JournalEntry};
use crate::context::{Caller, Context};
use crate::error::{Error, Result};

/// Copies the store as this process still sees it beside the old one, writes `entries` into the copy, and returns `error`
/// with the place of the copy and how to go on with it.
pub fn rescue(
    cx: &mut Context,
    caller: &Caller,
    (run, owner): (&RunId, &Owner),
    entries: &[JournalEntry],
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
    let mut message = format!("{}; everything that the run knew is in {}", error.message, copy.display());
    if let Some(missing) = missing {
        message.push_str(&format!(", except its last step: {}", missing.message));
    }
    let details = json!({"path": path, "rescued": copy, "run": run});
    Error { message, ..error }.hint(way_back(run, &path, &copy)).details(details)
}

/// How to go on with the copy, in commands that a shell takes as they are.
fn way_back(run: &RunId, path: &Path, copy: &Path) -> String {
    let word = |path: &Path, ending: &str| quoted(&format!("{}{ending}", path.display()));
    let [old, log, index, old_key] = ["", "-wal", "-shm", ".key"].map(|ending| word(path, ending));
    let [kept, kept_key] = ["", ".key"].map(|ending| word(copy, ending));
    format!(
        "go on with `writ run --continue {run} --db-path {kept}`; to make it the store again, end every writ that uses \
         {old}, then `rm -f {log} {index} && mv {kept} {old} && mv {kept_key} {old_key}`"
    )
}

/// Writes the entries into the copy.
fn write(
    cx: &mut Context,
    caller: &Caller,
    (run, owner): (&RunId, &Owner),
    (copy, entries): (&Path, &[JournalEntry]),
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

#[cfg(test)]
mod tests {
    use contract::domain::id::Id;

    use super::*;

    #[test]
    fn commands_for_the_shell_have_quoted_paths() {
        let said = way_back(&Id::from_bits(7), Path::new("/a b/it's.db"), Path::new("/a b/$(x).db"));
        let commands: Vec<&str> =
            said.split('`').skip(1).step_by(2).flat_map(|one| one.split(" && ")).collect();
        let words = commands.iter().map(|command| contract::command_line::split(command).unwrap());
        let paths: Vec<Vec<String>> =
            words.map(|words| words.into_iter().filter(|word| word.starts_with('/')).collect()).collect();
        let expected: [&[&str]; 4] = [
            &["/a b/$(x).db"],
            &["/a b/it's.db-wal", "/a b/it's.db-shm"],
            &["/a b/$(x).db", "/a b/it's.db"],
            &["/a b/$(x).db.key", "/a b/it's.db.key"],
        ];
        assert_eq!(paths, expected, "{said}");
    }
}
