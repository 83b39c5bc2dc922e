//! Automation of the project: the same commands for developers and for CI.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "automation talks to a terminal, reads the environment and starts cargo; the product's rules do not apply to it"
)]

mod agents;
mod bench;
mod ci;
mod job;
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

/// An error is a message for the person who ran the command; no program branches on it.
type Result<T = ()> = std::result::Result<T, String>;

struct Task {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result,
}

const TASKS: &[Task] = &[
    Task { name: "ci", usage: "", about: ci::ABOUT, run: ci::run },
    Task { name: "test", usage: "[--agents] [ARGS]", about: test::ABOUT, run: test::run },
    Task { name: "tidy", usage: "[--verbose]", about: tidy::ABOUT, run: tidy::run },
    Task { name: "bench", usage: "[NAME] [OPTIONS]", about: bench::ABOUT, run: bench::run },
    Task { name: "soak", usage: "[--minutes N]", about: soak::ABOUT, run: soak::run },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = words.split_first() else {
        print!("{}", help());
        return ExitCode::from(2);
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprint!("xtask: unknown task `{name}`\n\n{}", help());
        return ExitCode::from(2);
    };
    if rest.first().is_some_and(|word| word == "--help" || word == "-h") {
        println!("cargo xtask {} {}\n\n{}", task.name, task.usage, task.about);
        return ExitCode::SUCCESS;
    }
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// One line per task; `cargo xtask TASK --help` prints the rest.
fn help() -> String {
    let line = |task: &Task| {
        let words = format!("{} {}", task.name, task.usage);
        format!("  {words:<24} {}\n", task.about.lines().next().unwrap_or_default())
    };
    let lines: String = TASKS.iter().map(line).collect();
    format!("cargo xtask TASK [ARGS]\n\n{lines}")
}
