//! Takes the locks of a task from an engine: a person's decision, for an engine that is stuck or cannot be seen.

use std::collections::{BTreeMap, BTreeSet};

use contract::domain::code::ErrorCode;
use contract::domain::crew::lock::{FORCED, HeldLock, LockRefusal};
use contract::domain::principal::Action;
use contract::domain::process::{ProcessIdentity, Remains};
use contract::domain::task::Task;
use contract::operator::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::{Context, Session};
use crate::crew::denial::{deny, refused};
use crate::crew::grants;
use crate::crew::ledger_state::{find_task, reference};
use crate::decision::PersonDecision;
use crate::error::{Error, Result};
use crate::host::HostView;
use crate::once::Reply;
use crate::record::{EventBody, EventWriter};
use crate::verb::{Function, Surface, Verb, WhileHalted};

/// The kind of the event that records the end of an engine, before it is ended.
const ENDED: &str = "engine_end_forced";

pub struct Force;

impl Verb for Force {
    const NAME: &'static str = "lock.force";
    const COMMAND: &'static str = "lock release";
    const SUMMARY: &'static str = "Take the locks of a task from its holder";
    const SURFACE: Surface = Surface::Crew;
    const WHILE_HALTED: WhileHalted = WhileHalted::Possible;
    type Request = Request;
    type Answer = Answer;
    const FUNCTION: Function<Self> = Function::Once(force);
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub run: String,
    pub task: String,
    /// Why, for the log.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub tokens: Vec<i64>,
    pub released: Vec<String>,
    /// The engines that held them.
    pub holders: Vec<HolderEnded>,
}

/// An engine that lost its locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HolderEnded {
    pub process: ProcessIdentity,
    /// `gone`: it and everything that it started was ended. `unseen`: a person answers for that.
    pub remains: Remains,
}

/// Asks a person, ends the engine and everything that it started, and releases the locks.
pub fn force(cx: &mut Context, session: &Session, request: &Request) -> Result<Reply<Answer>> {
    let reason = crate::task::reason(Some(&request.reason))?.unwrap_or_default();
    let prepare = |cx: &mut Context| {
        let asked = ask(cx, session, request)?;
        announce(cx, session, request, &asked, &reason)?;
        end(cx, &asked).map(|ended| (asked, ended))
    };
    cx.decide_once(session, (Force::NAME, request), prepare, |work, (asked, holders)| {
        let (_, held) = held(work.tx, request)?;
        let acted = asked.decision.act(work, &action(&held, &asked.seen));
        let work = &mut acted.map_err(|error| after_the_end(error, &holders))?;
        let by = work.caller.entity.clone();
        let mut tokens: Vec<i64> = held.iter().map(|lock| lock.token).collect();
        tokens.dedup();
        for lock in tokens.iter().filter_map(|token| held.iter().find(|lock| lock.token == *token)) {
            grants::release_by(work, lock, &format!("{FORCED} by {by}: {reason}"), Some(&by))?;
        }
        Ok(Answer { tokens, released: held.iter().map(|lock| lock.scope.to_string()).collect(), holders })
    })
}

/// What a person decided, and how the engines that hold the locks were shown.
struct ForcedRelease {
    decision: PersonDecision,
    seen: Seen,
}

/// By engine: what is left of it, and its number here, where it may live in another namespace.
type Seen = BTreeMap<ProcessIdentity, (Remains, u32)>;

/// The task, and its locks that are taken. Those of an assignment follow the lease of its contract.
fn held(tx: &store::Tx<'_>, request: &Request) -> Result<(Task, Vec<HeldLock>)> {
    let name = reference(&request.task)?;
    let (_, task) = find_task(tx, &request.run, &name)?;
    let held = tx.locks_of_task(&task.id)?;
    if held.is_empty() {
        return Err(refused(LockRefusal::StaleToken));
    }
    if tx.last_assignment(&task.id)?.is_some_and(|open| open.ended.is_none()) {
        let message = format!("{name} is assigned; a sweep releases its locks when its worker times out");
        return Err(deny(Code::NonCompliant, "lock_of_assignment", message));
    }
    Ok((task, held))
}

fn ask(cx: &mut Context, session: &Session, request: &Request) -> Result<ForcedRelease> {
    let (_, held) = held(&cx.store.read()?, request)?;
    let host = cx.host();
    let holders = held.iter().filter_map(|lock| lock.holder.clone());
    let look = |holder: &ProcessIdentity| (host.settle(holder), host.pid_here(holder).unwrap_or(holder.pid));
    let seen: Seen = holders.map(|holder| (holder.clone(), look(&holder))).collect();
    let decision = cx.decision(session, action(&held, &seen))?;
    Ok(ForcedRelease { decision, seen })
}

/// Looks at the locks again, because a person may take a while to answer, and records which engines are going to be ended.
fn announce(
    cx: &mut Context,
    session: &Session,
    request: &Request,
    asked: &ForcedRelease,
    reason: &str,
) -> Result<()> {
    let tx = cx.store.begin()?;
    let now = cx.clock.now();
    let view = HostView::default();
    let mut work =
        EventWriter { tx: &tx, now: &now, ids: &mut *cx.ids, caller: &session.caller, view: &view };
    let (task, held) = held(&tx, request)?;
    let mut work = asked.decision.announce(&mut work, &action(&held, &asked.seen))?;
    let about = crate::task::about(&tx, &task)?;
    for (process, (_, pid)) in asked.seen.iter().filter(|(_, (remains, _))| is_ended(*remains)) {
        let message = format!("Process {pid} and everything that it started is ended: {reason}");
        work.say(&about, EventBody::event(ENDED, message, json!({"process": process, "reason": reason})))?;
    }
    Ok(tx.commit()?)
}

fn end(cx: &Context, asked: &ForcedRelease) -> Result<Vec<HolderEnded>> {
    let host = cx.host();
    let mut ended = Vec::new();
    for (process, (_, pid)) in &asked.seen {
        let remains = host.end_engine(process);
        match remains {
            Remains::Gone | Remains::Unseen => ended.push(HolderEnded { process: process.clone(), remains }),
            Remains::Running | Remains::Stopped | Remains::Left => {
                let message = format!("could not end {}", remains.of_process(*pid));
                return Err(Error::new(ErrorCode::HeldByAnother, message)
                    .hint("end it as the user that it belongs to, and repeat the command"));
            }
        }
    }
    Ok(ended)
}

/// What is said where the locks changed after the engines were ended: something was done then, and the log has it.
fn after_the_end(error: Error, ended: &[HolderEnded]) -> Error {
    if error.code != ErrorCode::VersionConflict || ended.is_empty() {
        return error;
    }
    let message = "the locks changed after their engine was ended, so none was released";
    Error::new(ErrorCode::VersionConflict, message).hint("repeat the command; it shows who holds them now")
}

fn is_ended(remains: Remains) -> bool {
    matches!(remains, Remains::Running | Remains::Stopped | Remains::Left)
}

/// The action that a person decides: these locks, and the observed state of their engines.
fn action(held: &[HeldLock], seen: &Seen) -> Action {
    let mut text = String::new();
    for lock in held {
        text.push_str(&format!("{} of {} holds the lock on {}\n", lock.reference, lock.run_id, lock.place));
    }
    let holders: BTreeSet<&ProcessIdentity> = held.iter().filter_map(|lock| lock.holder.as_ref()).collect();
    for holder in &holders {
        // An engine that got a lock later was not shown, and makes this another action.
        let shown = seen.get(holder).map_or_else(
            || format!("process {}, started at {}", holder.pid, holder.start_time),
            |(remains, pid)| remains.of_process(*pid),
        );
        text.push_str(&format!("its engine: {shown}\n"));
    }
    let remains: Vec<Remains> = holders.iter().filter_map(|holder| Some(seen.get(holder)?.0)).collect();
    if remains.iter().any(|remains| is_ended(*remains)) {
        text.push_str("That engine and everything that it started will be ended.\n");
    }
    if remains.contains(&Remains::Unseen) {
        text.push_str("writ cannot end it from here. If it still writes, two writers will overlap.\n");
    }
    text.push_str("Release the locks.");
    Action::new(Force::NAME, text)
}
