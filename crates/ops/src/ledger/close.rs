//! Closes a ledger: every row has come to an end, and the run has with them.

use contract::domain::change::Change;
use contract::domain::run::RunState;
use contract::domain::status::Status;
use contract::operator::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::assignment::issue::settled;
use crate::context::{Context, Key};
use crate::crew::denial::deny;
use crate::crew::sheet::Sheet;
use crate::error::Result;
use crate::once::Reply;
use crate::run::show::task_line;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    pub run: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub run_id: String,
    /// Done where every row is; failed otherwise.
    pub state: RunState,
    pub tasks: Vec<Value>,
}

pub fn close(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    cx.once_viewing(key, "ledger.close", request, |work| {
        let view = work.view;
        let sheet = Sheet::of(work.tx, &request.run)?.of_a_crew()?;
        if sheet.run.state.is_terminal() {
            let message = format!("the run is {} already", sheet.run.state.as_str());
            return Err(deny(Code::InvalidTransition, "illegal", message));
        }
        if let Some((name, row)) = sheet.ledger.rows.iter().find(|(_, row)| !row.status.is_terminal()) {
            let message = format!("{name} is {}; only a ledger whose rows have ended is closed", row.status);
            return Err(deny(Code::InvalidTransition, "illegal", message));
        }
        settled(work.tx, &sheet, work.now, view)?;
        let all_done = sheet.ledger.rows.values().all(|row| row.status == Status::Done);
        let state = if all_done { RunState::Done } else { RunState::Failed };
        let tasks: Vec<Value> = sheet.tasks.values().map(|task| task_line(task, &[])).collect();
        let result = json!({
            "run_id": sheet.run.asked.id, "corr": sheet.run.asked.corr, "objective": sheet.run.asked.objective,
            "state": state, "answer": null, "tasks": tasks,
        });
        let moved = Change::RunMoved {
            run_id: sheet.run.asked.id.clone(),
            from: sheet.run.state,
            to: state,
            result: Some(result),
        };
        work.change(&crate::run::about(&sheet.run), &format!("Run {}", state.as_str()), &moved)?;
        Ok(Answer { run_id: sheet.run_uuid()?, state, tasks })
    })
}
