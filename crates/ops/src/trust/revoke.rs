//! Ends the trust in a project. Anyone may: nothing more can run afterwards.

use std::path::Path;

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::trust::ProjectCommands;
use serde_json::json;

use super::grant::Request;
use super::{View, about, look};
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct Revoke;

impl Verb for Revoke {
    const NAME: &'static str = "trust.revoke";
    const COMMAND: &'static str = "trust --revoke";
    const SUMMARY: &'static str = "Stop trusting the commands in a project's .writ directory";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = View;
    const FUNCTION: Function<Self> = Function::Once(revoke);
}

pub fn revoke(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<View>> {
    let TrustedProject { found, commands, above } =
        if cx.was_answered(session)? { TrustedProject::default() } else { place(cx, request)? };
    cx.once(session, Revoke::NAME, request, |work| {
        // A project that was deleted is known only by the name that was trusted.
        let mut known = work.tx.trust(&found)?.or(work.tx.trust(&request.directory)?);
        for directory in &above {
            if known.is_none() {
                known = work.tx.trust(directory)?;
            }
        }
        let Some(trust) = known else {
            return Err(Error::new(ErrorCode::NotFound, format!("{found} is not trusted"))
                .hint("`writ trust --list` shows the trusted projects")
                .details(json!({"directory": found})));
        };
        let directory = trust.directory;
        let message = format!("Trust in {directory} revoked");
        let revoked = Change::ProjectTrustRevoked { directory: directory.clone() };
        work.change(&about(&directory), &message, &revoked)?;
        Ok(View::of(&directory, commands.as_ref(), None))
    })
}

/// The project that is no longer trusted.
#[derive(Default)]
struct TrustedProject {
    found: String,
    commands: Option<ProjectCommands>,
    /// Directories that may be the project's too, the nearest first.
    above: Vec<String>,
}

/// The commands are not needed: trust must also end where their file is damaged.
fn place(cx: &mut Context, request: &Request) -> Result<TrustedProject> {
    match look(cx, &request.directory) {
        Ok((found, commands)) => Ok(TrustedProject { found, commands, above: Vec::new() }),
        Err(error) if request.directory.is_empty() => Err(error),
        Err(_) => {
            let found = cx.host().real_directory(&request.directory);
            let above = Path::new(&found).ancestors().skip(1).filter_map(Path::to_str);
            let above = above.map(str::to_owned).collect();
            Ok(TrustedProject { found, commands: None, above })
        }
    }
}
