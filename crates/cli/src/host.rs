//! What a command needs to do its work: the store, an identity, and an engine for the length of one command.

use std::ffi::OsString;
use std::path::PathBuf;

use contract::domain::code::ErrorCode;
use contract::domain::id::{Minter, Request, mint};
use contract::domain::request::{Agent, RequestId};
use contract::domain::time::Clock;
use engine::supervisor::ShimProgram;
use engine::{Settings, StopSignal};
use ops::context::Key;
use ops::{Caller, Context, Error, Result};

use crate::app::Globals;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::env;
use crate::minter::RandomIds;

/// The hidden first argument that makes this program the supervising process.
pub(crate) const SHIM_WORD: &str = "__shim";

pub(crate) fn store_path(globals: &Globals) -> PathBuf {
    let given = globals
        .db_path
        .clone()
        .or_else(|| env::get("WRIT_DB").or_else(|| env::get("VYBE_DB_PATH")).map(PathBuf::from));
    given.unwrap_or_else(|| env::data_home().join("writ.db"))
}

/// What decided where the store is.
pub(crate) fn store_source(globals: &Globals) -> &'static str {
    match (&globals.db_path, env::get("WRIT_DB"), env::get("VYBE_DB_PATH")) {
        (Some(_), _, _) => "--db-path",
        (None, Some(_), _) => "WRIT_DB",
        (None, None, Some(_)) => "VYBE_DB_PATH",
        (None, None, None) => "default",
    }
}

pub(crate) fn open(globals: &Globals) -> Result<Context> {
    Context::open(&store_path(globals), Box::new(SystemClock::new()), Box::new(RandomIds))
}

/// The agent identity that was given, if one was, in the form in which it is stored.
pub(crate) fn agent_name(globals: &Globals) -> Option<String> {
    let given = globals.agent.clone();
    let given = given.or_else(|| env::get("WRIT_AGENT")).or_else(|| env::get("VYBE_AGENT"));
    given.map(|name| name.trim().to_lowercase())
}

/// Whether an identity was given, where the words could not be understood as a whole.
pub(crate) fn has_agent(words: &[OsString]) -> bool {
    let flag = |word: &OsString| {
        let word = word.to_string_lossy();
        word == "-a" || word == "--agent" || word.starts_with("--agent=")
    };
    words.iter().any(flag) || ["WRIT_AGENT", "VYBE_AGENT"].into_iter().any(|name| env::get(name).is_some())
}

fn invalid(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::InvalidInput, error.to_string())
}

/// The key of a continuity mutation: both parts are required by its contract.
pub(crate) fn required_key(globals: &Globals) -> Result<Key> {
    let agent = agent_name(globals).ok_or_else(|| {
        Error::new(ErrorCode::InvalidInput, "agent is required (set --agent or WRIT_AGENT)")
    })?;
    let request = given_request(globals).ok_or_else(|| {
        let message = "--request-id or WRIT_REQUEST_ID is required for idempotent operations";
        Error::new(ErrorCode::InvalidInput, message)
    })?;
    let caller = Caller::agent(Agent::parse(&agent).map_err(invalid)?);
    Ok(Key { caller, request_id: RequestId::parse(&request).map_err(invalid)? })
}

/// The key of any other mutation: a person needs no identity, and a request id is made where none was given.
pub(crate) fn any_key(globals: &Globals) -> Result<Key> {
    let caller = match agent_name(globals) {
        Some(name) => Caller::agent(Agent::parse(&name).map_err(invalid)?),
        None => {
            let user = env::get("USER").unwrap_or_else(|| "user".to_owned());
            Caller::human(Agent::parse(&user).map_err(invalid)?)
        }
    };
    let request_id = match given_request(globals) {
        Some(text) => RequestId::parse(&text).map_err(invalid)?,
        None => {
            let ids: &mut dyn Minter = &mut RandomIds;
            let minted = mint::<Request>(ids, SystemClock::new().now().at);
            RequestId::parse(minted.as_str()).map_err(invalid)?
        }
    };
    Ok(Key { caller, request_id })
}

fn given_request(globals: &Globals) -> Option<String> {
    let given = globals.request_id.clone();
    given.or_else(|| env::get("WRIT_REQUEST_ID")).or_else(|| env::get("VYBE_REQUEST_ID"))
}

/// Where attempts' output is kept: beside the store.
pub(crate) fn logs_directory(globals: &Globals) -> PathBuf {
    let mut name = store_path(globals).into_os_string();
    name.push(".logs");
    PathBuf::from(name)
}

/// How this program starts itself as the supervising process. Works also when the file was replaced meanwhile.
pub(crate) fn shim() -> ShimProgram {
    #[cfg(target_os = "linux")]
    let program = PathBuf::from("/proc/self/exe");
    #[cfg(not(target_os = "linux"))]
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("writ"));
    ShimProgram { program, args: vec![SHIM_WORD.into()] }
}

/// Everything an engine needs, with signals wired to its stop flag.
pub(crate) fn engine_settings(globals: &Globals, config: Config, rerun_parked: bool) -> Result<Settings> {
    let logs = logs_directory(globals);
    let io = |error: std::io::Error| {
        Error::new(ErrorCode::Io, format!("could not make {}: {error}", logs.display()))
    };
    make_private_directory(&logs).map_err(io)?;
    let mut environment = env::inherited();
    // Children that call writ must find the same store.
    environment.insert("WRIT_DB".into(), absolute(store_path(globals)).into_os_string());
    let stop = stop_on_signals()?;
    // Without it orphans of a killed supervising process are found by their marks alone; the work can go on.
    engine::supervisor::become_subreaper().ok();
    Ok(Settings { shim: shim(), logs, policy: config.policy, environment, stop, rerun_parked })
}

pub(crate) fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn make_private_directory(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A flag that Ctrl-C, TERM and HUP raise. An engine then ends the children and leaves the run resumable.
pub(crate) fn stop_on_signals() -> Result<StopSignal> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stop = StopSignal::default();
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Error::new(ErrorCode::Io, format!("could not listen to signals: {error}")))?;
    let raised = stop.clone();
    std::thread::spawn(move || {
        for signal in signals.forever() {
            raised.raise(signal);
        }
    });
    Ok(stop)
}
