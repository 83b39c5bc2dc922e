//! Takes the locks of a task from an engine: a person's decision, for an engine that is stuck or cannot be seen.

use contract::domain::code::ErrorCode;
use contract::domain::crew::lock::{FORCED, Held};
use contract::domain::principal::Action;
use contract::domain::process::{ProcessIdentity, Remains};
use contract::operator::Code;
use contract::operator::fencing::Refused;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Context, Key};
use crate::crew::denial::{deny, refused};
use crate::crew::grants;
use crate::crew::ledger_state::{find_task, reference};
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::once::Reply;
use crate::verb::{Function, Surface, Verb};

pub struct Force;

impl Verb for Force {
    const NAME: &'static str = "lock.force";
    const COMMAND: &'static str = "lock release";
    const SUMMARY: &'static str = "Take the locks of a task from its holder";
    const SURFACE: Surface = Surface::Crew;
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

/// An engine whose locks were taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HolderEnded {
    pub process: ProcessIdentity,
    /// `gone`: it and everything that it started was ended. `unseen`: a person answers for that.
    pub remains: Remains,
}

/// Asks a person, ends the engine and everything that it started, and releases the locks.
pub fn force(cx: &mut Context, key: &Key, request: &Request) -> Result<Reply<Answer>> {
    let reason = crate::task::reason(Some(&request.reason))?.unwrap_or_default();
    // A repeated request gets the stored answer; nobody is asked again and nothing is ended.
    let decided = if cx.was_answered(key)? { None } else { Some(decide(cx, key, request)?) };
    cx.once(key, Force::NAME, request, |work| {
        let (decision, holders) = decided
            .as_ref()
            .ok_or_else(|| Error::new(ErrorCode::Busy, "the stored answer was pruned meanwhile"))?;
        let work = &mut decision.act(work)?;
        let held = held(work.tx, request)?;
        let is_known = |lock: &Held| {
            let known = |ended: &HolderEnded| Some(&ended.process) == lock.holder.as_ref();
            lock.holder.is_none() || holders.iter().any(known)
        };
        if let Some(other) = held.iter().find(|lock| !is_known(lock)) {
            let message = format!("another engine got the lock on `{}` meanwhile", other.scope);
            return Err(Error::new(ErrorCode::VersionConflict, message));
        }
        let by = work.caller.entity.clone();
        let mut tokens: Vec<i64> = held.iter().map(|lock| lock.token).collect();
        tokens.dedup();
        for token in &tokens {
            let Some(lock) = held.iter().find(|lock| lock.token == *token) else { continue };
            grants::release_by(work, lock, &format!("{FORCED} by {by}: {reason}"), Some(&by))?;
        }
        let released = held.iter().map(|lock| lock.scope.to_string()).collect();
        Ok(Answer { tokens, released, holders: holders.clone() })
    })
}

/// The locks that are taken. Those of an assignment follow the lease of its contract.
fn held(tx: &store::Tx<'_>, request: &Request) -> Result<Vec<Held>> {
    let name = reference(&request.task)?;
    let (_, task) = find_task(tx, &request.run, &name)?;
    let held = tx.locks_of_task(&task.id)?;
    if held.is_empty() {
        return Err(refused(Refused::StaleToken));
    }
    if tx.last_assignment(&task.id)?.is_some_and(|open| open.ended.is_none()) {
        let message = format!("{name} is assigned; a sweep releases its locks when its worker times out");
        return Err(deny(Code::NonCompliant, "lock_of_assignment", message));
    }
    Ok(held)
}

/// Asks a person, and ends the engines that hold the locks.
fn decide(cx: &mut Context, key: &Key, request: &Request) -> Result<(Decision, Vec<HolderEnded>)> {
    let held = held(&cx.store.read()?, request)?;
    let mut holders: Vec<ProcessIdentity> = held.iter().filter_map(|lock| lock.holder.clone()).collect();
    holders.sort();
    holders.dedup();
    let host = cx.host();
    let seen: Vec<Remains> = holders.iter().map(|holder| host.settle(holder)).collect();
    let pids: Vec<u32> = holders.iter().map(|holder| host.pid_here(holder).unwrap_or(holder.pid)).collect();
    let described: Vec<String> = pids.iter().zip(&seen).map(|(pid, seen)| seen.of_process(*pid)).collect();
    let decision = cx.decision(key, &Action::new(Force::NAME, question(&held, &described, &seen)))?;
    let host = cx.host();
    let mut ended = Vec::new();
    for (process, pid) in holders.into_iter().zip(pids) {
        let remains = host.end_engine(&process);
        match remains {
            Remains::Gone | Remains::Unseen => ended.push(HolderEnded { process, remains }),
            Remains::Running | Remains::Stopped | Remains::Left => {
                let message = format!("could not end {}", remains.of_process(pid));
                return Err(Error::new(ErrorCode::HeldByAnother, message)
                    .hint("end it as the user that it belongs to, and repeat the command"));
            }
        }
    }
    Ok((decision, ended))
}

fn question(held: &[Held], holders: &[String], seen: &[Remains]) -> String {
    let mut text = String::new();
    for lock in held {
        text.push_str(&format!("{} of {} holds the lock on {}\n", lock.reference, lock.run_id, lock.place));
    }
    for holder in holders {
        text.push_str(&format!("its engine: {holder}\n"));
    }
    if seen.iter().any(|remains| matches!(remains, Remains::Running | Remains::Stopped | Remains::Left)) {
        text.push_str("That engine and everything that it started will be ended.\n");
    }
    if seen.contains(&Remains::Unseen) {
        text.push_str("writ cannot end it from here. If it still writes, two writers will overlap.\n");
    }
    text.push_str("Release the locks.");
    text
}
