//! `acp`: any agent that speaks the Agent Client Protocol (version 1) over its standard streams.
//!
//! initialize, then `session/new` or `session/load`, then `session/prompt`: its answer is the end of the turn. What we read are a
//! few fields of a few messages, which is why they are read as they are, without a crate of all of them (decision 0046).

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::effective;
use contract::aop::event::Body;
use contract::aop::task::Provider;
use contract::domain::attempt::Attempt;
use contract::domain::limits::{AGENT_SILENCE_MAX, RETRY_AFTER_MAX};
use contract::plan::{CommandUse, PromptUse};
use serde_json::{Value, json};

use super::configured::{Configured, Permissions};
use super::conversation::Conversation;
use super::talk::sum;
use super::{AttemptWork, prompt};
use super::{
    ChildEnd, Executor, OutputLine, PreparedChild, Reader, Returned, Stdout, Trouble, TroubleKind, TurnEnd,
    Wishes,
};
use crate::supervisor::Stdin;

pub(super) struct Acp {
    pub(super) own: Configured,
}

impl Executor for Acp {
    fn configured(&self) -> &Configured {
        &self.own
    }

    fn prompt(&self) -> PromptUse {
        PromptUse::Required
    }

    fn command(&self) -> CommandUse {
        CommandUse::Unused
    }

    fn retry_after_max(&self) -> Duration {
        RETRY_AFTER_MAX
    }

    fn prepare(&self, work: &AttemptWork<'_>) -> PreparedChild {
        let submitted = prompt::submitted(work);
        let beat = submitted.as_ref().and_then(effective::heartbeat).map(|beat| beat.silence_max());
        let allows = match self.own.permissions {
            Some(Permissions::Allow) => true,
            Some(Permissions::Reject) => false,
            // In a sandbox the kernel keeps the agent to what it may write.
            None => (work.is_confined)(),
        };
        let mut client = AcpClient {
            conversation: Conversation::new(work, &self.own.name, Provider::Other),
            workspace: work.workspace.to_owned(),
            // Without the old conversation, the prompt has the whole task.
            prompt: prompt::of(work),
            whole: prompt::whole(work),
            model: work.model.map(str::to_owned),
            resume: work.resume.map(str::to_owned),
            allows,
            awaited: None,
            output: Vec::new(),
            text: String::new(),
            last_answer: work.resume.and(work.before).and_then(last_answer),
            replays_history: false,
            calls: BTreeMap::new(),
        };
        client.ask(
            AcpRequest::Initialize,
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": {
            "fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false}}),
        );
        let known =
            crate::agent_program::recognize(&self.own.command).map(|(program, _)| program.environment);
        let env = known.into_iter().flatten().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        PreparedChild {
            argv: self.own.command.clone(),
            env: env.collect(),
            stdin: Stdin::KeptOpen(std::mem::take(&mut client.output)),
            silence_max: Some(beat.unwrap_or_else(|| self.own.silence.unwrap_or(AGENT_SILENCE_MAX))),
            stdout: Stdout::Messages,
            reader: Box::new(client),
        }
    }
}

/// What was asked of the agent. The number is the id of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AcpRequest {
    Initialize = 0,
    Load = 1,
    New = 2,
    SetModel = 3,
    Prompt = 4,
}

/// Maximum open tool calls; more are forgotten.
const CALLS_MAX: usize = 100;

struct AcpClient {
    conversation: Conversation,
    workspace: String,
    prompt: String,
    whole: String,
    model: Option<String>,
    resume: Option<String>,
    allows: bool,
    /// The request that is awaited.
    awaited: Option<AcpRequest>,
    /// For the agent to read.
    output: Vec<u8>,
    /// The message of the model that is being put together.
    text: String,
    /// What the model said at the end of the attempt before.
    last_answer: Option<String>,
    /// The agent tells what was said before, although it was asked to go on.
    replays_history: bool,
    /// What each open tool call does.
    calls: BTreeMap<String, (Value, Value)>,
}

/// What the model said at the end of an attempt.
fn last_answer(attempt: &Attempt) -> Option<String> {
    attempt.outcome.as_ref()?.report.as_ref()?.summary.clone()
}

impl AcpClient {
    fn ask(&mut self, call: AcpRequest, method: &str, params: Value) {
        self.awaited = Some(call);
        self.send(&json!({"jsonrpc": "2.0", "id": call as u8, "method": method, "params": params}));
    }

    fn send(&mut self, message: &Value) {
        self.output.extend_from_slice(message.to_string().as_bytes());
        self.output.push(b'\n');
    }

    /// An answer to the request that is awaited.
    fn answered(&mut self, call: AcpRequest, answer: &Value) {
        let error = &answer["error"];
        let result = &answer["result"];
        match call {
            AcpRequest::Load if !error.is_null() => self.begin(),
            AcpRequest::SetModel if !error.is_null() => {
                self.conversation.talk.warnings.push("the agent does not let its model be chosen".to_owned());
                self.speak();
            }
            _ if !error.is_null() => self.fail(error),
            AcpRequest::Initialize => {
                let can_load = result.pointer("/agentCapabilities/loadSession") == Some(&Value::Bool(true));
                match self.resume.clone().filter(|_| can_load) {
                    Some(session) => {
                        let params = json!({"sessionId": session, "cwd": self.workspace, "mcpServers": []});
                        self.ask(AcpRequest::Load, "session/load", params);
                    }
                    None => self.begin(),
                }
            }
            AcpRequest::Load => {
                self.conversation.talk.session.clone_from(&self.resume);
                self.choose_model();
            }
            AcpRequest::New => {
                self.conversation.talk.names(&result["sessionId"]);
                self.choose_model();
            }
            AcpRequest::SetModel => self.speak(),
            AcpRequest::Prompt => self.finish(result),
        }
    }

    /// A new conversation, which needs the whole task.
    fn begin(&mut self) {
        self.prompt.clone_from(&self.whole);
        self.last_answer = None;
        let params = json!({"cwd": self.workspace, "mcpServers": []});
        self.ask(AcpRequest::New, "session/new", params);
    }

    fn choose_model(&mut self) {
        match self.model.clone() {
            Some(model) => {
                let params = json!({"sessionId": self.conversation.talk.session, "modelId": model});
                self.ask(AcpRequest::SetModel, "session/set_model", params);
            }
            None => self.speak(),
        }
    }

    fn speak(&mut self) {
        // What was said while the conversation was loaded is its past.
        self.text.clear();
        let prompt = json!([{"type": "text", "text": self.prompt}]);
        let params = json!({"sessionId": self.conversation.talk.session, "prompt": prompt});
        self.ask(AcpRequest::Prompt, "session/prompt", params);
    }

    fn finish(&mut self, result: &Value) {
        let input = ["/usage/inputTokens", "/usage/cachedReadTokens", "/usage/cachedWriteTokens"];
        let output = ["/usage/outputTokens", "/usage/thoughtTokens"];
        let counted = "/_meta/quota/token_count";
        let usage = &mut self.conversation.talk.usage;
        usage.input = sum(result, &input).or_else(|| sum(result, &[&format!("{counted}/input_tokens")]));
        usage.output = sum(result, &output).or_else(|| sum(result, &[&format!("{counted}/output_tokens")]));
        self.conversation.talk.end = Some(match result["stopReason"].as_str() {
            Some("end_turn") => TurnEnd::Completed,
            Some("max_tokens") => TurnEnd::Failed(
                Trouble::said("the answer is longer than the model can give").known_as(TroubleKind::Overflow),
            ),
            other => TurnEnd::Failed(Trouble::said(format!(
                "the turn ended with {}",
                other.unwrap_or("no reason")
            ))),
        });
    }

    fn fail(&mut self, error: &Value) {
        let words = error["message"].as_str().unwrap_or("the agent refused a request");
        let status = error["code"].as_u64().filter(|code| (400..600).contains(code));
        self.conversation.talk.end = Some(TurnEnd::Failed(Trouble::said(words).with_status(status)));
    }

    /// A request of the agent. Only questions about permission are answered; nothing else was offered.
    fn requested(&mut self, request: &Value) {
        let id = &request["id"];
        let answer = if request["method"] == "session/request_permission" {
            let wanted =
                if self.allows { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
            let options = request["params"]["options"].as_array().cloned().unwrap_or_default();
            let chosen = wanted.iter().find_map(|kind| options.iter().find(|option| option["kind"] == *kind));
            let outcome = match chosen {
                Some(option) => json!({"outcome": "selected", "optionId": option["optionId"]}),
                None => json!({"outcome": "cancelled"}),
            };
            self.replays_history = false;
            // Some agents name a call only where they ask about it.
            self.called(&request["params"]["toolCall"]);
            json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}})
        } else {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "this was not offered"}})
        };
        self.send(&answer);
    }

    fn updated(&mut self, update: &Value) -> Option<String> {
        if self.awaited != Some(AcpRequest::Prompt) {
            return None;
        }
        match update["sessionUpdate"].as_str()? {
            // Some agents tell the history of a conversation only after they have loaded it. Each of its turns begins with
            // what the model was asked.
            "user_message_chunk" => {
                self.replays_history = self.last_answer.is_some();
                self.text.clear();
                None
            }
            "agent_message_chunk" => {
                self.text.push_str(update["content"]["text"].as_str().unwrap_or_default());
                if self.is_history() {
                    return None;
                }
                self.conversation.talk.says(&Value::from(self.text.as_str()));
                self.text.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned)
            }
            "tool_call" | "tool_call_update" => {
                self.text.clear();
                let has_ended = matches!(update["status"].as_str(), Some("completed" | "failed"));
                let id = update["toolCallId"].as_str().unwrap_or_default();
                // A call of the history has only its end.
                if self.replays_history && has_ended && !self.calls.contains_key(id) {
                    return None;
                }
                self.replays_history = false;
                self.called(update);
                if has_ended {
                    self.ended(update);
                }
                update["title"].as_str().map(str::to_owned)
            }
            _ => None,
        }
    }

    /// Whether the message so far belongs to the history, or may turn out to. The history ends with the last answer.
    fn is_history(&mut self) -> bool {
        let Some(last) = self.last_answer.as_ref().filter(|_| self.replays_history) else { return false };
        let (last, so_far) = (last.trim(), self.text.trim());
        let (is_part, is_whole) = (last.starts_with(so_far), last == so_far);
        if is_whole {
            self.replays_history = false;
            self.text.clear();
        }
        is_part
    }

    /// Notes what a call does. Its title becomes better with each update.
    fn called(&mut self, call: &Value) {
        let Some(id) = call["toolCallId"].as_str() else { return };
        if self.calls.len() == CALLS_MAX && !self.calls.contains_key(id) {
            return;
        }
        let known = self.calls.entry(id.to_owned()).or_default();
        for (known, field) in [(&mut known.0, "title"), (&mut known.1, "rawInput")] {
            if !call[field].is_null() {
                known.clone_from(&call[field]);
            }
        }
    }

    fn ended(&mut self, update: &Value) {
        let id = &update["toolCallId"];
        let Some((title, input)) = id.as_str().and_then(|id| self.calls.remove(id)) else { return };
        let is_named = title.is_string();
        let title = if is_named { title } else { json!("tool") };
        self.conversation.talk.calls(id, &title, &input);
        self.conversation
            .talk
            .results(id, &json!([update["status"], update["content"], update["rawOutput"]]));
    }
}

impl Reader for AcpClient {
    fn line(&mut self, line: OutputLine<'_>) -> Vec<Body> {
        let OutputLine::Whole(line) = line else { return Vec::new() };
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
        let is_call = message["method"].is_string();
        if is_call && message.get("id").is_some() {
            self.requested(&message);
        } else if is_call && message["method"] == "session/update" {
            let shown = self.updated(&message["params"]["update"]);
            return self.conversation.progress(shown);
        } else if let Some(call) = self.awaited.filter(|call| message["id"].as_u64() == Some(*call as u64)) {
            self.awaited = None;
            self.answered(call, &message);
        }
        Vec::new()
    }

    fn error_output(&mut self, bytes: &[u8]) {
        self.conversation.errors.push(bytes);
    }

    fn wishes(&mut self) -> Wishes {
        let wishes = self.conversation.wishes();
        let input = std::mem::take(&mut self.output);
        // After its answer it would wait for the next prompt.
        match self.conversation.talk.end {
            Some(_) => Wishes { stop: true, look: false, input, ..wishes },
            None => Wishes { input, ..wishes },
        }
    }

    fn seen(&mut self, digest: Option<String>) {
        self.conversation.talk.heed_repeats(digest);
    }

    fn end(&mut self, ended: &ChildEnd) -> Returned {
        // writ ends it after its answer, so its exit code means nothing.
        let is_complete = self.conversation.talk.end == Some(TurnEnd::Completed);
        let exit_code = if is_complete { Some(0) } else { ended.exit_code };
        self.conversation.returned(&ChildEnd { exit_code, ..ended.clone() }, |_| None)
    }
}
