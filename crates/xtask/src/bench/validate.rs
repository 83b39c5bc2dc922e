//! Validating a document, compared with reading the same bytes into plain structs.

use serde_json::Value;

use super::report::Report;
use super::rounds::Series;
use super::{Bench, Setup, profile};
use crate::Result;
use crate::job::{Job, target_dir};

pub(super) const TASK: Bench = Bench { name: "validate", needs: &["validate"], run: task };
pub(super) const EVENT: Bench = Bench { name: "validate-aee", needs: &["validate"], run: event };

fn task(setup: &Setup) -> Result<Report> {
    measured(setup, TASK.name, "the whole TASK of AOP's section 2.2, one thread", "aop_task")
}

fn event(setup: &Setup) -> Result<Report> {
    measured(setup, EVENT.name, "a layer's decision as an AEE event, one thread", "aee_event")
}

/// One process measures all contenders in turn: starting a process per call would cost more than the call.
fn measured(setup: &Setup, name: &'static str, about: &'static str, document: &str) -> Result<Report> {
    let (profile, folder) = profile(setup.quick);
    Job::cargo(&["build", "--quiet", "--bin", "bench-contract"]).args(profile).run()?;
    let program = target_dir().join(folder).join("bench-contract").display().to_string();
    let printed = Job::new(&program, &[&setup.rounds.to_string()]).output()?;
    let rows = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let row = rows.into_iter().find(|row| row["document"] == document);
    let row = row.ok_or_else(|| format!("`{program}` measured no {document}"))?;
    let contenders = row["contenders"].as_array().into_iter().flatten();
    let series = contenders.map(|contender| Series {
        name: contender["name"].as_str().unwrap_or_default().to_owned().leak(),
        costs: contender["median_us"].as_f64().into_iter().collect(),
    });
    Ok(Report::of_first(name, about, series.collect()))
}
