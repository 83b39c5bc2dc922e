//! Routes, and who may call them.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::json::Value;
use ops::registry::VERBS;
use ops::{Context, Error, Result};
use serde_json::json;
use tokio::net::TcpListener;

use crate::door::{Connection, Door, REQUEST_TIMEOUT};
use crate::reader::StoreReader;
use crate::status::refuse;

/// The header with the id under which a retry is recognized.
pub const REQUEST_ID: &str = "writ-request-id";
/// How long open connections may take after a stop request.
const GRACE: Duration = Duration::from_secs(5);

/// A server that listens but does not yet answer.
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    reader: StoreReader,
    pub address: SocketAddr,
}

/// Listens on `address`. The store is opened here, so that a broken one is reported before anyone connects.
pub fn bind(address: SocketAddr, open: impl FnOnce() -> Result<Context> + Send + 'static) -> Result<Server> {
    let io =
        |error: std::io::Error| Error::new(ErrorCode::Io, format!("could not listen on {address}: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io)?;
    let reader = StoreReader::start(open)?;
    let listener = runtime.block_on(TcpListener::bind(address)).map_err(io)?;
    let address = listener.local_addr().map_err(io)?;
    Ok(Server { runtime, listener, reader, address })
}

impl Server {
    /// Answers only the user with the id `owner`, until `stop` returns true; it is called several times a second.
    pub fn serve(self, owner: u32, stop: impl Fn() -> bool + Send + Sync + 'static) -> Result<()> {
        let app = routes(self.reader, owner, self.address.port())
            .into_make_service_with_connect_info::<Connection>();
        let stop = std::sync::Arc::new(stop);
        let stopped = move || {
            let stop = stop.clone();
            async move {
                while !stop() {
                    tokio::time::sleep(limits::POLL_INTERVAL).await;
                }
            }
        };
        let io = |error: std::io::Error| Error::new(ErrorCode::Io, format!("the server failed: {error}"));
        self.runtime.block_on(async {
            let serving = axum::serve(Door::new(self.listener), app).with_graceful_shutdown(stopped());
            tokio::select! {
                served = async { serving.await } => served.map_err(io),
                () = async { stopped().await; tokio::time::sleep(GRACE).await } => Ok(()),
            }
        })
    }
}

/// Whatever answers the requests of a door.
pub(crate) trait Answers: Clone + Send + Sync + 'static {
    fn ask(&self, call: HttpCall) -> impl Future<Output = Result<Value>> + Send;
}

/// One request.
pub(crate) struct HttpCall {
    pub(crate) operation: String,
    pub(crate) request: Value,
    /// Under which a retry of the request is recognized.
    pub(crate) request_id: Option<String>,
}

/// The routes of every door. `port` is the one in its address, where it has one.
pub(crate) fn routes<A: Answers>(answers: A, owner: u32, port: u16) -> Router {
    let only_local = move |request: Request, next: Next| only_local_names(port, request, next);
    let only_owner = move |connection: ConnectInfo<Connection>, request: Request, next: Next| async move {
        answer_owner(owner, connection.0, request, next).await
    };
    Router::new()
        .route("/healthz", get(|| async { Json(json!({"ok": true})) }))
        .route("/v1/operations", get(operations))
        .route("/v1/{operation}", post(call::<A>))
        .layer(middleware::from_fn(only_owner))
        .layer(middleware::from_fn(only_local))
        .with_state(answers)
}

/// Guards against DNS rebinding and cross-site requests: web pages of other hosts must not reach this server.
async fn only_local_names(port: u16, request: Request, next: Next) -> Response {
    // A target with a host in it (`GET http://example.org/`) counts more than the header.
    let target_is_local = request.uri().authority().is_none_or(|target| is_here(target.as_str(), port));
    if target_is_local && stays_local(request.headers(), port) {
        return next.run(request).await;
    }
    refuse(&Error::new(ErrorCode::Denied, "only requests from this machine to this machine are answered"))
}

/// Until there are tokens, only the user who owns the store's file may read it here.
async fn answer_owner(owner: u32, connection: Connection, request: Request, next: Next) -> Response {
    let _answering = connection.answering();
    let message = match connection.user {
        Some(user) if user == owner => return next.run(request).await,
        Some(user) => format!(
            "only the store's owner (uid {owner}) may use this server; the request came from uid {user}"
        ),
        None => {
            format!("only the store's owner (user {owner}) is answered, and the system does not say who asks")
        }
    };
    refuse(&Error::new(ErrorCode::Denied, message))
}

/// A header that is there twice may be read differently by the next reader, so it is refused.
fn stays_local(headers: &HeaderMap, port: u16) -> bool {
    let texts = |name| -> Vec<Option<&str>> {
        headers.get_all(name).iter().map(|value| value.to_str().ok()).collect()
    };
    let host_is_local = matches!(texts(HOST)[..], [Some(host)] if is_here(host, port));
    let origin_is_local = match texts(ORIGIN)[..] {
        [] => true,
        [Some(origin)] => origin.split_once("://").is_some_and(|(_, authority)| is_here(authority, port)),
        _ => false,
    };
    host_is_local && origin_is_local
}

/// Whether this names this machine, and this server's port if it names one. Nothing else may be in it.
fn is_here(authority: &str, port: u16) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| match authority.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.strip_prefix(':').is_some_and(|said| said == port.to_string()),
        None => false,
    })
}

async fn operations() -> Json<Value> {
    let list: Vec<Value> = VERBS
        .iter()
        .map(|verb| {
            json!({"name": verb.name, "summary": verb.summary, "mutates": verb.effect.mutates(),
                   "effect": verb.effect.as_str(), "request": (verb.request_schema)(),
                   "answer": (verb.answer_schema)()})
        })
        .collect();
    Json(json!({"operations": list}))
}

/// The whole body, if it is not too large and arrives in time.
async fn whole(body: Body) -> Result<Vec<u8>> {
    let max = limits::DOCUMENT_BYTES_MAX;
    match tokio::time::timeout(REQUEST_TIMEOUT, to_bytes(body, max)).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(_)) => {
            Err(Error::new(ErrorCode::TooLarge, format!("the body has more than {max} bytes or was cut off")))
        }
        Err(_) => {
            let seconds = REQUEST_TIMEOUT.as_secs();
            Err(Error::new(
                ErrorCode::InvalidInput,
                format!("the body did not arrive within {seconds} seconds"),
            ))
        }
    }
}

async fn call<A: Answers>(
    State(answers): State<A>,
    Path(operation): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let body = match whole(body).await {
        Ok(body) => body,
        Err(error) => return refuse(&error),
    };
    let request = if body.is_empty() { Ok(json!({})) } else { contract::json::strict::parse(&body) };
    let request = match request {
        Ok(request) => request,
        Err(fault) => {
            let place = format!("line {}, column {}", fault.line, fault.column);
            let message = format!("the body is not JSON: {}: {place}", fault.message);
            return refuse(&Error::new(ErrorCode::InvalidInput, message));
        }
    };
    let request_id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    match answers.ask(HttpCall { operation, request, request_id }).await {
        Ok(data) => Json(json!({"data": data})).into_response(),
        Err(error) => refuse(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::is_here;

    #[test]
    fn only_names_of_this_machine_with_this_port_are_here() {
        for here in ["localhost", "localhost:7777", "127.0.0.1:7777", "[::1]:7777", "127.0.0.1"] {
            assert!(is_here(here, 7777), "{here}");
        }
        for other in [
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "",
            "[::2]:7777",
            "::1",
            "localhost:1",
            "localhost:",
            "localhost:07777",
            "127.0.0.1:7777@example.org",
            "user@localhost:7777",
        ] {
            assert!(!is_here(other, 7777), "{other}");
        }
    }
}
