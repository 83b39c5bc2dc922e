//! Closes a ledger after all rows have ended, and ends its run.

use contract::domain::change::Change;
use contract::domain::run::RunState;
use contract::domain::status::Status;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::assignment::issue::settled;
use crate::context::{Context, Session};
use crate::crew::denial::deny;
use crate::crew::ledger_state::LedgerState;
use crate::error::Result;
use crate::once::Reply;
use crate::run::task_line::task_line;
use crate::verb::{Function, Surface, Verb};

pub struct Close;

impl Verb for Close {
    const NAME: &'static str = "ledger.close";
    const COMMAND: &'static str = "ledger close";
    const SUMMARY: &'static str = "Close a ledger whose rows have all ended";
    const SURFACE: Surface = Surface::Crew;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(close);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub run_id: String,
    /// `done` if every row is done, otherwise `failed`.
    pub state: RunState,
    pub tasks: Vec<Value>,
}

pub fn close(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    cx.once_viewing(session, Close::NAME, request, |work| {
        let view = work.view;
        let state = LedgerState::of(work.tx, &request.run)?.of_a_crew()?;
        if state.run.state.is_terminal() {
            let message = format!("the run {} already", state.run.state.said());
            return Err(deny(Code::InvalidTransition, "illegal", message));
        }
        if let Some((name, row)) = state.ledger.rows.iter().find(|(_, row)| !row.status.is_terminal()) {
            let message = format!("{name} is {}; a ledger can be closed when all its rows have ended", row.status);
            return Err(deny(Code::InvalidTransition, "illegal", message));
        }
        settled(work.tx, &state, work.now, view)?;
        let all_done = state.ledger.rows.values().all(|row| row.status == Status::Done);
        let end = if all_done { RunState::Done } else { RunState::Failed };
        let tasks: Vec<Value> = state.tasks.values().map(|task| task_line(task, &[])).collect();
        let result = json!({
            "run_id": state.run.asked.id, "corr": state.run.asked.corr, "objective": state.run.asked.objective,
            "state": end, "answer": null, "tasks": tasks,
        });
        let moved = Change::RunMoved {
            run_id: state.run.asked.id.clone(),
            from: state.run.state,
            to: end,
            result: Some(result),
        };
        work.change(&crate::run::about(&state.run), &format!("Run {}", end.as_str()), &moved)?;
        Ok(Answer { run_id: state.run_uuid()?, state: end, tasks })
    })
}
