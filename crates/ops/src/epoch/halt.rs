//! Halts writ: a new epoch begins, in which nothing that began before can write, and what writ started is ended.

use contract::domain::change::Change;
use contract::domain::epoch::WritProgram;
use contract::domain::limits;
use contract::domain::principal::Action;
use contract::domain::process::{ProcessIdentity, Remains};
use contract::domain::run::RunState;
use contract::domain::text::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{RunFilter, Tx};

use super::{about, program};
use crate::context::{Context, Session};
use crate::crew::token::FLOOR;
use crate::error::Result;
use crate::once::Reply;
use crate::record::{About, EventWriter};
use crate::verb::{Function, Surface, Verb, WhileHalted};

/// The command of the processes that work runs.
const ENGINE: &str = "run";
/// What stands for a command that is not known.
const OTHER: &str = "call";

pub struct HaltAll;

impl Verb for HaltAll {
    const NAME: &'static str = "epoch.halt";
    const COMMAND: &'static str = "halt";
    const SUMMARY: &'static str = "End everything that writ started, and refuse new work";
    const SURFACE: Surface = Surface::Writ;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(halt);
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Why, for the log and for everyone who is refused.
    #[serde(default)]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The epoch that began. Leases, claims and tokens of earlier ones are dead.
    pub epoch: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many claims of agents ended.
    pub claims: usize,
    /// The processes that worked for this store.
    pub processes: Vec<HaltedProcess>,
}

/// A process of writ, which was ended with everything that it had started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HaltedProcess {
    pub process: ProcessIdentity,
    /// The command that it runs.
    pub command: String,
    /// The runs that it worked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// What is left of it and of what it had started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remains: Option<Remains>,
}

impl HaltedProcess {
    pub fn is_gone(&self) -> bool {
        self.remains.is_some_and(Remains::may_be_swept)
    }
}

/// The new epoch is committed before a process is ended, so that none of them can write, and no new one can begin.
pub fn halt(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    cx.while_halted(|cx| halt_all(cx, session, request))
}

fn halt_all(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let reason = crate::task::reason(request.reason.as_deref())?;
    let action = action(reason.as_deref());
    let prepare = |cx: &mut Context| cx.decision(session, action.clone());
    let mut reply = cx.decide_once(session, (HaltAll::NAME, request), prepare, |work, decision| {
        begin_epoch(&mut decision.act(work, &action)?, reason.clone())
    })?;
    cx.store.enter_epoch()?;
    let host = cx.host();
    for process in &mut reply.answer.processes {
        process.remains = Some(host.end_engine(&process.process));
    }
    // Processes that no journal names, such as a call that runs the checks of a task.
    for process in host.writers_of(cx.store_path()) {
        let remains = Some(host.end_engine(&process));
        let command = OTHER.to_owned();
        reply.answer.processes.push(HaltedProcess { process, command, runs: Vec::new(), remains });
    }
    let gone = reply.answer.processes.iter().filter(|process| process.is_gone());
    let gone: Vec<ProcessIdentity> = gone.map(|process| process.process.clone()).collect();
    program::forget(cx, &session.caller, &gone)?;
    Ok(reply)
}

fn begin_epoch(work: &mut EventWriter<'_, '_>, reason: Option<String>) -> Result<Answer> {
    let epoch = work.tx.epoch()?.number + 1;
    let processes = at_work(work.tx)?;
    let message = match &reason {
        Some(reason) => format!("writ was halted: {reason}"),
        None => "writ was halted".to_owned(),
    };
    let by = work.caller.entity.clone();
    work.change(&about(epoch), &message, &Change::Halted { epoch, reason: reason.clone(), by })?;
    let claims = release_claims(work)?;
    work.tx.end_leases()?;
    // Tokens of assignments and locks below this are dead.
    let floor = work.tx.last_number("fencing")?.saturating_add(1);
    work.tx.raise_number(FLOOR, floor)?;
    Ok(Answer { epoch, reason, claims, processes })
}

/// Every process of writ that works for this store, as the journal has them.
fn at_work(tx: &Tx<'_>) -> Result<Vec<HaltedProcess>> {
    let running = RunFilter { state: Some(RunState::Running), limit: limits::HALTED_RUNS_MAX };
    let running = tx.runs(&running)?;
    let engines = tx.engines_at_work()?.into_iter().map(|process| {
        let own = running.iter().filter(|run| run.owner.as_ref() == Some(&process));
        let runs = own.map(|run| run.asked.id.to_string()).collect();
        HaltedProcess { process, command: ENGINE.to_owned(), runs, remains: None }
    });
    let mut processes: Vec<HaltedProcess> = engines.collect();
    for WritProgram { process, command } in tx.programs(limits::PROGRAMS_MAX)? {
        match processes.iter_mut().find(|known| known.process == process) {
            Some(known) => known.command = command,
            None => processes.push(HaltedProcess { process, command, runs: Vec::new(), remains: None }),
        }
    }
    Ok(processes)
}

fn release_claims(work: &mut EventWriter<'_, '_>) -> Result<usize> {
    const PAGE: usize = 500;
    let mut released = 0;
    loop {
        let claimed = work.tx.claimed_tasks(None, work.now, PAGE)?;
        if claimed.is_empty() {
            return Ok(released);
        }
        for task in claimed {
            let change = Change::TaskReleased { task_id: task.id.clone() };
            work.change(&About::task(&task), "Claim ended by a halt", &change)?;
            released += 1;
        }
    }
}

fn action(reason: Option<&str>) -> Action {
    let mut text = String::from(
        "This ends every process that writ started for this store, with everything that it started.\n\
         Claims, leases and tokens that were given out before will be dead.\n\
         Agents and runs will be refused until a person lifts the halt with `writ resume-all`.\n",
    );
    if let Some(reason) = reason {
        text.push_str(&format!("reason: {reason}\n"));
    }
    text.push_str("Halt writ.");
    Action::new(HaltAll::NAME, text)
}

/// What a halt did, in one line.
pub fn summary(answer: &Answer) -> String {
    let gone = answer.processes.iter().filter(|process| process.is_gone()).count();
    let processes = if gone == 1 { "process" } else { "processes" };
    format!("{gone} {processes} and {} ended", counted(answer.claims, "claim"))
}
