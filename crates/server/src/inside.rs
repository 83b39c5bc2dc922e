//! A door for the program of one task: the same protocol on a Unix socket, answered by the process that opened it.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::domain::code::ErrorCode;
use contract::json::Value;
use ops::{Error, Result};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::door::{Connection, Door};
use crate::http::{Answers, HttpCall, routes};

/// Calls that are worked on at a time, over all doors of a process; more wait.
const CALLS_MAX: usize = 64;
/// How long calls may take to end after their door was closed.
const CLOSING_TIME_MAX: Duration = Duration::from_secs(60);

/// A request from inside.
#[derive(Debug, Clone, PartialEq)]
pub struct InsideRequest {
    pub operation: String,
    pub request: Value,
    pub request_id: Option<String>,
}

/// The work for one request. It runs on a thread of its own.
pub struct InsideJob {
    pub work: Box<dyn FnOnce() -> Result<Value> + Send>,
    /// Called when the caller has gone away.
    pub abandon: Box<dyn Fn() + Send + Sync>,
}

/// All doors of a process. One thread serves them.
pub struct TaskDoorServer {
    runtime: Handle,
    /// The thread ends when this is dropped.
    _thread: oneshot::Sender<()>,
}

/// One door. Dropping it closes it, gives up what is worked on, and waits until that has ended.
pub struct OpenDoor {
    serving: JoinHandle<()>,
    calls: Arc<Calls>,
}

/// The calls that one door has not finished.
#[derive(Default)]
struct Calls {
    under_way: Mutex<UnderWayList>,
    ended: Condvar,
}

#[derive(Default)]
struct UnderWayList {
    calls: Vec<Abandon>,
    last: u64,
    is_closed: bool,
}

struct Abandon {
    number: u64,
    abandon: Box<dyn Fn() + Send + Sync>,
}

impl TaskDoorServer {
    pub fn new() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(CALLS_MAX)
            .thread_name("inside")
            .enable_all()
            .build()?;
        let (thread, end) = oneshot::channel::<()>();
        let handle = runtime.handle().clone();
        let serve = move || {
            runtime.block_on(end).ok();
            runtime.shutdown_background();
        };
        std::thread::Builder::new().name("inside".to_owned()).spawn(serve)?;
        Ok(Self { runtime: handle, _thread: thread })
    }

    /// Answers only the user with the id `owner`, on a socket that is already bound.
    pub fn open(
        &self,
        listener: UnixListener,
        owner: u32,
        answer: impl Fn(InsideRequest) -> InsideJob + Send + Sync + 'static,
    ) -> io::Result<OpenDoor> {
        listener.set_nonblocking(true)?;
        let entered = self.runtime.enter();
        let listener = tokio::net::UnixListener::from_std(listener)?;
        drop(entered);
        let calls = Arc::new(Calls::default());
        let inside = InsideDoor { answer: Arc::new(answer), calls: calls.clone() };
        let app = routes(inside, owner, 0).into_make_service_with_connect_info::<Connection>();
        let serving = self.runtime.spawn(async move {
            // It ends when it is aborted.
            axum::serve(Door::new(listener), app).await.ok();
        });
        Ok(OpenDoor { serving, calls })
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        self.serving.abort();
        self.calls.close();
    }
}

#[derive(Clone)]
struct InsideDoor {
    answer: Arc<dyn Fn(InsideRequest) -> InsideJob + Send + Sync>,
    calls: Arc<Calls>,
}

impl Answers for InsideDoor {
    async fn ask(&self, HttpCall { operation, request, request_id }: HttpCall) -> Result<Value> {
        let InsideJob { work, abandon } = (self.answer)(InsideRequest { operation, request, request_id });
        let Some(under_way) = self.calls.begin(abandon) else {
            return Err(Error::new(ErrorCode::Denied, "the task of this sandbox has ended"));
        };
        // Dropped with this future if the caller goes away, and then the work is given up.
        let waiting = Waiting(under_way.clone());
        let ending = Ending(under_way);
        let done = tokio::task::spawn_blocking(move || {
            let answer = work();
            drop(ending);
            answer
        });
        let answer = done.await;
        drop(waiting);
        answer.map_err(|_| Error::new(ErrorCode::Bug, "a call from inside a sandbox failed"))?
    }
}

/// One call, known to its door.
#[derive(Clone)]
struct UnderWay {
    calls: Arc<Calls>,
    number: u64,
}

/// Abandons the work when the caller has gone away.
struct Waiting(UnderWay);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.calls.abandon(|call| call.number == self.0.number);
    }
}

/// Lets the door know that the work has ended, however it did.
struct Ending(UnderWay);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.calls.list().calls.retain(|call| call.number != self.0.number);
        self.0.calls.ended.notify_all();
    }
}

impl Calls {
    fn list(&self) -> MutexGuard<'_, UnderWayList> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` once the door is closed: a connection may outlive it.
    fn begin(self: &Arc<Self>, abandon: Box<dyn Fn() + Send + Sync>) -> Option<UnderWay> {
        let mut list = self.list();
        if list.is_closed {
            return None;
        }
        list.last += 1;
        let number = list.last;
        list.calls.push(Abandon { number, abandon });
        Some(UnderWay { calls: self.clone(), number })
    }

    fn abandon(&self, which: impl Fn(&Abandon) -> bool) {
        self.list().calls.iter().filter(|call| which(call)).for_each(|call| (call.abandon)());
    }

    /// Takes no more calls, gives up those under way, and waits until they have ended.
    fn close(&self) {
        let deadline = Instant::now() + CLOSING_TIME_MAX;
        self.list().is_closed = true;
        self.abandon(|_| true);
        let mut list = self.list();
        while !list.calls.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.ended.wait_timeout(list, left);
            list = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
