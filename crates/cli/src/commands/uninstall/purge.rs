//! Deletes the store: only a store of writ, only when nothing works on it, and only on a person's decision.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::domain::principal::Action;
use ops::status::{Answer, Request, Show};
use ops::{Error, Result};

use super::found;
use crate::app::Globals;
use crate::{host, person};

/// Every file of the store, in the order in which they are removed. Nothing where there is no store.
pub(super) fn planned(globals: &Globals, store: &Path) -> Result<Vec<PathBuf>> {
    let failed =
        |error: io::Error| Error::new(ErrorCode::Io, format!("could not read {}: {error}", store.display()));
    let logs = Some(host::absolute(host::logs_directory(globals)?)).filter(|logs| logs.is_dir());
    let index = Some(host::index_directory(globals)?).filter(|index| index.is_dir());
    let snapshots = Some(host::snapshots_directory(globals)?).filter(|snapshots| snapshots.is_dir());
    if !store.exists() {
        return Ok(logs.into_iter().chain(index).chain(snapshots).collect());
    }
    match host::call_existing::<Show>(globals, &Request::default()) {
        Ok(status) => refuse_while_in_use(&status)?,
        Err(error) if error.code == ErrorCode::Busy => return Err(error),
        Err(error) if ops::is_store(store).map_err(failed)? => {
            // A damaged or newer store cannot be opened, but it can be deleted. Any other fault hides whether something
            // works on the store.
            if !matches!(error.code, ErrorCode::Corrupt | ErrorCode::NewerStore) {
                return Err(error);
            }
        }
        Err(_) => {
            let message = format!("{} is not a store of writ, so it is not deleted", store.display());
            return Err(Error::new(ErrorCode::ForeignStore, message));
        }
    }
    let mut files = ops::files_of(store).map_err(failed)?;
    files.extend(logs.into_iter().chain(index).chain(snapshots));
    Ok(files)
}

fn refuse_while_in_use(status: &Answer) -> Result<()> {
    let running = status.runs.iter().flat_map(|runs| &runs.running);
    match running.into_iter().next() {
        None => Ok(()),
        Some(run) => {
            let message = format!("the store is in use: {run} is running");
            let hint = format!("cancel it with `writ cancel {run}`, or wait for its end");
            Err(Error::new(ErrorCode::WrongState, message).hint(hint))
        }
    }
}

/// Asks the person at the terminal. Without one, `--yes` has to be given.
pub(super) fn confirm(store: &Path) -> Result<()> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let message = "--purge deletes the store, and there is no terminal to ask on";
        return Err(Error::new(ErrorCode::Usage, message).hint("add --yes to delete it; nothing was changed"));
    }
    let question = format!("Delete the store {} and everything in it", store.display());
    let action = Action::new("uninstall --purge", question);
    if action.is_confirmed_by(&person::ask(&action)?) {
        return Ok(());
    }
    Err(Error::new(ErrorCode::Denied, "the store was not deleted, and nothing else was changed")
        .hint("`writ uninstall` without --purge keeps the store"))
}

pub(super) fn remove(files: &[PathBuf]) -> Result<()> {
    found::remove(files)
}
