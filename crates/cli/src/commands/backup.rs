//! `writ backup`

use std::path::PathBuf;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::transfer::backup::{Backup, Request};
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A backup is a store: read it with --db-path. To restore it, stop every writ that uses the store, then \
                  replace the file, and on another machine the key as well:\n\n    rm -f STORE-wal STORE-shm\n    cp BACKUP STORE\n    \
                  cp BACKUP.key STORE.key\n    writ audit verify --db-path STORE\n\nThe key seals the store: keep it as \
                  private as the store itself. Logs of children and snapshots are not part of a backup.\n\nExamples:\n  writ backup store-copy.db\n  writ backup --force /mnt/usb/writ.db"
)]
pub(crate) struct Args {
    /// The file to write; only its owner can read it
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Leave out the store's key: keep it yourself, or the restored store has to be sealed anew
    #[arg(long)]
    without_key: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let (file, store) = (host::absolute(args.file.clone()), host::absolute(host::store_path(globals)?));
    if file.canonicalize().is_ok_and(|file| store.canonicalize().is_ok_and(|store| file == store)) {
        let message = format!("{} is the store itself", file.display());
        return Err(Error::new(ErrorCode::InvalidInput, message).hint("name another file for the copy"));
    }
    let file = file.to_string_lossy().into_owned();
    let copied = host::call_existing::<Backup>(
        globals,
        &Request { file, force: args.force, without_key: args.without_key },
    )?;
    let found = &copied.verification;
    let printed = output.answer(&copied, || {
        let log = if found.is_clean() { "it verifies" } else { "it is damaged, as the store is" };
        let key = copied.key.as_ref().map_or_else(
            || "the key is not in it; without STORE.key a restored store has to be sealed anew\n".to_owned(),
            |path| format!("{path}: the key, for you alone\n"),
        );
        format!("{}: {} bytes, {} events, {log}\n{key}", copied.file, copied.bytes, found.events)
    });
    Ok(if found.is_clean() { printed } else { ExitCode::from(ErrorCode::Corrupt.exit()) })
}
