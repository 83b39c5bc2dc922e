//! One task of a loop: taken, given to the agent, judged by what became of it.

use std::time::{Duration, Instant};

use contract::continuity::TaskView;
use contract::continuity::state::TaskState;
use contract::domain::code::ErrorCode;
use contract::domain::scope::Scope;
use contract::domain::time::contract_duration;
use engine::sandbox::OpenSandbox;
use engine::supervisor::InForce;
use ops::resume::peek;
use ops::task::set_status::{Request as Move, set_status};
use ops::{Context, Error, Result};

use super::call::AgentCall;
use super::child::{self, Ending};
use super::progress::Progress;
use super::tally::Outcome;
use super::verdict::{Verdict, judge};
use super::{Loop, prompt};
use crate::child::Child;
use crate::confined::{self, ConfinedTask, task_of_agent};
use crate::env;
use crate::output::{one_line, say};
use crate::persona::{self, Persona};

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
    let begun = Instant::now();
    let (status, reason) = attempts(job, cx, (&task, &resumed.prompt), number)?;
    let duration = contract_duration(begun.elapsed());
    let (task_id, task_title) = (task.id, task.title);
    Ok(Some(Outcome { task_id, task_title, status, duration, argv: Vec::new(), reason }))
}

/// Whether there is a next task. Nothing is taken yet.
pub(super) fn is_ready(job: &Loop<'_>, cx: &mut Context) -> Result<bool> {
    let request = peek::Request {
        agent: job.caller.agent.as_str().to_owned(),
        project_dir: job.project.clone(),
        limit: Some(DELTAS_MAX),
        ..peek::Request::default()
    };
    Ok(peek::look(cx, &job.session, &request)?.0.brief.task.is_some())
}

/// Runs the agent until the task is closed or its attempts are used up. Returns the status, and why it is not done.
fn attempts(
    job: &Loop<'_>,
    cx: &mut Context,
    (task, context): (&TaskView, &str),
    number: u32,
) -> Result<(&'static str, Option<String>)> {
    let mut failed: Option<String> = None;
    let mut attempt = 1;
    loop {
        let mut progress = Progress::new(&title(task), job.command.program());
        let prompt = prompt::text(context, failed.as_deref());
        let worked = work(job, cx, (&task.id, &prompt), &mut progress);
        progress.end();
        let (ending, in_force) = match worked {
            Ok(worked) => worked,
            // Nothing is wrong with the task, so another agent can take it.
            Err(error) => {
                give_back(job, cx, number)?;
                return Err(error);
            }
        };
        if let (Some(sandboxes), Some(in_force)) = (&job.sandboxes, &in_force) {
            let task = ConfinedTask { shown: &task.id, id: &task.id, project: job.project.as_deref() };
            confined::tell(cx, &job.caller, &task, (sandboxes, in_force));
        }
        if let Ending::NotStarted(why) = &ending {
            give_back(job, cx, number)?;
            return Err(child::unstartable(job.command.name(), why));
        }
        let step = format!("{number}_{attempt}");
        match judge(job, cx, (&task.id, &ending, progress.last()), &step)? {
            Verdict::Ended(status) => return Ok((status, None)),
            Verdict::Blocked(reason) => return Ok(("blocked", reason)),
            Verdict::Open { reason, may_retry: true, .. }
                if attempt < job.args.attempts && job.stop.raised().is_none() =>
            {
                say(&format!("{}  attempt {attempt} failed: {}\n", task.id, first_line(&reason)));
                failed = Some(reason);
                attempt += 1;
            }
            Verdict::Open { status, reason, .. } => {
                block(job, cx, (&task.id, &reason), &step)?;
                return Ok((status, Some(reason)));
            }
        }
    }
}

fn title(task: &TaskView) -> String {
    format!("{}  {}", task.id, one_line(&task.title))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn work(
    job: &Loop<'_>,
    cx: &mut Context,
    (id, prompt): (&str, &str),
    progress: &mut Progress,
) -> Result<(Ending, Option<InForce>)> {
    let mut renewed = Instant::now();
    let inside = task_of_agent(id, id, &job.caller)?;
    let directories = job.sandboxes.as_ref().map(|sandboxes| sandboxes.directories(inside));
    let call = job.command.call(job, (id, prompt), directories.as_ref())?;
    let mut child = child(job, id, &call);
    let everything = [Scope::everything()];
    let opened = directories
        .map(|directories| confined::open(directories, &everything, (&child.argv, &mut child.environment)));
    let opened = opened.transpose()?;
    child.sandbox = opened.as_ref().map(OpenSandbox::sandbox);
    let ended = child::run(child, &job.stop, progress, || {
        if renewed.elapsed() >= RENEWAL {
            renewed = Instant::now();
            // A renewal that fails is tried again a minute later, long before the lease is over.
            ops::agent::renew(cx, &job.caller).ok();
        }
    });
    // The prompt's file, the socket and the private directories are needed until here.
    drop((call.prompt, opened));
    Ok(ended)
}

fn child(job: &Loop<'_>, id: &str, call: &AgentCall) -> Child {
    let mut environment = env::inherited();
    job.command.add_environment(&mut environment);
    // What the agent and its hooks call must find the same store, under the same identity.
    for name in ["WRIT_DB", "VYBE_DB_PATH"] {
        environment.insert(name.into(), job.store.clone().into_os_string());
    }
    for name in ["WRIT_AGENT", "VYBE_AGENT"] {
        environment.insert(name.into(), job.caller.agent.as_str().into());
    }
    if persona::current() == Persona::Writ {
        environment.insert("WRIT_TASK".into(), id.into());
        // Some agents run their tools on a terminal, where people get text.
        environment.insert("WRIT_OUTPUT".into(), "json".into());
    }
    if job.args.spawn_disable_hooks {
        for name in ["VYBE_RETRO_CHILD", "VYBE_DISABLE_EXTERNAL_LLM"] {
            environment.insert(name.into(), "1".into());
        }
    }
    Child {
        argv: call.argv.iter().map(Into::into).collect(),
        directory: job.directory.clone(),
        environment,
        input: call.input.clone(),
        timeout: job.args.task_timeout,
        namespace: job.args.namespace,
        sandbox: None,
    }
}

/// Releases the task, so that the next agent can take it.
fn give_back(job: &Loop<'_>, cx: &mut Context, number: u32) -> Result<()> {
    let key = job.key(&format!("{number}_leave"))?;
    ops::agent::leave(cx, &key, &ops::agent::Request::default()).map(|_| ())
}

/// A task that was left open is marked, or the loop would take it again and again.
fn block(job: &Loop<'_>, cx: &mut Context, (id, reason): (&str, &str), step: &str) -> Result<()> {
    let request =
        Move { id: id.to_owned(), status: TaskState::Blocked, blocked_reason: Some(reason.to_owned()) };
    match set_status(cx, &job.key(&format!("{step}_block"))?, &request) {
        // Somebody else took it meanwhile, and it is theirs to close.
        Ok(_) | Err(Error { code: ErrorCode::HeldByAnother, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
