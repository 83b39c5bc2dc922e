//! The sandbox of commands that loops and workers start: its flags, its messages and its records.

use std::path::Path;

use contract::domain::code::ErrorCode;
use contract::domain::confinement::{GitUse, Namespace, SandboxMode};
use engine::launcher::Launcher;
use engine::sandbox::{CommandSandboxes, CommandWishes};
use ops::{Error, Result};

use crate::app::Globals;
use crate::inside::InsideAnswers;
use crate::output::say;
use crate::{config, host};

/// Its flags.
pub(crate) struct SandboxFlags<'a> {
    /// The command, as people call it.
    pub(crate) what: &'a str,
    pub(crate) git: GitUse,
    pub(crate) namespace: Namespace,
}

/// `None` where the configuration sets no sandbox, or turns it off. Refused where it demands one and this
/// machine or the command line does not allow it.
pub(crate) fn configured(
    globals: &Globals,
    workspace: &Path,
    flags: &SandboxFlags<'_>,
) -> Result<Option<CommandSandboxes>> {
    let mut config = config::load(&host::absolute(".".into()))?;
    config.heed_project(workspace)?;
    let store = host::absolute(host::store_path(globals)?);
    let settings = host::sandbox_settings(&store, &config.sandbox);
    let wishes = CommandWishes { mode: config.policy.sandbox, git: flags.git, namespace: flags.namespace };
    let doors = Box::new(InsideAnswers::new(globals, &store));
    CommandSandboxes::new(settings, &wishes, workspace, doors, || host::shim().sandbox_lacks()).map_err(
        |reason| {
            let message =
                format!("the configuration demands a sandbox for the command of `{}`: {reason}", flags.what);
            Error::new(ErrorCode::Denied, message).hint(
                "`writ doctor` says what this machine enforces; `[sandbox] mode = \"prefer\"` takes what there is",
            )
        },
    )
}

/// The command of `what` has no scope of its own and is not sandboxed: refused where the configuration demands a
/// sandbox, and said where it prefers one.
pub(crate) fn without_sandbox(what: &str) -> Result<()> {
    match config::load(&host::absolute(".".into()))?.policy.sandbox {
        None | Some(SandboxMode::Off) => Ok(()),
        Some(SandboxMode::Prefer) => {
            say(&format!("sandbox off: the command of `{what}` is not confined\n"));
            Ok(())
        }
        Some(SandboxMode::Enforce) => {
            let message = format!(
                "the configuration demands a sandbox, and the command of `{what}` cannot be confined"
            );
            Err(Error::new(ErrorCode::Denied, message).hint("use a plan, or set `[sandbox] mode` to prefer"))
        }
    }
}
