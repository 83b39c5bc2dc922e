//! What hooks call: silent, quick, and never a failure to the agent that waits.

use std::io::Read;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use contract::domain::limits;
use contract::domain::request::{Agent, RequestId};
use ops::context::Key;
use ops::{Caller, Error, Result};
use serde_json::json;

use crate::app::Globals;
use crate::hooks::handling::{Act, Handler, Input};
use crate::output::{Output, say};
use crate::{env, host};

/// How long an agent program may take to tell what happened.
const INPUT_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long the store may take; afterwards the agent goes on without us.
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
        Ok(Err(error)) => complain(&error.to_string()),
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
    let transcript = input.text("transcript_path").and_then(|path| std::fs::metadata(path).ok());
    input.transcript_bytes = transcript.map_or(0, |meta| meta.len());
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
    match act {
        Act::End => {
            ops::session::end(&mut cx, &key)?;
            Ok(None)
        }
        Act::Resume | Act::Note { .. } | Act::Complete { .. } | Act::Checkpoint | Act::Nothing => Ok(None),
    }
}

fn key(handler: Handler, input: &Input, globals: &Globals) -> Result<Key> {
    let invalid = |error: &dyn std::fmt::Display| {
        Error::new(contract::domain::code::ErrorCode::InvalidInput, error.to_string())
    };
    let agent = host::agent_name(globals).unwrap_or_else(|| input.agent());
    let agent = Agent::parse(&agent).map_err(|error| invalid(&error))?;
    let request = globals.request_id.clone().unwrap_or_else(|| handler.request_id(input));
    let request_id = RequestId::parse(&request).map_err(|error| invalid(&error))?;
    Ok(Key { caller: Caller::agent(agent), request_id })
}
