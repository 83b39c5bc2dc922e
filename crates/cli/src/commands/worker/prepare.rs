//! What a worker settles before its first task: its name, its run, and that its command can start.

use std::path::PathBuf;

use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use contract::domain::limits;
use contract::domain::request::Agent;
use contract::domain::time::Clock;
use engine::worker::{WorkerBounds, WorkerSettings};
use ops::ledger::show;
use ops::names::{self, LAST, run_id};
use ops::{Caller, Context, Error, Result, Session};

use super::RunArgs;
use crate::app::Globals;
use crate::clock::SystemClock;
use crate::minter::RandomIds;
use crate::{env, host};

pub(super) fn prepared(args: &RunArgs, globals: &Globals, cx: &mut Context) -> Result<WorkerSettings> {
    let invalid = |message: String| Error::new(ErrorCode::InvalidInput, message);
    let owner = args.owner.clone().or_else(|| host::agent_name(globals));
    let owner = owner.ok_or_else(|| invalid("the worker has no name; set --owner".to_owned()))?;
    let agent = Agent::parse(&owner).map_err(|error| invalid(format!("--owner: {error}")))?;
    let session = Session { caller: Caller::agent(agent), ..host::reader(globals) };
    let run = if args.run == LAST { run_id(cx, &session, LAST)?.to_string() } else { args.run.clone() };
    let shown = show::show(cx, &show::Request { run })?;
    let task = args
        .task
        .as_deref()
        .map(|task| names::reference_in(cx, &session, &shown.run_id, task))
        .transpose()?;
    let workspace = PathBuf::from(&shown.workspace);
    if !workspace.is_dir() {
        return Err(invalid(format!("the run's workspace {} is not a directory", workspace.display())));
    }
    let program = args.command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    if !env::can_start(&program, &workspace) {
        let message = format!("could not start `{program}`: there is no such program");
        return Err(Error::new(ErrorCode::Io, message).hint("name a program after --; no task was taken"));
    }
    let millis = SystemClock::new().now().at.millis();
    let repeats = args.again || args.max.is_some();
    Ok(WorkerSettings {
        programs: host::program_settings(globals, args.namespace)?,
        session,
        run: shown.run_id,
        task,
        workspace,
        // Request ids are secret: with them its tokens can be read again.
        name: format!("worker_{millis}_{:032x}", RandomIds.random_bits()),
        command: args.command.clone(),
        bounds: WorkerBounds {
            tasks_max: args.max.unwrap_or(if args.again { u32::MAX } else { 1 }),
            wait: repeats.then_some(args.wait),
            timeout: args.timeout.unwrap_or(limits::TASK_TIMEOUT_MAX),
            on_failure: args.on_failure,
        },
    })
}
