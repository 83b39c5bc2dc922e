//! `writ gc`

use std::process::ExitCode;

use contract::domain::code::ErrorCode;
use contract::domain::request::RequestId;
use ops::context::Key;
use ops::gc::{Answer, Held, Request, gc, preview};
use ops::{Error, Result};
use serde_json::json;

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
    let retention = config::load(&host::absolute(".".into()))?.retention;
    let key = host::any_key(globals)?;
    let mut cx = host::open_existing(globals)?;
    let mut request = Request { retention, after: None };
    let mut total = Answer::default();
    let mut piece: u32 = 1;
    loop {
        let done = if args.dry_run {
            preview(&mut cx, &key, &request)?
        } else {
            gc(&mut cx, &nth(&key, piece)?, &request)?.answer
        };
        // Nothing was removed, so the same stream would be looked at for ever.
        let stands_still = args.dry_run && done.next == Some(request.after.clone().unwrap_or_default());
        request.after = done.next.clone();
        total.add(done);
        piece += 1;
        if request.after.is_none() || stands_still {
            break;
        }
    }
    let data = json!({"dry_run": args.dry_run, "request_id": key.request_id, "done": total});
    Ok(output.answer(&data, || said(&total, args.dry_run)))
}

/// Each piece has an id of its own that follows from the first, so that a repeated call repeats no piece.
fn nth(key: &Key, piece: u32) -> Result<Key> {
    let request_id = match piece {
        1 => key.request_id.clone(),
        _ => RequestId::parse(&format!("{}.{piece}", key.request_id.as_str())).map_err(|error| {
            Error::new(ErrorCode::InvalidInput, error.to_string()).hint("use a shorter request id")
        })?,
    };
    Ok(Key { caller: key.caller.clone(), request_id })
}

fn said(done: &Answer, dry_run: bool) -> String {
    let would = if dry_run { "would be " } else { "" };
    let mut text = format!(
        "{} events {would}archived in {} summaries\n{}{} old events {would}removed\n{} expired memories \
         {would}removed\n{} old answers {would}forgotten\n",
        done.archived,
        done.summaries,
        // A preview sees one piece of each stream.
        if dry_run && done.next.is_some() { "at least " } else { "" },
        done.pruned,
        done.memories_removed,
        done.answers_forgotten
    );
    for Held { stream, by } in &done.held {
        text.push_str(&format!("kept: the rest of {stream}, which {by} still needs\n"));
    }
    if done.held_more > 0 {
        text.push_str(&format!("kept: {} more streams\n", done.held_more));
    }
    text
}
