//! What hooks call: silent, quick, and never a failure to the agent that waits.

use std::io::Read;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use contract::continuity::state::CloseOutcome;
use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use contract::domain::request::{Agent, RequestId};
use contract::domain::{limits, workspace};
use ops::context::Key;
use ops::event::note;
use ops::task::complete;
use ops::{Caller, Context, Error, Result};

use super::call::HandlerCall;
use super::telling;
use crate::app::Globals;
use crate::hooks::adapter::{self, HookAdapter, HookEvent};
use crate::hooks::handling::{Act, Handler, Input, Note, Then};
use crate::minter::RandomIds;
use crate::output::{Output, say};
use crate::persona::{self, Persona};
use crate::{config, env, host, project};

/// Events that a session is handed at its start.
const DELTAS_MAX: i64 = 100;
/// How long an agent program may take to tell what happened.
const INPUT_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long other writers are waited for.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(3);
/// How long the store may take in all; afterwards the agent goes on without us.
const WORK_WAIT_MAX: Duration = Duration::from_secs(8);

/// Context for the agent, and the hook that asked for it.
type Answer = Option<(HookEvent, String)>;

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
    let wait = if handler == Handler::TaskCompleted { limits::CHECK_TIMEOUT } else { WORK_WAIT_MAX };
    match done.recv_timeout(wait) {
        Ok(Ok(Some((event, context)))) => {
            output.line(&adapter.answer(event, &context));
        }
        Ok(Ok(None)) => {}
        Ok(Err(error)) => return output.error(&error),
        Err(_) => complain("the store did not answer in time"),
    }
    ExitCode::SUCCESS
}

/// Makes a hook succeed even if this program panics.
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
fn read_input(adapter: &'static dyn HookAdapter) -> Input {
    let (sender, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(limits::DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX);
        // What came before a fault still counts.
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).ok();
        sender.send(bytes).ok();
    });
    let mut input = Input::parse(adapter, &read.recv_timeout(INPUT_WAIT_MAX).unwrap_or_default());
    let here = host::absolute(".".into()).to_string_lossy().into_owned();
    let directory = workspace::id_from(input.text("cwd").unwrap_or(&here), &here);
    // The agent contract takes directories and paths as the agent program gives them.
    (input.project, input.root) = match persona::current() {
        Persona::Vybe => (directory, None),
        // A project may be a plain word; then only this process knows where it is.
        Persona::Writ if !directory.starts_with('/') => (directory, Some(here)),
        Persona::Writ => {
            let project = project::root_of(&directory).unwrap_or(directory);
            (project.clone(), Some(project))
        }
    };
    input
}

/// Does what the hook means, and returns context for the agent.
fn work(handler: Handler, input: &Input, globals: &Globals) -> Result<Answer> {
    let act = handler.act(input);
    if act == Act::Nothing {
        return Ok(None);
    }
    let mut key = key(handler, input, globals)?;
    let mut cx = host::open(globals)?;
    cx.wait_at_most(BUSY_WAIT_MAX)?;
    // What the session holds is held by the agent's process: if that dies, others need not wait for the lease.
    let holder = cx.host().ancestor(input.adapter.process_names());
    key.caller = key.caller.held_by(holder);
    let mut session = Session { cx: &mut cx, key: &key, input };
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
        Act::Checkpoint(note) => {
            session.record(note)?;
            session.tidy_up()?;
            Ok(None)
        }
        Act::End => {
            ops::agent::leave(session.cx, &key, &ops::agent::Request::default())?;
            session.tidy_up()?;
            Ok(None)
        }
        Act::Renew => {
            ops::agent::renew(session.cx, &key.caller)?;
            Ok(None)
        }
    }
}

/// One session of an agent, as a handler works on it.
struct Session<'a> {
    cx: &'a mut Context,
    key: &'a Key,
    input: &'a Input,
}

impl Session<'_> {
    fn resume(&mut self) -> Result<Answer> {
        let request = ops::resume::Request {
            project_dir: Some(self.input.project.clone()),
            limit: Some(DELTAS_MAX),
            ..ops::resume::Request::default()
        };
        let prompt = ops::resume::resume(self.cx, self.key, &request)?.answer.prompt;
        Ok(Some((HookEvent::SessionStart, prompt)).filter(|(_, prompt)| !prompt.is_empty()))
    }

    fn record(&mut self, note: Note) -> Result<()> {
        let key = self.key.clone();
        self.record_under(&key, note)
    }

    /// Records a second event of the same call.
    fn record_as(&mut self, step: &str, note: Note) -> Result<()> {
        let key = with_suffix(self.key, step)?;
        self.record_under(&key, note)
    }

    fn record_under(&mut self, key: &Key, note: Note) -> Result<()> {
        let request = note::Request {
            kind: note.kind.to_owned(),
            message: note.message,
            metadata: note.metadata,
            project_id: Some(self.input.project.clone()),
        };
        note::note(self.cx, key, &request).map(|_| ())
    }

    fn follow(&mut self, then: Then) -> Result<Answer> {
        let (agent, project) = (&self.key.caller.agent, Some(self.input.project.clone()));
        let (event, context) = match then {
            Then::Silence => return Ok(None),
            Then::Remind => (HookEvent::Prompt, telling::reminder(self.cx, agent)?),
            Then::Brief => (HookEvent::Prompt, telling::brief(self.cx, agent, project)?),
            Then::BriefSubagent => (HookEvent::SubagentStart, telling::reminder(self.cx, agent)?),
        };
        Ok(context.map(|context| (event, context)))
    }

    fn complete(&mut self, task_id: String, note: Note) -> Result<Answer> {
        let request = complete::Request {
            id: task_id,
            outcome: CloseOutcome::Done,
            summary: note.message.clone(),
            label: None,
            blocked_reason: None,
        };
        // A task that does not exist, is another agent's or whose checks fail stays as it is; the signal is recorded
        // anyway.
        self.record(note)?;
        complete::complete(self.cx, &with_suffix(self.key, "close")?, &request).map(|_| None)
    }

    /// Keeps the store small, in one bounded step: deletes expired memories and old events of the project.
    fn tidy_up(&mut self) -> Result<()> {
        if ops::memory::gc::is_due(self.cx)? {
            let key = with_suffix(self.key, "memories")?;
            ops::memory::gc::gc(self.cx, &key, &ops::memory::gc::Request::default())?;
        }
        // Other commands report a configuration that cannot be read; here the default retention holds.
        let retention =
            config::load(&host::absolute(".".into())).map(|config| config.retention).unwrap_or_default();
        let key = with_suffix(self.key, "events")?;
        ops::gc::maintain(self.cx, &key, Some(&self.input.project), &retention).map(|_| ())
    }
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
