//! Checks that a worklog's file is what the store recorded, and that both follow the contract.

use contract::domain::crew::worklog::{broken, file_of};
use contract::finding::Findings;
use contract::operator::{Code, Options, validate_worklog};
use contract::verdict::Verdict;
use serde_json::json;

use super::show::Request;
use super::{begins, ending};
use crate::context::Context;
use crate::crew::denial;
use crate::crew::ledger_state::{LedgerState, reference};
use crate::error::Result;
use crate::verb::{Function, Surface, Verb};
use crate::verdict::VerdictAnswer;

pub struct Verify;

impl Verb for Verify {
    const NAME: &'static str = "worklog.verify";
    const COMMAND: &'static str = "worklog verify";
    const SUMMARY: &'static str = "Check that a worklog's file is what the store recorded";
    const SURFACE: Surface = Surface::Validator;
    type Request = Request;
    type Answer = VerdictAnswer;
    const FUNCTION: Function<Self> = Function::Reads(|cx, _, request| verify(cx, request));
}

/// Reads the file, then judges it together with what the store has.
pub fn verify(cx: &mut Context, request: &Request) -> Result<VerdictAnswer> {
    let place = super::file(cx, &request.run, &request.task)?;
    let file = cx.host().read_worklog(&place.workspace, &place.path)?;
    Ok(judge(cx, request, file.as_deref())?.into())
}

/// `file` is the content of the file; `None` if there is no file.
fn judge(cx: &mut Context, request: &Request, file: Option<&[u8]>) -> Result<Verdict> {
    let name = reference(&request.task)?;
    let tx = cx.store.read()?;
    let state = LedgerState::of(&tx, &request.run)?;
    let task = state.task(&name)?;
    let lines = tx.worklog(&task.id)?;
    if let Some(number) = broken(&lines, &begins(&state, &name)?) {
        let message = format!("line {number} in the store does not follow from the one before it");
        return Ok(verdict(Code::LedgerInconsistent, "chain_broken", message));
    }
    let stored = file_of(&lines);
    if let Some(refusal) = differs(&stored, file) {
        return Ok(refusal);
    }
    let outcome = ending(task);
    match (lines.is_empty(), outcome) {
        (true, Some(outcome)) => {
            let message =
                format!("{name} is {outcome}, and no entry says why; append one with a code and a next step");
            return Ok(verdict(Code::MissingRequiredInput, "final_entry", message));
        }
        (true, None) => {
            return Ok(Verdict::allowed(
                "worklog",
                format!("{name} has no worklog yet"),
                Findings::default(),
            ));
        }
        (false, _) => {}
    }
    let options = Options { outcome, ..Options::default() };
    let mut judged = validate_worklog(&stored, &options);
    let digest = lines.last().map(|line| line.digest.clone());
    judged.details.more.insert("last_digest".to_owned(), json!(digest));
    Ok(judged)
}

/// Tells a file that is only behind from one that was changed.
fn differs(stored: &[u8], file: Option<&[u8]>) -> Option<Verdict> {
    let found = match file {
        None if stored.is_empty() => return None,
        None => return Some(verdict(Code::MissingRequiredInput, "file_missing", "the file is missing")),
        Some(found) => found,
    };
    if found == stored {
        return None;
    }
    let (rule, message) = if stored.starts_with(found) {
        ("file_behind", "the file is behind the store; repeat the last append")
    } else if found.starts_with(stored) {
        ("not_append_only", "something was written after the last line that the store has")
    } else {
        ("not_append_only", "the file differs from the entries in the store")
    };
    let line = 1 + found.iter().zip(stored).take_while(|(a, b)| a == b).filter(|(a, _)| **a == b'\n').count();
    let mut refusal = verdict(Code::NonCompliant, rule, format!("line {line}: {message}"));
    refusal.details.more.insert("line".to_owned(), json!(line));
    Some(refusal)
}

fn verdict(code: Code, rule: &'static str, message: impl Into<String>) -> Verdict {
    let mut verdict = denial::verdict(code, rule, message);
    verdict.details.kind = "worklog".to_owned();
    verdict
}
