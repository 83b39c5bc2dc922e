//! The engine's overhead for a task that does nothing, compared with starting the same process directly.

use super::report::Report;
use super::rounds::{Micros, contender, interleave, micros};
use super::{Bench, Setup, bare_process, time};
use crate::Result;

pub(super) const BENCH: Bench = Bench { name: "pipeline", needs: &["run"], run };

fn run(setup: &Setup) -> Result<Report> {
    let (few, many) = if setup.quick { (1, 3) } else { (10, 50) };
    for count in [few, many] {
        let path = setup.dir.join(plan_name(count));
        std::fs::create_dir_all(setup.dir.join("project")).map_err(|error| error.to_string())?;
        std::fs::write(&path, plan(count, &setup.path("project")))
            .map_err(|error| format!("could not write {}: {error}", path.display()))?;
    }
    // Start-up, migration and the end of the run are in both times and cancel out in the difference.
    let per_task = |round: usize| -> Result<Micros> {
        let took = |count: usize| {
            let db = format!("{count}-{round}.db");
            time(&setup.writ(&db, &["run", &setup.path(&plan_name(count))])).map(micros)
        };
        let extra = f64::from(u32::try_from(many - few).expect("BUG: a few dozen"));
        Ok((took(many)? - took(few)?) / extra)
    };
    let series = interleave(
        setup.rounds,
        vec![contender("writ run, per task", per_task), contender("true", |_| bare_process().map(micros))],
    )?;
    Ok(Report::of_first(BENCH.name, "the cost of one task that does nothing, one at a time", series))
}

fn plan_name(count: usize) -> String {
    format!("plan-{count}.toml")
}

/// A plan of independent tasks that each run `true`.
pub(super) fn plan(count: usize, workspace: &str) -> String {
    let head = format!("objective = \"measure the engine\"\nworkspace = {workspace:?}\nmax_parallel = 1\n");
    let task = |number: usize| {
        format!(
            "\n[[task]]\nid = \"t{number}\"\ntitle = \"nothing {number}\"\nexecutor = \"shell\"\ncommand = [\"true\"]\n"
        )
    };
    head + &(1..=count).map(task).collect::<String>()
}
