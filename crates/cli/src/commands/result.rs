//! `writ result`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::scope::Scope;
use contract::json::Value;
use engine::ground::{Disk, snapshot};
use engine::verify::{CheckLocation, run_all};
use ops::result::submit::{Request, submit};
use ops::result::{Judged, Observation, judge};
use ops::{Context, Error, Result, heartbeat};

use super::assignment::dollars;
use super::crew::read_document;
use crate::app::Globals;
use crate::output::Output;
use crate::{config, env, host};

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Submit a worker's result; done is granted after writ ran the checks itself
    Submit {
        /// The result; - for standard input
        #[arg(default_value = "-")]
        file: PathBuf,
        /// The token of the assignment [default: the document's x_fencing_token]
        #[arg(long)]
        token: Option<i64>,
        /// What was spent, in dollars [default: all that was reserved]
        #[arg(long, value_name = "USD")]
        cost: Option<f64>,
        /// What was spent, in tokens [default: all that was reserved]
        #[arg(long, value_name = "COUNT")]
        tokens: Option<i64>,
        /// Refuse a task whose worklog was not kept, and one that did not finish and does not say why there
        #[arg(long)]
        strict: bool,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let Command::Submit { file, token, cost, tokens, strict } = command;
    let mut request = Request {
        document: read_document(file)?,
        token: *token,
        cost: cost.map(dollars).transpose()?,
        tokens: *tokens,
        strict: *strict,
        seen: Observation::default(),
    };
    let key = host::any_key(globals)?;
    let mut cx = host::open(globals)?;
    if !cx.was_answered(&key)? {
        let judged = judge(&mut cx, &request.document, *token, &Disk)?;
        request.seen = kept_alive(globals, &judged, || look(&mut cx, &judged))?;
    }
    let given = submit(&mut cx, &key, &request, &Disk)?;
    let answer = &given.answer;
    Ok(output.answer(answer, || {
        let evidence = answer.evidence.map(|evidence| format!(", {}", evidence.as_str())).unwrap_or_default();
        format!("{} is {}{evidence}", answer.task_id, answer.status)
    }))
}

/// Does the work while the sender of a result is heard of: it has said all it has to say, and what it holds must not be
/// taken for abandoned because writ is still looking.
fn kept_alive<A>(globals: &Globals, judged: &Judged, work: impl FnOnce() -> A) -> A {
    std::thread::scope(|scope| {
        let (working, done) = mpsc::channel::<()>();
        scope.spawn(move || beat(globals, judged, &done));
        let answer = work();
        drop(working);
        answer
    })
}

/// Says that the worker lives, until the channel is closed. What is judged quickly is not worth a word.
fn beat(globals: &Globals, judged: &Judged, done: &mpsc::Receiver<()>) {
    const FIRST: Duration = Duration::from_secs(1);
    let packet = &judged.issued.packet;
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let request = heartbeat::Request {
        run: word(&packet["run_id"]),
        task: word(&packet["task"]["task_id"]),
        token: judged.issued.token,
        at: None,
    };
    let interval = packet["task"]["heartbeat_interval_seconds"].as_u64().unwrap_or(5);
    let mut wait = FIRST;
    while done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        // One that could not be said is said at the next turn; the result counts from when it came in any case.
        host::open(globals).and_then(|mut cx| heartbeat::heartbeat(&mut cx, &request)).ok();
        wait = Duration::from_secs(interval.max(1));
    }
}

/// Looks at the files in scope as the worker left them, and runs the author's checks here and now.
fn look(cx: &mut Context, judged: &Judged) -> Result<Observation> {
    let workspace = Path::new(&judged.workspace);
    // One that was interrupted before its snapshot was kept has its result judged without one.
    let files =
        judged.issued.snapshot.as_ref().map(|_| snapshot(workspace, &scopes(&judged.issued.packet, judged)));
    let checks = match judged.result.status {
        contract::operator::Outcome::Done => check(cx, judged, workspace)?,
        contract::operator::Outcome::Blocked | contract::operator::Outcome::Failed => Vec::new(),
    };
    Ok(Observation { checks, files, arrived: Some(judged.arrived.clone()) })
}

fn scopes(packet: &Value, judged: &Judged) -> Vec<Scope> {
    let serial = packet["task"]["type"] == "serial";
    let texts = packet["task"]["lock_scope"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let texts: Vec<&str> = if serial { vec!["."] } else { texts.collect() };
    let links = ops::crew::Ground::links(&Disk, &judged.workspace, &texts);
    let root = Some(judged.workspace.as_str());
    texts.into_iter().filter_map(|text| Scope::parse(text, root).ok()?.follow(&links, root).ok()).collect()
}

fn check(
    cx: &mut Context,
    judged: &Judged,
    workspace: &Path,
) -> Result<Vec<contract::domain::check::CheckSeen>> {
    let task = ops::task::get::get(cx, judged.issued.task_id.as_str())?;
    let Some(part) = task.part.filter(|part| !part.spec.checks.is_empty()) else { return Ok(Vec::new()) };
    let run = ops::run::show::state(cx, &part.run_id)?;
    if let Some(reason) = engine::denial(&run.asked, &config::load(workspace)?.policy) {
        return Err(Error::new(ErrorCode::Denied, reason));
    }
    let (environment, shim, now) = (env::inherited(), host::shim(), cx.now().at);
    let place =
        CheckLocation { launcher: &shim, workspace, environment: &environment, task_env: &part.spec.env };
    Ok(run_all(&part.spec.checks, &place, &mint(cx.ids(), now)))
}
