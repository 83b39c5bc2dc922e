//! What writ left beside hooks: links under other names, completion scripts, the template of a project.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use ops::{Error, Result};
use serde_json::{Value, json};

use super::KeptFiles;
use crate::commands::{completions, init, personality};
use crate::{env, host};

#[derive(Debug, Default)]
pub(super) struct Installed {
    /// Files, links and directories with nothing of others in them, in the order in which they are removed.
    pub(super) remove: Vec<PathBuf>,
    pub(super) kept: Vec<KeptFiles>,
}

pub(super) fn of(program: &Path, project: bool) -> Result<Installed> {
    let mut found = Installed::default();
    found.remove.extend(personality::installed_links(program));
    for (path, script) in completions::usual_places() {
        match read(&path)? {
            Some(text) if text == script.as_bytes() => found.remove.push(path),
            Some(_) => {
                found.keep(&path, "it differs from what this version of writ prints; remove it yourself");
            }
            None => {}
        }
    }
    if project {
        let configuration = host::absolute(init::CONFIGURATION.into());
        match read(&configuration)? {
            Some(text) if text == init::TEMPLATE.as_bytes() => found.remove.push(configuration),
            Some(_) => found.keep(&configuration, "you changed it after `writ init`; remove it yourself"),
            None => {}
        }
    }
    found.remove.extend(personality::record().filter(|record| record.exists()));
    Ok(found)
}

impl Installed {
    fn keep(&mut self, path: &Path, reason: &str) {
        self.kept.push(KeptFiles { path: path.display().to_string(), reason: reason.to_owned() });
    }
}

/// Removes files and links. Already gone is as good.
pub(super) fn remove(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        let is_directory = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let removed = if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let message = format!("could not remove {}: {error}", path.display());
                return Err(Error::new(ErrorCode::Io, message).hint("run `writ uninstall` again"));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Directories of writ's own that may be empty now.
pub(super) fn remove_empty_directories() {
    let data = env::data_home();
    let own = [data.as_ref().map(|data| data.join("hooks")), data, Some(host::absolute(".writ".into()))];
    for directory in own.into_iter().flatten() {
        // A directory with files in it stays.
        fs::remove_dir(directory).ok();
    }
}

pub(super) fn described(path: &Path) -> Value {
    json!({"path": path.display().to_string(), "action": "remove"})
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::new(ErrorCode::Io, format!("could not read {}: {error}", path.display()))),
    }
}
