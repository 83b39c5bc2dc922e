//! Who calls, and under which request id a retry of the call is recognized.

use contract::domain::code::ErrorCode;
use contract::domain::id::{Id, Minter, Request, mint};
use contract::domain::principal::Principal;
use contract::domain::request::{Agent, RequestId};
use contract::domain::time::Clock;
use ops::{Caller, Error, Result, Session};

use crate::app::Globals;
use crate::clock::SystemClock;
use crate::env;
use crate::minter::RandomIds;
use crate::output::is_terminal;
use crate::persona::{self, Persona};

/// The agent identity that was given, if one was, in the form in which it is stored.
pub(crate) fn agent_name(globals: &Globals) -> Option<String> {
    let named = || persona::first_set(persona::current().agent_variables()).map(|(_, name)| name);
    let given = globals.agent.clone().filter(|name| !name.trim().is_empty()).or_else(named);
    given.map(|name| name.trim().to_lowercase())
}

fn invalid(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::InvalidInput, error.to_string())
}

/// In the words of the agent contract.
pub(crate) fn agent_is_required() -> Error {
    let variable = persona::current().agent_variables()[0];
    Error::new(ErrorCode::InvalidInput, format!("agent is required (set --agent or {variable})"))
}

/// Whether a continuity mutation needs an agent and a request id: under the contract's own name, and of programs that
/// say who they are. A program is what does not print to a terminal.
fn needs_request_id(globals: &Globals) -> bool {
    match persona::current() {
        Persona::Vybe => true,
        Persona::Writ | Persona::Ol | Persona::Ao => agent_name(globals).is_some() && !is_terminal(),
    }
}

/// The session of a continuity mutation: its contract requires both parts of programs, and a person needs neither.
pub(crate) fn required_session(globals: &Globals) -> Result<Session> {
    if !needs_request_id(globals) {
        return any_session(globals);
    }
    let agent = agent_name(globals).ok_or_else(agent_is_required)?;
    let request = given_request(globals).ok_or_else(|| {
        let variable = persona::current().request_variables()[0];
        let message = format!("--request-id or {variable} is required for idempotent operations");
        Error::new(ErrorCode::InvalidInput, message)
    })?;
    let caller = Caller::agent(Agent::parse(&agent).map_err(invalid)?);
    Ok(Session::new(caller, RequestId::parse(&request).map_err(invalid)?))
}

/// The session of any other mutation: a person needs no identity, and a request id is made where none was given.
pub(crate) fn any_session(globals: &Globals) -> Result<Session> {
    let caller = match agent_name(globals) {
        Some(name) => Caller::agent(Agent::parse(&name).map_err(invalid)?),
        None => unnamed_caller()?,
    };
    let request_id = match given_request(globals) {
        Some(text) => RequestId::parse(&text).map_err(invalid)?,
        None => {
            let ids: &mut dyn Minter = &mut RandomIds;
            let minted = mint::<Request>(ids, SystemClock::new().now().at);
            RequestId::parse(minted.as_str()).map_err(invalid)?
        }
    };
    Ok(Session::new(caller, request_id))
}

/// Who calls without an agent's name: the program of a task that an engine started, or else the person.
fn unnamed_caller() -> Result<Caller> {
    match env::get("WRIT_TASK").and_then(|task| Id::parse(&task).ok()) {
        Some(task) => Ok(Caller::of(&Principal::Executor(task))),
        None => Ok(Caller::human(Agent::parse(&user_name()).map_err(invalid)?)),
    }
}

/// The session of a person's decision, whatever agent name is set.
pub(crate) fn person_session(globals: &Globals) -> Result<Session> {
    let session = any_session(&Globals { agent: None, ..globals.clone() })?;
    Ok(Session { caller: Caller::human(Agent::parse(&user_name()).map_err(invalid)?), ..session })
}

/// The name of the person who calls.
pub(crate) fn user_name() -> String {
    env::get("USER").unwrap_or_else(|| "user".to_owned())
}

/// The agent that was named; under our own name, else the person who calls.
pub(crate) fn agent_or_user(globals: &Globals) -> Result<String> {
    match (agent_name(globals), persona::current()) {
        (Some(agent), _) => Ok(agent),
        (None, Persona::Writ | Persona::Ol | Persona::Ao) => Ok(user_name()),
        (None, Persona::Vybe) => Err(agent_is_required()),
    }
}

/// Whether no request id was given, so that one is made.
pub(crate) fn mints_request_id(globals: &Globals) -> bool {
    given_request(globals).is_none()
}

fn given_request(globals: &Globals) -> Option<String> {
    let named = || persona::first_set(persona::current().request_variables()).map(|(_, id)| id);
    globals.request_id.clone().filter(|id| !id.is_empty()).or_else(named)
}
