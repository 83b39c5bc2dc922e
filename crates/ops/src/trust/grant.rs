//! Asks a person to allow the commands of a project, and remembers the answer.

use contract::domain::change::Change;
use contract::domain::pins::{self, Digests};
use contract::domain::principal::Action;
use contract::domain::text::counted;
use contract::domain::trust::{NewTrust, ProjectCommands, TrustBasis, TrustState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{View, about, look};
use crate::context::{Context, Session};
use crate::decision::PersonDecision;
use crate::error::Result;
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct Grant;

impl Verb for Grant {
    const NAME: &'static str = "trust.grant";
    const COMMAND: &'static str = "trust";
    const SUMMARY: &'static str = "Allow the commands in a project's .writ directory";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = View;
    const FUNCTION: Function<Self> = Function::Once(grant);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The project, or a directory below it.
    pub directory: String,
}

/// Nothing is asked and nothing written where there are no commands, or the same ones are trusted already.
pub fn grant(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<View>> {
    let prepare = |cx: &mut Context| ask(cx, session, request);
    cx.decide_once(session, (Grant::NAME, request), prepare, |work, seen| {
        let directory = &seen.directory;
        if let (Some(commands), Some(decision)) = (&seen.commands, &seen.decision) {
            let state = TrustState::of(Some(commands), work.tx.trust(directory)?.as_ref());
            let mut work = decision.act(work, &action(commands, state))?;
            let trust = NewTrust {
                directory: directory.clone(),
                digest: commands.digest(),
                commands: commands.lines(),
                trusted_by: work.caller.entity.clone(),
                basis: seen.basis.clone(),
            };
            let message = format!("Trusted {} of {directory}", counted(trust.commands.len(), "command"));
            work.change(&about(directory), &message, &Change::ProjectTrusted { trust })?;
        }
        Ok(View::of(directory, seen.commands.as_ref(), work.tx.trust(directory)?))
    })
}

/// What a person was shown and decided.
#[derive(Default)]
struct Shown {
    directory: String,
    commands: Option<ProjectCommands>,
    /// A person allowed them just now; `None` where nothing had to be asked.
    decision: Option<PersonDecision>,
    basis: TrustBasis,
}

fn ask(cx: &mut Context, session: &Session, request: &Request) -> Result<Shown> {
    let (directory, commands) = look(cx, &request.directory)?;
    let trust = cx.store.read()?.trust(&directory)?;
    let state = TrustState::of(commands.as_ref(), trust.as_ref());
    let Some(shown) = commands.as_ref().filter(|_| !state.may_run()) else {
        return Ok(Shown { directory, commands, ..Shown::default() });
    };
    // Trust covers the commands that were shown, even if the file has changed since.
    let decision = cx.decision(session, action(shown, state))?;
    let basis = basis(cx, session, shown);
    Ok(Shown { directory, commands, decision: Some(decision), basis })
}

/// The environment of the person, and what the commands use in the project.
fn basis(cx: &Context, session: &Session, commands: &ProjectCommands) -> TrustBasis {
    let host = cx.host();
    let environment = session.origin.environment.clone();
    let path = environment.values.get("PATH").map(String::as_str);
    let paths = pins::candidates(&commands.checks, &[], path, &commands.directory);
    let found = if paths.is_empty() {
        Digests::new()
    } else {
        host.digests(&commands.directory, &paths.keys().map(String::as_str).collect::<Vec<_>>())
    };
    TrustBasis { environment: Some(environment), pinned: pins::baseline(&paths, &found) }
}

fn action(commands: &ProjectCommands, state: TrustState) -> Action {
    let mut text = format!("{}/.writ has commands that writ would run", commands.directory);
    match state {
        TrustState::Changed => text.push_str(", and they changed since they were trusted"),
        TrustState::NoCommands | TrustState::Untrusted | TrustState::Trusted => {}
    }
    text.push_str(":\n\nbefore a task of this project is done:\n");
    for line in commands.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    if !commands.files.is_empty() {
        text.push_str("files in .writ that they name:\n");
    }
    for (path, digest) in &commands.files {
        text.push_str(&format!("  {path}  {digest}\n"));
    }
    text.push_str("\nTrust them.");
    Action::new(Grant::NAME, text)
}
