//! What was not in force for the processes of a run, for people.

use std::collections::BTreeMap;

use contract::domain::attempt::Attempt;
use contract::domain::confinement::{Namespace, SANDBOX};
use ops::run::show::TaskOfRun;

use crate::output::one_line;

/// Tasks that are named in one line.
const NAMES_MAX: usize = 5;

/// What was not in force for an attempt, each with what it is about.
pub(super) fn unconfined(attempt: &Attempt) -> impl Iterator<Item = String> {
    let words = attempt.outcome.iter().flat_map(|outcome| &outcome.confinement);
    let missing = words.filter(|(_, said)| *said != Namespace::On.as_str());
    missing.map(|(what, said)| told(what, said))
}

fn told(what: &str, said: &str) -> String {
    let part = what.strip_prefix(SANDBOX).and_then(|part| part.strip_prefix('.'));
    match (part, said.strip_prefix("refused: "), said.strip_prefix("off: ")) {
        (Some(part), Some(reason), _) => format!("sandbox {part} not enforced: {reason}"),
        (Some(part), _, Some(reason)) => format!("sandbox {part} not confined: {reason}"),
        _ => format!("{} {said}", what.replace('.', " ")),
    }
}

/// A line for each way in which tasks of the run were not confined.
pub(super) fn summary(tasks: &[TaskOfRun]) -> String {
    let mut without: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for task in tasks {
        for said in task.attempts.last().into_iter().flat_map(unconfined) {
            without.entry(said).or_default().push(super::name(task));
        }
    }
    let line = |(said, names): (String, Vec<&str>)| {
        let more = match names.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = names[..names.len().min(NAMES_MAX)].join(", ");
        format!("{}: {}{more}\n", one_line(&said), one_line(&names))
    };
    without.into_iter().map(line).collect()
}
