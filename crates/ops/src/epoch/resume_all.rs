//! Lifts a halt. Interrupted runs are listed; each is continued only on request.

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::principal::Action;
use contract::domain::run::{DocumentKind, RunState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{RunFilter, Tx};

use super::about;
use crate::context::{Context, Session};
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb, WhileHalted};

pub struct ResumeAll;

impl Verb for ResumeAll {
    const NAME: &'static str = "epoch.resume";
    const COMMAND: &'static str = "resume-all";
    const SUMMARY: &'static str = "Lift a halt, and list the runs that it interrupted";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(resume_all);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Why, for the log.
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The epoch that began.
    pub epoch: i64,
    /// The runs that have not ended, newest first, and how to continue each.
    pub interrupted: Vec<Interrupted>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interrupted {
    pub run_id: String,
    pub command: String,
}

pub fn resume_all(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    cx.while_halted(|cx| lift(cx, session, request))
}

fn lift(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let reason = crate::task::reason(request.reason.as_deref())?;
    let message = match &reason {
        Some(reason) => format!("The halt was lifted: {reason}"),
        None => "The halt was lifted".to_owned(),
    };
    let prepare = |cx: &mut Context| {
        required(&cx.store.read()?)?;
        cx.decision(session, action())
    };
    let reply = cx.decide_once(session, (ResumeAll::NAME, request), prepare, |work, decision| {
        required(work.tx)?;
        let work = &mut decision.act(work, &action())?;
        let epoch = work.tx.epoch()?.number + 1;
        let by = work.caller.entity.clone();
        work.change(&about(epoch), &message, &Change::HaltLifted { epoch, by })?;
        Ok(Answer { epoch, interrupted: interrupted(work.tx)? })
    })?;
    cx.store.enter_epoch()?;
    Ok(reply)
}

fn required(tx: &Tx<'_>) -> Result<()> {
    match tx.epoch()?.halt {
        Some(_) => Ok(()),
        None => Err(Error::new(ErrorCode::WrongState, "writ is not halted")),
    }
}

fn interrupted(tx: &Tx<'_>) -> Result<Vec<Interrupted>> {
    let mut found = Vec::new();
    for state in [RunState::Running, RunState::Submitted] {
        let filter = RunFilter { state: Some(state), limit: limits::HALTED_RUNS_MAX };
        let runs = tx.runs(&filter)?;
        let worked = runs.iter().filter(|run| run.asked.kind != DocumentKind::Ledger);
        found.extend(worked.map(|run| {
            let run_id = run.asked.id.to_string();
            Interrupted { command: format!("writ run --continue {run_id}"), run_id }
        }));
    }
    Ok(found)
}

fn action() -> Action {
    let text = "Agents and runs are admitted again.\n\
                Interrupted runs do not continue by themselves.\n\
                Lift the halt.";
    Action::new(ResumeAll::NAME, text.to_owned())
}
