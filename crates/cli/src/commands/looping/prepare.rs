//! What a loop settles before its first task: who it is, what it starts, and where.

use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use contract::domain::process::Holder;
use contract::domain::request::Agent;
use contract::domain::time::Clock;
use ops::{Caller, Error, Result};

use super::call::AgentCommand;
use super::{Args, Loop, child};
use crate::app::Globals;
use crate::clock::SystemClock;
use crate::minter::RandomIds;
use crate::persona::{self, Persona};
use crate::{host, project};

pub(super) fn prepared<'l>(args: &'l Args, globals: &Globals) -> Result<Loop<'l>> {
    let agent = match (host::agent_name(globals), persona::current()) {
        (Some(agent), _) => agent,
        (None, Persona::Vybe) => return Err(host::agent_is_required()),
        (None, Persona::Writ) => format!("loop-{:08x}", RandomIds.random_bits() >> 96),
    };
    let invalid = |message: String| Error::new(ErrorCode::InvalidInput, message);
    let agent = Agent::parse(&agent).map_err(|error| invalid(error.to_string()))?;
    let command = AgentCommand::parse(&args.command)?;
    let project = match &args.project_dir {
        None => project::here(),
        Some(path) => {
            let text = path.to_str().ok_or_else(|| invalid("--project-dir is not UTF-8".to_owned()))?;
            Some(host::workspace(text))
        }
    };
    let directory = directory(args, project.as_deref());
    if !directory.is_dir() {
        return Err(invalid(format!("{} is not a directory", directory.display())));
    }
    if let Some(missing) = command.missing(&directory).filter(|_| !args.dry_run) {
        return Err(child::unstartable(missing, "there is no such program"));
    }
    let millis = SystemClock::new().now().at.millis();
    Ok(Loop {
        args,
        command,
        caller: caller(agent),
        session: host::reader(globals),
        project,
        directory,
        store: host::absolute(host::store_path(globals)?),
        stop: host::stop_on_signals()?,
        name: format!("run_{millis}_{:08x}", RandomIds.random_bits() >> 96),
        sandboxes: None,
    })
}

/// Where the agent program works: in the project. A project may also be a plain word; then it works here.
fn directory(args: &Args, project: Option<&str>) -> PathBuf {
    let named = match &args.project_dir {
        Some(path) => Some(path.as_path()).filter(|path| path.is_dir() || path.components().count() > 1),
        None => project.map(Path::new),
    };
    host::absolute(named.map_or_else(|| PathBuf::from("."), Path::to_path_buf))
}

/// A loop that dies is replaced at once, because its claims name its process.
fn caller(agent: Agent) -> Caller {
    let process = engine::launcher::Launcher::owner(&host::shim());
    Caller::agent(agent).held_by(Some(Holder { program: "writ".to_owned(), process }))
}
