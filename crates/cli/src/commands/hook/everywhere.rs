//! Everything that `hook install` left on this machine, for `writ uninstall`.

use std::path::{Path, PathBuf};

use ops::Result;
use serde_json::{Map, Value};

use super::uninstall::{self, Plan};
use super::{Which, show};
use crate::env;
use crate::hooks::{FileChange, Program};

/// What removing all hooks changes, in the user's settings and in the project's.
pub(crate) struct Removal {
    user: Plan,
    project: Option<Plan>,
}

pub(crate) fn planned(project: bool, force: bool, program: &Program) -> Result<Removal> {
    let plan = |project| uninstall::planned(&args(project, force), program);
    Ok(Removal { user: plan(false)?, project: project.then(|| plan(true)).transpose()? })
}

/// Makes the changes.
pub(crate) fn carry_out(removal: Removal, force: bool, program: &Program) -> Result<Removal> {
    let done = |plan: Plan, project| uninstall::carry_out(plan, &args(project, force), program);
    let user = done(removal.user, false)?;
    let project = removal.project.map(|plan| done(plan, true)).transpose()?;
    Ok(Removal { user, project })
}

impl Removal {
    pub(crate) fn answers(&self) -> Map<String, Value> {
        let mut answers = self.user.told.clone();
        if let Some(project) = &self.project {
            answers.insert("project".to_owned(), Value::Object(project.told.clone()));
        }
        answers
    }

    pub(crate) fn described(&self) -> Vec<Value> {
        self.changes().map(show::described).collect()
    }

    pub(crate) fn text(&self, dry_run: bool) -> String {
        self.changes().map(|change| show::line(change, dry_run)).collect()
    }

    /// Settings files that have hooks after this removal: those of other projects.
    pub(crate) fn elsewhere(&self) -> Vec<PathBuf> {
        let Some(records) = env::data_home().map(|data| data.join("hooks")) else { return Vec::new() };
        let entries = std::fs::read_dir(records).into_iter().flatten().flatten().map(|entry| entry.path());
        let kept = entries.filter(|record| !self.changes().any(|change| change.path == *record));
        let mut places: Vec<PathBuf> = kept.filter_map(|record| settings_of(&record)).collect();
        places.sort();
        places
    }

    fn changes(&self) -> impl Iterator<Item = &FileChange> {
        self.user.changes.iter().chain(self.project.iter().flat_map(|plan| &plan.changes))
    }
}

/// The settings file that a record is about, if it still exists.
fn settings_of(record: &Path) -> Option<PathBuf> {
    let record: Value = serde_json::from_str(&std::fs::read_to_string(record).ok()?).ok()?;
    record["path"].as_str().map(PathBuf::from).filter(|path| path.exists())
}

fn args(project: bool, force: bool) -> uninstall::Args {
    let which = Which { claude: false, opencode: false, project, dry_run: false };
    uninstall::Args { which, force }
}
