//! Carries out the plans of an installation or its removal under a lock on the files.

use std::path::{Path, PathBuf};

use ops::Result;

use crate::hooks::FileChange;
use crate::hooks::adapter::{HookAdapter, HookPlan};
use crate::hooks::files::{self, SettingsLock};

/// Plans for one or several agent programs.
pub(super) type Plans = Vec<(&'static dyn HookAdapter, HookPlan)>;

pub(super) fn changes(plans: &Plans) -> Vec<FileChange> {
    plans.iter().flat_map(|(_, plan)| plan.changes.clone()).collect()
}

/// Makes the changes that `planned` finds once the files are locked: all of them or none.
pub(super) fn carry_out(first: Plans, planned: impl Fn() -> Result<Plans>) -> Result<Plans> {
    let expected = changes(&first);
    if expected.is_empty() {
        return Ok(first);
    }
    let missing: Vec<PathBuf> =
        expected.iter().flat_map(|change| files::missing_directories(&change.path)).collect();
    let done = locked(&expected).and_then(|_locks| {
        let plans = planned()?;
        files::apply(&changes(&plans))?;
        Ok(plans)
    });
    match &done {
        Ok(plans) => {
            for (_, plan) in plans {
                files::remove_directories(&plan.directories);
            }
        }
        // A failed installation leaves no directories behind.
        Err(_) => files::remove_directories(&missing),
    }
    done
}

/// One lock for each directory, in one order, so that two processes never wait for each other.
fn locked(changes: &[FileChange]) -> Result<Vec<SettingsLock>> {
    let mut directories: Vec<&Path> = changes.iter().filter_map(|change| change.path.parent()).collect();
    directories.sort_unstable();
    directories.dedup();
    for change in changes {
        files::make_directories(&change.path)?;
    }
    directories.into_iter().map(files::lock).collect()
}
