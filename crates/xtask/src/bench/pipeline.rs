//! The engine's overhead for a task that does nothing, compared with starting the same process directly; and what of it
//! is the cost of the task's namespace.

use super::report::Report;
use super::rounds::{Micros, contender, interleave, micros};
use super::{Bench, Setup, bare_process, time};
use crate::Result;

pub(super) const BENCH: Bench = Bench { name: "pipeline", needs: &["run"], run };

pub(super) const NAMESPACE: Bench = Bench { name: "namespace", needs: &["run"], run: run_namespace };

fn run(setup: &Setup) -> Result<Report> {
    write_plans(setup, &["on"])?;
    let series = interleave(
        setup.rounds,
        vec![
            contender("writ run, per task", |round| per_task(setup, "on", round)),
            contender("true", |_| bare_process().map(micros)),
        ],
    )?;
    Ok(Report::of_first(BENCH.name, "the cost of one task that does nothing, one at a time", series))
}

fn run_namespace(setup: &Setup) -> Result<Report> {
    write_plans(setup, &["on", "off", SANDBOX, SNAPSHOT])?;
    let series = interleave(
        setup.rounds,
        vec![
            contender("only supervised", |round| per_task(setup, "off", round)),
            contender("in a namespace", |round| per_task(setup, "on", round)),
            contender("in the full sandbox", |round| per_task(setup, SANDBOX, round)),
            contender("sandbox and snapshot", |round| per_task(setup, SNAPSHOT, round)),
            contender("true", |_| bare_process().map(micros)),
        ],
    )?;
    let about = "one more task whose child does nothing, by what holds the child: the full sandbox may take 2 ms more \
                 than supervision alone";
    let pairs = vec![(2, 0), (1, 0), (2, 1), (3, 2), (0, 4), (2, 4)];
    Ok(Report { name: NAMESPACE.name, about, series, pairs })
}

/// Instead of `on` or `off`: the default of a plan.
pub(super) const DEFAULT: &str = "default";
/// Instead of `on` or `off`: in a namespace, with everything that can be enforced.
const SANDBOX: &str = "sandbox";
/// The same for tasks that may write, so that a snapshot is taken.
const SNAPSHOT: &str = "snapshot";

/// The tasks of the short and the long plan.
fn counts(setup: &Setup) -> (usize, usize) {
    if setup.quick { (1, 3) } else { (10, 50) }
}

pub(super) fn write_plans(setup: &Setup, namespaces: &[&str]) -> Result {
    std::fs::create_dir_all(setup.dir.join("project/src")).map_err(|error| error.to_string())?;
    let (few, many) = counts(setup);
    for namespace in namespaces {
        for count in [few, many] {
            let path = setup.dir.join(plan_name(count, namespace));
            std::fs::write(&path, plan((count, 1), namespace, &setup.path("project")))
                .map_err(|error| format!("could not write {}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// Start-up, migration and the end of the run are in both times and cancel out in the difference.
pub(super) fn per_task(setup: &Setup, namespace: &str, round: usize) -> Result<Micros> {
    let took = |count: usize| {
        // In a directory of its own, as a user's store is.
        let db = format!("{namespace}-{count}-{round}/writ.db");
        time(&setup.writ(&db, &["run", &setup.path(&plan_name(count, namespace))])).map(micros)
    };
    let (few, many) = counts(setup);
    let extra = f64::from(u32::try_from(many - few).expect("BUG: a few dozen"));
    Ok((took(many)? - took(few)?) / extra)
}

fn plan_name(count: usize, namespace: &str) -> String {
    format!("plan-{namespace}-{count}.toml")
}

/// A plan of independent tasks that each run `true`, so many at a time.
pub(super) fn plan((count, parallel): (usize, usize), namespace: &str, workspace: &str) -> String {
    let confined = match namespace {
        DEFAULT => String::new(),
        SANDBOX | SNAPSHOT => "namespace = \"on\"\nsandbox = \"enforce\"\nnetwork = \"none\"".to_owned(),
        namespace => format!("namespace = {namespace:?}\nsandbox = \"off\""),
    };
    let head = format!(
        "objective = \"measure the engine\"\nworkspace = {workspace:?}\nmax_parallel = {parallel}\n{confined}\n"
    );
    let task = |number: usize| {
        let writes =
            if namespace == SNAPSHOT { format!("writes = [\"src/t{number}\"]\n") } else { String::new() };
        format!(
            "\n[[task]]\nid = \"t{number}\"\ntitle = \"nothing {number}\"\nexecutor = \"shell\"\ncommand = [\"true\"]\n{writes}"
        )
    };
    head + &(1..=count).map(task).collect::<String>()
}
