//! What a worker settles before its first task: its name, its run, and that its command can start.

use std::path::PathBuf;

use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use contract::domain::request::Agent;
use contract::domain::time::Clock;
use ops::ledger::show;
use ops::names::{self, LAST, run_id};
use ops::{Caller, Context, Error, Result};

use super::{RunArgs, Worker};
use crate::app::Globals;
use crate::clock::SystemClock;
use crate::minter::RandomIds;
use crate::{env, host};

pub(super) fn prepared<'w>(args: &'w RunArgs, globals: &Globals, cx: &mut Context) -> Result<Worker<'w>> {
    let session = host::reader(globals);
    let invalid = |message: String| Error::new(ErrorCode::InvalidInput, message);
    let owner = args.owner.clone().or_else(|| host::agent_name(globals));
    let owner = owner.ok_or_else(|| invalid("the worker has no name; set --owner".to_owned()))?;
    let agent = Agent::parse(&owner).map_err(|error| invalid(format!("--owner: {error}")))?;
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
    Ok(Worker {
        args,
        caller: Caller::agent(agent),
        session: session,
        run: shown.run_id,
        task,
        workspace,
        store: host::absolute(host::store_path(globals)?),
        stop: host::stop_on_signals()?,
        // Who knows the ids of its requests can get its tokens again.
        name: format!("worker_{millis}_{:032x}", RandomIds.random_bits()),
        sandboxes: None,
    })
}
