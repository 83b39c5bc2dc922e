//! `writ salvage`

use std::path::PathBuf;
use std::process::ExitCode;

use ops::Result;
use ops::salvage::{Salvaged, salvage};
use ops::verb::Surface;

use crate::clock::SystemClock;
use crate::host;
use crate::local::LocalCommand;
use crate::minter::RandomIds;
use crate::output::Output;

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::changes("salvage", Surface::Writ)];

#[derive(Debug, clap::Args)]
#[command(
    long_about = "Get what is whole out of a damaged store, into a new one\n\n\
                  The damaged store is only read. The new store has, of each stream of the log, the longest part whose \
                  chain is intact; its tables are rebuilt from that. Other events that can be read are written to \
                  NEW.unchained.ndjson. The report names what was lost. If you have a good backup, restore that \
                  instead.",
    after_help = "Examples:\n  writ salvage ~/.local/share/writ/writ.db --into rescued.db"
)]
pub(crate) struct Args {
    /// The damaged store
    store: PathBuf,
    /// The store to make; nothing is overwritten
    #[arg(long, value_name = "NEW")]
    into: PathBuf,
}

pub(crate) fn run(args: &Args, output: &Output) -> Result<ExitCode> {
    let (from, into) = (host::absolute(args.store.clone()), host::absolute(args.into.clone()));
    let found = salvage(&from, &into, &SystemClock::new(), &mut RandomIds)?;
    Ok(output.answer(&found, || text(&found, &into.display().to_string())))
}

fn text(found: &Salvaged, into: &str) -> String {
    let mut text = format!(
        "{into}: {} of {} readable events, {} tasks, {} memories, {} answers for retries\n",
        found.events_kept, found.events_read, found.tasks, found.memories, found.answers
    );
    text.push_str(if found.rebuilt {
        "its tables were rebuilt from the log\n"
    } else {
        "its tables were copied, because the log does not begin at the first event\n"
    });
    if let Some(path) = &found.unchained {
        text.push_str(&format!("events that are in no intact chain: {}\n", path.display()));
    }
    for what in &found.lost {
        text.push_str(&format!("lost: {what}\n"));
    }
    if found.lost_more > 0 {
        text.push_str(&format!("lost: {} more\n", found.lost_more));
    }
    if found.lost.is_empty() {
        text.push_str("nothing was lost\n");
    }
    text
}
