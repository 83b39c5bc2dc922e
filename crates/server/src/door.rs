//! Accepts connections: a bounded number, each from a known user, and none that only waits.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

use crate::peer;

/// How long a client may take to send the head of a request, and then its body.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection stays open without a request, and how long a client may take to accept an answer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections at a time; more wait until one is closed.
const CONNECTIONS_MAX: usize = 128;
/// After a failure to accept one, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Door {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

/// What a request knows about its connection.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// `None` if the system does not say who is at the other end.
    pub(crate) user: Option<u32>,
    answering: Arc<AtomicBool>,
}

/// A connection that fails once it has waited for too long.
pub(crate) struct Timed {
    stream: TcpStream,
    timer: Pin<Box<Sleep>>,
    waits_for: WaitsFor,
    connection: Connection,
    _place: OwnedSemaphorePermit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitsFor {
    Request,
    RestOfHead,
    /// Writ itself: the client is not to blame for the time this takes.
    Answer,
    Client,
}

impl Door {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, free: Arc::new(Semaphore::new(CONNECTIONS_MAX)) }
    }

    async fn next(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

impl Listener for Door {
    type Io = Timed;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Timed, SocketAddr) {
        let place = self.free.clone().acquire_owned().await.expect("BUG: the semaphore is never closed");
        let (stream, address) = self.next().await;
        let user = stream.local_addr().ok().and_then(|here| peer::user_of(address, here));
        let connection = Connection { user, answering: Arc::default() };
        let timer = Box::pin(sleep(IDLE_TIMEOUT));
        (Timed { stream, timer, waits_for: WaitsFor::Request, connection, _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Door>> for Connection {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.io().connection.clone()
    }
}

impl Connection {
    /// From now on writ works on an answer, until the returned value is dropped.
    pub(crate) fn answering(&self) -> Answering {
        self.answering.store(true, Ordering::Relaxed);
        Answering(self.answering.clone())
    }
}

pub(crate) struct Answering(Arc<AtomicBool>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Timed {
    /// Starts the time for what is waited for now, unless it is running already.
    fn wait_for(&mut self, what: WaitsFor) {
        if self.waits_for != what {
            self.waits_for = what;
            let time = if what == WaitsFor::RestOfHead { REQUEST_TIMEOUT } else { IDLE_TIMEOUT };
            self.timer.as_mut().reset(Instant::now() + time);
        }
    }

    /// Waits on, or fails if the time is up.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Timed {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.connection.answering.load(Ordering::Relaxed) {
            this.wait_for(WaitsFor::Answer);
        } else if matches!(this.waits_for, WaitsFor::Answer | WaitsFor::Client) {
            this.wait_for(WaitsFor::Request);
        }
        match Pin::new(&mut this.stream).poll_read(cx, buffer) {
            Poll::Ready(read) => {
                if this.waits_for == WaitsFor::Request {
                    this.wait_for(WaitsFor::RestOfHead);
                }
                Poll::Ready(read)
            }
            Poll::Pending if this.waits_for == WaitsFor::Answer => Poll::Pending,
            Poll::Pending => this.wait(cx),
        }
    }
}

impl AsyncWrite for Timed {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        match Pin::new(&mut this.stream).poll_write(cx, bytes) {
            Poll::Ready(written) => {
                this.waits_for = WaitsFor::Answer;
                Poll::Ready(written)
            }
            Poll::Pending => {
                this.wait_for(WaitsFor::Client);
                this.wait(cx)
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
