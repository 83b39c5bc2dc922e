//! Everything that `hook install` left on this machine, for `writ uninstall`.

use std::path::{Path, PathBuf};

use ops::Result;
use serde_json::{Map, Value};

use super::apply::{self, Plans};
use super::show;
use crate::env;
use crate::hooks::adapter::ADAPTERS;
use crate::hooks::places::Scope;
use crate::hooks::{FileChange, HookProgram};

/// What removing the hooks of all agent programs changes, in the user's settings and in the project's.
pub(crate) struct Removal {
    user: Plans,
    project: Option<Plans>,
}

pub(crate) fn planned(project: bool, force: bool, program: &HookProgram) -> Result<Removal> {
    let user = plans(Scope::User, force, program)?;
    let project = project.then(|| plans(Scope::Project, force, program)).transpose()?;
    Ok(Removal { user, project })
}

fn plans(scope: Scope, force: bool, program: &HookProgram) -> Result<Plans> {
    ADAPTERS.iter().map(|adapter| Ok((*adapter, adapter.uninstall(scope, program, force)?))).collect()
}

/// Makes the changes.
pub(crate) fn carry_out(removal: Removal, force: bool, program: &HookProgram) -> Result<Removal> {
    let done = |first, scope| apply::carry_out(first, || plans(scope, force, program));
    let user = done(removal.user, Scope::User)?;
    let project = removal.project.map(|first| done(first, Scope::Project)).transpose()?;
    Ok(Removal { user, project })
}

impl Removal {
    /// What each agent program's hooks were; those of the project are in a field of their own.
    pub(crate) fn answers(&self) -> Map<String, Value> {
        let mut answers = show::answers(&self.user);
        if let Some(project) = &self.project {
            answers.insert("project".to_owned(), Value::Object(show::answers(project)));
        }
        answers
    }

    pub(crate) fn described(&self) -> Vec<Value> {
        self.changes().iter().map(show::described).collect()
    }

    pub(crate) fn text(&self, dry_run: bool) -> String {
        self.changes().iter().map(|change| show::line(change, dry_run)).collect()
    }

    /// Settings files that have hooks after this removal: those of other projects.
    pub(crate) fn elsewhere(&self) -> Vec<PathBuf> {
        let Some(records) = env::data_home().map(|data| data.join("hooks")) else { return Vec::new() };
        let changes = self.changes();
        let entries = std::fs::read_dir(records).into_iter().flatten().flatten().map(|entry| entry.path());
        let kept = entries.filter(|record| !changes.iter().any(|change| change.path == *record));
        let mut places: Vec<PathBuf> = kept.filter_map(|record| settings_of(&record)).collect();
        places.sort();
        places
    }

    fn changes(&self) -> Vec<FileChange> {
        let mut changes = apply::changes(&self.user);
        changes.extend(self.project.iter().flat_map(apply::changes));
        changes
    }
}

/// The settings file that a record is about, if it still exists.
fn settings_of(record: &Path) -> Option<PathBuf> {
    let record: Value = serde_json::from_str(&std::fs::read_to_string(record).ok()?).ok()?;
    record["path"].as_str().map(PathBuf::from).filter(|path| path.exists())
}
