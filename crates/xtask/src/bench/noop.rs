//! Tasks that do nothing: one against a bare process of the same program, and a thousand, eight at a time, against the
//! programs that people use to run many commands.

use super::pipeline::{DEFAULT, per_task, plan, write_plans};
use super::report::Report;
use super::rounds::{Contender, Micros, contender, interleave, micros};
use super::{Bench, Setup, bare_process, time};
use crate::Result;
use crate::job::Job;
use crate::test;

pub(super) const ONE: Bench = Bench { name: "noop", needs: &["run"], run: run_one };

pub(super) const MANY: Bench = Bench { name: "jobs", needs: &["run"], run: run_many };

/// What others run the commands with.
const PROGRAMS: &[test::Program] = &[("make", "make"), ("ninja", "ninja-build")];
const TASKS: usize = 1_000;
const TASKS_QUICKLY: usize = 10;
const PARALLEL: usize = 8;
/// A round of writ starts thousands of processes.
const ROUNDS_MAX: usize = 5;

fn run_one(setup: &Setup) -> Result<Report> {
    write_plans(setup, &[DEFAULT, "on", "off"])?;
    let series = interleave(
        setup.rounds,
        vec![
            contender("a task", |round| per_task(setup, DEFAULT, round)),
            contender("a task, sandbox off", |round| per_task(setup, "on", round)),
            contender("a task, only supervised", |round| per_task(setup, "off", round)),
            contender("fork and exec", |_| bare_process().map(micros)),
        ],
    )?;
    let about =
        "the cost of one more task that does nothing, with the store on disk, and of its program alone";
    Ok(Report { name: ONE.name, about, series, pairs: vec![(0, 3), (1, 3), (2, 3)] })
}

fn run_many(setup: &Setup) -> Result<Report> {
    let count = if setup.quick { TASKS_QUICKLY } else { TASKS };
    let write = |name: &str, text: String| {
        std::fs::write(setup.dir.join(name), text).map_err(|error| format!("could not write {name}: {error}"))
    };
    std::fs::create_dir_all(setup.dir.join("project")).map_err(|error| error.to_string())?;
    for mode in [DEFAULT, "on"] {
        write(&format!("jobs-{mode}.toml"), plan((count, PARALLEL), mode, &setup.path("project")))?;
    }
    write("Makefile", makefile(count))?;
    write("build.ninja", ninja_file(count))?;
    let missing: Vec<&str> = test::provide(PROGRAMS).into_iter().map(|(program, _)| program).collect();
    for program in &missing {
        println!("jobs: {program} is not installed, and so not compared");
    }
    let jobs = PARALLEL.to_string();
    let place = setup.path("");
    let others: [(&'static str, &'static str, Job); 2] = [
        ("make", "make -j8", Job::new("make", &["--silent", "--jobs", &jobs, "--directory", &place])),
        ("ninja", "ninja -j8", Job::new("ninja", &["--quiet", "-j", &jobs, "-C", &place])),
    ];
    let mut contenders = vec![
        contender("writ run", |round| whole_run(setup, DEFAULT, round)),
        contender("writ run, sandbox off", |round| whole_run(setup, "on", round)),
    ];
    let present = others.iter().filter(|(program, _, _)| !missing.contains(program));
    contenders.extend(present.map(|(_, name, job)| of_job(name, job)));
    let series = interleave(setup.rounds.min(ROUNDS_MAX), contenders)?;
    let pairs = (2..series.len()).flat_map(|other| [(0, other), (1, other)]).collect();
    let about = "1,000 independent commands that do nothing, 8 at a time, process start to exit";
    Ok(Report { name: MANY.name, about, series, pairs })
}

fn of_job<'j>(name: &'static str, job: &'j Job) -> Contender<'j> {
    contender(name, move |_| time(job).map(micros))
}

fn whole_run(setup: &Setup, mode: &str, round: usize) -> Result<Micros> {
    let db = format!("jobs-{mode}-{round}/writ.db");
    time(&setup.writ(&db, &["run", &setup.path(&format!("jobs-{mode}.toml"))])).map(micros)
}

fn makefile(count: usize) -> String {
    let names: String = (1..=count).map(|number| format!(" t{number}")).collect();
    format!("all:{names}\n.PHONY: all{names}\n{}:\n\t@true\n", names.trim_start())
}

/// No command makes its file, so each is run every time.
fn ninja_file(count: usize) -> String {
    let builds: String = (1..=count).map(|number| format!("build t{number}: nothing\n")).collect();
    format!("rule nothing\n  command = true\n{builds}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_have_every_command_once() {
        assert_eq!(makefile(2), "all: t1 t2\n.PHONY: all t1 t2\nt1 t2:\n\t@true\n");
        assert_eq!(ninja_file(2), "rule nothing\n  command = true\nbuild t1: nothing\nbuild t2: nothing\n");
    }
}
