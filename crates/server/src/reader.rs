//! One thread owns the store and answers requests one after the other.

use std::sync::mpsc;

use contract::domain::code::ErrorCode;
use contract::json::Value;
use ops::registry::find;
use ops::verb::Effect;
use ops::{Context, Error, Result, Session};
use tokio::sync::oneshot;

use crate::http::{Answers, HttpCall};

/// Requests that may wait for the store; more are refused as busy.
const WAITING_MAX: usize = 256;

struct ReadRequest {
    operation: String,
    request: Value,
    answer: oneshot::Sender<Result<Value>>,
}

/// A cheap handle to the thread. The thread ends when the last handle is gone.
#[derive(Clone)]
pub(crate) struct StoreReader {
    asked: mpsc::SyncSender<ReadRequest>,
}

impl StoreReader {
    /// `open` runs on the new thread, because a store belongs to one thread.
    pub(crate) fn start(open: impl FnOnce() -> Result<Context> + Send + 'static) -> Result<Self> {
        let (asked, questions) = mpsc::sync_channel::<ReadRequest>(WAITING_MAX);
        let (opened, open_result) = mpsc::channel();
        let body = move || match open() {
            Ok(mut cx) => {
                opened.send(Ok(())).ok();
                for question in questions {
                    // The client may have disconnected.
                    question.answer.send(answer(&mut cx, &question.operation, question.request)).ok();
                }
            }
            Err(error) => {
                opened.send(Err(error)).ok();
            }
        };
        let lost = || Error::new(ErrorCode::Bug, "the store's thread could not be started");
        std::thread::Builder::new().name("store".to_owned()).spawn(body).map_err(|_| lost())?;
        open_result.recv().map_err(|_| lost())??;
        Ok(Self { asked })
    }
}

impl Answers for StoreReader {
    async fn ask(&self, HttpCall { operation, request, .. }: HttpCall) -> Result<Value> {
        let (answer, answered) = oneshot::channel();
        let busy = || Error::new(ErrorCode::Busy, "too many requests are waiting for the store");
        self.asked.try_send(ReadRequest { operation, request, answer }).map_err(|_| busy())?;
        answered.await.map_err(|_| Error::new(ErrorCode::Bug, "the store's thread has ended"))?
    }
}

fn answer(cx: &mut Context, name: &str, request: Value) -> Result<Value> {
    let operation = find(name).ok_or_else(|| Error::not_found("operation", name))?;
    match operation.effect {
        Effect::Reads => Ok((operation.call)(cx, &Session::reader(), request)?.answer),
        Effect::Once | Effect::Repeatable => {
            let message = format!("`{name}` changes something, and the server only reads");
            Err(Error::new(ErrorCode::Denied, message).hint("use the command line"))
        }
    }
}
