//! An agent that runs a script, so that tests can have agents of every kind.

mod act;
mod aop;
mod offspring;
mod script;

use std::io::Write;
use std::process::ExitCode;

use act::Agent;

/// Exit code for an error in the script. A script exits with it only by an explicit `exit 64`.
const EXIT_BAD_SCRIPT: u8 = 64;

const HELP: &str = "\
fake-agent SCRIPT...        run these steps, separated by `;` (write `\\;` for a semicolon, `\\n` for a newline)
fake-agent --file PATH      run the steps in this file, one per line
fake-agent                  read an AOP TASK and run the steps after `fake:` in its objective

";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match begin(&words) {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            // Standard error may be closed; the exit code still reports the error.
            drop(writeln!(std::io::stderr(), "fake-agent: {message}"));
            ExitCode::from(EXIT_BAD_SCRIPT)
        }
    }
}

fn begin(words: &[String]) -> Result<u8, String> {
    let mut agent = Agent::default();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let script = match words.as_slice() {
        ["--help" | "-h"] => {
            write!(std::io::stdout(), "{HELP}{}", script::FORMS).map_err(|error| error.to_string())?;
            return Ok(0);
        }
        ["--orphan", kind, ready, script] => return offspring::leave(kind, ready, script),
        ["--ready", ready, rest @ ..] => {
            agent.ready = Some((*ready).to_owned());
            rest.join(";")
        }
        ["--file", path] => {
            std::fs::read_to_string(path).map_err(|error| format!("could not read {path}: {error}"))?
        }
        [] => agent.script_of_task()?,
        _ => words.join(";"),
    };
    agent.run(&script::parse(&script)?)
}
