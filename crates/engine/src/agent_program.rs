//! Agent programs: how each is called without a person, and what its stream says.

mod claude;
mod codex;
mod gemini;
mod opencode;
mod wrapper;

use std::path::Path;

use serde_json::Value;

/// One program, called with the instructions on standard input, which is then closed.
pub trait AgentProgram: Sync {
    /// The name of its file.
    fn name(&self) -> &'static str;
    /// All arguments. Those of the user stay, and replace ours that say the same.
    fn arguments(&self, call: &Call<'_>) -> Vec<String>;
    /// Variables that it needs to work alone.
    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Whether it can be told how much to think.
    fn has_effort(&self) -> bool {
        true
    }
    /// An event of its stream as one line for a person; `None` for events that say nothing.
    fn shown(&self, event: &Value) -> Option<String>;
}

/// What a call depends on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call<'c> {
    /// The arguments that the user gave.
    pub given: &'c [String],
    /// The store's directory, where the agent's `writ` has to write it.
    pub store: Option<&'c Path>,
    /// Whether the program's hooks are switched off.
    pub without_hooks: bool,
    pub model: Option<&'c str>,
    pub effort: Option<Effort>,
    /// The conversation that it goes on with.
    pub resume: Option<&'c str>,
    /// Whether the kernel keeps the program to what it may write, so that its own sandbox is not needed.
    pub is_confined: bool,
}

/// How much a program shall think.
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

/// The words of a flag with its value, where there is one and the user gave none.
fn option(given: &[String], flags: &[&str], value: Option<&str>) -> Vec<String> {
    value.map(|value| unless(given, flags, &[flags[0], value])).unwrap_or_default()
}

/// The words that open a directory to a program.
fn directory(flag: &str, directory: Option<&Path>) -> Vec<String> {
    directory.map(|path| vec![flag.to_owned(), path.display().to_string()]).unwrap_or_default()
}

pub const PROGRAMS: &[&dyn AgentProgram] =
    &[&claude::Claude, &codex::Codex, &gemini::Gemini, &opencode::OpenCode];

/// The agent program that a command line starts, and its place in it: behind a path, `env X=1` and the like.
pub fn recognize(words: &[String]) -> Option<(&'static dyn AgentProgram, usize)> {
    let at = wrapper::program_at(words)?;
    let name = stem(&words[at]);
    PROGRAMS.iter().find(|program| program.name() == name).map(|program| (*program, at))
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
