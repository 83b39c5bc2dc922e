//! `writ executors test`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::domain::attempt::Attempt;
use contract::domain::code::ErrorCode;
use contract::domain::id::Id;
use contract::plan::executor;
use contract::secrets::scrub;
use engine::ExecutorKind;
use ops::run::document::DocumentInput;
use ops::run::submit::{Request, Submit};
use ops::{Error, Result, verb};
use serde::Serialize;
use serde_json::json;

use super::list::{Listed, listed};
use crate::app::Globals;
use crate::output::{Output, say};
use crate::{config, host};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor, as a plan names it
    name: String,
    /// The model to use [default: the executor's]
    #[arg(long)]
    model: Option<String>,
    /// Say nothing about the model call that is made
    #[arg(long)]
    yes: bool,
}

const PROMPT: &str = "Answer with the one word `ready`. Call no tools and change no files.";
/// An answer of one word takes seconds; programs start slowly.
const TIMEOUT: &str = "5m";

/// One step of the test.
#[derive(Debug, Serialize)]
struct Step {
    step: &'static str,
    passed: bool,
    told: String,
}

pub(super) fn run(args: &Args, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let here = host::absolute(".".into());
    let config = config::load(&here)?;
    let executors = listed(&config, &here);
    let Some(chosen) = executors.iter().find(|each| each.name == args.name) else {
        let message = format!("the executor {}", executor::unknown(&args.name, &config.executors.known));
        return Err(Error::new(ErrorCode::NotFound, message).hint("`writ executors list` shows all"));
    };
    if chosen.kind == ExecutorKind::Shell.as_str() || chosen.command.is_empty() {
        let message = format!("`{}` has no program of its own that could be tested", args.name);
        return Err(Error::new(ErrorCode::InvalidInput, message));
    }
    if !args.yes {
        say(&format!("one task for `{}`, which makes a call to its model\n", args.name));
    }
    let scratch = Scratch::make(globals)?;
    let steps = tried(args, chosen, globals, &scratch.0)?;
    let passed = steps.iter().all(|step| step.passed);
    let data = json!({"executor": args.name, "passed": passed, "steps": steps});
    let code = output.answer(&data, || {
        let line = |step: &Step| {
            let mark = if step.passed { "ok" } else { "failed" };
            format!("{:<10} {mark:<7} {}\n", step.step, step.told)
        };
        steps.iter().map(line).collect()
    });
    Ok(if passed { code } else { ExitCode::FAILURE })
}

/// Runs the task with a store of its own, which goes away with its directory.
fn tried(args: &Args, chosen: &Listed, globals: &Globals, scratch: &Path) -> Result<Vec<Step>> {
    let workspace = scratch.join("workspace");
    let mut task = json!({"id": "test", "executor": args.name, "prompt": PROMPT, "timeout": TIMEOUT});
    if let Some(model) = &args.model {
        task["model"] = json!(model);
    }
    let plan = json!({"objective": "Test an executor", "workspace": workspace, "task": [task]});
    let globals = Globals { db_path: Some(scratch.join("writ.db")), ..globals.clone() };
    let mut cx = host::open_silently(&globals, Box::new(|_| {}))?;
    let request = Request {
        document: DocumentInput::Text(plan.to_string()),
        directory: host::absolute(".".into()).to_string_lossy().into_owned(),
        name: Some("the test".to_owned()),
        executor: None,
        map: std::collections::BTreeMap::new(),
        reopen: false,
        lock_wait_ms: None,
        // A limit is the result of the test.
        limit_wait_ms: Some(0),
        depth: 1,
        parent_run: None,
        parent_task: None,
    };
    let session = host::any_session(&globals)?;
    let answer = verb::call::<Submit>(&mut cx, &session, &request)?.answer;
    let task = &answer.0["tasks"][0];
    let id = task["id"].as_str().and_then(|id| Id::parse(id).ok());
    let attempts = id.map(|id| ops::task::get::attempts(&mut cx, &id)).transpose()?.unwrap_or_default();
    let reason = task["reason"].as_str().unwrap_or_default();
    Ok(steps(chosen, attempts.last(), reason))
}

fn steps(chosen: &Listed, attempt: Option<&Attempt>, reason: &str) -> Vec<Step> {
    let command = chosen.command.join(" ");
    let outcome = attempt.and_then(|attempt| attempt.outcome.as_ref());
    let step = |step, passed, told: &str| Step { step, passed, told: scrub(told).into_owned() };
    let Some(outcome) = outcome else { return vec![step("started", false, reason)] };
    let code = outcome.code.as_deref().unwrap_or_default();
    if code == "E_AGENT_NOT_FOUND" {
        return vec![step("started", false, &format!("{code}: {}", outcome.message))];
    }
    let mut steps = vec![step("started", true, &command)];
    if !code.is_empty() {
        steps.push(step("answered", false, &format!("{code}: {}", outcome.message)));
        return steps;
    }
    steps.push(step("answered", true, outcome.message.lines().next().unwrap_or_default()));
    if let Some(session) = &outcome.agent_session {
        steps.push(step("resumable", true, &format!("conversation {session}")));
    }
    let tokens = outcome.tokens.map(|tokens| format!("{tokens} tokens"));
    let cost = outcome.cost.map(|cost| cost.to_string());
    let used: Vec<String> = tokens.into_iter().chain(cost).collect();
    let told = if used.is_empty() { "it does not say what it used".to_owned() } else { used.join(", ") };
    steps.push(step("used", true, &told));
    steps
}

/// An empty directory beside the store, which goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn make(globals: &Globals) -> Result<Self> {
        let store = host::absolute(host::store_path(globals)?);
        let name = format!("executor-test-{}", std::process::id());
        let directory = store.parent().unwrap_or(Path::new("/")).join(name);
        let made = std::fs::create_dir_all(directory.join("workspace"));
        made.map_err(|error| {
            Error::new(ErrorCode::Io, format!("could not make {}: {error}", directory.display()))
        })?;
        Ok(Self(directory))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Leftovers are harmless.
        std::fs::remove_dir_all(&self.0).ok();
    }
}
