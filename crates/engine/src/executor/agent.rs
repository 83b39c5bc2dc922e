//! An agent program as an executor: its headless call with the prompt on standard input, and its stream.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::effective;
use contract::aop::event::{Body, HeartbeatBody};
use contract::aop::task::{ExecutionProfile, Provider};
use contract::domain::attempt::{Limited, SessionTotal};
use contract::domain::limits::{AGENT_SILENCE_MAX, RETRY_AFTER_MAX};
use contract::domain::time::Timestamp;
use contract::plan::{CommandUse, PromptUse};
use contract::secrets::Hidden;
use serde_json::Value;

use super::answer::Answering;
use super::configured::Configured;
use super::error_tail::ErrorTail;
use super::prompt;
use super::repeats::Due;
use super::talk::{End, Stream, Talk};
use super::trouble::Trouble;
use super::{Ended, Executor, Line, Prepared, Reader, Returned, Stdout, Wishes, Work, failure};
use crate::agent_program::{AgentProgram, Call, Effort};
use crate::pipeline::l7_delegate::Claim;
use crate::supervisor::Stdin;

/// One of the programs that writ knows.
pub(super) struct Agent {
    pub(super) own: Configured,
    pub(super) program: &'static dyn AgentProgram,
    pub(super) provider: Provider,
    pub(super) stream: fn() -> Box<dyn Stream>,
}

impl Executor for Agent {
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
        self.program.has_effort()
    }

    fn retry_after_max(&self) -> Duration {
        RETRY_AFTER_MAX
    }

    fn prepare(&self, work: &Work<'_>) -> Prepared {
        let submitted = prompt::submitted(work);
        let (program, given) =
            self.own.command.split_first().expect("BUG: every configured agent has a command");
        let call = Call {
            given,
            model: work.model.filter(|model| effective::model::is_chosen(model)),
            effort: submitted.as_ref().and_then(|task| task.target.execution_profile).map(effort),
            resume: work.resume,
            is_confined: (work.is_confined)(),
            ..Call::default()
        };
        let mut argv = vec![program.clone()];
        argv.extend(self.program.arguments(&call));
        let environment = self.program.environment().iter();
        let beat = submitted.as_ref().and_then(effective::heartbeat).map(|beat| beat.silence_max());
        Prepared {
            argv,
            env: environment
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>(),
            stdin: Stdin::Bytes(prompt::of(work).into_bytes()),
            silence_max: Some(beat.unwrap_or_else(|| self.own.silence.unwrap_or(AGENT_SILENCE_MAX))),
            stdout: Stdout::Messages,
            reader: Box::new(Conversation {
                program: self.program,
                stream: (self.stream)(),
                talk: Talk::default(),
                answering: Answering::new(work, &self.own.name, submitted.as_ref(), self.provider),
                hidden: work.hidden.clone(),
                so_far: work.so_far.cloned(),
                errors: ErrorTail::default(),
                told: None,
                now: work.now,
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

/// What the program has said so far.
struct Conversation {
    program: &'static dyn AgentProgram,
    stream: Box<dyn Stream>,
    talk: Talk,
    answering: Answering,
    hidden: Hidden,
    /// What the conversation had used when it was last reported.
    so_far: Option<SessionTotal>,
    errors: ErrorTail,
    /// The name of the conversation that was passed on.
    told: Option<String>,
    now: Timestamp,
}

impl Reader for Conversation {
    fn line(&mut self, line: Line<'_>) -> Vec<Body> {
        // Banners, warnings and lines that are too long are no events; a program may print them.
        let Line::Whole(line) = line else { return Vec::new() };
        let Ok(event) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
        if !event.is_object() {
            return Vec::new();
        }
        self.stream.take(&event, &mut self.talk);
        self.program.shown(&event).map(|shown| self.answering.progress(shown)).into_iter().collect()
    }

    fn error_output(&mut self, bytes: &[u8]) {
        self.errors.push(bytes);
    }

    fn wishes(&mut self) -> Wishes {
        let session = self.talk.session.clone().filter(|name| self.told.as_ref() != Some(name));
        if session.is_some() {
            self.told.clone_from(&session);
        }
        Wishes {
            session,
            stop: self.talk.given_up.is_some(),
            look: self.talk.given_up.is_none() && self.talk.repeats.due() == Due::Look,
            input: Vec::new(),
        }
    }

    fn seen(&mut self, digest: Option<String>) {
        self.talk.heed_repeats(digest);
    }

    fn end(&mut self, ended: &Ended) -> Returned {
        let judged = Judged {
            talk: &self.talk,
            errors: &self.errors,
            hidden: &self.hidden,
            executor: &self.answering.executor,
            now: ended.at.unwrap_or(self.now),
        };
        let (claim, limited) = judged.claim((ended.exit_code, ended.signal), |code| self.stream.exit(code));
        let (usage, total) = self.answering.used(&self.talk.used(limited.as_ref()), self.so_far.as_ref());
        let response = self.answering.response(&self.talk, &claim, &usage);
        Returned {
            response: Some(Box::new(response)),
            claim,
            agent_session: self.talk.session.clone(),
            limited,
            session_total: total,
        }
    }
}

/// What is known when a program has ended.
pub(super) struct Judged<'j> {
    pub(super) talk: &'j Talk,
    pub(super) errors: &'j ErrorTail,
    pub(super) hidden: &'j Hidden,
    pub(super) executor: &'j str,
    pub(super) now: Timestamp,
}

impl Judged<'_> {
    /// The terminal event and its status decide; the exit code only adds to it. `by_code` says what a code means.
    pub(super) fn claim(
        &self,
        (code, signal): (Option<i32>, Option<i32>),
        by_code: impl Fn(i32) -> Option<Trouble>,
    ) -> (Claim, Option<Limited>) {
        if let Some((code, message)) = &self.talk.given_up {
            return (failure(code.as_str(), self.hidden.one_line(message)), None);
        }
        match (&self.talk.end, code) {
            (Some(End::Failed(trouble)), _) => self.troubled(trouble),
            (Some(End::Completed), Some(0)) => (Claim::Success, None),
            (Some(End::Completed), code) => {
                let how = code.map_or_else(|| "with a signal".to_owned(), |code| format!("with exit {code}"));
                (failure("E_PROCESS_CRASH", format!("ended {how} after it had reported success")), None)
            }
            (None, code) => {
                let meant = code.filter(|code| *code != 0).and_then(by_code);
                self.unfinished((code, signal), meant)
            }
        }
    }

    fn troubled(&self, trouble: &Trouble) -> (Claim, Option<Limited>) {
        let (code, message) = trouble.told();
        let message = contract::domain::text::cut(&self.hidden.one_line(&message), MESSAGE_CHARS_MAX);
        let limited = trouble.limited(self.executor, message.clone(), self.now);
        (failure(code.as_str(), message), limited)
    }

    /// The stream ended without saying how. What the program said before is the best there is.
    fn unfinished(
        &self,
        (code, signal): (Option<i32>, Option<i32>),
        meant: Option<Trouble>,
    ) -> (Claim, Option<Limited>) {
        let printed = self.errors.last_line();
        if let Some(trouble) = &self.talk.trouble {
            return self.troubled(trouble);
        }
        if let Some(trouble) = meant {
            let words =
                printed.map_or_else(|| trouble.words.clone(), |line| format!("{}: {line}", trouble.words));
            return self.troubled(&Trouble { words, ..trouble });
        }
        let how = match (code, signal) {
            (Some(0), _) => "ended before its answer was complete".to_owned(),
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended without an exit code".to_owned(),
        };
        let said = printed.map(Trouble::said);
        if let Some(trouble) = said.as_ref().filter(|trouble| trouble.is_of_the_model()) {
            return self.troubled(trouble);
        }
        let words = said.map_or_else(|| how.clone(), |trouble| format!("{how}: {}", trouble.words));
        let code = if code == Some(0) { "E_MALFORMED_RESPONSE" } else { "E_PROCESS_CRASH" };
        (failure(code, self.hidden.one_line(&words)), None)
    }
}

/// A provider may answer with a whole page.
const MESSAGE_CHARS_MAX: usize = 1000;

/// A line of a program as a sign of life.
pub(super) fn progress(agent: &str, shown: String) -> Body {
    Body::Heartbeat(HeartbeatBody {
        agent: agent.to_owned(),
        progress_percentage: None,
        current_phase: Some(shown),
        current_checkpoint: None,
    })
}
