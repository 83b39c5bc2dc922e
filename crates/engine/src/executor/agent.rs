//! An agent program as an executor: its headless call with the prompt on standard input, and its stream.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::effective;
use contract::aop::event::Body;
use contract::aop::task::ExecutionProfile;
use contract::domain::limits::{AGENT_SILENCE_MAX, RETRY_AFTER_MAX};
use contract::plan::{CommandUse, PromptUse};
use serde_json::Value;

use super::configured::Configured;
use super::conversation::Conversation;
use super::{
    AgentStream, AttemptWork, ChildEnd, Executor, OutputLine, PreparedChild, Reader, Returned, Stdout,
    Wishes, prompt,
};
use crate::agent_program::{AgentProgram, Effort, HeadlessCall};
use crate::supervisor::Stdin;

/// One of the programs that writ knows.
pub(super) struct AgentExecutor {
    pub(super) own: Configured,
    pub(super) program: &'static AgentProgram,
}

impl Executor for AgentExecutor {
    fn prompt(&self) -> PromptUse {
        PromptUse::Required
    }

    fn command(&self) -> CommandUse {
        CommandUse::Unused
    }

    fn configured(&self) -> &Configured {
        &self.own
    }

    fn has_effort(&self) -> bool {
        self.program.takes_effort
    }

    fn retry_after_max(&self) -> Duration {
        RETRY_AFTER_MAX
    }

    fn prepare(&self, work: &AttemptWork<'_>) -> PreparedChild {
        let submitted = prompt::submitted(work);
        let (program, given) =
            self.own.command.split_first().expect("BUG: every configured agent has a command");
        let call = HeadlessCall {
            given,
            model: work.model.filter(|model| effective::model::is_chosen(model)),
            effort: submitted.as_ref().and_then(|task| task.target.execution_profile).map(effort),
            resume: work.resume,
            is_confined: (work.is_confined)(),
            ..HeadlessCall::default()
        };
        let mut argv = vec![program.clone()];
        argv.extend((self.program.arguments)(&call));
        let environment = self.program.environment.iter();
        let beat = submitted.as_ref().and_then(effective::heartbeat).map(|beat| beat.silence_max());
        PreparedChild {
            argv,
            env: environment
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>(),
            stdin: Stdin::Bytes(prompt::of(work).into_bytes()),
            silence_max: Some(beat.unwrap_or_else(|| self.own.silence.unwrap_or(AGENT_SILENCE_MAX))),
            stdout: Stdout::Messages,
            reader: Box::new(AgentReader {
                program: self.program,
                stream: (self.program.stream)(),
                conversation: Conversation::new(work, &self.own.name, self.program.provider),
            }),
        }
    }
}

fn effort(profile: ExecutionProfile) -> Effort {
    match profile {
        ExecutionProfile::Fast => Effort::Low,
        ExecutionProfile::Balanced => Effort::Medium,
        ExecutionProfile::Thorough => Effort::High,
    }
}

/// Reads the stream of one program.
struct AgentReader {
    program: &'static AgentProgram,
    stream: Box<dyn AgentStream>,
    conversation: Conversation,
}

impl Reader for AgentReader {
    fn line(&mut self, line: OutputLine<'_>) -> Vec<Body> {
        // Banners, warnings and lines that are too long are not events; a program may print them.
        let OutputLine::Whole(line) = line else { return Vec::new() };
        let Ok(event) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
        if !event.is_object() {
            return Vec::new();
        }
        self.stream.take(&event, &mut self.conversation.talk);
        self.conversation.progress((self.program.shown)(&event))
    }

    fn error_output(&mut self, bytes: &[u8]) {
        self.conversation.errors.push(bytes);
    }

    fn wishes(&mut self) -> Wishes {
        self.conversation.wishes()
    }

    fn seen(&mut self, digest: Option<String>) {
        self.conversation.talk.heed_repeats(digest);
    }

    fn end(&mut self, ended: &ChildEnd) -> Returned {
        self.conversation.returned(ended, |code| self.stream.exit(code))
    }
}

#[cfg(test)]
mod tests;
