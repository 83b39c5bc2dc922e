//! What was not in force for the processes of a run, for people.

use std::collections::BTreeMap;

use contract::domain::attempt::Attempt;
use contract::domain::confinement::{NAMESPACE, Namespace};
use ops::run::show::TaskOfRun;

use crate::output::one_line;

/// Tasks that are named in one line.
const NAMES_MAX: usize = 5;

/// What is said about an attempt's namespace, unless it had one.
pub(super) fn unconfined(attempt: &Attempt) -> Option<&str> {
    let said = attempt.outcome.as_ref()?.confinement.get(NAMESPACE)?;
    (said != Namespace::On.as_str()).then_some(said)
}

/// A line for each way in which tasks of the run had no namespace.
pub(super) fn summary(tasks: &[TaskOfRun]) -> String {
    let mut without: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for task in tasks {
        if let Some(said) = task.attempts.last().and_then(unconfined) {
            without.entry(said).or_default().push(super::name(task));
        }
    }
    let line = |(said, names): (&str, Vec<&str>)| {
        let more = match names.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names[..names.len().min(NAMES_MAX)].join(", ");
        format!("namespace {}: {}{more}\n", one_line(said), one_line(&names))
    };
    without.into_iter().map(line).collect()
}
