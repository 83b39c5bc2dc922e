//! `writ gc`

use std::process::ExitCode;

use ops::Result;
use ops::gc::all::{Gc, Preview, Request};
use ops::gc::{Answer, Held};

use crate::app::Globals;
use crate::output::Output;
use crate::{config, host};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  writ gc --dry-run\n  writ gc")]
pub(crate) struct Args {
    /// Show what would be deleted, but change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let request = Request { retention: config::load(&host::absolute(".".into()))?.retention };
    let answer = if args.dry_run {
        host::call_existing::<Preview>(globals, &request)?
    } else {
        host::call_existing::<Gc>(globals, &request)?
    };
    Ok(output.answer(&answer, || text(&answer.done, args.dry_run)))
}

fn text(done: &Answer, dry_run: bool) -> String {
    let would = if dry_run { "would be " } else { "" };
    let mut text = format!(
        "{} events {would}archived in {} summaries\n{}{} old events {would}removed\n{} expired memories \
         {would}removed\n{} stored answers for retries {would}removed\n",
        done.archived,
        done.summaries,
        // A preview sees one piece of each stream.
        if dry_run && done.next.is_some() { "at least " } else { "" },
        done.pruned,
        done.memories_removed,
        done.answers_forgotten
    );
    if done.waiting > 0 {
        let waiting = done.waiting;
        text.push_str(&format!(
            "{waiting} entries are old by this clock alone: kept until a later call confirms the time\n"
        ));
    }
    for Held { stream, by } in &done.held {
        text.push_str(&format!("kept: the rest of {stream}, which {by} still needs\n"));
    }
    if done.held_more > 0 {
        text.push_str(&format!("kept: {} more streams\n", done.held_more));
    }
    text
}
