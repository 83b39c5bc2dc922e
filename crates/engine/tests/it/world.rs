//! What the tests share: an executor with a name that can be found again, and waiting with a deadline.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};

use contract::domain::confinement::Namespace;
use contract::domain::id::Id;
use engine::supervisor::process_table::{self, Process};
use engine::supervisor::{
    self, ChildReport, Handle, LaunchSpec, Marker, NamespaceInForce, ShimProgram, Supervisor,
};
use testkit::PATIENCE;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_shim-for-tests");

/// With a namespace where the system allows it, and without one.
pub(crate) const MODES: [Namespace; 2] = [Namespace::On, Namespace::Off];

/// How many processes besides the executors a shim needs: its own and the first one of a namespace.
pub(crate) fn supervisors(namespace: Namespace) -> usize {
    match in_force(namespace) {
        NamespaceInForce::On => 2,
        NamespaceInForce::Off | NamespaceInForce::Refused(_) => 1,
    }
}

/// What this machine makes of the wish.
pub(crate) fn in_force(namespace: Namespace) -> NamespaceInForce {
    let run = Run::start_with(namespace, "exit");
    let Ok(ChildReport::Started { in_force, .. }) = run.reports.recv_timeout(PATIENCE) else {
        panic!("no start")
    };
    assert!(matches!(run.finish().ends[..], [ChildReport::Exited(_), ChildReport::Gone(_)]));
    in_force.namespace
}

/// A number that no other process on the machine has among its arguments. Also a number of seconds to sleep.
pub(crate) fn fresh_token() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("9{:010}{count:04}", std::process::id())
}

/// Living processes with the token among their arguments, whatever became of their environment.
pub(crate) fn alive(token: &str) -> Vec<Process> {
    let has_token = |process: &Process| {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word == token.as_bytes())
    };
    process_table::snapshot().into_iter().filter(|process| !process.is_zombie && has_token(process)).collect()
}

pub(crate) fn marker(token: &str) -> Marker {
    Marker { attempt: Id::from_bits(token.parse().unwrap()), owner: supervisor::own_identity() }
}

pub(crate) fn shim_program(token: &str) -> ShimProgram {
    ShimProgram {
        program: PROGRAM.into(),
        args: vec!["shim".into(), token.into()],
        has_template: false,
        store: std::sync::OnceLock::new(),
    }
}

/// A shell script whose `$0` is the token.
pub(crate) fn script(token: &str, text: &str) -> LaunchSpec {
    let argv = ["/bin/sh", "-c", text, token].map(Into::into).to_vec();
    let mut spec = LaunchSpec::new(argv, "/".into(), marker(token));
    spec.env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    spec
}

/// An executor under way.
pub(crate) struct Run {
    pub(crate) token: String,
    pub(crate) handle: Handle,
    pub(crate) reports: Receiver<ChildReport>,
}

impl Run {
    pub(crate) fn start(text: &str) -> Self {
        Self::start_with(Namespace::On, text)
    }

    pub(crate) fn start_with(namespace: Namespace, text: &str) -> Self {
        let token = fresh_token();
        let mut spec = script(&token, text);
        spec.confinement.namespace = namespace;
        Self::of(token, spec)
    }

    pub(crate) fn of(token: String, spec: LaunchSpec) -> Self {
        let (sender, reports) = mpsc::channel();
        let shim = shim_program(&token);
        let handle = Supervisor::start(&shim, spec, move |report| drop(sender.send(report))).unwrap();
        Self { token, handle, reports }
    }

    /// Waits until the executor has printed this line.
    pub(crate) fn wait_for_line(&self, line: &str) {
        let mut seen = Vec::new();
        loop {
            match self.reports.recv_timeout(PATIENCE).unwrap() {
                ChildReport::Stdout(bytes) => seen.extend(bytes),
                ChildReport::Started { .. } => {}
                other => panic!("waiting for {line:?}: {other:?}"),
            }
            if String::from_utf8_lossy(&seen).lines().any(|seen| seen == line) {
                return;
            }
        }
    }

    /// All further reports up to the last one. By then nothing of the executor is alive; its shim ends at the same time.
    pub(crate) fn finish(self) -> Outcome {
        let mut outcome = Outcome::default();
        loop {
            let report = self.reports.recv_timeout(PATIENCE).expect("a last report");
            match report {
                ChildReport::Stdout(bytes) => outcome.stdout.extend(bytes),
                ChildReport::Stderr(bytes) => outcome.stderr.extend(bytes),
                ChildReport::Started { .. } => {}
                ChildReport::Visited(_) => {}
                ChildReport::Exceeded(_) | ChildReport::Exited(_) => outcome.ends.push(report),
                ChildReport::Gone(_) | ChildReport::Fault(_) | ChildReport::Lost(_) => {
                    outcome.ends.push(report);
                    break;
                }
            }
        }
        let shim = self.handle.shim_pid();
        let mut left = alive(&self.token);
        left.retain(|process| process.pid != shim);
        assert_eq!(left, [], "still alive after the last report");
        self.handle.join();
        assert_eq!(alive(&self.token), [], "still alive after its shim was joined");
        outcome
    }
}

#[must_use = "look at how it ended"]
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// `Exited`, and the last report.
    pub(crate) ends: Vec<ChildReport>,
}

impl Outcome {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Another writ, in a process of its own. Killed when dropped.
pub(crate) struct Owner {
    pub(crate) token: String,
    pub(crate) process: Child,
    /// What was in force for the executor that started last.
    in_force: String,
}

impl Owner {
    pub(crate) fn start(scripts: &[&str]) -> Self {
        Self::start_with(Namespace::On, scripts)
    }

    #[expect(clippy::disallowed_methods, reason = "another writ is not an executor")]
    pub(crate) fn start_with(namespace: Namespace, scripts: &[&str]) -> Self {
        Self::of(Command::new(PROGRAM), namespace, scripts)
    }

    /// In a user and a mount namespace of its own, after a shell has run `prepare` there.
    #[expect(clippy::disallowed_methods, reason = "another writ is not an executor")]
    pub(crate) fn nested(prepare: &str, scripts: &[&str]) -> Self {
        let mut command = Command::new("unshare");
        let text = format!("{prepare}; exec \"$0\" \"$@\"");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &text, PROGRAM]);
        Self::of(command, Namespace::On, scripts)
    }

    /// Without namespaces, for the store in the file with this inode.
    #[expect(clippy::disallowed_methods, reason = "another writ is not an executor")]
    pub(crate) fn of_store(inode: u64, scripts: &[&str]) -> Self {
        Self::with_words(Command::new(PROGRAM), &format!("off/{inode}"), scripts)
    }

    fn of(command: Command, namespace: Namespace, scripts: &[&str]) -> Self {
        Self::with_words(command, namespace.as_str(), scripts)
    }

    fn with_words(mut command: Command, first: &str, scripts: &[&str]) -> Self {
        let token = fresh_token();
        command.args(["owner", first]).arg(&token).args(scripts);
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        Self { token, process, in_force: String::new() }
    }

    /// Waits until all its executors run. Gives the pids of their shims.
    pub(crate) fn wait_for_shims(&mut self) -> Vec<u32> {
        let mut line = String::new();
        let stdout = self.process.stdout.as_mut().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
        let (pids, in_force) = line.trim_end().split_once('\t').unwrap();
        self.in_force = in_force.to_owned();
        pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    /// What is in force for the executor that started last.
    pub(crate) fn in_force(&self) -> &str {
        &self.in_force
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.kill();
    }
}
