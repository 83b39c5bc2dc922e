//! Stands in for the product's binary in this crate's tests: the shim, or an owner that a test may kill.

#[cfg(target_os = "linux")]
#[path = "shim_for_tests/escape.rs"]
mod escape;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::{OnceLock, mpsc};

use contract::domain::confinement::Namespace;
use contract::domain::id::{DataStore, Id};
use contract::domain::process::StoreFile;
use engine::launcher::Launcher;
use engine::supervisor::{self, ChildReport, LaunchSpec, Marker, OwnerIdentity, ShimProgram, Supervisor};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(|word| word.to_str()) {
        Some("shim") => supervisor::shim_main(),
        Some("owner") => own(&words.collect::<Vec<_>>()),
        Some("ancestor") => tell_ancestor(&words.collect::<Vec<_>>()),
        Some("identity") => tell_identity(),
        #[cfg(target_os = "linux")]
        Some("escape") => {
            let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
            escape::escape(&words[0], words.get(1).map_or("", String::as_str))
        }
        _ => ExitCode::from(2),
    }
}

/// `ancestor PROGRAM...`: prints the nearest ancestor that runs one of these programs.
fn tell_ancestor(words: &[OsString]) -> ExitCode {
    let programs: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let found = serde_json::to_string(&engine::ancestor::find(&programs)).expect("a holder is JSON");
    writeln!(io::stdout(), "{found}").ok();
    ExitCode::SUCCESS
}

/// `identity`: prints how a store would record this process, and works until killed.
fn tell_identity() -> ExitCode {
    let shim =
        ShimProgram { program: "none".into(), args: Vec::new(), has_template: false, store: OnceLock::new() };
    let own = serde_json::to_string(&shim.owner()).expect("an owner is JSON");
    writeln!(io::stdout(), "{own}").ok();
    loop {
        std::thread::park();
    }
}

/// `owner on|off TOKEN SCRIPT...`: starts one executor per shell script, tells their shims' pids and what is in
/// force, and works until killed. The first word selects whether they get namespaces of their own, and after a `/` the
/// inode of the store that it works for. An executor's `$0` is the token; the attempt is named after it.
fn own(words: &[OsString]) -> ExitCode {
    supervisor::become_subreaper().expect("a subreaper");
    let [namespace, token, scripts @ ..] = words else { return ExitCode::from(2) };
    let namespace = namespace.to_str().expect("text");
    let (namespace, inode) = namespace.split_once('/').unwrap_or((namespace, ""));
    let namespace = Namespace::parse(namespace).expect("on or off");
    let store = inode.parse().ok().map(|inode| StoreFile {
        id: Id::<DataStore>::from_bits(1).to_string(),
        device: 1,
        inode,
    });
    let text = token.to_str().expect("a number");
    let attempt = Id::from_bits(text.parse().expect("a number"));
    let program = std::env::current_exe().expect("this program's path");
    let shim = ShimProgram {
        program,
        args: vec!["shim".into(), token.clone()],
        has_template: false,
        store: OnceLock::new(),
    };
    let (sender, started) = mpsc::channel();
    let mut handles = Vec::new();
    for script in scripts {
        let owner = OwnerIdentity { store: store.clone(), ..supervisor::own_identity() };
        let marker = Marker { attempt: Id::clone(&attempt), owner };
        let argv = vec!["/bin/sh".into(), "-c".into(), script.clone(), token.clone()];
        let mut spec = LaunchSpec::new(argv, "/".into(), marker);
        spec.env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        spec.confinement.namespace = namespace;
        let sender = sender.clone();
        let handle = Supervisor::start(&shim, spec, move |report| {
            if let ChildReport::Started { in_force, .. } = report {
                sender.send(in_force).ok();
            }
        });
        handles.push(handle.expect("a shim"));
    }
    let mut in_force = None;
    for _ in scripts {
        in_force = Some(started.recv().expect("a start"));
    }
    let in_force = in_force.map_or_else(String::new, |in_force| in_force.namespace.to_string());
    let pids: Vec<String> = handles.iter().map(|handle| handle.shim_pid().to_string()).collect();
    writeln!(io::stdout(), "{}\t{in_force}", pids.join(" ")).ok();
    io::stdin().read_to_end(&mut Vec::new()).ok();
    ExitCode::SUCCESS
}
