//! What a command needs to do its work: the store, an identity, and an engine for the length of one command.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use contract::continuity::brief::{ProgramCommand, ProgramName};
use contract::domain::code::ErrorCode;
use contract::domain::confinement::{GitUse, Namespace};
use contract::domain::environment::AuthorEnvironment;
use contract::domain::id::{Attempt, Id, Minter, mint};
use contract::domain::limits;
use contract::domain::policy::Policy;
use contract::domain::principal::Action;
use contract::domain::run::Run;
use contract::domain::task::Task;
use contract::domain::time::{Clock, SignedDuration, parse_signed_duration};
use contract::domain::trust::ProjectCommands;
use contract::intake::Executors;
use engine::agent_program::PROGRAMS;
use engine::host::{Door, LocalHost, author_environment};
use engine::index::Index;
use engine::inside::InsideCaller;
use engine::observer::Nobody;
use engine::program::ProgramSettings;
use engine::sandbox::{INSIDE_VARIABLE, SandboxSettings};
use engine::settings::{EngineArchive, ModelSettings, WaitLimits};
use engine::snapshots::Snapshots;
use engine::supervisor::{LaunchSpec, Limits, Marker, ShimProgram, marked_ancestor, own_identity};
use engine::worktree::Worktrees;
use engine::{Observer, Settings, StopSignal};
use ops::context::{Fact, Origin, fact};
use ops::host::{HowToWork, Installation};
use ops::names::{self, LAST, Names};
use ops::verb::{self, Effect, Surface, Verb};
use ops::{Context, Error, Result, Session};

use crate::app::Globals;
use crate::clock::SystemClock;
use crate::commands::status;
use crate::config::{self, Config, SandboxConfig};
use crate::inside::{self, InsideAnswers};
use crate::live_view::LiveView;
use crate::minter::RandomIds;
use crate::output::{Format, Output, format_in_environment, say};
use crate::person::PersonArgs;
use crate::persona::{self, Persona};
use crate::screen::Leave;
use crate::{env, identity, original, person, project};

pub(crate) use crate::identity::{
    agent_is_required, agent_name, agent_or_user, mints_request_id, required_session, user_name,
};

/// The hidden first argument that makes this program the supervising process.
pub(crate) const SHIM_WORD: &str = "__shim";

pub(crate) fn store_path(globals: &Globals) -> Result<PathBuf> {
    let given = named_store(globals);
    let is_hidden = is_hidden(given.as_deref());
    let path = given.map_or_else(default_store_path, Ok)?;
    if is_hidden && std::fs::File::open(&path).is_err() {
        let message = "the store cannot be reached from inside a sandbox";
        // Nothing changes that, so it is no use to come back later.
        return Err(Error::new(ErrorCode::Denied, message).hint(ops::inside::OPEN_COMMANDS));
    }
    Ok(path)
}

/// The store that a flag or a variable names.
fn named_store(globals: &Globals) -> Option<PathBuf> {
    let by_variable =
        || persona::first_set(persona::current().store_variables()).map(|(_, path)| path.into());
    flag_path(globals).or_else(by_variable)
}

/// Whether this name, or none, means the store that cannot be reached from the sandbox that this process is in.
fn is_hidden(named: Option<&Path>) -> bool {
    let hidden = env::get(INSIDE_VARIABLE).map(PathBuf::from);
    // The default store would be in the task's private home, invisible from outside.
    hidden.is_some_and(|hidden| named.is_none_or(|path| absolute(path.to_owned()) == hidden))
}

/// Whether a command means the store that cannot be reached from the sandbox that this process is in.
pub(crate) fn means_hidden_store(globals: &Globals) -> bool {
    is_hidden(named_store(globals).as_deref())
}

/// Where the store is when nothing else is said.
pub(crate) fn default_store_path() -> Result<PathBuf> {
    env::data_home().map(|home| home.join("writ.db")).ok_or_else(|| {
        Error::new(ErrorCode::StoreUnavailable, "HOME is not set, so there is no place for the store")
            .hint("choose one with --db-path or WRIT_DB")
    })
}

/// The path that a flag names; an empty one counts as none.
fn flag_path(globals: &Globals) -> Option<PathBuf> {
    globals.db_path.clone().filter(|path| !path.as_os_str().is_empty())
}

/// What decided where the store is.
pub(crate) fn store_source(globals: &Globals) -> &'static str {
    if flag_path(globals).is_some() {
        return "--db-path";
    }
    persona::first_set(persona::current().store_variables()).map_or("default", |(name, _)| name)
}

/// What this door tells the engine: the user's configuration, and the live view of a run.
struct CommandLine {
    globals: Globals,
    /// The absolute path of the store.
    store: PathBuf,
    announce: Announce,
    /// One for the whole command: a signal that arrives before a run is worked must not be lost.
    stop: OnceCell<StopSignal>,
    /// The sandboxed task that makes the calls.
    inside: Option<Arc<InsideCaller>>,
}

/// Called with a run before it is worked.
pub(crate) type Announce = Box<dyn Fn(&Run)>;

impl Door for CommandLine {
    fn policy(&self, workspace: &Path) -> Result<Policy> {
        Ok(config::load(workspace)?.policy)
    }

    fn executors(&self, directory: &Path) -> Result<Executors> {
        Ok(config::load(directory)?.executors)
    }

    /// Children that call writ find the same store.
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        environment_of_children(&self.store)
    }

    fn logs(&self) -> Result<PathBuf> {
        logs_directory(&self.globals)
    }

    fn index(&self) -> Index {
        let Ok(directory) = index_directory(&self.globals) else { return Index::default() };
        let store = std::fs::canonicalize(&self.store).unwrap_or_else(|_| self.store.clone());
        let mut own = ops::names_of(&store);
        own.push(directory.clone());
        own.extend(self.logs());
        own.extend(snapshots_directory(&self.globals));
        own.extend(worktrees_directory(&self.globals));
        own.push(sandboxes_directory(&store));
        // A configuration that cannot be read is refused by what uses the rest of it.
        let audit = config::load(&absolute(".".into())).map(|config| config.executors.aop.audit);
        Index::at(directory).without(own).without_audit(audit.unwrap_or_default())
    }

    fn snapshots(&self) -> Snapshots {
        snapshots(&self.globals)
    }

    fn sandbox(&self) -> SandboxSettings {
        // A configuration that cannot be read was refused where the mode was asked for.
        let config = config::load(&absolute(".".into())).unwrap_or_default();
        self.sandbox_of(&config)
    }

    fn worktrees(&self) -> Worktrees {
        worktrees_directory(&self.globals).map(Worktrees::at).unwrap_or_default()
    }

    fn settings(&self, workspace: &Path, how: &HowToWork) -> Result<Settings> {
        let from = how.directory.as_deref().unwrap_or(".");
        let mut config = config::load(&absolute(PathBuf::from(from)))?;
        config.heed_project(workspace)?;
        let logs = made_logs_directory(&self.globals)?;
        // Without it orphans of a killed supervising process are found by their marks alone; the work can go on.
        engine::supervisor::become_subreaper().ok();
        Ok(Settings {
            launcher: Arc::new(shim()),
            executors: engine::Executors::with(&config.configured),
            archive: EngineArchive { logs, snapshots: self.snapshots(), worktrees: self.worktrees() },
            index: self.index(),
            sandbox: self.sandbox_of(&config),
            ceiling: self.inside.as_ref().map(|inside| inside.ceiling.clone()),
            doors: Some(Arc::new(InsideAnswers::new(&self.globals, &self.store))),
            policy: config.policy,
            audit: config.executors.aop.audit,
            models: ModelSettings { prices: config.prices, upgrades: config.executors.upgrades },
            environment: self.environment(),
            stop: self.stop()?,
            rerun_parked: how.rerun_parked,
            waits: WaitLimits {
                locks: how.lock_wait.unwrap_or(limits::LOCK_WAIT_DEFAULT),
                provider: how.limit_wait.unwrap_or(limits::LIMIT_WAIT_DEFAULT),
            },
        })
    }

    fn observer(&self, run: &Run, tasks: &[Task]) -> Box<dyn Observer> {
        (self.announce)(run);
        if self.inside.is_some() {
            return Box::new(Nobody);
        }
        // A summary that follows on the same terminal shows the tasks again.
        let asked = self.globals.output.or_else(|| format_in_environment().ok().flatten());
        let is_text = asked.is_none_or(|format| format == Format::Text);
        let has_summary = is_text && std::io::stdout().is_terminal();
        Box::new(LiveView::new(tasks.iter(), if has_summary { Leave::Nothing } else { Leave::LastDrawn }))
    }

    fn project_commands(&self, directory: &Path) -> Result<Option<ProjectCommands>> {
        config::project_commands(directory)
    }

    fn ask_person(&self, action: &Action) -> Result<String> {
        if self.inside.is_some() {
            let message = "a person has to decide this, outside the sandbox";
            return Err(Error::new(ErrorCode::Denied, message));
        }
        person::ask(action)
    }

    fn installation(&self, store: &Path) -> Installation {
        status::installation(&self.globals, store)
    }
}

impl CommandLine {
    /// What a run that was started from inside a sandbox can read is what its starter can.
    fn sandbox_of(&self, config: &Config) -> SandboxSettings {
        let settings = sandbox_settings(&self.store, &config.sandbox);
        match &self.inside {
            None => settings,
            Some(inside) => SandboxSettings {
                credentials: inside.credentials.clone(),
                credentials_of_commands: Vec::new(),
                endpoints_of_commands: vec![(Vec::new(), inside.endpoints.clone())],
                ..settings
            },
        }
    }

    fn stop(&self) -> Result<StopSignal> {
        if self.stop.get().is_none() {
            self.stop.set(stop_on_signals()?).ok();
        }
        Ok(self.stop.get().cloned().unwrap_or_default())
    }
}

fn environment_of_children(store: &Path) -> BTreeMap<OsString, OsString> {
    let mut environment = env::inherited();
    environment.insert("WRIT_DB".into(), store.to_owned().into_os_string());
    // Some agents run their tools on a terminal, where verbs print text by default.
    environment.insert("WRIT_OUTPUT".into(), "json".into());
    environment
}

/// The session that a verb's contract asks for. An id that was made here is shown, so that the call can be repeated.
pub(crate) fn session_for<V: Verb>(globals: &Globals) -> Result<Session> {
    let session = match (V::FUNCTION.effect(), V::SURFACE) {
        (Effect::Reads, _) => Session::reader(),
        (Effect::Once, Surface::Continuity) => required_session(globals)?,
        (
            Effect::Once,
            Surface::Crew | Surface::Validator | Surface::Writ | Surface::Conformance | Surface::Handler,
        )
        | (Effect::Repeatable, _) => identity::any_session(globals)?,
    };
    let is_shown = V::FUNCTION.effect() == Effect::Once && !persona::current().is_bridge();
    if is_shown && mints_request_id(globals) {
        say(&format!("request {}\n", session.request()));
    }
    Ok(here(globals, session))
}

/// The session of a call whose contract asks for no identity.
pub(crate) fn any_session(globals: &Globals) -> Result<Session> {
    Ok(here(globals, identity::any_session(globals)?))
}

/// The session of a person's decision, whatever agent name is set.
pub(crate) fn person_session(globals: &Globals) -> Result<Session> {
    Ok(here(globals, identity::person_session(globals)?))
}

/// The session of a call that changes nothing.
pub(crate) fn reader(globals: &Globals) -> Session {
    here(globals, Session::reader())
}

/// The session, called from this process.
pub(crate) fn here(globals: &Globals, session: Session) -> Session {
    let token_file = globals.token_file.clone();
    let origin = Origin {
        attempt: Fact::new(Box::new(|| marked_ancestor().map(|marked| marked.marker.attempt))),
        access_token: Box::new(move || person::access_token(token_file.as_deref())),
        ..origin(globals)
    };
    Session { names: names_here(), origin: Arc::new(origin), ..session }
}

/// The session of the program in a sandbox, which is known by its task.
pub(crate) fn session_inside(globals: &Globals, inside: &InsideCaller) -> Session {
    let origin = Origin {
        attempt: fact(inside.attempt.clone()),
        ceiling: Some(inside.ceiling.clone()),
        ..origin(globals)
    };
    Session { names: names_here(), origin: Arc::new(origin), ..Session::reader() }
}

fn origin(globals: &Globals) -> Origin {
    let (named, store) = (globals.clone(), globals.clone());
    let program = move || {
        let name = if persona::current().name() == "vybe" { ProgramName::Vybe } else { ProgramName::Writ };
        ProgramCommand { call: callable(&named), name }
    };
    let environment = move || match store_path(&store) {
        Ok(path) => author_environment(environment_of_children(&absolute(path))),
        // Without a store nothing is submitted.
        Err(_) => AuthorEnvironment::default(),
    };
    Origin {
        person: user_name(),
        program: Fact::new(Box::new(program)),
        environment: Fact::new(Box::new(environment)),
        ..Origin::default()
    }
}

/// Calls a verb under the key that its contract asks for, and returns its answer.
pub(crate) fn call<V: Verb>(globals: &Globals, request: &V::Request) -> Result<V::Answer> {
    let session = session_for::<V>(globals)?;
    match inside::socket(globals) {
        Some(socket) => inside::call::<V>(&socket, &session, request),
        None => called::<V>(&mut open(globals)?, &session, request),
    }
}

/// Calls the verb, with the run that `@last` means in the place of that name.
fn called<V: Verb>(cx: &mut Context, session: &Session, request: &V::Request) -> Result<V::Answer> {
    let is_used = std::env::args_os().any(|word| word == LAST || word == "--run=@last");
    let reply = if is_used {
        names::last::call::<V>(cx, session, request)
    } else {
        verb::call::<V>(cx, session, request)
    };
    Ok(reply?.answer)
}

/// The same on a store that is open.
pub(crate) fn call_on<V: Verb>(
    cx: &mut Context,
    globals: &Globals,
    request: &V::Request,
) -> Result<V::Answer> {
    called::<V>(cx, &session_for::<V>(globals)?, request)
}

/// The same for verbs that copy or judge what is there: a store made by them would be an answer to a mistyped path.
pub(crate) fn call_existing<V: Verb>(globals: &Globals, request: &V::Request) -> Result<V::Answer> {
    let session = session_for::<V>(globals)?;
    Ok(verb::call::<V>(&mut open_existing(globals)?, &session, request)?.answer)
}

/// Calls a verb and prints its answer: the document for programs, `text` for people.
pub(crate) fn answer<V: Verb>(
    globals: &Globals,
    output: &Output,
    request: &V::Request,
    text: impl FnOnce(&V::Answer) -> String,
) -> Result<ExitCode> {
    let answer = call::<V>(globals, request)?;
    Ok(output.answer(&answer, || text(&answer)))
}

/// The same for what only a person may decide, whatever agent name is set.
pub(crate) fn answer_decided<V: Verb>(
    globals: &Globals,
    decider: &PersonArgs,
    output: &Output,
    request: &V::Request,
    text: impl FnOnce(&V::Answer) -> String,
) -> Result<ExitCode> {
    let globals = &decider.globals(globals);
    let session = person_session(globals)?;
    if mints_request_id(globals) {
        say(&format!("request {}\n", session.request()));
    }
    let answer = called::<V>(&mut open(globals)?, &session, request)?;
    Ok(output.answer(&answer, || text(&answer)))
}

pub(crate) fn open(globals: &Globals) -> Result<Context> {
    open_announcing(globals, Box::new(|_| {}))
}

/// The same with a function that is called with a run before it is worked.
pub(crate) fn open_announcing(globals: &Globals, announce: Announce) -> Result<Context> {
    let cx = open_silently(globals, announce)?;
    let is_new = cx.schemas().0 == 0;
    if let Some(notice) = is_new.then(|| original::notice(globals)).flatten() {
        say(&notice);
    }
    Ok(cx)
}

/// The same without a word about an installation that could be imported.
pub(crate) fn open_silently(globals: &Globals, announce: Announce) -> Result<Context> {
    let path = store_path(globals)?;
    let (globals, store) = (globals.clone(), absolute(path.clone()));
    open_at(&path, CommandLine { globals, store, announce, stop: OnceCell::new(), inside: None })
}

/// Opens the store for a call from inside a sandbox. The caller can stop what it starts.
pub(crate) fn open_for_inside(
    globals: &Globals,
    caller: Arc<InsideCaller>,
    stop: StopSignal,
) -> Result<Context> {
    let path = store_path(globals)?;
    let (globals, store) = (globals.clone(), absolute(path.clone()));
    let (announce, stop) = (Box::new(|_: &Run| {}), OnceCell::from(stop));
    open_at(&path, CommandLine { globals, store, announce, stop, inside: Some(caller) })
}

fn open_at(path: &Path, door: CommandLine) -> Result<Context> {
    let door = Box::new(door);
    let host = LocalHost { launcher: Arc::new(shim()), door };
    let clock = Arc::new(SystemClock::new());
    let cx = Context::open(path, clock, Box::new(RandomIds), Rc::new(host))?;
    cx.is_one_call();
    if let Some(wait) = persona::current().busy_wait() {
        cx.wait_at_most(wait)?;
    }
    Ok(cx)
}

/// What names mean where this command was called. The agent contract's own name knows no such place.
fn names_here() -> Names {
    let only_ids = persona::current() == Persona::Vybe;
    let directory = (!only_ids).then(|| absolute(".".into()).to_string_lossy().into_owned());
    Names { only_ids, project: project::here(), directory }
}

/// Opens a store that must exist.
pub(crate) fn open_existing(globals: &Globals) -> Result<Context> {
    let path = store_path(globals)?;
    if !path.exists() {
        let missing = Error::new(ErrorCode::NotFound, format!("there is no store at {}", path.display()));
        return Err(
            missing.hint("name it with --db-path or WRIT_DB; `writ doctor` shows where writ looks for it")
        );
    }
    open(globals)
}

/// What looks like a bug may come from a damaged store: then that is the error.
pub(crate) fn damage_or(error: Error, globals: &Globals) -> Error {
    if error.code != ErrorCode::Bug {
        return error;
    }
    let is_damaged = open_existing(globals)
        .and_then(|mut cx| ops::audit::verify(&mut cx, None))
        .map_or_else(|error| error.code == ErrorCode::Corrupt, |found| !found.is_clean());
    if !is_damaged {
        return error;
    }
    Error::new(ErrorCode::Corrupt, format!("the store is damaged: {error}")).hint(
        "run `writ audit verify` to see what is damaged; restore a backup, or get what is whole out of the store with \
         `writ salvage STORE --into NEW`",
    )
}

fn sandboxes_directory(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".sandbox");
    name.into()
}

/// What the engine needs to confine tasks. Their private directories are beside the store, where others cannot look.
pub(crate) fn sandbox_settings(store: &Path, config: &SandboxConfig) -> SandboxSettings {
    let usual = engine::sandbox::limits_here();
    let home = env::directory("HOME");
    // By the first word of a command.
    let of_agents = PROGRAMS.iter().map(|program| {
        let paths = program.credentials.iter().filter_map(|name| Some(home.as_ref()?.join(name)));
        (vec![program.name.to_owned()], paths.collect())
    });
    SandboxSettings {
        root: sandboxes_directory(store),
        store: store.to_owned(),
        credentials: config.credentials.clone(),
        credentials_of_commands: config.credentials_of_commands.iter().cloned().chain(of_agents).collect(),
        home,
        endpoints_of_commands: config.endpoints_of_commands.clone(),
        limits: Limits {
            processes_max: config.processes_max.unwrap_or(usual.processes_max),
            memory_bytes_max: config.memory_mib.map_or(usual.memory_bytes_max, |mib| mib * 1024 * 1024),
        },
    }
}

/// Where attempts' output is kept: beside the store.
pub(crate) fn logs_directory(globals: &Globals) -> Result<PathBuf> {
    let mut name = store_path(globals)?.into_os_string();
    name.push(".logs");
    Ok(PathBuf::from(name))
}

/// The same, made where it is missing and without surplus logs.
pub(crate) fn made_logs_directory(globals: &Globals) -> Result<PathBuf> {
    let logs = logs_directory(globals)?;
    let io = |error: std::io::Error| {
        Error::new(ErrorCode::Io, format!("could not make {}: {error}", logs.display()))
    };
    make_private_directory(&logs).map_err(io)?;
    forget_old_logs(&logs);
    Ok(logs)
}

/// What programs of loops and workers share, without a sandbox.
pub(crate) fn program_settings(globals: &Globals, namespace: Namespace) -> Result<ProgramSettings> {
    Ok(ProgramSettings {
        launcher: Arc::new(shim()),
        stop: stop_on_signals()?,
        environment: env::inherited(),
        store: absolute(store_path(globals)?),
        logs: logs_directory(globals)?,
        temporary: std::env::temp_dir(),
        namespace,
        sandboxes: None,
    })
}

/// Where looks at workspaces are kept: beside the store.
pub(crate) fn index_directory(globals: &Globals) -> Result<PathBuf> {
    let mut name = absolute(store_path(globals)?).into_os_string();
    name.push(".index");
    Ok(PathBuf::from(name))
}

/// The snapshots beside the store.
pub(crate) fn snapshots(globals: &Globals) -> Snapshots {
    snapshots_directory(globals).map(Snapshots::at).unwrap_or_default()
}

/// Where snapshots of scopes are kept: beside the store.
pub(crate) fn snapshots_directory(globals: &Globals) -> Result<PathBuf> {
    let mut name = absolute(store_path(globals)?).into_os_string();
    name.push(".snapshots");
    Ok(PathBuf::from(name))
}

/// Where clones of workspaces are kept: beside the store.
pub(crate) fn worktrees_directory(globals: &Globals) -> Result<PathBuf> {
    let mut name = absolute(store_path(globals)?).into_os_string();
    name.push(".worktrees");
    Ok(PathBuf::from(name))
}

/// How this program starts itself as the supervising process. Works also when the file was replaced meanwhile.
pub(crate) fn shim() -> ShimProgram {
    #[cfg(target_os = "linux")]
    let program = PathBuf::from("/proc/self/exe");
    #[cfg(not(target_os = "linux"))]
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("writ"));
    ShimProgram { program, args: vec![SHIM_WORD.into()], has_template: true, store: OnceLock::new() }
}

/// A program of the user's, to be started here with the user's environment and known as ours.
pub(crate) fn program(argv: Vec<OsString>) -> LaunchSpec {
    let ids: &mut dyn Minter = &mut RandomIds;
    let attempt: Id<Attempt> = mint(ids, SystemClock::new().now().at);
    let mut spec = LaunchSpec::new(argv, PathBuf::from("."), Marker { attempt, owner: own_identity() });
    spec.env = env::inherited();
    spec
}

/// A project's id as it was written here: a directory has one name.
pub(crate) fn workspace(text: &str) -> String {
    contract::domain::workspace::id_from(text, &absolute(".".into()).to_string_lossy())
}

/// How an agent's shell calls this program: by its name where that was enough or the path has it, else by where it is.
pub(crate) fn callable(globals: &Globals) -> String {
    let name = persona::current().name();
    let called = std::env::args_os().next().map(PathBuf::from);
    let by_path = called.filter(|called| called.components().count() > 1);
    let found = std::env::current_exe().is_ok_and(|program| env::finds(name, &program));
    let program = by_path.filter(|_| !found).map(absolute);
    let program = program.and_then(|program| program.to_str().map(str::to_owned));
    let mut words = vec![program.unwrap_or_else(|| name.to_owned())];
    if let Some(path) =
        globals.db_path.clone().map(absolute).and_then(|path| path.to_str().map(str::to_owned))
    {
        words.extend(["--db-path".to_owned(), path]);
    }
    let quoted = shlex::try_join(words.iter().map(String::as_str));
    quoted.unwrap_or_else(|_| name.to_owned())
}

/// Keeps the newest logs up to the limit. Names begin with the time, so they sort by it.
fn forget_old_logs(directory: &std::path::Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let surplus = files.len().saturating_sub(limits::LOG_FILES_MAX);
    for file in &files[..surplus] {
        // Another writ may have been faster; either way it is gone.
        std::fs::remove_file(file).ok();
    }
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

/// Whether a command's processes live in a pid namespace of their own.
pub(crate) fn namespace(text: &str) -> std::result::Result<Namespace, String> {
    Namespace::parse(text).ok_or_else(|| "use on or off".to_owned())
}

pub(crate) fn git_use(text: &str) -> std::result::Result<GitUse, String> {
    GitUse::parse(text).ok_or_else(|| "use read or commit".to_owned())
}

/// A length of time on the command line.
pub(crate) fn length(text: &str) -> std::result::Result<Duration, String> {
    match parse_signed_duration(text) {
        Some(SignedDuration { is_negative: false, length }) => Ok(length),
        Some(_) | None => Err(format!("invalid duration `{text}`; use 90s, 10m or 1h30m")),
    }
}
