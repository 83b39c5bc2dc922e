//! One task of a loop: taken, given to the agent, judged by what became of it.

use std::time::{Duration, Instant};

use contract::continuity::state::TaskState;
use contract::domain::code::ErrorCode;
use contract::domain::status::Status;
use contract::domain::time::{contract_duration, human_duration};
use ops::task::set_status::{Request as Move, set_status};
use ops::{Context, Error, Result};

use super::child::{self, Child, Ending};
use super::prompt::Prompt;
use super::tally::Outcome;
use super::{Loop, prompt};
use crate::env;
use crate::output::say;

/// How often the claim is renewed while the agent works: well inside its lease.
const RENEWAL: Duration = Duration::from_secs(60);
/// Events that are handed over with a task.
const DELTAS_MAX: i64 = 100;

/// Takes the next task and has it done. `None` when there is nothing to do.
pub(super) fn take(job: &Loop<'_>, cx: &mut Context, number: u32) -> Result<Option<Outcome>> {
    let request = ops::resume::Request {
        project_dir: job.project.clone(),
        limit: Some(DELTAS_MAX),
        ..ops::resume::Request::default()
    };
    let resumed = ops::resume::resume(cx, &job.key(&number.to_string())?, &request)?.answer;
    let Some(task) = resumed.brief.task else { return Ok(None) };
    let prompt = Prompt::write(&resumed.prompt)?;
    let begun = Instant::now();
    let mut renewed = Instant::now();
    let ending = child::run(child(job, &prompt), &job.stop, || {
        if renewed.elapsed() >= RENEWAL {
            renewed = Instant::now();
            // A renewal that fails is tried again a minute later, long before the lease is over.
            ops::agent::renew(cx, &job.caller).ok();
        }
    });
    drop(prompt);
    if let Ending::NotStarted(why) = &ending {
        give_back(job, cx, number)?;
        return Err(child::unstartable(&job.words[0], why));
    }
    let status = judge(job, cx, &task.id, &ending, number)?;
    let duration = contract_duration(begun.elapsed());
    Ok(Some(Outcome { task_id: task.id, task_title: task.title, status, duration }))
}

fn child(job: &Loop<'_>, prompt: &Prompt) -> Child {
    let mut environment = env::inherited();
    // What the agent and its hooks call must find the same store, under the same identity.
    for name in ["WRIT_DB", "VYBE_DB_PATH"] {
        environment.insert(name.into(), job.store.clone().into_os_string());
    }
    for name in ["WRIT_AGENT", "VYBE_AGENT"] {
        environment.insert(name.into(), job.caller.agent.as_str().into());
    }
    if job.args.spawn_disable_hooks {
        for name in ["VYBE_RETRO_CHILD", "VYBE_DISABLE_EXTERNAL_LLM"] {
            environment.insert(name.into(), "1".into());
        }
    }
    let words =
        prompt::words(&job.words, job.project.as_deref(), prompt.path(), job.args.spawn_disable_hooks);
    Child {
        argv: words.into_iter().map(Into::into).collect(),
        directory: job.directory.clone(),
        environment,
        input: Vec::new(),
        timeout: job.args.task_timeout,
    }
}

/// Releases the task, so that the next agent can take it.
fn give_back(job: &Loop<'_>, cx: &mut Context, number: u32) -> Result<()> {
    let key = job.key(&format!("{number}_leave"))?;
    ops::agent::leave(cx, &key, &ops::agent::Request::default()).map(|_| ())
}

/// What became of the task. One that the agent left open is marked, or the loop would take it again and again.
fn judge(job: &Loop<'_>, cx: &mut Context, id: &str, ending: &Ending, number: u32) -> Result<&'static str> {
    let task = match ops::task::get::get(cx, id) {
        Ok(task) => task,
        Err(error) if error.code == ErrorCode::NotFound => return Ok("gone"),
        Err(error) => return Err(error),
    };
    match (task.status, ending) {
        (Status::Done, _) => return Ok("completed"),
        (Status::Blocked | Status::Failed | Status::Canceled, _) => return Ok("blocked"),
        (Status::Todo | Status::InProgress, Ending::Interrupted) => {
            give_back(job, cx, number)?;
            return Ok("interrupted");
        }
        (
            Status::Todo | Status::InProgress,
            Ending::Exited(_) | Ending::Timeout | Ending::Fault(_) | Ending::NotStarted(_),
        ) => {}
    }
    let (status, reason) = match ending {
        Ending::Timeout => {
            ("timeout", format!("failure:timed out after {}", human_duration(job.args.task_timeout)))
        }
        Ending::Fault(message) | Ending::NotStarted(message) => {
            say(&format!("{}: {message}\n", job.words[0]));
            ("error", format!("failure:{message}"))
        }
        Ending::Exited(_) | Ending::Interrupted => {
            ("blocked", "failure:agent exited without completing".to_owned())
        }
    };
    let request = Move { id: id.to_owned(), status: TaskState::Blocked, blocked_reason: Some(reason) };
    match set_status(cx, &job.key(&format!("{number}_block"))?, &request) {
        Ok(_) => Ok(status),
        // Somebody else took it meanwhile, and it is theirs to close.
        Err(Error { code: ErrorCode::HeldByAnother, .. }) => Ok(status),
        Err(error) => Err(error),
    }
}
