//! `writ run`

mod dry_run;
mod nested;
pub(super) mod next_step;
mod reading;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::id::Id;
use contract::domain::run::{DocumentKind, RunState};
use contract::json::Value;
use ops::names::LAST;
use ops::run::continue_run::{self, Continue};
use ops::run::document::DocumentInput;
use ops::run::preview::Answer;
use ops::run::show::show;
use ops::run::submit::{Request, Submit};
use ops::run::work::RunAnswer;
use ops::{Context, Error, Result, Session, verb};

pub(crate) use reading::{directory_of, read_bounded, read_document, text_of, understood_text};
use reading::{joined, mapping, tell, understood};

use super::runs;
use crate::app::Globals;
use crate::config;
use crate::output::{Format, Output, say};
use crate::{env, exit, host, inside};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    writ run plan.toml\n  \
    writ run prompt.md --executor codex\n  \
    writ run --continue run_3f56")]
pub(crate) struct Args {
    /// A plan (TOML or JSON), AOP TASKs, an AEE task or a prompt (.md, .txt); - for standard input. Several files have the
    /// TASKs of one session
    #[arg(value_name = "FILE", required_unless_present = "continue_run", conflicts_with = "continue_run")]
    files: Vec<PathBuf>,
    /// The executor that gets the TASKs or the prompt, whatever they name
    #[arg(long, value_name = "NAME", conflicts_with = "continue_run")]
    executor: Option<String>,
    /// Where a directory that the TASKs name is here, such as C:/workspace=DIR
    #[arg(long, value_name = "PATH=DIR", value_parser = mapping, conflicts_with = "continue_run")]
    map: Vec<(String, String)>,
    /// Check the document and show what would run, without running it
    #[arg(long, conflicts_with = "continue_run")]
    dry_run: bool,
    /// Continue a run that was interrupted or is parked [default RUN: @last, the newest one]
    #[arg(long = "continue", value_name = "RUN", num_args = 0..=1, default_missing_value = LAST)]
    continue_run: Option<String>,
    /// With --continue: also run parked tasks again, although the plan does not call that safe
    #[arg(long, requires = "continue_run")]
    rerun_parked: bool,
    /// How long a task waits for locks of other runs before it is parked [default: 24h]
    #[arg(long, value_name = "DURATION", value_parser = host::length)]
    lock_wait: Option<Duration>,
    /// How long a task waits for a rate limit or usage window to end before it fails [default: 8d]
    #[arg(long, value_name = "DURATION", value_parser = host::length)]
    limit_wait: Option<Duration>,
    /// Submit TASKs although another TASK of their session failed and aborted it
    #[arg(long, conflicts_with = "continue_run")]
    reopen: bool,
}

pub(crate) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    if let Some(which) = &args.continue_run {
        let request = continue_run::Request {
            run: which.clone(),
            rerun_parked: args.rerun_parked,
            lock_wait_ms: args.lock_wait.map(millis),
            limit_wait_ms: args.limit_wait.map(millis),
        };
        let mut cx = host::open(globals)?;
        let ended = ended_before(&mut cx, &host::reader(globals), which);
        let answered = host::call_on::<Continue>(&mut cx, globals, &request);
        let code = finish(answered, &mut cx, output)?;
        ended.iter().for_each(|message| say(message));
        return Ok(code);
    }
    let request = request(args)?;
    if inside::socket(globals).is_some() && !args.dry_run {
        return nested::run(&request, (globals, output));
    }
    let directory = PathBuf::from(&request.directory);
    let mut config = config::load(&directory)?;
    // What is wrong with the document or the configuration is reported before a store is made.
    let document = understood(&request, &config)?;
    config.heed_project(Path::new(&document.workspace))?;
    tell(&document.intake.warnings);
    if args.dry_run {
        let would = Answer::from(&document);
        return Ok(output.answer(&would, || dry_run::text(&would)));
    }
    let request = Request {
        depth: depth()?,
        parent_run: env::get("WRIT_RUN").and_then(|text| Id::parse(&text).ok()),
        parent_task: env::get("WRIT_TASK").and_then(|text| Id::parse(&text).ok()),
        ..request
    };
    let session = host::any_session(globals)?;
    let minted = host::mints_request_id(globals).then(|| session.request().to_owned());
    let announce = move |run: &contract::domain::run::Run| {
        if let Some(id) = &minted {
            say(&format!("request {id}\n"));
        }
        say(&format!("run {}\n", run.asked.id));
    };
    let mut cx = host::open_announcing(globals, Box::new(announce))?;
    let answered = verb::call::<Submit>(&mut cx, &session, &request).map(|reply| reply.answer);
    finish(answered, &mut cx, output)
}

/// The message for a run that had ended before it was continued.
fn ended_before(cx: &mut Context, session: &Session, which: &str) -> Option<String> {
    // A name of no run is refused by the verb.
    let run = Some(show(cx, session, which).ok()?.run).filter(|run| run.state.is_terminal())?;
    let (id, ended) = (&run.asked.id, run.state.said());
    let can_be_retried = run.state != RunState::Done && run.asked.kind != DocumentKind::Ledger;
    let retry = can_be_retried.then(|| format!("; `writ retry {id}` runs what is not done again"));
    Some(format!("nothing to continue: run {id} {ended}{}\n", retry.unwrap_or_default()))
}

/// Prints the answer of a run that was worked, and gives its exit code.
pub(crate) fn finish(answered: Result<RunAnswer>, cx: &mut Context, output: &Output) -> Result<ExitCode> {
    let answer = match answered {
        Err(error) if error.code == ErrorCode::Interrupted => return Ok(interrupted(&error, output)),
        other => other?,
    };
    let code = runs::print_result(cx, &answer, output)?;
    if answer.state() == Some(RunState::Stopped) {
        say(&next_step::after(&answer));
    }
    Ok(code)
}

fn interrupted(error: &Error, output: &Output) -> ExitCode {
    if output.format == Format::Text {
        say(&format!("interrupted; {}\n", error.hint.as_deref().unwrap_or_default()));
    } else {
        output.error(error);
    }
    let signal = error.details.get("signal").and_then(Value::as_i64);
    exit::by_signal(signal.and_then(|signal| i32::try_from(signal).ok()).unwrap_or_default())
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

/// One deeper than the run this process belongs to.
fn depth() -> Result<u32> {
    let Some(text) = env::get("WRIT_DEPTH") else { return Ok(1) };
    let message = || format!("WRIT_DEPTH is `{text}`; writ sets it for the children of a run");
    let depth: u32 = text.parse().map_err(|_| Error::new(ErrorCode::InvalidInput, message()))?;
    Ok(depth.saturating_add(1))
}

/// What the arguments ask for. Depth and parents are those of a run that no other one started.
fn request(args: &Args) -> Result<Request> {
    let first = args.files.first().map_or(Path::new("-"), PathBuf::as_path);
    let document = match args.files.as_slice() {
        [] | [_] => text_of(first)?,
        several => joined(several)?,
    };
    let names: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    Ok(Request {
        document: DocumentInput::Text(document),
        directory: host::absolute(directory_of(first)).to_string_lossy().into_owned(),
        name: Some(names.join(", ")),
        executor: args.executor.clone(),
        map: args.map.iter().cloned().collect(),
        lock_wait_ms: args.lock_wait.map(millis),
        limit_wait_ms: args.limit_wait.map(millis),
        reopen: args.reopen,
        depth: 1,
        parent_run: None,
        parent_task: None,
    })
}
