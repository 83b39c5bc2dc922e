//! What hooks call: silent, quick, and never a failure to the agent that waits.

use std::io::Read;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use contract::continuity::state::CloseOutcome;
use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use contract::domain::limits;
use contract::domain::request::{Agent, RequestId};
use ops::context::Key;
use ops::event::note::{Request as Note, note};
use ops::task::complete;
use ops::{Caller, Context, Error, Result};
use serde_json::json;

use super::telling;
use crate::app::Globals;
use crate::hooks::handling::{Act, Handler, Input, Then};
use crate::minter::RandomIds;
use crate::output::{Output, say};
use crate::{config, env, host};

/// Events that a session is handed at its start.
const DELTAS_MAX: i64 = 100;
/// How long an agent program may take to tell what happened.
const INPUT_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long other writers are waited for.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(3);
/// How long the store may take in all; afterwards the agent goes on without us.
const WORK_WAIT_MAX: Duration = Duration::from_secs(8);

pub(crate) fn run(handler: Handler, globals: &Globals, output: &Output) -> ExitCode {
    // A loop that asked for no hooks set this for its children.
    if env::get("VYBE_RETRO_CHILD").is_some() {
        return ExitCode::SUCCESS;
    }
    let input = read_input();
    let globals = globals.clone();
    let (sender, done) = mpsc::channel();
    // Apart, so that a store that stays busy cannot keep the agent waiting. What is not committed is undone.
    std::thread::spawn(move || sender.send(work(handler, &input, &globals)).ok());
    match done.recv_timeout(WORK_WAIT_MAX) {
        Ok(Ok(Some(context))) => {
            let said = json!({"hookEventName": handler.event(), "additionalContext": context});
            output.line(&json!({ "hookSpecificOutput": said }));
        }
        Ok(Ok(None)) => {}
        Ok(Err(error)) => return output.error(&error),
        Err(_) => complain("the store did not answer in time"),
    }
    ExitCode::SUCCESS
}

/// From here on not even a bug of ours makes a hook fail.
pub(crate) fn never_fail() {
    std::panic::set_hook(Box::new(|panic| {
        complain(&panic.to_string().replace('\n', " "));
        #[expect(clippy::exit, reason = "a panic has no way back to main, and the agent must see a success")]
        std::process::exit(0);
    }));
}

/// One line on standard error, whatever is in the message.
fn complain(message: &str) {
    say(&format!("writ hook: {}\n", message.replace('\n', " ")));
}

/// What the agent program wrote until the end of its input, the limit or the deadline.
fn read_input() -> Input {
    let (sender, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(limits::DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX);
        // What came before a fault still counts.
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).ok();
        sender.send(bytes).ok();
    });
    let mut input = Input::parse(&read.recv_timeout(INPUT_WAIT_MAX).unwrap_or_default());
    input.here = host::absolute(".".into()).to_string_lossy().into_owned();
    input
}

/// Does what the hook means. Gives the context that the agent shall see.
fn work(handler: Handler, input: &Input, globals: &Globals) -> Result<Option<String>> {
    let act = handler.act(input);
    if act == Act::Nothing {
        return Ok(None);
    }
    let key = key(handler, input, globals)?;
    let mut cx = host::open(globals)?;
    cx.wait_at_most(BUSY_WAIT_MAX)?;
    let project = Some(input.workspace());
    match act {
        Act::Nothing => Ok(None),
        Act::Resume => {
            let request = ops::resume::Request {
                project_dir: project,
                limit: Some(DELTAS_MAX),
                ..ops::resume::Request::default()
            };
            let prompt = ops::resume::resume(&mut cx, &key, &request)?.answer.prompt;
            Ok(Some(prompt).filter(|prompt| !prompt.is_empty()))
        }
        Act::Note { kind, message, metadata, then } => {
            let request =
                Note { kind: kind.to_owned(), message, metadata, project_id: project.clone(), task_id: None };
            note(&mut cx, &key, &request)?;
            match then {
                Then::Silence => Ok(None),
                Then::Remind => telling::reminder(&mut cx, &key.caller.agent),
                Then::Brief => telling::brief(&mut cx, &key.caller.agent, project),
            }
        }
        Act::Complete { task_id, message, metadata } => {
            let request = complete::Request {
                id: task_id,
                outcome: CloseOutcome::Done,
                summary: message.clone(),
                label: None,
                blocked_reason: None,
            };
            // A task that does not exist, is another agent's or has checks stays as it is; the signal is recorded anyway.
            let closed = complete::complete_unchecked(&mut cx, &with_suffix(&key, "close")?, &request);
            let kind = "task_completed_signal".to_owned();
            note(&mut cx, &key, &Note { kind, message, metadata, project_id: project, task_id: None })?;
            closed.map(|_| None)
        }
        Act::Checkpoint => {
            tidy_up(&mut cx, &key, project.as_deref())?;
            Ok(None)
        }
        Act::End => {
            ops::agent::leave(&mut cx, &key, &ops::agent::Request::default())?;
            tidy_up(&mut cx, &key, project.as_deref())?;
            Ok(None)
        }
    }
}

/// Keeps the store small, in one bounded piece: memories whose time is over go, and old events of the project.
fn tidy_up(cx: &mut Context, key: &Key, project: Option<&str>) -> Result<()> {
    if ops::memory::gc::is_due(cx)? {
        ops::memory::gc::gc(cx, &with_suffix(key, "memories")?, &ops::memory::gc::Request::default())?;
    }
    // A configuration that cannot be read is told by every other command; here the usual retention holds.
    let retention =
        config::load(&host::absolute(".".into())).map(|config| config.retention).unwrap_or_default();
    ops::gc::maintain(cx, &with_suffix(key, "events")?, project, &retention).map(|_| ())
}

/// The same call's key for a second step of its work.
fn with_suffix(key: &Key, suffix: &str) -> Result<Key> {
    let id = format!("{}_{suffix}", key.request_id.as_str());
    let request_id =
        RequestId::parse(&id).map_err(|error| Error::new(ErrorCode::InvalidInput, error.to_string()))?;
    Ok(Key { caller: key.caller.clone(), request_id })
}

fn key(handler: Handler, input: &Input, globals: &Globals) -> Result<Key> {
    let invalid = |error: &dyn std::fmt::Display| Error::new(ErrorCode::InvalidInput, error.to_string());
    let agent = host::agent_name(globals).unwrap_or_else(|| input.agent());
    let agent = Agent::parse(&agent).map_err(|error| invalid(&error))?;
    let request = globals.request_id.clone().unwrap_or_else(|| {
        let call = format!("{:032x}", RandomIds.random_bits());
        handler.request_id(input, &call)
    });
    let request_id = RequestId::parse(&request).map_err(|error| invalid(&error))?;
    Ok(Key { caller: Caller::agent(agent), request_id })
}
