//! Calls from inside a sandbox: made over the task's socket there, and answered by the engine's process outside.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::request::RequestId;
use contract::json::Value;
use engine::StopSignal;
use engine::inside::{InsideCaller, SOCKET_VARIABLE, TaskDoor, TaskDoors, connect};
use ops::verb::Verb;
use ops::{Error, Result, Session};
use server::{InsideJob, InsideRequest, OpenDoor, REQUEST_ID, TaskDoorServer};
use signal_hook::consts::SIGTERM;

use crate::app::Globals;
use crate::{env, host};

/// How long an answer may take: checks and other writers are waited for.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(15 * 60);
/// How long a run may take that was started from inside.
const RUN_WAIT_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The task socket of the sandbox around this process. `None` outside, and where another store is named.
pub(crate) fn socket(globals: &Globals) -> Option<PathBuf> {
    let socket = env::get(SOCKET_VARIABLE).map(PathBuf::from)?;
    host::means_hidden_store(globals).then_some(socket)
}

/// The task of the sandbox around this process.
pub(crate) fn own_task(globals: &Globals) -> Option<String> {
    socket(globals).and_then(|_| env::get("WRIT_TASK"))
}

/// Calls a verb over the socket. The engine's process outside answers, with the task as the caller.
pub(crate) fn call<V: Verb>(socket: &Path, session: &Session, request: &V::Request) -> Result<V::Answer> {
    let wait = if V::NAME == ops::run::submit::Submit::NAME { RUN_WAIT_MAX } else { ANSWER_WAIT_MAX };
    let body = serde_json::to_vec(request)
        .map_err(|error| Error::new(ErrorCode::Bug, format!("a request has no JSON form: {error}")))?;
    let request_id = session.request_id.as_ref().map(RequestId::as_str);
    let answer = ask(socket, (V::NAME, &body), request_id, wait).map_err(|error| {
        let message = format!("could not call writ outside the sandbox: {error}");
        Error::new(ErrorCode::StoreUnavailable, message)
            .hint("the run may be ending; repeat the same request")
    })?;
    read::<V>(&answer)
}

/// One request and its answer, which has the rest of the connection.
fn ask(
    socket: &Path,
    (verb, body): (&str, &[u8]),
    request_id: Option<&str>,
    wait: Duration,
) -> io::Result<Vec<u8>> {
    let mut stream = connect(socket)?;
    stream.set_read_timeout(Some(wait))?;
    stream.set_write_timeout(Some(ANSWER_WAIT_MAX))?;
    let id = request_id.map(|id| format!("{REQUEST_ID}: {id}\r\n")).unwrap_or_default();
    let head = format!(
        "POST /v1/{verb} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{id}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(answer)
}

/// The verb's answer, or its error, out of the bytes of a response.
fn read<V: Verb>(response: &[u8]) -> Result<V::Answer> {
    let unknown = || {
        Error::new(ErrorCode::StoreUnavailable, "writ outside the sandbox gave no answer")
            .hint("the run may be ending; repeat the same request")
    };
    let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or_else(unknown)?;
    let mut body: Value = serde_json::from_slice(&response[end + 4..]).map_err(|_| unknown())?;
    if let Some(error) = body.get("error") {
        let text = |field: &str| error.get(field).and_then(Value::as_str).unwrap_or_default();
        let code = ErrorCode::parse(text("code")).unwrap_or(ErrorCode::Bug);
        let told = Error::new(code, text("message")).details(error["details"].clone());
        let hint = text("hint");
        return Err(if hint.is_empty() { told } else { told.hint(hint) });
    }
    serde_json::from_value(body["data"].take()).map_err(|_| unknown())
}

/// Answers calls from inside the sandboxes of tasks.
pub(crate) struct InsideAnswers {
    globals: Globals,
    /// Made for the first task that has a sandbox.
    doors: OnceLock<TaskDoorServer>,
}

impl InsideAnswers {
    /// For the store at this path.
    pub(crate) fn new(globals: &Globals, store: &Path) -> Self {
        let globals = Globals {
            db_path: Some(store.to_owned()),
            agent: None,
            request_id: None,
            token_file: None,
            ..globals.clone()
        };
        Self { globals, doors: OnceLock::new() }
    }

    fn doors(&self) -> io::Result<&TaskDoorServer> {
        if self.doors.get().is_none() {
            self.doors.set(TaskDoorServer::new()?).ok();
        }
        Ok(self.doors.get().expect("BUG: set above"))
    }
}

/// Closed when it is dropped.
struct OpenTaskDoor {
    _door: OpenDoor,
}

impl TaskDoor for OpenTaskDoor {}

impl TaskDoors for InsideAnswers {
    fn open(&self, listener: UnixListener, caller: InsideCaller) -> io::Result<Box<dyn TaskDoor>> {
        let (globals, caller) = (self.globals.clone(), Arc::new(caller));
        let user = rustix::process::getuid().as_raw();
        let door = self.doors()?.open(listener, user, move |asked| job(&globals, &caller, asked))?;
        Ok(Box::new(OpenTaskDoor { _door: door }))
    }
}

fn job(globals: &Globals, caller: &Arc<InsideCaller>, asked: InsideRequest) -> InsideJob {
    let stop = StopSignal::default();
    let (globals, caller, abandoned) = (globals.clone(), caller.clone(), stop.clone());
    let work = move || {
        let session = host::session_inside(&globals, &caller);
        let mut cx = host::open_for_inside(&globals, caller.clone(), stop)?;
        let InsideRequest { operation, request, request_id } = asked;
        let called = (operation.as_str(), request);
        Ok(ops::inside::call(&mut cx, &session, &caller.task, called, request_id.as_deref())?.answer)
    };
    // A run that was started is stopped as if by a signal, and can be continued.
    InsideJob { work: Box::new(work), abandon: Box::new(move || abandoned.raise(SIGTERM)) }
}
