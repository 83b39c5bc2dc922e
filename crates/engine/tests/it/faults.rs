//! What cannot start says why, and what starts has exactly what it was given.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use engine::supervisor::{
    ChildReport, LaunchSpec, ProcessExit, ShimProgram, StartError, StartFault, Stdin, Supervisor, VARIABLE,
};

use crate::world::{Run, fresh_token, marker, script, shim_program};

fn outcome_of(argv: &[&str], cwd: &Path) -> ChildReport {
    let token = fresh_token();
    let argv = argv.iter().map(Into::into).collect();
    let spec = LaunchSpec::new(argv, cwd.to_owned(), marker(&token));
    let [last] = Run::of(token, spec).finish().ends.try_into().unwrap();
    last
}

fn fault(message: &str, errno: i32) -> ChildReport {
    ChildReport::Fault(StartFault { message: message.to_owned(), errno: Some(errno) })
}

#[test]
fn a_start_that_fails_names_its_cause() {
    let directory = tempfile::tempdir().unwrap();
    let root = Path::new("/");
    let file = directory.path().join("file");
    std::fs::write(&file, "no program").unwrap();
    let name = file.to_str().unwrap();
    assert_eq!(
        outcome_of(&["/no/such/program"], root),
        fault("could not start /no/such/program: No such file or directory (os error 2)", 2)
    );
    assert_eq!(
        outcome_of(&["no-such-program"], root),
        fault("could not start no-such-program: No such file or directory (os error 2)", 2)
    );
    assert_eq!(
        outcome_of(&[name], root),
        fault(&format!("could not start {name}: Permission denied (os error 13)"), 13)
    );
    assert_eq!(
        outcome_of(&["/bin/true"], Path::new("/no/such/directory")),
        fault("could not work in /no/such/directory: No such file or directory (os error 2)", 2)
    );
    assert_eq!(
        outcome_of(&["/bin/true"], &file),
        fault(&format!("could not work in {name}: Not a directory (os error 20)"), 20)
    );
}

#[test]
fn a_launch_that_makes_no_sense_is_refused_before_anything_starts() {
    let token = fresh_token();
    let start = |spec| Supervisor::start(&shim_program(&token), spec, |_| {}).unwrap_err();
    let empty = LaunchSpec::new(Vec::new(), "/".into(), marker(&token));
    assert!(matches!(start(empty), StartError::NoProgram));
    let mut huge = script(&token, "true");
    huge.stdin = Stdin::Bytes(vec![b'x'; 17 * 1024 * 1024]);
    assert!(matches!(start(huge), StartError::TooLarge { .. }));
}

#[test]
fn a_program_that_is_no_shim_is_noticed() {
    let token = fresh_token();
    let start = |program: &str, reports: std::sync::mpsc::Sender<ChildReport>| {
        let shim = ShimProgram {
            program: program.into(),
            args: Vec::new(),
            has_template: false,
            store: std::sync::OnceLock::new(),
        };
        Supervisor::start(&shim, script(&token, "true"), move |report| reports.send(report).unwrap())
    };
    let (sender, _reports) = std::sync::mpsc::channel();
    assert!(matches!(start("/no/such/shim", sender), Err(StartError::Shim { .. })));
    for program in ["/bin/true", "/bin/cat"] {
        let (sender, reports) = std::sync::mpsc::channel();
        // Whether it is still there to take the launch is a race; both answers say what is wrong.
        match start(program, sender) {
            Ok(handle) => {
                handle.join();
                assert!(matches!(reports.into_iter().last(), Some(ChildReport::Lost(_))), "{program}");
            }
            Err(error) => assert!(matches!(error, StartError::Handover { .. }), "{error:?}"),
        }
    }
}

#[test]
fn a_signal_for_the_whole_group_that_hits_a_starting_shim_only_costs_that_shim() {
    let token = fresh_token();
    let ours = shim_program(&token);
    let words: Vec<&str> = ours.args.iter().map(|word| word.to_str().unwrap()).collect();
    let outcome = |deaths: usize, signal: &str| {
        let directory = tempfile::tempdir().unwrap();
        let dead = directory.path().join("dead").display().to_string();
        // Dies so many times, and is a shim then.
        let text = format!(
            "[ $(cat {dead} 2>/dev/null | wc -l) -ge {deaths} ] && exec {} {}; echo x >> {dead}; kill -{signal} $$",
            ours.program.display(),
            words.join(" ")
        );
        let shim = ShimProgram {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), text.into()],
            has_template: false,
            store: std::sync::OnceLock::new(),
        };
        let (sender, reports) = std::sync::mpsc::channel();
        let handle =
            Supervisor::start(&shim, script(&token, "exit 4"), move |report| sender.send(report).unwrap())?;
        handle.join();
        Ok(reports.into_iter().any(|report| report == ChildReport::Exited(ProcessExit::Code(4))))
    };
    for signal in ["INT", "TERM", "HUP"] {
        assert!(matches!(outcome(2, signal), Ok(true)), "{signal}");
    }
    for (deaths, signal) in [(1, "KILL"), (100, "INT")] {
        assert!(matches!(outcome(deaths, signal), Err(StartError::Handover { .. })), "{signal}");
    }
}

#[test]
fn the_environment_and_directory_are_exactly_the_given_ones() {
    let token = fresh_token();
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    let argv = ["/usr/bin/env"].map(Into::into).to_vec();
    let mut spec = LaunchSpec::new(argv, directory.clone(), marker(&token));
    spec.env.insert("ONLY".into(), OsString::from_vec(b"b\xffd".to_vec()));
    let expected =
        [b"ONLY=b\xffd\n".to_vec(), format!("{VARIABLE}={}\n", marker(&token)).into_bytes()].concat();
    assert_eq!(Run::of(token.clone(), spec).finish().stdout, expected);

    let argv = ["/bin/pwd"].map(Into::into).to_vec();
    let spec = LaunchSpec::new(argv, directory.clone(), marker(&token));
    let outcome = Run::of(token, spec).finish();
    assert_eq!(outcome.text().trim_end(), directory.to_str().unwrap());
    assert_eq!(outcome.ends[0], ChildReport::Exited(ProcessExit::Code(0)));
}

#[test]
fn an_executor_has_no_terminal_and_the_usual_signals() {
    let outcome = Run::start("(: </dev/tty) 2>/dev/null || echo none; grep ^Sig /proc/self/status").finish();
    let text = outcome.text();
    let signals = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        // The two above the named ones belong to the C library, and are what the test itself was started with.
        u64::from_str_radix(line.trim(), 16).unwrap() & 0x7fff_ffff
    };
    assert!(text.starts_with("none\n"), "{text}");
    assert_eq!((signals("SigBlk:"), signals("SigIgn:")), (0, 0));
}
