//! Ways out of a demanded sandbox, each tried by a real child. Where this machine has no sandbox there is nothing to show.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use contract::domain::confinement::{Namespace, NetworkUse};
use contract::domain::network::Visit;
use engine::launcher::Launcher;
use engine::supervisor::{ChildReport, InForce, LaunchSpec, Limits, ProcessExit, Sandbox, SandboxPart};
use testkit::{PATIENCE, Scratch};

use crate::world::{PROGRAM, Run, alive, fresh_token, script, shim_program};

/// A directory with an open and a closed part, and what is outside.
pub(crate) struct World {
    scratch: Scratch,
    pub(crate) sandbox: Sandbox,
    pub(crate) namespace: Namespace,
}

pub(crate) struct Outcome {
    pub(crate) printed: String,
    pub(crate) exit: Option<ProcessExit>,
    pub(crate) visits: Vec<Visit>,
    pub(crate) in_force: Option<InForce>,
    exceeded: Option<String>,
    pub(crate) fault: Option<String>,
}

impl Outcome {
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.exit, Some(ProcessExit::Code(code)) if code != 0)
    }
}

pub(crate) fn has_sandbox() -> bool {
    shim_program("0").sandbox_lacks().is_none()
}

impl World {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        let root = fs::canonicalize(scratch.path()).unwrap();
        for directory in ["work/open", "work/closed", "outside"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::write(root.join("work/closed/file"), "as it was\n").unwrap();
        let program = Path::new(PROGRAM).parent().unwrap();
        let sandbox = Sandbox {
            is_demanded: true,
            writes: Some(vec![root.join("work/open").into()]),
            keeps: vec![root.join("work").into(), program.into()],
            ..Sandbox::default()
        };
        Self { scratch, sandbox, namespace: Namespace::On }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.scratch.path()).unwrap().join(name)
    }

    /// Runs a shell script in `work`; `$0` is a token.
    pub(crate) fn run(&self, text: &str) -> Outcome {
        let token = fresh_token();
        let mut spec = script(&token, text);
        spec.cwd = self.path("work");
        self.start(token, spec)
    }

    /// Tries one way out that needs a call of its own.
    pub(crate) fn escape(&self, way: &str, word: &str) -> Outcome {
        let token = fresh_token();
        let mut spec = script(&token, "exit");
        spec.argv = [PROGRAM, "escape", way, word].map(Into::into).to_vec();
        spec.cwd = self.path("work");
        self.start(token, spec)
    }

    fn start(&self, token: String, mut spec: LaunchSpec) -> Outcome {
        self.confine(&mut spec);
        let run = Run::of(token, spec);
        let mut outcome = Outcome {
            printed: String::new(),
            exit: None,
            visits: Vec::new(),
            in_force: None,
            exceeded: None,
            fault: None,
        };
        let mut printed = Vec::new();
        loop {
            match run.reports.recv_timeout(PATIENCE).expect("a last report") {
                ChildReport::Started { in_force, .. } => outcome.in_force = Some(in_force),
                ChildReport::Visited(visit) => {
                    outcome.visits.retain(|known| (&known.to, known.verdict) != (&visit.to, visit.verdict));
                    outcome.visits.push(visit);
                }
                ChildReport::Stdout(bytes) | ChildReport::Stderr(bytes) => printed.extend(bytes),
                ChildReport::Exceeded(what) => outcome.exceeded = Some(what),
                ChildReport::Exited(how) => outcome.exit = Some(how),
                ChildReport::Gone(_) => break,
                ChildReport::Fault(found) => {
                    outcome.fault = Some(found.message);
                    break;
                }
                ChildReport::Lost(lost) => panic!("{lost:?}"),
            }
        }
        let shim = run.handle.shim_pid();
        let mut left = alive(&run.token);
        left.retain(|process| process.pid != shim);
        assert_eq!(left, [], "still alive after the last report");
        run.handle.join();
        assert_eq!(alive(&run.token), [], "still alive after its shim was joined");
        outcome.printed = String::from_utf8_lossy(&printed).into_owned();
        outcome
    }

    pub(crate) fn confine(&self, spec: &mut LaunchSpec) {
        spec.confinement.namespace = self.namespace;
        spec.confinement.sandbox = Some(Box::new(self.sandbox.clone()));
    }
}

#[test]
fn work_in_the_open_part_goes_on() {
    if !has_sandbox() {
        return;
    }
    let world = World::new();
    let outcome = world.run(
        "cd open && echo a > x && mv x y && ln y z && mkdir d && mv y d/y && ln -s d l && rm z && cat d/y ../closed/file \
         && echo gone > /dev/null && rm -r l d",
    );
    assert_eq!(outcome.exit, Some(ProcessExit::Code(0)), "{} {:?}", outcome.printed, outcome.fault);
    assert_eq!(outcome.printed, "a\nas it was\n");
}

#[test]
fn nothing_outside_the_open_part_can_be_written() {
    if !has_sandbox() {
        return;
    }
    let world = World::new();
    symlink(world.path("work/closed"), world.path("work/open/link")).unwrap();
    let outside = world.path("outside/file");
    fs::write(&outside, "as it was\n").unwrap();
    let work = world.path("work");
    let work = work.display();
    let ways = [
        "echo x > closed/file".to_owned(),
        "echo x > closed/new".to_owned(),
        "echo x > open/link/file".to_owned(),
        "ln closed/file open/hard && echo x > open/hard".to_owned(),
        "echo x > open/new && mv open/new closed/file".to_owned(),
        "mv closed/file open/file".to_owned(),
        "rm closed/file".to_owned(),
        "truncate -s 0 closed/file".to_owned(),
        format!("echo x > /proc/self/root{work}/closed/file"),
        format!("cd /proc/self/cwd && echo x > {work}/closed/file"),
        format!("mount --bind {work}/closed {work}/open && echo x > open/file"),
        format!("unshare -rm mount --bind {work}/closed {work}/open"),
        "umount /tmp".to_owned(),
        // A setuid helper.
        "su root -c 'echo x > closed/file'".to_owned(),
        format!("echo x > {}", outside.display()),
        "echo x > /etc/writ-was-here".to_owned(),
        "echo 4000000 > /proc/sys/kernel/pid_max".to_owned(),
    ];
    for way in ways {
        let outcome = world.run(&way);
        assert!(outcome.is_stopped(), "{way}: {} {:?}", outcome.printed, outcome.fault);
        assert_eq!(fs::read_to_string(world.path("work/closed/file")).unwrap(), "as it was\n", "{way}");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "as it was\n", "{way}");
        assert!(
            !world.path("work/closed/new").exists() && !Path::new("/etc/writ-was-here").exists(),
            "{way}"
        );
    }
}

#[test]
fn what_is_about_a_file_can_be_changed_in_the_open_part_only() {
    if !has_sandbox() {
        return;
    }
    let world = World::new();
    fs::create_dir(world.path("work/open/directory")).unwrap();
    let about = || {
        let found = fs::metadata(world.path("work/closed/file")).unwrap();
        (found.mode(), found.mtime(), found.uid(), found.gid())
    };
    let before = about();
    for way in ["chmod 777 FILE", "touch -d 2001-01-01 FILE", "chown $(id -u):$(id -g) FILE"] {
        for open in ["open/file", "open/directory"] {
            let outcome = world.run(&format!(": >> open/file; {}", way.replace("FILE", open)));
            assert_eq!(outcome.exit, Some(ProcessExit::Code(0)), "{way}: {}", outcome.printed);
        }
        for closed in ["closed/file", "closed"] {
            let outcome = world.run(&way.replace("FILE", closed));
            assert!(outcome.is_stopped(), "{way} {closed}");
            assert!(outcome.printed.contains("Read-only file system"), "{way} {closed}: {}", outcome.printed);
        }
    }
    assert_eq!(about(), before);
}

#[test]
fn files_can_be_moved_within_a_tree_also_where_a_part_of_it_is_named_too() {
    if !has_sandbox() {
        return;
    }
    let mut world = World::new();
    fs::create_dir_all(world.path("work/open/inner")).unwrap();
    world.sandbox.writes = Some(vec![world.path("work/open/inner").into(), world.path("work/open").into()]);
    // A hard link cannot lead from one mount to another.
    let outcome = world.run("echo x > open/a && ln open/a open/inner/b && ln open/inner/b open/c");
    assert_eq!(outcome.exit, Some(ProcessExit::Code(0)), "{} {:?}", outcome.printed, outcome.fault);
}

#[test]
fn what_is_read_only_or_hidden_inside_the_open_part_stays_so() {
    if !has_sandbox() {
        return;
    }
    let mut world = World::new();
    for (name, text) in [("open/.git/config", "c"), ("open/secret.db", "s"), ("open/logs/one", "l")] {
        let path = world.path("work").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    world.sandbox.read_only = vec![world.path("work/open/.git").into()];
    world.sandbox.hidden =
        vec![world.path("work/open/secret.db").into(), world.path("work/open/logs").into()];
    for way in [
        "echo x > open/.git/config",
        "mv open/.git open/other",
        "mkdir open/.git/hooks",
        "cat open/secret.db",
        "chmod 600 open/secret.db",
        "rm open/secret.db",
        "ls open/logs",
        "cat open/logs/one",
        "rm -rf open/logs",
    ] {
        assert!(world.run(way).is_stopped(), "{way}");
    }
    assert_eq!(world.run("cat open/.git/config").printed, "c");
    assert_eq!(fs::read_to_string(world.path("work/open/logs/one")).unwrap(), "l");
}

#[test]
fn sockets_of_others_cannot_be_reached() {
    if !has_sandbox() {
        return;
    }
    let mut world = World::new();
    world.sandbox.network = NetworkUse::None;
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let name = format!("writ-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    // As an SSH agent has one, but in the open part, which is not covered.
    let inside = world.path("work/open/agent.sock");
    let _inside = UnixListener::bind(&inside).unwrap();
    let outside = world.path("outside/agent.sock");
    let _outside = UnixListener::bind(&outside).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let cases = [
        ("tcp", tcp.local_addr().unwrap().to_string()),
        ("udp", udp.local_addr().unwrap().to_string()),
        ("raw", String::new()),
        ("packet", String::new()),
        ("abstract", name),
        ("path", text(&inside)),
        ("path", text(&outside)),
    ];
    for (way, word) in cases {
        let outcome = world.escape(way, &word);
        assert!(outcome.is_stopped(), "{way} {word}: {} {:?}", outcome.printed, outcome.fault);
    }
    // Local ones, and of the kernel's own the one that lists addresses.
    assert_eq!(world.escape("sockets", "").printed, "1 16, 1 of 16\n");
    // The same calls work outside, so it is the sandbox that stops them.
    assert!(std::net::TcpStream::connect(tcp.local_addr().unwrap()).is_ok());
}

#[test]
fn the_network_is_open_unless_it_is_closed() {
    if !has_sandbox() {
        return;
    }
    let world = World::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let outcome = world.escape("tcp", &tcp.local_addr().unwrap().to_string());
    assert_eq!(outcome.exit, Some(ProcessExit::Code(0)), "{}", outcome.printed);
    assert_eq!(world.escape("sockets", "").printed, "1 2 10 16, 32 of 16\n");
    assert!(world.escape("raw", "").is_stopped());
}

#[test]
fn other_processes_and_the_kernel_cannot_be_reached() {
    if !has_sandbox() {
        return;
    }
    let world = World::new();
    let pid = std::process::id().to_string();
    for word in [pid.as_str(), "1"] {
        let outcome = world.escape("signal", word);
        assert!(outcome.is_stopped(), "signal {word}: {} {:?}", outcome.printed, outcome.fault);
    }
    // Each of them would fail with another error, or not at all, without the filter.
    let ways = [("trace", "1"), ("io_uring", ""), ("keys", ""), ("bpf", ""), ("users", ""), ("clone", "")];
    for (way, word) in ways.into_iter().chain([("secret memory", "")]) {
        let outcome = world.escape(way, word);
        assert_eq!(
            outcome.printed,
            format!("{way}: Permission denied (os error 13)\n"),
            "{:?}",
            outcome.fault
        );
    }
    let is_other_abi_known = cfg!(target_arch = "x86_64");
    for way in ["clone3"].into_iter().chain(is_other_abi_known.then_some("other_abi")) {
        let said = world.escape(way, "").printed;
        assert_eq!(said, format!("{way}: Function not implemented (os error 38)\n"));
    }
    // Shared memory and message queues of others have names that are no paths.
    let own = world.run("readlink /proc/self/ns/ipc").printed;
    assert_ne!(Path::new(own.trim()), fs::read_link("/proc/self/ns/ipc").unwrap());
    let status = world.run("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t '").printed;
    assert_eq!(status, "NoNewPrivs:1\nSeccomp:2\n");
}

#[test]
fn disks_and_terminals_of_the_machine_cannot_be_opened_and_ordinary_devices_can() {
    if !has_sandbox() {
        return;
    }
    let world = World::new();
    let hidden = "for f in /dev/tty[01] /dev/ttyS0 /dev/console /dev/vcs* /dev/hvc* /dev/loop[0-9]* /dev/input/*; do \
                  test -e $f || continue; timeout 5 sh -c ': < $1' - $f 2> /dev/null && echo $f; done; true";
    assert_eq!(world.run(hidden).printed, "");
    let usual = "set -e; for f in null zero full random urandom; do head -c 1 /dev/$f | wc -c; : > /dev/$f; done; \
                 test -e /dev/ptmx && test -r /dev/tty && readlink /dev/fd; python3 -c 'import os; os.openpty()'";
    let outcome = world.run(&format!("command -v python3 > /dev/null || alias python3=true; {usual}"));
    assert_eq!(outcome.printed, "0\n1\n1\n1\n1\n/proc/self/fd\n", "{:?}", outcome.fault);
    assert_eq!(outcome.exit, Some(ProcessExit::Code(0)));
}

#[test]
fn a_descriptor_that_was_left_open_does_not_come_along() {
    if !has_sandbox() {
        return;
    }
    let world = World::new();
    let file = fs::File::create(world.path("outside/file")).unwrap();
    // Without the flag that closes it, as a careless caller leaves one.
    let left = rustix::io::fcntl_dupfd_cloexec(&file, 50).unwrap();
    rustix::io::fcntl_setfd(&left, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&left).to_string();
    assert!(world.escape("descriptor", &number).is_stopped());
    assert_eq!(fs::read_to_string(world.path("outside/file")).unwrap(), "");
}

#[test]
fn too_much_memory_and_too_many_processes_end_the_child_and_nothing_else() {
    if !has_sandbox() {
        return;
    }
    let mut world = World::new();
    world.sandbox.limits = Limits { processes_max: 40, memory_bytes_max: 64 * 1024 * 1024 };
    let memory = world.escape("memory", "");
    assert_eq!(memory.exceeded.as_deref(), Some("more than 64 MiB of memory"));
    let processes = world.escape("processes", "");
    assert!(processes.exceeded.is_some(), "{:?} {}", processes.exit, processes.printed);
}

/// Memory that no process maps: files without a name, also where the first thread of their process has ended, directories that
/// are only in memory, and shared segments.
#[test]
fn memory_that_no_process_maps_counts_too() {
    if !has_sandbox() {
        return;
    }
    let mut world = World::new();
    world.sandbox.limits.memory_bytes_max = 128 * 1024 * 1024;
    for (way, word) in [
        ("memory file", "stay"),
        ("memory file", "thread"),
        ("memory directory", "/dev/shm"),
        ("segment", ""),
    ] {
        let outcome = world.escape(way, word);
        let said = outcome.exceeded.as_deref();
        assert_eq!(said, Some("more than 128 MiB of memory"), "{way} {word}: {}", outcome.printed);
    }
    // The other directories have room for no more than the limit either, and a thread with files of its own is refused.
    let rooms =
        world.run("df -B1 --output=size,target /dev/shm /run /tmp | tail -n +2 | awk '{print $1}' | sort -u");
    assert_eq!(rooms.printed, format!("{}\n", 128 * 1024 * 1024));
    assert!(world.escape("files of a thread", "").printed.contains("Permission denied"));
}

#[test]
fn what_is_demanded_and_cannot_be_had_starts_nothing() {
    let mut world = World::new();
    (world.sandbox.network, world.namespace) = (NetworkUse::Restricted, Namespace::Off);
    let outcome = world.run("echo started > open/file");
    let fault = outcome.fault.expect("a refusal");
    assert!(fault.contains("the sandbox lacks") && fault.contains("network"), "{fault}");
    assert!(!world.path("work/open/file").exists());
}

#[test]
fn what_is_only_preferred_is_reported_and_the_rest_is_in_force() {
    if !has_sandbox() {
        return;
    }
    let mut world = World::new();
    world.namespace = Namespace::Off;
    (world.sandbox.is_demanded, world.sandbox.network) = (false, NetworkUse::Restricted);
    world.sandbox.writes = None;
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let outcome = world.escape("tcp", &tcp.local_addr().unwrap().to_string());
    // Without a proxy there is no limit, and nothing leads programs to one.
    assert_eq!(outcome.exit, Some(ProcessExit::Code(0)), "{} {:?}", outcome.printed, outcome.fault);
    assert_eq!(world.run("env | grep -ci proxy").printed, "0\n");
    let in_force = outcome.in_force.and_then(|in_force| in_force.sandbox).expect("it was asked for");
    assert_eq!((in_force.syscalls, in_force.reachable), (SandboxPart::On, None));
    assert!(in_force.network.is_refused() && matches!(in_force.files, SandboxPart::Off(_)));
}
