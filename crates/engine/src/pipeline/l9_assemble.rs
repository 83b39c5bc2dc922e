//! L9: assembles the run's answer from the ends of its tasks.

use contract::aocl::Layer;
use contract::domain::attempt::Attempt;
use contract::domain::limits;
use contract::domain::reason::Reason;
use contract::domain::report::FinalSignal;
use contract::domain::run::{NewRun, RunState};
use contract::domain::status::{Evidence, Status};
use contract::domain::task::Task;
use contract::json::Value;
use contract::plan::without_effect;
use ops::run::task_line::task_line;
use serde_json::json;

use super::Outcome;
use super::layer::{Handed, LayerInput, LayerSpec, Stage};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FinalAnswer {
    pub(crate) state: RunState,
    /// Stored as the run's result, and replayed.
    pub(crate) result: Value,
    /// The payload of the AEE reply.
    pub(crate) reply: Value,
}

/// Why the walk ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WalkEnd {
    /// Every task was offered to an executor or skipped.
    Worked,
    /// A layer answered the run.
    Answered(Value),
    /// A layer refused the run.
    Refused(Reason),
    /// A layer parked the run: it waits for a person.
    Parked(String),
    Canceled,
}

pub(super) const LAYER: LayerSpec = LayerSpec::new(Layer::Respond, Stage::Leave, run).required();

fn run(input: &LayerInput<'_>) -> Outcome {
    let facts = input.leave();
    let (state, signal, reason) = judge(facts.tasks, facts.end);
    Outcome::decided("ASSEMBLED", format!("{signal}: {reason}"))
        .set("C5.Execution.final_signal", signal)
        .set("C5.Execution.state", state)
        .giving(Handed::Answer(Box::new(assemble(facts.run, facts.tasks, facts.end))))
}

/// The answer in every form it is needed in.
pub(crate) fn assemble(run: &NewRun, tasks: &[(Task, Vec<Attempt>)], end: &WalkEnd) -> FinalAnswer {
    let (state, signal, reason) = judge(tasks, end);
    let (lines, left_out) = lines(tasks);
    let (answer, mut reply) = match end {
        WalkEnd::Answered(answer) => (answer.clone(), answer.clone()),
        WalkEnd::Refused(reason) => {
            let message = reason.to_string();
            (Value::Null, json!({"code": "REFUSED", "message": message, "retryable": false}))
        }
        WalkEnd::Worked | WalkEnd::Parked(_) | WalkEnd::Canceled => {
            (Value::Null, json!({"final_signal": signal, "summary": reason, "tasks": lines}))
        }
    };
    if left_out > 0 && reply.get("tasks").is_some() {
        reply[LEFT_OUT] = json!(left_out);
    }
    if let Some(evidence) = decision_evidence(run, signal, &reason) {
        reply["decision_evidence"] = evidence;
    }
    let mut result = json!({
        "run_id": run.id,
        "corr": run.corr,
        "objective": run.objective,
        "state": state,
        "final_signal": signal,
        "reason": reason,
        "answer": answer,
        "tasks": lines,
    });
    if left_out > 0 {
        result[LEFT_OUT] = json!(left_out);
    }
    let ignored = without_effect(&run.plan);
    if !ignored.is_empty() {
        result["without_effect"] = json!(&ignored[..ignored.len().min(limits::FINDINGS_TRACED_MAX)]);
    }
    if let Some(session_id) = &run.session_id {
        result["session_id"] = json!(session_id);
    }
    if !run.warnings.is_empty() {
        result["warnings"] = json!(run.warnings);
    }
    FinalAnswer { state, result, reply }
}

/// How many tasks the answer does not list; `runs show` has them.
const LEFT_OUT: &str = "tasks_left_out";

/// The lines of the answer in the order of the plan, and how many tasks have none. Where there are too many tasks,
/// those that are not done come first.
fn lines(tasks: &[(Task, Vec<Attempt>)]) -> (Value, usize) {
    let is_done = |index: &usize| tasks[*index].0.status == Status::Done;
    let mut listed: Vec<usize> = (0..tasks.len()).collect();
    listed.sort_by_key(is_done);
    listed.truncate(limits::RUN_TASKS_LISTED_MAX);
    listed.sort_unstable();
    let lines: Vec<Value> = listed.iter().map(|&index| task_line(&tasks[index].0, &tasks[index].1)).collect();
    let left_out = tasks.len() - lines.len();
    (Value::Array(lines), left_out)
}

fn judge(tasks: &[(Task, Vec<Attempt>)], end: &WalkEnd) -> (RunState, &'static str, String) {
    let count = |status: Status| tasks.iter().filter(|(task, _)| task.status == status).count();
    let (done, failed, canceled) = (count(Status::Done), count(Status::Failed), count(Status::Canceled));
    match end {
        WalkEnd::Answered(_) => (RunState::Done, "SUCCESS", "answered directly".to_owned()),
        WalkEnd::Refused(reason) => (RunState::Failed, "FAILURE", reason.to_string()),
        WalkEnd::Parked(reason) => (RunState::Stopped, some_or_none(done), reason.clone()),
        WalkEnd::Canceled => {
            (RunState::Canceled, "ABORTED", format!("canceled with {done} of {} tasks done", tasks.len()))
        }
        WalkEnd::Worked if done == tasks.len() => {
            let claimed = tasks.iter().filter(|(task, _)| task.evidence == Some(Evidence::Claimed)).count();
            let note = if claimed == 0 { String::new() } else { format!(", {claimed} only claimed") };
            let partial = tasks.iter().filter(|(_, attempts)| is_partial(attempts)).count();
            let signal = if partial == 0 { "SUCCESS" } else { "PARTIAL_SUCCESS" };
            let part = if partial == 0 { String::new() } else { format!(", {partial} only in part") };
            (RunState::Done, signal, format!("{done} of {done} tasks done{part}{note}"))
        }
        WalkEnd::Worked if failed + canceled + done < tasks.len() => {
            let waiting = tasks.len() - failed - canceled - done;
            // The others only wait for these.
            let blocked = count(Status::Blocked);
            let (blocked, more) = match waiting.saturating_sub(blocked) {
                0 => (waiting, String::new()),
                _ if blocked == 0 => (waiting, String::new()),
                1 => (blocked, ", 1 waits for other tasks".to_owned()),
                more => (blocked, format!(", {more} wait for other tasks")),
            };
            let reason = format!("{blocked} of {} tasks wait for a person{more}", tasks.len());
            (RunState::Stopped, some_or_none(done), reason)
        }
        WalkEnd::Worked => {
            let reason =
                format!("{done} of {} tasks done, {failed} failed, {canceled} canceled", tasks.len());
            (RunState::Failed, some_or_none(done), reason)
        }
    }
}

/// The signal of a run of which not all tasks are done.
fn some_or_none(done: usize) -> &'static str {
    if done > 0 { "PARTIAL_SUCCESS" } else { "FAILURE" }
}

/// Whether the last attempt of a task did only a part of the work.
fn is_partial(attempts: &[Attempt]) -> bool {
    let outcome = attempts.last().and_then(|last| last.outcome.as_ref());
    outcome.is_some_and(|outcome| outcome.final_signal == Some(FinalSignal::PartialSuccess))
}

/// The evidence about the decision that an AEE task required, at the level it required.
fn decision_evidence(run: &NewRun, signal: &str, reason: &str) -> Option<Value> {
    let asked = run.intent.as_ref()?.requires.get("decision_evidence")?.as_str()?;
    let level = contract::aee::evidence::Level::parse(asked)?;
    let listed = run.plan.tasks.iter().take(limits::RUN_TASKS_LISTED_MAX);
    let tools: Vec<&str> = listed.map(|task| task.executor.as_str()).collect();
    let whole = json!({
        "decision": signal,
        "reason_summary": reason,
        "inputs_used": [run.document_digest],
        "tools_used": tools,
        "action_taken": format!("{} tasks were worked", run.plan.tasks.len()),
        "confidence": 1.0,
        "context_refs": [format!("writ://trace/{}", run.corr)],
    });
    let fields = whole.as_object()?;
    let kept: contract::json::Map<String, Value> = level
        .fields()
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone())))
        .collect();
    (!kept.is_empty()).then_some(Value::Object(kept))
}

#[cfg(test)]
mod tests;
