//! Accepts connections: a bounded number, each from a known user, and none that only waits.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

use crate::peer;

/// How long a client may take to send the head of a request, and then its body.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection stays open without a request, and how long a client may take to accept an answer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// After a failure to accept one, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Door<S> {
    socket: S,
    free: Arc<Semaphore>,
}

/// A socket that accepts connections, and knows who is at their other end.
pub(crate) trait Socket: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    type Address: Send;
    /// Connections at a time; more wait until one is closed.
    const CONNECTIONS_MAX: usize;

    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Stream, Self::Address)>> + Send;

    fn address(&self) -> io::Result<Self::Address>;

    /// The user at the other end; `None` if the system does not say.
    fn user(stream: &Self::Stream, address: &Self::Address) -> Option<u32>;
}

impl Socket for TcpListener {
    type Stream = TcpStream;
    type Address = std::net::SocketAddr;
    const CONNECTIONS_MAX: usize = 128;

    async fn accept(&mut self) -> io::Result<(TcpStream, Self::Address)> {
        TcpListener::accept(self).await
    }

    fn address(&self) -> io::Result<Self::Address> {
        self.local_addr()
    }

    fn user(stream: &TcpStream, address: &Self::Address) -> Option<u32> {
        stream.local_addr().ok().and_then(|here| peer::user_of(*address, here))
    }
}

impl Socket for UnixListener {
    type Stream = UnixStream;
    type Address = tokio::net::unix::SocketAddr;
    const CONNECTIONS_MAX: usize = 16;

    async fn accept(&mut self) -> io::Result<(UnixStream, Self::Address)> {
        UnixListener::accept(self).await
    }

    fn address(&self) -> io::Result<Self::Address> {
        self.local_addr()
    }

    fn user(stream: &UnixStream, _: &Self::Address) -> Option<u32> {
        stream.peer_cred().ok().map(|peer| peer.uid())
    }
}

/// What a request knows about its connection.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// `None` if the system does not say who is at the other end.
    pub(crate) user: Option<u32>,
    answering: Arc<AtomicBool>,
}

/// A connection that fails once it has waited for too long.
pub(crate) struct Timed<T> {
    stream: T,
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

impl<S: Socket> Door<S> {
    pub(crate) fn new(socket: S) -> Self {
        Self { socket, free: Arc::new(Semaphore::new(S::CONNECTIONS_MAX)) }
    }

    async fn next(&mut self) -> (S::Stream, S::Address) {
        loop {
            match self.socket.accept().await {
                Ok(accepted) => return accepted,
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }
}

impl<S: Socket> Listener for Door<S> {
    type Io = Timed<S::Stream>;
    type Addr = S::Address;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let place = self.free.clone().acquire_owned().await.expect("BUG: the semaphore is never closed");
        let (stream, address) = self.next().await;
        let connection = Connection { user: S::user(&stream, &address), answering: Arc::default() };
        let timer = Box::pin(sleep(IDLE_TIMEOUT));
        (Timed { stream, timer, waits_for: WaitsFor::Request, connection, _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.socket.address()
    }
}

impl<S: Socket> Connected<IncomingStream<'_, Door<S>>> for Connection {
    fn connect_info(stream: IncomingStream<'_, Door<S>>) -> Self {
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

impl<T> Timed<T> {
    /// Starts the time for what is waited for now, unless it is running already.
    fn wait_for(&mut self, what: WaitsFor) {
        if self.waits_for != what {
            self.waits_for = what;
            let time = if what == WaitsFor::RestOfHead { REQUEST_TIMEOUT } else { IDLE_TIMEOUT };
            self.timer.as_mut().reset(Instant::now() + time);
        }
    }

    /// Waits on, or fails if the time is up.
    fn wait<A>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<A>> {
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Timed<T> {
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

impl<T: AsyncWrite + Unpin> AsyncWrite for Timed<T> {
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
