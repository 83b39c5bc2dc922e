//! Proves tokens: a token is HMAC(store key, task, fencing number), so it is computed again and never stored.

use contract::domain::crew::lock::LockRefusal;
use contract::domain::crew::token::LockToken;
use contract::domain::request::Agent;
use contract::domain::status::Status;
use contract::domain::task::{Task, TaskId};
use contract::domain::token::is_same;
use contract::operator::Code;
use store::Tx;

use super::denial::{deny, refused};
use crate::context::Caller;
use crate::error::{Error, Result};
use crate::record::EventWriter;

const PURPOSE: &str = "token of a lock grant";
/// Tokens with a lower number are dead.
pub(crate) const FLOOR: &str = "fencing_floor";
/// Numbers up to this were issued by a version with plain numbers as tokens.
const PLAIN: &str = "fencing_plain";

/// The token of a grant. Its holder may act for the task.
pub(crate) fn proved(tx: &Tx<'_>, task: &TaskId, number: i64) -> Result<LockToken> {
    let proof = tx.key()?.mac(PURPOSE, &[task.as_str().as_bytes(), &number.to_be_bytes()]);
    Ok(LockToken::proved(number, &proof).expect("BUG: a MAC has 64 digits"))
}

/// The token of an assignment, by its number.
pub(crate) fn of_assignment(tx: &Tx<'_>, number: i64) -> Result<LockToken> {
    match tx.assignment(number)? {
        Some(issued) => proved(tx, &issued.task_id, number),
        None => Ok(number.into()),
    }
}

/// The fencing number of a token that this store gave out for the task. Whether it is the current one is not checked.
pub(crate) fn genuine(tx: &Tx<'_>, task: &TaskId, token: LockToken) -> Result<i64> {
    let number = match token.proof() {
        None if token.number <= tx.last_number(PLAIN)? => token.number,
        None => return Err(unproved(token.number)),
        Some(proof) => {
            let parts: [&[u8]; 2] = [task.as_str().as_bytes(), &token.number.to_be_bytes()];
            if tx.key()?.is_mac(proof, PURPOSE, &parts) {
                token.number
            } else {
                imported(tx, task, token)?.ok_or_else(|| refused(LockRefusal::ForgedToken))?
            }
        }
    };
    if number < tx.last_number(FLOOR)? {
        return Err(refused(LockRefusal::DeadToken));
    }
    Ok(number)
}

/// The local number of an assignment with a token that another store issued.
fn imported(tx: &Tx<'_>, task: &TaskId, token: LockToken) -> Result<Option<i64>> {
    let open = tx.last_assignment(task)?.filter(|open| open.ended.is_none());
    let known = open.and_then(|open| open.token_hash.map(|hash| (hash, open.token)));
    Ok(known.filter(|(hash, _)| is_same(hash, &token.hash())).map(|(_, number)| number))
}

/// The refusal of a token. For a canceled task it names the cancellation, because the lock is gone.
pub(crate) fn not_admitted(task: &Task, fault: LockRefusal) -> Error {
    if fault != LockRefusal::StaleToken || task.status != Status::Canceled {
        return refused(fault);
    }
    let why = task.blocked_reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let message = format!("the task was canceled, so its token is not valid any more{why}");
    deny(fault.into(), fault.rule(), message).hint("stop working on it; nothing of it has to be reported")
}

fn unproved(number: i64) -> Error {
    let message = format!("{number} is only the number of a token; the whole token is required");
    deny(Code::MissingRequiredInput, "token_unproved", message).hint(
        "use the token that `assignment issue` or `lock acquire` printed; the same call with the same request id prints \
         it again",
    )
}

/// Who acts with a genuine token: the worker that its open assignment names, whatever name the caller gave itself.
pub(crate) fn acting(work: &EventWriter<'_, '_>, task: &Task, number: i64) -> Result<Caller> {
    let is_open = work.tx.assignment(number)?.is_some_and(|open| open.ended.is_none());
    let owner = work.tx.ledger_row(&task.id)?.filter(|_| is_open).map(|known| known.row.owner);
    let worker = owner.and_then(|owner| Agent::parse(&owner).ok());
    Ok(worker.map_or_else(|| work.caller.clone(), Caller::agent))
}
