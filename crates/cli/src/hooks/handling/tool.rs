//! What a call of an agent's tool did, in one line.

use contract::domain::workspace;
use serde_json::{Map, Value, json};

use super::excerpt;

/// As many characters of a command as the agent contract keeps.
const COMMAND_CHARS_MAX: usize = 120;
const PATH_CHARS_MAX: usize = 300;
const TELLING_CHARS_MAX: usize = 200;
const NAME_CHARS_MAX: usize = 100;
const INPUT_BYTES_MAX: usize = 2048;
const OUTPUT_BYTES_MAX: usize = 4096;
/// Files of one call that are named.
const FILES_MAX: usize = 10;

/// A tool that was called, and on what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCall {
    /// The name under which it is noted, which is the same for the same kind of tool in every agent program.
    pub(crate) name: String,
    pub(crate) target: ToolTarget,
    /// Whether it only reads. Its success is not worth a note.
    pub(crate) is_read: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolTarget {
    /// Files that it changes.
    Files(Vec<String>),
    Command(String),
    /// Another argument that identifies the subject of the call.
    Other(String),
    Unknown,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolOutcome<'a> {
    Succeeded,
    Failed { output: &'a str, exit_code: Option<i64>, is_interrupt: bool },
}

impl ToolCall {
    /// An unknown tool, with its most informative argument.
    pub(crate) fn unknown(name: &str, input: &Value) -> Self {
        const TELLING: [&str; 9] = [
            "command",
            "file_path",
            "filePath",
            "notebook_path",
            "path",
            "url",
            "query",
            "pattern",
            "description",
        ];
        let said = TELLING.iter().find_map(|key| input[*key].as_str());
        let target = said.map_or(ToolTarget::Unknown, |text| ToolTarget::Other(text.to_owned()));
        Self { name: name.to_owned(), target, is_read: false }
    }

    pub(crate) fn reading(mut self) -> Self {
        self.is_read = true;
        self
    }

    pub(crate) fn files(name: &str, files: Vec<String>) -> Self {
        Self { name: name.to_owned(), target: ToolTarget::Files(files), is_read: false }
    }

    pub(crate) fn file(name: &str, path: Option<&str>) -> Self {
        Self::files(name, path.map(str::to_owned).into_iter().collect())
    }

    pub(crate) fn command(name: &str, command: Option<&str>) -> Self {
        let target = command.map_or(ToolTarget::Unknown, |text| ToolTarget::Command(text.to_owned()));
        Self { name: name.to_owned(), target, is_read: false }
    }

    /// `Edit: src/parser.rs`, `Bash failed (exit 1): cargo test (error: 3 tests failed)`.
    pub(super) fn message(&self, outcome: ToolOutcome<'_>, root: Option<&str>) -> String {
        let name = excerpt::line(&self.name, NAME_CHARS_MAX);
        let target = self.shown(root);
        let (ended, why) = match outcome {
            ToolOutcome::Succeeded => (String::new(), None),
            ToolOutcome::Failed { is_interrupt: true, .. } => (" interrupted".to_owned(), None),
            ToolOutcome::Failed { output, exit_code, is_interrupt: false } => {
                let exit = exit_code.map(|code| format!(" (exit {code})")).unwrap_or_default();
                (format!(" failed{exit}"), excerpt::telling_line(output, TELLING_CHARS_MAX))
            }
        };
        match (target, why) {
            (Some(target), Some(why)) => format!("{name}{ended}: {target} ({why})"),
            (Some(said), None) | (None, Some(said)) => format!("{name}{ended}: {said}"),
            (None, None) if outcome == ToolOutcome::Succeeded => format!("{name} succeeded"),
            (None, None) => format!("{name}{ended}"),
        }
    }

    /// What was called and on what, for programs; a failed call with the end of its output.
    pub(super) fn metadata(
        &self,
        input: Option<&Value>,
        outcome: ToolOutcome<'_>,
        root: Option<&str>,
    ) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("tool_name".to_owned(), json!(excerpt::line(&self.name, NAME_CHARS_MAX)));
        match &self.target {
            ToolTarget::Files(files) => match files.as_slice() {
                [] => {}
                [file] => {
                    fields.insert("file_path".to_owned(), json!(path(file, root)));
                }
                files => {
                    let files = files.iter().take(FILES_MAX).map(|file| path(file, root));
                    fields.insert("files".to_owned(), files.collect());
                }
            },
            ToolTarget::Command(_) | ToolTarget::Other(_) | ToolTarget::Unknown => {}
        }
        fields.insert("input".to_owned(), json!(excerpt::preview(input, INPUT_BYTES_MAX)));
        if let ToolOutcome::Failed { output, exit_code, .. } = outcome {
            let printed = excerpt::tail(output, OUTPUT_BYTES_MAX);
            let only_code = || exit_code.map(|code| format!("exit {code}")).unwrap_or_default();
            let shown = if printed.is_empty() { only_code() } else { printed };
            fields.insert("output".to_owned(), json!(shown));
            if let Some(code) = exit_code {
                fields.insert("exit_code".to_owned(), json!(code));
            }
        }
        fields
    }

    fn shown(&self, root: Option<&str>) -> Option<String> {
        match &self.target {
            ToolTarget::Files(files) if files.is_empty() => None,
            ToolTarget::Files(files) => {
                let more = files.len().saturating_sub(FILES_MAX);
                let more = if more == 0 { String::new() } else { format!(" and {more} more") };
                let names: Vec<String> = files.iter().take(FILES_MAX).map(|file| path(file, root)).collect();
                Some(names.join(", ") + &more)
            }
            ToolTarget::Command(text) => Some(excerpt::line(text, COMMAND_CHARS_MAX)),
            ToolTarget::Other(text) => Some(excerpt::line(&relative(text, root), COMMAND_CHARS_MAX)),
            ToolTarget::Unknown => None,
        }
        .filter(|text| !text.is_empty())
    }
}

fn path(text: &str, root: Option<&str>) -> String {
    excerpt::line(&relative(text, root), PATH_CHARS_MAX)
}

/// A path inside the project as the project names it.
fn relative(text: &str, root: Option<&str>) -> String {
    let normal = || workspace::id(text);
    let inside = root.filter(|_| text.starts_with('/')).and_then(|root| {
        let normal = normal();
        let rest = normal.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/')?;
        Some(rest.to_owned())
    });
    inside.unwrap_or_else(|| text.to_owned())
}

/// The exit code that a tool's error begins with: `Exit code 3`, `exit 1`, `Command failed with exit code 1`.
pub(super) fn exit_code_of(error: &str) -> Option<i64> {
    let first = error.lines().next()?.to_lowercase();
    let after = |words: &str| first.find(words).map(|at| first[at + words.len()..].to_owned());
    let rest = ["exit code ", "exit status ", "exit code: "].iter().find_map(|words| after(words));
    let rest = rest.or_else(|| first.strip_prefix("exit ").map(str::to_owned))?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// What a tool printed, without the line that only tells the exit code.
pub(super) fn without_exit_line(error: &str) -> &str {
    let first = error.lines().next().unwrap_or_default();
    let says_only_that = exit_code_of(first).is_some() && first.split_whitespace().count() <= 3;
    if says_only_that { error[first.len()..].trim_start_matches(['\r', '\n']) } else { error }
}

#[cfg(test)]
mod tests;
