//! Finds the agent program among the ancestors of this process.

use std::io::Read;
use std::path::Path;

use contract::domain::process::{Holder, ProcessIdentity};

use crate::supervisor::process_table::{self, Process};
use crate::supervisor::whereabouts;
use crate::supervisor::{own_identity, own_namespaces};

/// How far up to look: a hook, a shell or two, the agent, and what that was started by.
const ANCESTORS_MAX: usize = 64;
/// Arguments are read up to here: the program and its script stand first.
const ARGUMENTS_BYTES_MAX: u64 = 16 * 1024;
/// Interpreters: their script identifies the program.
const INTERPRETERS: &[&str] = &[
    "node", "nodejs", "bun", "deno", "tsx", "sh", "bash", "dash", "zsh", "fish", "ksh", "python", "python3",
];
/// What may follow a program's name in the name of its file.
const EXTENSIONS: &[&str] = &["js", "mjs", "cjs", "ts", "exe", "sh", "py"];

/// The nearest ancestor that runs one of these programs. `None` also where processes cannot be looked at.
pub fn find(programs: &[&str]) -> Option<Holder> {
    let own = own_identity();
    let mut current = process_table::read(own.pid)?;
    for _ in 0..ANCESTORS_MAX {
        current = process_table::read(current.parent)?;
        if let Some(program) = program_of(&Command::of(&current), programs) {
            let process = ProcessIdentity {
                pid: current.pid,
                start_time: current.start_time,
                boot_id: whereabouts(&own),
                // The agent is in this `/proc`, so it is where this process is.
                within: own_namespaces(),
                machine: String::new(),
                store: None,
            };
            return Some(Holder { program: program.to_owned(), process });
        }
    }
    None
}

/// What a process was started as.
#[derive(Debug, Default)]
struct Command {
    /// The file that is executed, if this user may see it.
    file: String,
    /// The name that the process has given itself, or that of its file.
    name: String,
    arguments: Vec<String>,
}

impl Command {
    fn of(process: &Process) -> Self {
        let place = |file: &str| format!("/proc/{}/{file}", process.pid);
        let file = std::fs::read_link(place("exe")).unwrap_or_default();
        // A file that was replaced by an update since is shown with this addition.
        let file = file.to_string_lossy().trim_end_matches(" (deleted)").to_owned();
        let name = std::fs::read_to_string(place("comm")).unwrap_or_default().trim_end().to_owned();
        let mut line = Vec::new();
        if let Ok(arguments) = std::fs::File::open(place("cmdline")) {
            // A process that has just ended has no arguments.
            arguments.take(ARGUMENTS_BYTES_MAX).read_to_end(&mut line).ok();
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let arguments = line.split(|&byte| byte == 0).map(text).filter(|word| !word.is_empty()).collect();
        Self { file, name, arguments }
    }

    /// The script that an interpreter runs: the first argument that is not an option.
    fn script(&self) -> Option<&str> {
        let first = self.arguments.first()?;
        let is_interpreter = [self.file.as_str(), first].iter().any(|path| {
            let name = stem(path);
            // `python3.12` is `python3`.
            INTERPRETERS.contains(&name) || INTERPRETERS.contains(&name.split('.').next().unwrap_or(name))
        });
        let mut rest = self.arguments.iter().skip(1);
        let script = rest.find(|word| !word.starts_with('-')).filter(|_| is_interpreter)?;
        // What follows `-c` is a command and not a file.
        let is_command = self.arguments.iter().take_while(|word| *word != script).any(|word| word == "-c");
        (!is_command).then_some(script)
    }
}

fn program_of<'p>(command: &Command, programs: &[&'p str]) -> Option<&'p str> {
    let called = command.arguments.first().map_or("", String::as_str);
    let names = [stem(&command.file), command.name.as_str(), stem(called)];
    let script = command.script().unwrap_or_default();
    let runs = |program: &&&str| {
        names.contains(program) || stem(script) == **program || is_in_package(script, program)
    };
    programs.iter().find(runs).copied()
}

/// The name of a file without its directory and its extension.
fn stem(path: &str) -> &str {
    let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match name.rsplit_once('.') {
        Some((stem, extension)) if EXTENSIONS.contains(&extension) => stem,
        Some(_) | None => name,
    }
}

/// Whether a script belongs to the program's npm package: `@google/gemini-cli/dist/index.js` is `gemini`.
fn is_in_package(script: &str, program: &str) -> bool {
    let Some((_, inside)) = script.rsplit_once("/node_modules/") else { return false };
    let package = inside.split('/').find(|part| !part.starts_with('@')).unwrap_or_default();
    let rest = package.strip_prefix(program);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests;
