//! What a loop settles before its first task: who it is, what it starts, and where.

use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use contract::domain::process::Holder;
use contract::domain::request::Agent;
use contract::domain::time::Clock;
use engine::looping::{AgentCommand, LoopBounds, LoopSettings, LoopStyle, unstartable};
use ops::{Caller, Error, Result, Session};

use super::Args;
use crate::app::Globals;
use crate::clock::SystemClock;
use crate::minter::RandomIds;
use crate::persona::{self, Persona};
use crate::{env, host, project};

pub(super) fn prepared(args: &Args, globals: &Globals) -> Result<LoopSettings> {
    let agent = match (host::agent_name(globals), persona::current()) {
        (Some(agent), _) => agent,
        (None, Persona::Vybe) => return Err(host::agent_is_required()),
        (None, Persona::Writ | Persona::Ol | Persona::Ao) => {
            format!("loop-{:08x}", RandomIds.random_bits() >> 96)
        }
    };
    let invalid = |message: String| Error::new(ErrorCode::InvalidInput, message);
    let agent = Agent::parse(&agent).map_err(|error| invalid(error.to_string()))?;
    let style = match persona::current() {
        Persona::Vybe => LoopStyle::Original,
        Persona::Writ | Persona::Ol | Persona::Ao => LoopStyle::Writ,
    };
    let command = AgentCommand::parse(&args.command, style)?;
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
    if let Some(missing) = command.missing(|word| env::can_start(word, &directory)).filter(|_| !args.dry_run)
    {
        return Err(unstartable(missing, "there is no such program"));
    }
    let millis = SystemClock::new().now().at.millis();
    Ok(LoopSettings {
        programs: host::program_settings(globals, args.namespace)?,
        command,
        session: Session { caller: caller(agent), ..host::reader(globals) },
        project,
        directory,
        name: format!("run_{millis}_{:08x}", RandomIds.random_bits() >> 96),
        bounds: LoopBounds {
            tasks_max: args.max_tasks,
            fails_max: args.max_fails,
            task_timeout: args.task_timeout,
            cooldown: args.cooldown,
            attempts_max: args.attempts,
        },
        without_hooks: args.spawn_disable_hooks,
        post_hook: args.post_hook.clone(),
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
