//! Conformance: runs the vectors of each contract, one case at a time, over file contents that the caller reads.

pub mod aop;
pub mod operator;

use serde_json::Value;

/// Each contract's way to find the cases in a file. A new contract adds a line here.
const CONTRACTS: [fn(&File<'_>) -> Vec<Case>; 2] = [aop::cases, operator::cases];

/// A file of a vectors folder.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Relative to the folder that is run, with `/` between components.
    pub path: &'a str,
    pub bytes: &'a [u8],
}

/// How a case is judged: the vector itself and the contents of the files it needs.
pub type Judge = fn(&Value, &[Vec<u8>]) -> Result<(), Mismatch>;

/// One case, ready to run.
#[derive(Debug, Clone)]
pub struct Case {
    /// The contract it belongs to: `aop`, `operator`, …
    pub contract: &'static str,
    pub name: String,
    /// Files whose contents the case needs, relative to the folder of the file it was found in.
    pub needs: Vec<String>,
    vector: Value,
    judge: Judge,
}

/// Why a case did not pass: what was expected and what came instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(pub String);

impl Case {
    /// Runs the case. `files` are the contents of what it needs, in that order.
    pub fn run(&self, files: &[Vec<u8>]) -> Result<(), Mismatch> {
        if files.len() != self.needs.len() {
            return Err(Mismatch(format!("needs {} files, was given {}", self.needs.len(), files.len())));
        }
        (self.judge)(&self.vector, files)
    }
}

/// The cases in a file; none where no contract knows its shape.
pub fn cases(file: &File<'_>) -> Vec<Case> {
    let found = CONTRACTS.iter().flat_map(|contract| contract(file));
    found
        .map(|case| if case.needs.iter().all(|path| is_inside(path)) { case } else { refused(case) })
        .collect()
}

/// Vectors may come from strangers: a case reads nothing outside its own folder.
fn is_inside(path: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part != ".." && !part.contains(['\\', ':']);
    path.split('/').all(plain)
}

fn refused(case: Case) -> Case {
    let judge: Judge = |_, _| Err(Mismatch("names a file outside its folder".to_owned()));
    Case { needs: Vec::new(), judge, ..case }
}

#[cfg(test)]
mod tests;
