//! What hooks call: silent, quick, and never a failure to the agent that waits.

use std::io::Read;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use contract::domain::process::Holder;
use contract::domain::request::{Agent, RequestId};
use contract::domain::time::Clock;
use contract::domain::{limits, workspace};
use ops::{Caller, Error, Result, Session};

use super::call::HandlerCall;
use super::session::{Answer, HookSession};
use super::telling;
use crate::app::Globals;
use crate::clock::SystemClock;
use crate::hooks::adapter::{self, HookAdapter};
use crate::hooks::handling::{Act, Handler, HookInput};
use crate::minter::RandomIds;
use crate::output::{Output, say};
use crate::persona::{self, Persona};
use crate::{crash, env, host, inside, project};

/// How long an agent program may take to tell what happened.
const INPUT_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long other writers are waited for.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(3);
/// How long the store may take in all; afterwards the agent goes on without us.
const WORK_WAIT_MAX: Duration = Duration::from_secs(8);
/// Additional time for a task's checks. If they take longer, the task stays open; `writ task complete` waits.
const CHECKS_WAIT_MAX: Duration = Duration::from_secs(50);
/// Starts of one session in one process that are this close together are one start.
const SAME_START_MS: i64 = 10_000;

pub(crate) fn run(call: &HandlerCall, globals: &Globals, output: &Output) -> ExitCode {
    // A loop that wants no hooks sets this for its children.
    if env::get("VYBE_RETRO_CHILD").is_some() {
        return ExitCode::SUCCESS;
    }
    let adapter = match &call.from {
        None => adapter::usual(),
        Some(name) => match adapter::find(name) {
            Some(adapter) => adapter,
            None => {
                complain(&format!("unknown agent program `{name}`"));
                return ExitCode::SUCCESS;
            }
        },
    };
    let input = read_input(adapter);
    let (handler, globals) = (call.handler, globals.clone());
    let (sender, done) = mpsc::channel();
    // In a thread, so that a store that stays busy cannot keep the agent waiting. What is not committed is undone.
    std::thread::spawn(move || sender.send(work(handler, &input, &globals)).ok());
    let wait = if handler == Handler::TaskCompleted { CHECKS_WAIT_MAX } else { WORK_WAIT_MAX };
    match done.recv_timeout(wait) {
        Ok(Ok(Some((event, context)))) => {
            output.line(&adapter.answer(event, &context));
        }
        Ok(Ok(None)) => {}
        Ok(Err(error)) => match handler.answered_event().filter(|_| error.code == ErrorCode::Halted) {
            Some(event) => {
                output.line(&adapter.answer(event, &telling::halted(&error)));
            }
            None => return output.error(&error),
        },
        Err(_) => complain("the store did not answer in time"),
    }
    ExitCode::SUCCESS
}

/// Makes a hook succeed even if this program panics.
pub(crate) fn never_fail() {
    std::panic::set_hook(Box::new(|panic| {
        complain(&crash::report(&panic.to_string()));
        #[expect(clippy::exit, reason = "a panic has no way back to main, and the agent must see a success")]
        std::process::exit(0);
    }));
}

/// One line on standard error, whatever is in the message.
fn complain(message: &str) {
    say(&format!("writ hook: {}\n", message.replace('\n', " ")));
}

/// What the agent program wrote until the end of its input, the limit or the deadline.
fn read_input(adapter: &'static dyn HookAdapter) -> HookInput {
    let (sender, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(limits::DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX);
        // What came before a fault still counts.
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).ok();
        sender.send(bytes).ok();
    });
    let mut input = HookInput::parse(adapter, &read.recv_timeout(INPUT_WAIT_MAX).unwrap_or_default());
    let here = host::absolute(".".into()).to_string_lossy().into_owned();
    let directory = workspace::id_from(input.text("cwd").unwrap_or(&here), &here);
    // The agent contract takes directories and paths as the agent program gives them.
    (input.project, input.root) = match persona::current() {
        Persona::Vybe => (directory, None),
        // A project may be a plain word; then only this process knows where it is.
        Persona::Writ | Persona::Ol | Persona::Ao if !directory.starts_with('/') => (directory, Some(here)),
        Persona::Writ | Persona::Ol | Persona::Ao => {
            let project = project::root_of(&directory).unwrap_or(directory);
            (project.clone(), Some(project))
        }
    };
    input
}

/// Does what the hook means, and returns context for the agent.
fn work(handler: Handler, input: &HookInput, globals: &Globals) -> Result<Answer> {
    let act = handler.act(input);
    if act == Act::Nothing {
        return Ok(None);
    }
    if let Some(socket) = inside::socket(globals) {
        return super::inside::work(&socket, act, &session_of(handler, input, globals, None)?);
    }
    let mut cx = host::open(globals)?;
    cx.wait_at_most(BUSY_WAIT_MAX)?;
    // What the session holds is held by the agent's process: if that dies, others need not wait for the lease.
    let holder = engine::ancestor::find(input.adapter.process_names());
    let ops_session = session_of(handler, input, globals, holder)?;
    // A session that writ started works on its one task.
    let only_task = env::get("WRIT_TASK");
    let mut session = HookSession { cx: &mut cx, session: &ops_session, input, only_task };
    match act {
        Act::Nothing => Ok(None),
        Act::Resume => session.resume(),
        Act::Note { note, then } => {
            session.record(note)?;
            session.follow(then)
        }
        Act::Complete { task_id, note } => session.complete(task_id, note),
        Act::Stop { heartbeat, last_words } => {
            if let Some(words) = last_words {
                session.record_as("last_words", words)?;
            }
            session.record(heartbeat)?;
            Ok(None)
        }
        Act::Checkpoint { reason } => {
            session.checkpoint(reason)?;
            session.tidy_up()?;
            Ok(None)
        }
        Act::End => {
            // A session that writ started works under the name of its starter, which still holds the task.
            if session.only_task.is_none() {
                ops::agent::leave(session.cx, &ops_session, &ops::agent::Request::default())?;
            }
            session.tidy_up()?;
            Ok(None)
        }
        Act::Renew => {
            ops::agent::renew(session.cx, &ops_session.caller)?;
            Ok(None)
        }
    }
}

/// For whom the handler works.
fn session_of(
    handler: Handler,
    input: &HookInput,
    globals: &Globals,
    holder: Option<Holder>,
) -> Result<Session> {
    let invalid = |error: &dyn std::fmt::Display| Error::new(ErrorCode::InvalidInput, error.to_string());
    let agent = host::agent_name(globals).unwrap_or_else(|| input.agent());
    let agent = Agent::parse(&agent).map_err(|error| invalid(&error))?;
    let request = globals.request_id.clone().unwrap_or_else(|| {
        let call = match (handler, &holder) {
            (Handler::SessionStart, Some(holder)) => start_of(holder),
            (_, _) => format!("{:032x}", RandomIds.random_bits()),
        };
        handler.request_id(input, &call)
    });
    let request_id = RequestId::parse(&request).map_err(|error| invalid(&error))?;
    Ok(host::here(globals, Session::new(Caller::agent(agent).held_by(holder), request_id)))
}

/// The same for hooks that one process calls at the same time: a project may have hooks and its user too, and the
/// session still gets its context once.
fn start_of(holder: &Holder) -> String {
    let moment = SystemClock::new().now().at.millis() / SAME_START_MS;
    format!("{} {} {moment}", holder.process.pid, holder.process.start_time)
}
