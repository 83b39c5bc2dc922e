//! L9: the answer. What became of each task, and of the whole.

use contract::domain::attempt::Attempt;
use contract::domain::run::{NewRun, RunState};
use contract::domain::status::{Evidence, Status};
use contract::domain::task::Task;
use contract::json::Value;
use ops::run::show::task_line;
use serde_json::json;

use super::Outcome;

pub(crate) struct Assembled {
    pub(crate) state: RunState,
    /// What is stored and replayed as the run's answer.
    pub(crate) result: Value,
    /// The payload of the AEE reply.
    pub(crate) reply: Value,
}

/// How the walk came to its end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End<'e> {
    /// Every task was offered to an executor or skipped.
    Worked,
    /// A layer answered by itself.
    Answered(&'e Value),
    /// A layer refused.
    Refused(&'e str),
    /// The run was canceled.
    Canceled,
}

pub(crate) fn run(run: &NewRun, tasks: &[(Task, Vec<Attempt>)], end: &End<'_>) -> (Outcome, Assembled) {
    let (state, signal, reason) = judge(tasks, end);
    let result = json!({
        "run_id": run.id,
        "corr": run.corr,
        "objective": run.objective,
        "state": state,
        "final_signal": signal,
        "reason": reason,
        "answer": match end { End::Answered(answer) => (*answer).clone(), _ => Value::Null },
        "tasks": tasks.iter().map(|(task, attempts)| task_line(task, attempts)).collect::<Vec<_>>(),
    });
    let mut reply = match end {
        End::Answered(answer) => (*answer).clone(),
        End::Refused(message) => json!({"code": "REFUSED", "message": message, "retryable": false}),
        End::Worked | End::Canceled => {
            json!({"final_signal": signal, "summary": reason, "tasks": result["tasks"]})
        }
    };
    if let Some(evidence) = decision_evidence(run, signal, &reason) {
        reply["decision_evidence"] = evidence;
    }
    let outcome = Outcome::decided("ASSEMBLED", format!("{signal}: {reason}"))
        .set("C5.Execution.final_signal", signal)
        .set("C5.Execution.state", state);
    (outcome, Assembled { state, result, reply })
}

fn judge(tasks: &[(Task, Vec<Attempt>)], end: &End<'_>) -> (RunState, &'static str, String) {
    let count = |status: Status| tasks.iter().filter(|(task, _)| task.status == status).count();
    let (done, failed, canceled) = (count(Status::Done), count(Status::Failed), count(Status::Canceled));
    match end {
        End::Answered(_) => (RunState::Done, "SUCCESS", "answered directly".to_owned()),
        End::Refused(reason) => (RunState::Failed, "FAILURE", (*reason).to_owned()),
        End::Canceled => {
            (RunState::Canceled, "ABORTED", format!("canceled with {done} of {} tasks done", tasks.len()))
        }
        End::Worked if done == tasks.len() => {
            let claimed = tasks.iter().filter(|(task, _)| task.evidence == Some(Evidence::Claimed)).count();
            let note = if claimed == 0 { String::new() } else { format!(", {claimed} only claimed") };
            (RunState::Done, "SUCCESS", format!("{done} of {done} tasks done{note}"))
        }
        End::Worked if failed + canceled + done < tasks.len() => {
            let waiting = tasks.len() - failed - canceled - done;
            (
                RunState::Stopped,
                "PARTIAL_SUCCESS",
                format!("{waiting} of {} tasks wait for a person", tasks.len()),
            )
        }
        End::Worked => {
            let signal = if done > 0 { "PARTIAL_SUCCESS" } else { "FAILURE" };
            let reason =
                format!("{done} of {} tasks done, {failed} failed, {canceled} canceled", tasks.len());
            (RunState::Failed, signal, reason)
        }
    }
}

/// What an AEE task asked to be told about the decision, as much as it asked for.
fn decision_evidence(run: &NewRun, signal: &str, reason: &str) -> Option<Value> {
    let asked = run.intent.as_ref()?.requires.get("decision_evidence")?.as_str()?;
    let level = contract::aee::evidence::Level::parse(asked)?;
    let tools: Vec<&str> = run.plan.tasks.iter().map(|task| task.executor.as_str()).collect();
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
