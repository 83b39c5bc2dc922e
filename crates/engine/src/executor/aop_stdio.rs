//! `aop-stdio`: a program that reads an AOP TASK on standard input, prints EVENT lines and one RESPONSE.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use contract::aop::event::{Body, Event, EventKind};
use contract::aop::response::Response;
use contract::aop::task::{
    Category, Complexity, Input, Provider, Role, Session, Target, Task, Work as AopWork,
};
use contract::aop::{self, AopLine as Message, effective, v1};
use contract::domain::attempt::{Dispatch, Limited};
use contract::domain::failure_code::FailureCode;
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::reason::{Warning, WarningCode};
use contract::domain::report::{FinalSignal, ReportedState};
use contract::domain::text::cut;
use contract::domain::time::Timestamp;
use contract::json::{Map, Value};
use contract::plan::{CommandUse, PromptUse};

use super::reported::retry_after;
use super::text_answer::TextAnswer;
use super::trouble::Trouble;
use super::{
    AttemptWork, ChildEnd, Configured, Executor, OutputLine, PreparedChild, Reader, Returned, Stdout,
    command_line, failure,
};
use crate::pipeline::l7_delegate::ExecutorClaim;
use crate::supervisor::Stdin;
use contract::secrets::Hidden;
use contract::verdict::Verdict;

pub(super) struct AopStdio {
    pub(super) own: Configured,
}

impl Executor for AopStdio {
    fn configured(&self) -> &Configured {
        &self.own
    }

    fn command(&self) -> CommandUse {
        if self.own.command.is_empty() { CommandUse::Required } else { CommandUse::Unused }
    }

    fn prompt(&self) -> PromptUse {
        PromptUse::Required
    }

    /// In the TASK.
    fn has_effort(&self) -> bool {
        !self.own.is_v1_only
    }

    fn retry_after_max(&self) -> Duration {
        limits::RETRY_AFTER_MAX
    }

    fn prepare(&self, work: &AttemptWork<'_>) -> PreparedChild {
        let task = task_of(work);
        if self.own.is_v1_only {
            return self.prepare_v1(work, &task);
        }
        let mut document = if effective::speaks_v2(&task) {
            serde_json::to_vec(&task).expect("BUG: a TASK can always be written")
        } else {
            prompt_of(work, &task).into_bytes()
        };
        document.push(b'\n');
        PreparedChild {
            argv: self.argv(work),
            env: BTreeMap::new(),
            stdin: Stdin::Bytes(document),
            silence_max: self.own.silence,
            stdout: Stdout::Messages,
            reader: Box::new(AopReader::new(task, work, &self.own)),
        }
    }
}

impl AopStdio {
    fn argv(&self, work: &AttemptWork<'_>) -> Vec<String> {
        if work.command.is_empty() {
            self.own.command.clone()
        } else {
            command_line(work.command, work.spec().shell)
        }
    }

    /// A prompt goes in and text comes out.
    fn prepare_v1(&self, work: &AttemptWork<'_>, task: &Task) -> PreparedChild {
        PreparedChild {
            argv: self.argv(work),
            env: BTreeMap::new(),
            stdin: Stdin::Bytes(prompt_of(work, task).into_bytes()),
            silence_max: self.own.silence,
            stdout: Stdout::Text,
            reader: Box::new(TextAnswer::new(work, &self.own)),
        }
    }
}

/// What a program that reads no v2 gets. Its TASK was written as a prompt when it was submitted.
fn prompt_of(work: &AttemptWork<'_>, task: &Task) -> String {
    let written = work.spec().prompt.clone().filter(|_| !effective::speaks_v2(task));
    // The TASK of a later attempt has the brief among its inputs.
    let Some(prompt) = written else { return v1::prompt(task) };
    if work.attempt_number > 1 { format!("{prompt}\n\n{}", work.brief) } else { prompt }
}

/// A submitted TASK is passed on as the attempt gets it; a plan's task is turned into one.
fn task_of(work: &AttemptWork<'_>) -> Task {
    let submitted = work.spec().aop.clone();
    let submitted = submitted.and_then(|value| serde_json::from_value::<Task>(value).ok());
    let unchanged = Dispatch::default();
    let (task, dispatch) = match submitted {
        Some(task) => (task, work.dispatch.unwrap_or(&unchanged)),
        None => (task_of_plan(work), &unchanged),
    };
    effective::for_attempt(&task, work.attempt_number, work.alternative, dispatch)
}

fn task_of_plan(work: &AttemptWork<'_>) -> Task {
    let spec = work.spec();
    let session = Session {
        session_id: work.run.id.to_string(),
        created_at: work.now,
        orchestrator: "writ".to_owned(),
        origin: "CLI".to_owned(),
        workflow_pattern: None,
        extensions: None,
    };
    let target = Target {
        agent_name: work.command.first().cloned().unwrap_or_default(),
        role: Role::Executor,
        provider: Provider::Other,
        model: work.model.unwrap_or("unspecified").to_owned(),
        execution_profile: None,
        capabilities: None,
        extensions: None,
    };
    let prompt = spec.prompt.clone().unwrap_or_else(|| spec.title.clone());
    let id = work.task.id.to_string();
    let mut asked = AopWork::new(id, prompt, Category::Other, Complexity::Medium, work.workspace);
    asked.priority = Some(Priority::from_number(work.task.priority));
    asked.inputs.push(Input::text(work.brief));
    Task::new(session, target, asked)
}

/// What the child has said so far.
struct AopReader {
    executor: String,
    task: Task,
    hidden: Hidden,
    response: Option<Box<Response>>,
    /// The first thing that breaks the protocol, as `CODE: reason`.
    fault: Option<ExecutorClaim>,
    /// The first object that is not a message. It counts only if no RESPONSE comes.
    noise: Option<ExecutorClaim>,
    /// What is to be said about messages without effect.
    warnings: Vec<Warning>,
    warned: BTreeSet<String>,
    /// What a program that speaks no v2 printed, as far as it matters: its last lines.
    text: Option<VecDeque<String>>,
    began: Timestamp,
}

/// Lines of free text in which the closing word is looked for.
const TEXT_LINES_MAX: usize = 200;
/// How much of the name of an unknown event is shown.
const EVENT_NAME_CHARS_MAX: usize = 64;
/// Kinds of messages without effect that are named.
const WARNED_MAX: usize = 10;

impl AopReader {
    fn new(task: Task, work: &AttemptWork<'_>, own: &Configured) -> Self {
        Self {
            executor: own.name.as_str().to_owned(),
            hidden: work.hidden.clone(),
            response: None,
            fault: None,
            noise: None,
            warnings: Vec::new(),
            warned: BTreeSet::new(),
            text: (!effective::speaks_v2(&task)).then(VecDeque::new),
            began: work.now,
            task,
        }
    }

    fn heard(&mut self, line: &[u8]) {
        let Some(text) = &mut self.text else { return };
        let line = self.hidden.one_line(&String::from_utf8_lossy(line));
        text.push_back(line);
        if text.len() > TEXT_LINES_MAX {
            text.pop_front();
        }
    }

    /// The RESPONSE that is in the free text of a program that ended well. A RESPONSE of its own counts more.
    fn lift(&mut self, ended: &ChildEnd) {
        let Some(text) = self.text.take().filter(|_| self.response.is_none() && self.fault.is_none()) else {
            return;
        };
        if ended.exit_code != Some(0) {
            return;
        }
        let reply = v1::V1Reply {
            session_id: self.task.session.session_id.clone(),
            task_id: self.task.task.task_id.clone(),
            agent_name: self.task.target.agent_name.clone(),
            started_at: self.began,
            completed_at: self.began,
        };
        let (mut response, doubts) = v1::lift_response(&Vec::from(text).join("\n"), &reply);
        // When it ended is known to the attempt.
        response.timing = None;
        if let Some(summary) = &mut response.execution_summary {
            summary.warnings.extend(doubts.into_iter().map(|doubt| doubt.message));
        }
        self.response = Some(Box::new(response));
    }

    fn take(&mut self, response: Response) {
        let wrong = if response.task_id != self.task.task.task_id {
            Some("answers another task")
        } else if response.session_id != self.task.session.session_id {
            Some("answers another session")
        } else if self.response.is_some() {
            Some("is a second RESPONSE")
        } else {
            None
        };
        match wrong {
            Some(wrong) => self.malformed(format!("the RESPONSE {wrong}")),
            None => self.response = Some(Box::new(response)),
        }
    }

    /// Takes an object that is no valid message, and why.
    fn refused(&mut self, line: &[u8], verdict: &Verdict) {
        let why = failure(&verdict.code, self.hidden.one_line(&verdict.reason));
        if let Some(name) = unknown_event(line) {
            let name = self.hidden.one_line(&name);
            self.warn(format!("the executor sent the event {name}, which writ does not know"));
        } else if is_message(line) {
            self.fault.get_or_insert(why);
        } else {
            self.noise.get_or_insert(why);
        }
    }

    /// The body of an event that is about this task.
    fn own(&mut self, event: Event) -> Option<Body> {
        let differs = |named: &Option<String>, own: &str| named.as_deref().is_some_and(|named| named != own);
        let whose = if differs(&event.session_id, &self.task.session.session_id) {
            "session"
        } else if differs(&event.task_id, &self.task.task.task_id) {
            "task"
        } else {
            return Some(event.body);
        };
        self.warn(format!("the executor sent an event of another {whose}"));
        None
    }

    /// The same is said once for all.
    fn warn(&mut self, told: String) {
        if self.warned.len() < WARNED_MAX && self.warned.insert(told.clone()) {
            self.warnings.push(Warning::coded(WarningCode::WithoutEffect, told));
        }
    }

    fn malformed(&mut self, message: String) {
        self.fault.get_or_insert(ExecutorClaim::Failure { code: FailureCode::MalformedResponse, message });
    }

    /// The limit that a RESPONSE reports with its end. Without an end the TASK's own retries decide.
    fn limited(&self, claim: &ExecutorClaim, ended: &ChildEnd) -> Option<Limited> {
        let ExecutorClaim::Failure { code, message } = claim else { return None };
        if *code != FailureCode::ModelUnavailable {
            return None;
        }
        let response = self.response.as_ref()?;
        let said = response.error_details.as_ref().map_or("", |details| details.message.as_str());
        let trouble = Trouble::printed(self.hidden.one_line(&format!("{message} {said}")));
        let asked = retry_after(response).map(Duration::from_millis);
        let trouble = Trouble { wait: trouble.wait.or(asked), ..trouble };
        let (_, reason) = trouble.told();
        let limited = trouble.limited(&self.executor, reason, ended.at.unwrap_or(self.began));
        limited.filter(|limited| limited.until.is_some())
    }

    /// The RESPONSE decides, not the exit code; without one there is no success.
    fn claim(&self, ended: &ChildEnd) -> ExecutorClaim {
        let noise = self.noise.as_ref().filter(|_| self.response.is_none());
        if let Some(fault) = self.fault.as_ref().or(noise) {
            return fault.clone();
        }
        let Some(response) = &self.response else {
            return match ended.exit_code {
                Some(0) => failure("E_MALFORMED_RESPONSE", "ended without a RESPONSE"),
                Some(code) => failure("E_PROCESS_CRASH", format!("exit {code} without a RESPONSE")),
                None => failure("E_PROCESS_CRASH", "ended without a RESPONSE and with a failure"),
            };
        };
        let status = &response.task_status;
        let signal = status.final_signal;
        // A part of the work counts if the checks of the task pass.
        let is_good = matches!(signal, Some(FinalSignal::Success | FinalSignal::PartialSuccess) | None);
        if status.state == ReportedState::Completed && is_good {
            return ExecutorClaim::Success;
        }
        let code = response.error_details.as_ref().map_or("E_UNKNOWN", |details| details.error_code.as_str());
        // A signal that the state contradicts does not say how it ended.
        let words = match (status.state, signal) {
            (_, Some(signal)) if !is_good => signal.as_str(),
            (state, _) => state.as_str(),
        };
        let said = status.message.clone().unwrap_or_default();
        failure(&self.hidden.one_line(code), self.hidden.one_line(format!("{words} {said}").trim_end()))
    }
}

impl Reader for AopReader {
    fn line(&mut self, line: OutputLine<'_>) -> Vec<Body> {
        let line = match line {
            OutputLine::Whole(line) => line.trim_ascii(),
            OutputLine::TooLong => {
                self.malformed("a line is longer than the limit".to_owned());
                return Vec::new();
            }
        };
        // Programs print banners and warnings; only objects can be messages.
        if !line.starts_with(b"{") {
            self.heard(line);
            return Vec::new();
        }
        match aop::parse_line(line, self.task.guard_rails.as_ref()) {
            Ok(Message::Event(event)) => return self.own(event).into_iter().collect(),
            Ok(Message::Response(response)) => self.take(response),
            Err(verdict) => self.refused(line, &verdict),
        }
        Vec::new()
    }

    fn warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    fn end(&mut self, ended: &ChildEnd) -> Returned {
        self.lift(ended);
        let claim = self.claim(ended);
        let limited = self.limited(&claim, ended);
        let returned = match self.response.take() {
            Some(response) => Returned::response(claim, *response, &self.hidden),
            None => Returned::plain(claim),
        };
        Returned { limited, ..returned }
    }
}

/// The name of an event that this version of the contract does not have. Its list of events is open.
fn unknown_event(line: &[u8]) -> Option<String> {
    let fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
    let is_event = fields.get("message_type").and_then(Value::as_str) == Some("EVENT");
    let name = fields.get("event").and_then(Value::as_str).filter(|_| is_event)?;
    EventKind::parse(name).is_none().then(|| cut(name, EVENT_NAME_CHARS_MAX))
}

/// Whether a line is meant to be a message of the protocol. Programs also print logs of their own as objects.
fn is_message(line: &[u8]) -> bool {
    let object: Option<Map<String, Value>> = serde_json::from_slice(line).ok();
    object.is_some_and(|fields| fields.contains_key("aop_version") || fields.contains_key("message_type"))
}
