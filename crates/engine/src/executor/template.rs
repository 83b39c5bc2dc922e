//! `template`: any program that takes a prompt and prints text. Its command has placeholders.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::domain::limits::RETRY_AFTER_MAX;
use contract::plan::{CommandUse, PromptUse};

use super::configured::Configured;
use super::prompt;
use super::text_answer::TextAnswer;
use super::{AttemptWork, Executor, PreparedChild, Stdout};
use crate::supervisor::Stdin;

pub(super) struct TemplateExecutor {
    pub(super) own: Configured,
}

/// The prompt as an argument. Without it the prompt is on standard input.
const PROMPT: &str = "{prompt}";
const MODEL: &str = "{model}";

/// What a command may say, and what it stands for.
pub const PLACEHOLDERS: &[(&str, &str)] = &[
    (PROMPT, "the prompt, as an argument"),
    ("{prompt_file}", "a path from which the prompt can be read"),
    (MODEL, "the model"),
    ("{workspace}", "the directory in which the task works"),
    ("{task_id}", "the id of the task"),
    ("{session}", "a name for the conversation, the same in every attempt of the task"),
];

impl Executor for TemplateExecutor {
    fn configured(&self) -> &Configured {
        &self.own
    }

    fn prompt(&self) -> PromptUse {
        PromptUse::Required
    }

    fn command(&self) -> CommandUse {
        CommandUse::Unused
    }

    fn takes_model(&self) -> bool {
        self.own.command.iter().any(|word| word.contains(MODEL))
    }

    fn retry_after_max(&self) -> Duration {
        RETRY_AFTER_MAX
    }

    fn prepare(&self, work: &AttemptWork<'_>) -> PreparedChild {
        let prompt = prompt::whole(work);
        let task_id = work.task.id.to_string();
        // The prompt is last: it may contain what looks like a placeholder.
        let values = [
            // A pipe with a name: nothing is left behind.
            ("{prompt_file}", "/dev/stdin"),
            (MODEL, work.model.unwrap_or_default()),
            ("{workspace}", work.workspace),
            ("{task_id}", task_id.as_str()),
            ("{session}", task_id.as_str()),
            (PROMPT, prompt.as_str()),
        ];
        let filled =
            |word: &String| values.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value));
        let is_argument = self.own.command.iter().any(|word| word.contains(PROMPT));
        PreparedChild {
            argv: self.own.command.iter().map(filled).collect(),
            env: BTreeMap::new(),
            stdin: if is_argument { Stdin::Closed } else { Stdin::Bytes(prompt.clone().into_bytes()) },
            silence_max: self.own.silence,
            stdout: Stdout::Text,
            reader: Box::new(TextAnswer::new(work, &self.own)),
        }
    }
}
