//! The machine as verbs see it when a test calls them in its own process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use contract::continuity::brief::{ProgramCommand, ProgramName};
use contract::domain::limits;
use contract::domain::policy::Policy;
use contract::domain::principal::Action;
use contract::domain::request::RequestId;
use contract::domain::retention::Retention;
use contract::domain::run::Run;
use contract::domain::task::Task;
use contract::domain::time::{BootTime, Clock, Now, Timestamp};
use contract::intake::Executors;
use engine::host::{Door, LocalHost, author_environment};
use engine::observer::Nobody;
use engine::settings::{EngineArchive, ModelSettings, WaitLimits};
use engine::supervisor::{ShimProgram, boot_id};
use engine::{Observer, Settings, StopSignal};
use ops::context::{Origin, fact};
use ops::host::{HowToWork, Installation};
use ops::{Caller, Context, Host, Result, Session};
use serde_json::json;
use testkit::{Cli, SeededIds};

/// A door without configuration. Where it was made for a store, it also works runs.
struct TestDoor {
    logs: PathBuf,
    /// Where the plugin of OpenCode would be installed.
    plugin: PathBuf,
}

impl Door for TestDoor {
    fn policy(&self, _: &Path) -> Result<Policy> {
        Ok(Policy::default())
    }

    fn executors(&self, _: &Path) -> Result<Executors> {
        Ok(Executors { known: engine::Executors::built_in().known(), ..Executors::default() })
    }

    fn environment(&self) -> BTreeMap<std::ffi::OsString, std::ffi::OsString> {
        environment()
    }

    fn logs(&self) -> Result<PathBuf> {
        Ok(self.logs.clone())
    }

    fn index(&self) -> engine::index::Index {
        engine::index::Index::at(self.logs.with_extension("index"))
    }

    fn snapshots(&self) -> engine::snapshots::Snapshots {
        engine::snapshots::Snapshots::at(self.logs.with_extension("snapshots"))
    }

    fn worktrees(&self) -> engine::worktree::Worktrees {
        engine::worktree::Worktrees::at(self.logs.with_extension("worktrees"))
    }

    fn settings(&self, _: &Path, how: &HowToWork) -> Result<Settings> {
        std::fs::create_dir_all(&self.logs).unwrap();
        Ok(Settings {
            launcher: Arc::new(shim()),
            executors: engine::Executors::built_in(),
            archive: EngineArchive {
                logs: self.logs.clone(),
                snapshots: self.snapshots(),
                worktrees: engine::worktree::Worktrees::default(),
            },
            index: self.index(),
            policy: Policy::default(),
            sandbox: engine::sandbox::SandboxSettings::default(),
            environment: environment(),
            ceiling: None,
            doors: None,
            stop: StopSignal::default(),
            rerun_parked: how.rerun_parked,
            audit: contract::intake::AuditFiles::default(),
            models: ModelSettings::default(),
            waits: WaitLimits {
                locks: how.lock_wait.unwrap_or(limits::LOCK_WAIT_DEFAULT),
                provider: how.limit_wait.unwrap_or(limits::LIMIT_WAIT_DEFAULT),
            },
        })
    }

    /// A machine on which no agent program calls writ, with the store named by its variable.
    fn installation(&self, store: &Path) -> Installation {
        let plugin = json!({"installed": false, "path": self.plugin, "status": "missing"});
        let events = json!({
            "SessionStart": false, "UserPromptSubmit": false, "PostToolUseFailure": false, "PostToolUse": false,
            "PreCompact": false, "SessionEnd": false, "TaskCompleted": false, "SubagentStart": false,
            "SubagentStop": false, "Stop": false,
        });
        Installation {
            store_source: "env(WRIT_DB)".to_owned(),
            store_bytes: std::fs::metadata(store).ok().map(|found| found.len()),
            hooks: json!({"claude": false, "claude_events": events, "opencode": plugin}),
            retention: Retention::default(),
            diagnostics: Vec::new(),
        }
    }

    /// A person who confirms everything.
    fn ask_person(&self, action: &Action) -> Result<String> {
        Ok(action.digits().to_owned())
    }

    fn observer(&self, _: &Run, _: &[Task]) -> Box<dyn Observer> {
        Box::new(Nobody)
    }
}

/// The built program supervises children, as it does for itself.
fn shim() -> ShimProgram {
    ShimProgram {
        program: env!("CARGO_BIN_EXE_writ").into(),
        args: vec!["__shim".into()],
        has_template: true,
        store: OnceLock::new(),
    }
}

#[expect(clippy::disallowed_methods, reason = "children have to find git and sh")]
fn environment() -> BTreeMap<std::ffi::OsString, std::ffi::OsString> {
    std::env::var_os("PATH").map(|path| ("PATH".into(), path)).into_iter().collect()
}

/// A host for stores on which no run is worked.
pub(crate) fn host() -> Rc<dyn Host> {
    host_at(Path::new("/nonexistent"), Path::new("/nonexistent"))
}

fn host_at(logs: &Path, plugin: &Path) -> Rc<dyn Host> {
    let door = Box::new(TestDoor { logs: logs.to_owned(), plugin: plugin.to_owned() });
    Rc::new(LocalHost { launcher: Arc::new(shim()), door })
}

/// A call from this process, by a person or an agent that presents this token.
pub(crate) fn session(caller: Caller, request_id: RequestId, token: Option<String>) -> Session {
    let call = env!("CARGO_BIN_EXE_writ").to_owned();
    let origin = Origin {
        person: "ann".to_owned(),
        program: fact(ProgramCommand { call, name: ProgramName::Writ }),
        environment: fact(author_environment(environment())),
        access_token: Box::new(move || Ok(token.clone())),
        ..Origin::default()
    };
    Session { origin: Arc::new(origin), ..Session::new(caller, request_id) }
}

/// The store of a `Cli`, opened in this process with the machine's clock.
pub(crate) fn open(cli: &Cli) -> Context {
    let plugin = cli.scratch().join("home/.config/opencode/plugin/writ.js");
    let host = host_at(&cli.scratch().join("writ.db.logs"), &plugin);
    Context::open(&cli.db(), Arc::new(RealClock), Box::new(SeededIds::surprising()), host).unwrap()
}

struct RealClock;

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "leases of the program and of this process have one clock")]
    fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let millis = time.tv_sec * 1000 + time.tv_nsec / 1_000_000;
        Now {
            at: Timestamp::from_millis(i64::try_from(wall.as_millis()).unwrap()),
            boot: BootTime { boot_id: boot_id(), millis },
        }
    }
}
