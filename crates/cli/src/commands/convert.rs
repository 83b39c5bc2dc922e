//! `writ convert`

use std::path::PathBuf;
use std::process::ExitCode;

use contract::convert::{ConvertContext, Converted, convert};
use contract::domain::time::{Clock, Timestamp};
use contract::validate::{Kind, could_not_work};
use serde_json::json;

use super::validate::{print, read};
use crate::clock::SystemClock;
use crate::output::{Format, Output, say};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Conversions: assignment and aop, AOP TASK or EVENT to aee, result and aop, stage-1 result and bridge. \
    With --output json the answer lists what was lost.\n\n\
    Examples:\n  writ convert --to aop assignment.json\n  writ convert --to aee task.json --output json"
)]
pub(crate) struct Args {
    /// The kind to write: assignment, result, aop, aee, stage1 or bridge
    #[arg(long, value_name = "KIND")]
    to: String,
    /// The file, or - for standard input
    #[arg(default_value = "-", value_name = "FILE|-")]
    file: PathBuf,
    /// The workspace that paths are in
    #[arg(long, value_name = "DIR")]
    root: Option<String>,
    /// The time to write where the document has none, in RFC 3339
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
}

pub(crate) fn run(args: &Args, output: &Output) -> ExitCode {
    let Some(to) = Kind::named(&args.to) else {
        return print(&could_not_work(None, "usage", format!("there is no kind `{}`", args.to)), output);
    };
    let now = match args.now.as_deref().map(Timestamp::parse).transpose() {
        Ok(now) => now.unwrap_or_else(|| SystemClock::new().now().at),
        Err(error) => return print(&could_not_work(Some(to), "usage", format!("--now: {error}")), output),
    };
    let bytes = match read(&args.file) {
        Ok(bytes) => bytes,
        Err(message) => return print(&could_not_work(Some(to), "unreadable", message), output),
    };
    match convert(&bytes, to, &ConvertContext { now, root: args.root.as_deref() }) {
        Ok(converted) => answer(&converted, output),
        Err(verdict) => print(&verdict, output),
    }
}

/// Text: the document on standard output and what was lost on standard error. JSON: both in one answer.
fn answer(converted: &Converted, output: &Output) -> ExitCode {
    if output.format == Format::Text {
        for lost in &converted.lost {
            say(&format!("lost: {} {}\n", lost.path, lost.why));
        }
        return output.text(&format!("{:#}", converted.document));
    }
    let mut answer = json!(converted.verdict());
    answer["document"] = converted.document.clone();
    output.line(&answer)
}
