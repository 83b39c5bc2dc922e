//! `writ backup`

use std::path::PathBuf;
use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use ops::Result;
use ops::transfer::back_up;
use serde_json::json;

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
    let cx = host::open_existing(globals)?;
    let file = host::absolute(args.file.clone());
    let copied = back_up(&cx, &file, args.force)?;
    let (found, file) = (&copied.verification, file.display().to_string());
    let data = json!({"file": file, "bytes": copied.bytes, "verification": found});
    let printed = output.answer(&data, || {
        let log = if found.is_clean() { "its log verifies" } else { "its log is damaged, as the store's is" };
        format!("{file}: {} bytes, {} events, {log}\n", copied.bytes, found.events)
    });
    Ok(if found.is_clean() { printed } else { ExitCode::from(ErrorCode::CheckFailed.exit()) })
}
