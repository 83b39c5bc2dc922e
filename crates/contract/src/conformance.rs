//! Conformance: turns the vectors of each contract into questions for any implementation, one at a time,
//! over file contents that the caller reads.

mod aee;
mod answers;
mod aocl;
mod aop;
mod bridge;
mod operator;
mod table;
mod verdicts;

pub use answers::answer;

use serde_json::Value;

/// Each contract's way to find the cases in a file. A new contract adds a line here.
const CONTRACTS: [fn(&VectorFile<'_>) -> Vec<Case>; 6] =
    [verdicts::cases, operator::cases, aop::cases, aee::cases, aocl::cases, bridge::cases];

/// A file of a vectors folder.
#[derive(Debug, Clone, Copy)]
pub struct VectorFile<'a> {
    /// Relative to the folder that is run, with `/` between components.
    pub path: &'a str,
    pub bytes: &'a [u8],
}

/// Makes the question from a vector and the contents of the files it needs.
type Ask = fn(&Value, &[Vec<u8>]) -> Result<Value, Mismatch>;
/// Compares an answer with what the vector expects.
type Compare = fn(&Value, &Value) -> Result<(), Mismatch>;

/// One case, ready to run.
#[derive(Debug, Clone)]
pub struct Case {
    /// The contract it belongs to: `aop`, `operator`, …
    pub contract: &'static str,
    pub name: String,
    /// Files whose contents the case needs, relative to the folder of the file it was found in.
    pub needs: Vec<String>,
    /// Whether the case is skipped if a file it needs is missing: a list may name files that are not included.
    pub may_lack_files: bool,
    vector: Value,
    ask: Ask,
    compare: Compare,
}

/// Why a case did not pass: the expected and the actual answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(pub String);

impl Case {
    /// The question for an implementation: `{ask, …}`. `files` are the contents of the files in `needs`, in that order.
    pub fn question(&self, files: &[Vec<u8>]) -> Result<Value, Mismatch> {
        if files.len() != self.needs.len() {
            return Err(Mismatch(format!("needs {} files, got {}", self.needs.len(), files.len())));
        }
        (self.ask)(&self.vector, files)
    }

    /// Whether an answer is the right one.
    pub fn judge(&self, answer: &Value) -> Result<(), Mismatch> {
        (self.compare)(&self.vector, answer)
    }

    /// Asks this implementation.
    pub fn run(&self, files: &[Vec<u8>]) -> Result<(), Mismatch> {
        self.judge(&answer(&self.question(files)?))
    }
}

/// The cases in a file; empty if no contract recognizes it.
pub fn cases(file: &VectorFile<'_>) -> Vec<Case> {
    let found = CONTRACTS.iter().flat_map(|contract| contract(file));
    found
        .map(|case| if case.needs.iter().all(|path| is_inside(path)) { case } else { refused(case) })
        .collect()
}

/// Vectors may come from third parties: a case reads nothing outside its own folder.
fn is_inside(path: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part != ".." && !part.contains(['\\', ':']);
    path.split('/').all(plain)
}

fn refused(case: Case) -> Case {
    let ask: Ask = |_, _| Err(Mismatch("names a file outside its folder".to_owned()));
    Case { needs: Vec::new(), ask, ..case }
}

/// A file of vectors is not a document of a contract: it may contain input that a strict reader
/// refuses, so that a validator can be asked about it.
fn parsed(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

/// The vectors in a file: a list, or the list under `cases`.
fn listed(value: &Value) -> &[Value] {
    value.as_array().or_else(|| value["cases"].as_array()).map(Vec::as_slice).unwrap_or_default()
}

/// The one file a case needs.
fn only(files: &[Vec<u8>]) -> Result<&[u8], Mismatch> {
    files.first().map(Vec::as_slice).ok_or_else(|| Mismatch("its file is missing".to_owned()))
}

#[cfg(test)]
mod tests;
