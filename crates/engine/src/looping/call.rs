//! How a loop calls its agent program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use contract::command_line;
use contract::domain::attempt::AttemptId;
use contract::domain::code::ErrorCode;
use ops::{Error, Result};

use super::LoopSettings;
use super::prompt::PromptFile;
use crate::agent_program::{self, AgentProgram, HeadlessCall};
use crate::sandbox::CommandDirectories;

const PROMPT_FILE: &str = "{prompt_file}";
const TASK_ID: &str = "{task_id}";
const PROJECT: &str = "{project}";

/// The agent program as the user named it.
pub struct AgentCommand {
    words: Vec<String>,
    style: CallStyle,
}

/// Which conventions a loop follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopStyle {
    Writ,
    /// Those of the agent contract's original: `COMMAND [--project DIR] -p @FILE`.
    Original,
}

enum CallStyle {
    Original,
    /// A known program, at this index of the words.
    Known(&'static AgentProgram, usize),
    /// Any other: placeholders are replaced, and the context is on standard input unless a file is asked for.
    Template,
}

/// One call of the program.
pub(super) struct AgentCall {
    pub(super) argv: Vec<String>,
    pub(super) input: Vec<u8>,
    /// Goes away after the call.
    pub(super) prompt: Option<PromptFile>,
}

/// What the program is asked in one attempt.
pub(super) struct Asked<'a> {
    pub(super) task_id: &'a str,
    pub(super) attempt: &'a AttemptId,
    pub(super) context: &'a str,
}

/// The agent cannot work; its tasks are not touched.
pub fn unstartable(program: &str, why: &str) -> Error {
    Error::new(ErrorCode::Io, format!("could not start `{program}`: {why}"))
        .hint("--command names the agent program; no task was touched")
}

impl AgentCommand {
    pub fn parse(line: &str, style: LoopStyle) -> Result<Self> {
        let words = command_line::split(line).map_err(|fault| {
            Error::new(ErrorCode::InvalidInput, format!("--command `{line}` {fault}"))
                .hint("put what needs a shell into a script and name the script")
                .details(serde_json::json!({"path": "--command"}))
        })?;
        let style = match style {
            LoopStyle::Original => CallStyle::Original,
            LoopStyle::Writ => match agent_program::recognize(&words) {
                Some((program, at)) => CallStyle::Known(program, at),
                None => CallStyle::Template,
            },
        };
        Ok(Self { words, style })
    }

    /// The program's name for messages.
    pub(super) fn name(&self) -> &str {
        match &self.style {
            CallStyle::Known(_, at) => &self.words[*at],
            CallStyle::Original | CallStyle::Template => &self.words[0],
        }
    }

    /// The adapter of a program that we know.
    pub(super) fn program(&self) -> Option<&'static AgentProgram> {
        match &self.style {
            CallStyle::Known(program, _) => Some(*program),
            CallStyle::Original | CallStyle::Template => None,
        }
    }

    /// The word that names a program which is not there.
    pub fn missing(&self, can_start: impl Fn(&str) -> bool) -> Option<&str> {
        let behind = match &self.style {
            // A wrapper may look for the program elsewhere.
            CallStyle::Known(_, at) if !self.words[..*at].iter().any(|word| word.starts_with("PATH=")) => {
                Some(*at)
            }
            CallStyle::Known(..) | CallStyle::Original | CallStyle::Template => None,
        };
        let places = [Some(0), behind].into_iter().flatten();
        let is_missing = |word: &&String| !can_start(word);
        places.map(|at| &self.words[at]).find(is_missing).map(String::as_str)
    }

    /// What is started for a task with this context. A file with the context is in these directories, if there are some.
    pub(super) fn call(
        &self,
        job: &LoopSettings,
        asked: &Asked<'_>,
        directories: Option<&CommandDirectories<'_>>,
    ) -> Result<AgentCall> {
        if !self.wants_file() {
            let argv = self.argv(job, asked.task_id, "");
            return Ok(AgentCall { argv, input: asked.context.as_bytes().to_vec(), prompt: None });
        }
        let prompt = PromptFile::write(&job.programs.temporary(directories)?, asked)?;
        let argv = self.argv(job, asked.task_id, &prompt.path().display().to_string());
        Ok(AgentCall { argv, input: Vec::new(), prompt: Some(prompt) })
    }

    fn wants_file(&self) -> bool {
        match &self.style {
            CallStyle::Original => true,
            CallStyle::Known(..) | CallStyle::Template => {
                self.words.iter().any(|word| word.contains(PROMPT_FILE))
            }
        }
    }

    /// The whole command line.
    pub(super) fn argv(&self, job: &LoopSettings, task_id: &str, prompt_file: &str) -> Vec<String> {
        let project = job.project.clone().unwrap_or_else(|| job.directory.display().to_string());
        let filled = |word: &String| {
            word.replace(PROMPT_FILE, prompt_file).replace(TASK_ID, task_id).replace(PROJECT, &project)
        };
        match &self.style {
            CallStyle::Original => {
                let without_hooks = job.without_hooks;
                original(&self.words, job.project.as_deref(), prompt_file, without_hooks)
            }
            CallStyle::Template => self.words.iter().map(filled).collect(),
            CallStyle::Known(program, at) => {
                let given: Vec<String> = self.words[at + 1..].iter().map(filled).collect();
                let call = HeadlessCall {
                    given: &given,
                    store: Some(job.programs.store.parent().unwrap_or(&job.directory)),
                    without_hooks: job.without_hooks,
                    ..HeadlessCall::default()
                };
                let mut argv = self.words[..=*at].to_vec();
                argv.extend((program.arguments)(&call));
                argv
            }
        }
    }

    /// The placeholder stands for a file that does not exist yet.
    pub(super) fn planned(&self, job: &LoopSettings, task_id: &str) -> Vec<String> {
        self.argv(job, task_id, PROMPT_FILE)
    }

    /// Whether it follows the agent contract's original.
    pub(super) fn is_original(&self) -> bool {
        matches!(self.style, CallStyle::Original)
    }

    /// What the program needs in its environment, besides the identity of the loop.
    pub(super) fn add_environment(&self, environment: &mut BTreeMap<OsString, OsString>) {
        let Some(program) = self.program() else { return };
        for (name, value) in program.environment {
            // What the user set stays.
            environment.entry(name.into()).or_insert_with(|| value.into());
        }
    }
}

/// The call of the agent contract's original.
fn original(program: &[String], project: Option<&str>, prompt: &str, without_hooks: bool) -> Vec<String> {
    let mut words = program.to_vec();
    let is_claude =
        program.first().is_some_and(|name| Path::new(name).file_name() == Some("claude".as_ref()));
    if let Some(project) = project {
        words.extend(["--project".to_owned(), project.to_owned()]);
    }
    words.extend(["-p".to_owned(), format!("@{prompt}")]);
    if is_claude && without_hooks {
        words.extend(["--settings".to_owned(), r#"{"hooks":{}}"#.to_owned()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_call_is_the_one_its_users_know() {
        let called = |program: &[&str], project, without_hooks| {
            let program: Vec<String> = program.iter().map(|&word| word.to_owned()).collect();
            original(&program, project, "/p.md", without_hooks).join(" ")
        };
        assert_eq!(called(&["agent", "-x"], None, false), "agent -x -p @/p.md");
        assert_eq!(called(&["agent"], Some("/w"), true), "agent --project /w -p @/p.md");
        assert_eq!(called(&["/bin/claude"], Some("/w"), false), "/bin/claude --project /w -p @/p.md");
        assert_eq!(called(&["claude"], None, true), r#"claude -p @/p.md --settings {"hooks":{}}"#);
    }
}
