//! Holds a worklog's file against the store, and both against the contract.

use contract::domain::crew::worklog::{broken, file_of};
use contract::finding::Findings;
use contract::operator::{Code, Options, validate_worklog};
use contract::verdict::Verdict;
use serde_json::json;

use super::{begins, outcome};
use crate::context::Context;
use crate::crew::denial;
use crate::crew::sheet::{Sheet, reference};
use crate::error::Result;

/// What is wrong with `file`, the bytes on the disk; none where there is no file. Changes nothing.
pub fn verify(cx: &mut Context, run: &str, task: &str, file: Option<&[u8]>) -> Result<Verdict> {
    let name = reference(task)?;
    let tx = cx.store.read()?;
    let sheet = Sheet::of(&tx, run)?;
    let task = sheet.task(&name)?;
    let lines = tx.worklog(&task.id)?;
    if let Some(number) = broken(&lines, &begins(&sheet, &name)?) {
        let message = format!("line {number} in the store does not follow from the one before it");
        return Ok(verdict(Code::LedgerInconsistent, "chain_broken", message));
    }
    let stored = file_of(&lines);
    if let Some(refusal) = differs(&stored, file) {
        return Ok(refusal);
    }
    if lines.is_empty() {
        return Ok(Verdict::allowed("worklog", format!("{name} has no worklog yet"), Findings::default()));
    }
    let options = Options { outcome: outcome(&tx, task)?, ..Options::default() };
    let mut judged = validate_worklog(&stored, &options);
    let digest = lines.last().map(|line| line.digest.clone());
    judged.details.more.insert("last_digest".to_owned(), json!(digest));
    Ok(judged)
}

/// A file that is merely behind is told from one that somebody else has written in.
fn differs(stored: &[u8], file: Option<&[u8]>) -> Option<Verdict> {
    let found = match file {
        None if stored.is_empty() => return None,
        None => return Some(verdict(Code::MissingRequiredInput, "file_missing", "the file is not there")),
        Some(found) => found,
    };
    if found == stored {
        return None;
    }
    let (rule, message) = if stored.starts_with(found) {
        ("file_behind", "the file ends before the store does; repeat the last append")
    } else if found.starts_with(stored) {
        ("not_append_only", "somebody else has written behind the last line of the store")
    } else {
        ("not_append_only", "what stands in the file is not what was written down")
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
