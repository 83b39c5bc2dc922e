//! An agent that does exactly what its script says, so that tests can have every kind of agent there is.

mod act;
mod aop;
mod offspring;
mod script;

use std::io::Write;
use std::process::ExitCode;

use act::Agent;

/// A fault in the script itself; no step ends with it unless told to.
const EXIT_BAD_SCRIPT: u8 = 64;

const HELP: &str = "\
fake-agent SCRIPT...        do these steps, separated by `;` (a literal one is `\\;`, a new line `\\n`)
fake-agent --file PATH      do the steps in this file, one a line
fake-agent                  read an AOP TASK and do what stands after `fake:` in its objective

";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match begin(&words) {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            // Nobody may be listening any more; the exit code still tells.
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
