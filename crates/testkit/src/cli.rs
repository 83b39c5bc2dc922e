//! Runs `writ` hermetically: nothing of this machine leaks in, nothing leaks out.

mod background;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use crate::{OnTerminal, Output, Scratch, binary, process, wait};
pub use background::Background;
use background::Streams;

/// A program with its own home directory. Dropping it kills all processes that still run there.
#[derive(Debug)]
pub struct Cli {
    program: PathBuf,
    scratch: Scratch,
    env: BTreeMap<OsString, OsString>,
    calls: AtomicU32,
}

impl Cli {
    /// Uses the given program: `Cli::new(env!("CARGO_BIN_EXE_writ"))` in the tests of `cli`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let scratch = Scratch::new();
        let env = hermetic_environment(&scratch);
        Self { program: program.into(), scratch, env, calls: AtomicU32::new(0) }
    }

    /// Uses the `writ` in the directory that the tests were built into.
    pub fn writ() -> Self {
        Self::new(binary::beside_the_tests("writ", "cli"))
    }

    /// Sets a variable for every call from now on.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// The directory of this runner, removed after the test.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The working directory of calls: an empty project.
    pub fn project(&self) -> PathBuf {
        self.scratch.join("project")
    }

    /// Where `WRIT_DB` points.
    pub fn db(&self) -> PathBuf {
        self.scratch.join("writ.db")
    }

    /// Runs the program and waits for its end.
    #[track_caller]
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.call(args).run()
    }

    /// Starts the program and returns at once.
    #[track_caller]
    pub fn spawn<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Background<'_> {
        self.call(args).spawn()
    }

    /// Prepares a call.
    pub fn call<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Call<'_> {
        Call {
            cli: self,
            program: self.program.clone(),
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            env: self.env.clone(),
            name: None,
            dir: self.project(),
            input: Input::Nothing,
            deadline: wait::PATIENCE,
        }
    }

    /// Processes that were started from here, directly or indirectly, and are still running.
    pub fn leftovers(&self) -> Vec<u32> {
        process::around(self.scratch.path())
    }
}

impl Drop for Cli {
    fn drop(&mut self) {
        for pid in self.leftovers() {
            process::signal(pid, Signal::KILL);
        }
    }
}

/// What the program reads.
enum Input {
    Nothing,
    Text(Vec<u8>),
    Pipe,
}

#[must_use = "start the call with .run() or .spawn()"]
pub struct Call<'a> {
    cli: &'a Cli,
    program: PathBuf,
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    name: Option<OsString>,
    dir: PathBuf,
    input: Input,
    deadline: Duration,
}

impl<'a> Call<'a> {
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    pub fn without_env(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.remove(name.as_ref());
        self
    }

    /// Runs another program, with the same home and environment.
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// Sets the program's argv[0].
    pub fn named(mut self, name: impl Into<OsString>) -> Self {
        self.name = Some(name.into());
        self
    }

    pub fn in_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    /// Sets standard input; the program reads an end of file after it.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Text(bytes.into());
        self
    }

    /// Leaves standard input open; `Background::send` writes to it.
    pub fn open_stdin(mut self) -> Self {
        self.input = Input::Pipe;
        self
    }

    /// Sets how long the call may take, instead of `PATIENCE`.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Runs the program and waits for its end. Panics with its output so far when the deadline passes.
    #[track_caller]
    pub fn run(self) -> Output {
        self.spawn().wait()
    }

    /// Starts the program in a session of its own, with a pseudo-terminal of this size as its standard streams.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "tests of a program start the program")]
    pub fn on_terminal(self, columns: u16, rows: u16) -> OnTerminal<'a> {
        // `setsid` makes standard input the controlling terminal, so that Ctrl-C is a signal.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(&self.cli.program).args(&self.args);
        command.env_clear().envs(&self.env).env_remove("COLUMNS").current_dir(&self.dir);
        OnTerminal::start(self.cli, command, columns, rows)
    }

    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "tests of a program start the program")]
    pub fn spawn(self) -> Background<'a> {
        let scratch = &self.cli.scratch;
        let number = self.cli.calls.fetch_add(1, Ordering::Relaxed);
        // Files instead of pipes: no reader threads, no full pipe, and an orphan that keeps its end open cannot hang the test.
        let stream = |name: &str| scratch.join(format!("calls/{number}.{name}"));
        let create = |path: &Path| File::create(path).expect("a new file in the scratch directory");
        let (stdout, stderr) = (stream("out"), stream("err"));
        let stdin = match self.input {
            Input::Nothing => Stdio::null(),
            Input::Pipe => Stdio::piped(),
            Input::Text(bytes) => {
                let path = scratch.write(stream("in"), bytes);
                File::open(path).expect("the file written one line up").into()
            }
        };
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().envs(&self.env).current_dir(&self.dir);
        command.stdin(stdin).stdout(create(&stdout)).stderr(create(&stderr)).process_group(0);
        if let Some(name) = &self.name {
            command.arg0(name);
        }
        let line = line(self.name.as_deref().unwrap_or(self.program.as_os_str()), &self.args);
        let child = command.spawn().unwrap_or_else(|error| panic!("could not start `{line}`: {error}"));
        Background::new(self.cli, child, line, Streams { stdout, stderr, deadline: self.deadline })
    }
}

fn line(program: &OsStr, args: &[OsString]) -> String {
    let words = std::iter::once(program).chain(args.iter().map(OsString::as_os_str));
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[expect(
    clippy::disallowed_methods,
    reason = "git and sh have to be found; nothing else comes from this machine"
)]
fn hermetic_environment(scratch: &Scratch) -> BTreeMap<OsString, OsString> {
    let mut env = BTreeMap::new();
    let dirs = [
        ("HOME", "home"),
        ("XDG_CONFIG_HOME", "home/.config"),
        ("XDG_DATA_HOME", "home/.local/share"),
        ("XDG_STATE_HOME", "home/.local/state"),
        ("XDG_CACHE_HOME", "home/.cache"),
        ("XDG_RUNTIME_DIR", "run"),
        ("TMPDIR", "tmp"),
    ];
    for (name, inside) in dirs {
        env.insert(name.into(), scratch.dir(inside).into());
    }
    scratch.dir("project");
    scratch.dir("calls");
    env.insert("WRIT_DB".into(), scratch.join("writ.db").into());
    let fixed = [
        ("COLUMNS", "100"),
        ("NO_COLOR", "1"),
        ("TZ", "UTC"),
        ("LC_ALL", "C.UTF-8"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ];
    env.extend(fixed.map(|(name, value)| (name.into(), value.into())));
    if let Some(path) = std::env::var_os("PATH") {
        env.insert("PATH".into(), path);
    }
    env
}
