//! Agent programs: one file each declares how the program is called headless, how its stream reads, and which files are its own.
//!
//! To add one: write its file with a `PROGRAM`, and add it to [`PROGRAMS`].

mod claude;
mod codex;
mod gemini;
mod opencode;
mod wrapper;

use std::path::Path;

use contract::aop::task::Provider;
use serde_json::Value;

use crate::executor::AgentStream;

/// Every agent program.
pub const PROGRAMS: &[AgentProgram] = &[claude::PROGRAM, codex::PROGRAM, gemini::PROGRAM, opencode::PROGRAM];

/// One agent program. It reads its instructions on standard input, which is then closed.
pub struct AgentProgram {
    /// The name of its file, and of its executor.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    pub provider: Provider,
    /// Whether its effort can be chosen.
    pub takes_effort: bool,
    /// Variables that it needs to work headless.
    pub environment: &'static [(&'static str, &'static str)],
    /// The variable that moves its directory out of the user's home.
    pub home_variable: &'static str,
    /// Paths in the user's home that sandboxed commands cannot read.
    pub secrets: &'static [&'static str],
    /// Paths in the user's home that the program itself may read in a sandbox.
    pub credentials: &'static [&'static str],
    /// All arguments. Those of the user stay, and replace ours of the same meaning.
    pub arguments: fn(&HeadlessCall<'_>) -> Vec<String>,
    /// An event of its stream as one line for people; `None` for events without one.
    pub shown: fn(&Value) -> Option<String>,
    /// A reader of its stream.
    pub(crate) stream: fn() -> Box<dyn AgentStream>,
}

impl PartialEq for AgentProgram {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for AgentProgram {}

impl std::fmt::Debug for AgentProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What the arguments of a call depend on.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadlessCall<'c> {
    /// The arguments that the user gave.
    pub given: &'c [String],
    /// The store's directory, where the agent's `writ` has to write it.
    pub store: Option<&'c Path>,
    /// Whether the program's hooks are switched off.
    pub without_hooks: bool,
    pub model: Option<&'c str>,
    pub effort: Option<Effort>,
    /// The conversation to continue.
    pub resume: Option<&'c str>,
    /// Whether the kernel confines the program, so that its own sandbox is not needed.
    pub is_confined: bool,
}

/// How much a program thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    Low,
    Medium,
    High,
}

impl Effort {
    fn as_str(self) -> &'static str {
        match self {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        }
    }
}

/// The program of this name.
pub fn find(name: &str) -> Option<&'static AgentProgram> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// The agent program that a command line starts, and its index in it: behind a path, `env X=1` and the like.
pub fn recognize(words: &[String]) -> Option<(&'static AgentProgram, usize)> {
    let at = wrapper::program_at(words)?;
    find(stem(&words[at])).map(|program| (program, at))
}

/// The words of a flag with its value, where there is one and the user gave none.
fn option(given: &[String], flags: &[&str], value: Option<&str>) -> Vec<String> {
    value.map(|value| unless(given, flags, &[flags[0], value])).unwrap_or_default()
}

/// The words that open a directory to a program.
fn directory(flag: &str, directory: Option<&Path>) -> Vec<String> {
    directory.map(|path| vec![flag.to_owned(), path.display().to_string()]).unwrap_or_default()
}

/// A file's name without its directory and the extension of a script.
fn stem(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    [".js", ".mjs", ".cjs"].iter().find_map(|extension| name.strip_suffix(extension)).unwrap_or(name)
}

/// Our arguments, unless the user gave one of these flags.
fn unless(given: &[String], flags: &[&str], words: &[&str]) -> Vec<String> {
    let is_flag = |word: &String| {
        flags
            .iter()
            .any(|flag| word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
    };
    if given.iter().any(is_flag) {
        return Vec::new();
    }
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The user's arguments without the subcommand, which we give ourselves.
fn without<'g>(given: &'g [String], subcommand: &str) -> impl Iterator<Item = String> + 'g {
    let at = given.iter().position(|word| word == subcommand);
    given.iter().enumerate().filter(move |(index, _)| Some(*index) != at).map(|(_, word)| word.clone())
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A tool call in one line: `Edit src/parser.rs`, `Bash cargo test`.
pub(crate) fn tool(name: &Value, input: &Value) -> Option<String> {
    const SUBJECTS: &[&str] = &["command", "file_path", "filePath", "path", "pattern", "url", "description"];
    let subject = SUBJECTS.iter().find_map(|field| match &input[*field] {
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        value => text(value),
    });
    let name = name.as_str()?;
    Some(subject.map_or_else(|| name.to_owned(), |subject| format!("{name} {subject}")))
}

#[cfg(test)]
mod tests;
