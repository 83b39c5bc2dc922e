//! Stands in for the product's binary in this crate's tests: the shim, or an owner that a test may kill.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc;

use contract::domain::id::Id;
use engine::supervisor::{self, LaunchSpec, Marker, Report, ShimProgram, Supervisor};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(|word| word.to_str()) {
        Some("shim") => supervisor::shim_main(),
        Some("owner") => own(&words.collect::<Vec<_>>()),
        Some("ancestor") => tell_ancestor(&words.collect::<Vec<_>>()),
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

/// `owner TOKEN SCRIPT...`: starts one executor per shell script, tells their shims' pids, and works until killed.
/// An executor's `$0` is the token; the attempt is named after it.
fn own(words: &[OsString]) -> ExitCode {
    supervisor::become_subreaper().expect("a subreaper");
    let [token, scripts @ ..] = words else { return ExitCode::from(2) };
    let text = token.to_str().expect("a number");
    let attempt = Id::from_bits(text.parse().expect("a number"));
    let program = std::env::current_exe().expect("this program's path");
    let shim = ShimProgram { program, args: vec!["shim".into(), token.clone()] };
    let (sender, started) = mpsc::channel();
    let mut handles = Vec::new();
    for script in scripts {
        let marker = Marker { attempt: Id::clone(&attempt), owner: supervisor::own_identity() };
        let argv = vec!["/bin/sh".into(), "-c".into(), script.clone(), token.clone()];
        let mut spec = LaunchSpec::new(argv, "/".into(), marker);
        spec.env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        let sender = sender.clone();
        let handle = Supervisor::start(&shim, spec, move |report| {
            if matches!(report, Report::Started { .. }) {
                sender.send(()).ok();
            }
        });
        handles.push(handle.expect("a shim"));
    }
    for _ in scripts {
        started.recv().expect("a start");
    }
    let pids: Vec<String> = handles.iter().map(|handle| handle.shim_pid().to_string()).collect();
    writeln!(io::stdout(), "{}", pids.join(" ")).ok();
    io::stdin().read_to_end(&mut Vec::new()).ok();
    ExitCode::SUCCESS
}
