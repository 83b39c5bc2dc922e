//! `writ backup`

use std::path::PathBuf;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::Result;
use ops::transfer::backup::{Backup, Request};

use crate::app::Globals;
use crate::host;
use crate::output::Output;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A backup is a store: read it with --db-path. To restore it, stop every writ that uses the store, then \
                  replace the file:\n\n    rm -f STORE-wal STORE-shm\n    cp BACKUP STORE\n    writ audit verify \
                  --db-path STORE\n\nExamples:\n  writ backup store-copy.db\n  writ backup --force /mnt/usb/writ.db"
)]
pub(crate) struct Args {
    /// The file to write; only its owner can read it
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let file = host::absolute(args.file.clone()).to_string_lossy().into_owned();
    let copied = host::call_existing::<Backup>(globals, &Request { file, force: args.force })?;
    let found = &copied.verification;
    let printed = output.answer(&copied, || {
        let log = if found.is_clean() { "its log verifies" } else { "its log is damaged, as the store's is" };
        format!("{}: {} bytes, {} events, {log}\n", copied.file, copied.bytes, found.events)
    });
    Ok(if found.is_clean() { printed } else { ExitCode::from(ErrorCode::CheckFailed.exit()) })
}
