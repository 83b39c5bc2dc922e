//! `cargo xtask bench`: measures writ and a reference in alternating rounds, so that a busy machine slows both.

mod audit;
mod changes;
mod growth;
pub(crate) mod instructions;
mod look;
mod noop;
mod pipeline;
mod report;
mod rollback;
mod rounds;
mod scale;
mod validate;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Result;
use crate::job::{Job, knows, root, target_dir};
use report::Report;

pub(crate) const ABOUT: &str = "\
Measure writ and compare it with what the machine can do

Builds the `dist` profile and runs all benchmarks, or those named. Contenders take turns (A, B, A, B, …);
the table shows medians and their ratios, which can be compared between machines. The results are also
written to target/bench.json.

  --quick           a few small rounds on the debug build, to see that the benchmarks still run
  --rounds N        the number of rounds
  --against PATH    another `writ` binary takes turns with this one (create, push and resume)
  --instructions    count instructions with callgrind instead of measuring time, and compare them with
                    crates/xtask/instructions.json
  --bless           with --instructions: store the new counts";

/// To add a benchmark, add a file and a line here.
const BENCHES: &[Bench] = &[
    changes::CREATE,
    changes::PUSH,
    changes::RESUME,
    scale::BENCH,
    audit::BENCH,
    look::BENCH,
    rollback::BENCH,
    pipeline::BENCH,
    pipeline::NAMESPACE,
    noop::ONE,
    noop::MANY,
    growth::BENCH,
    validate::TASK,
    validate::EVENT,
];

struct Bench {
    name: &'static str,
    /// The command that `writ` must have.
    needs: &'static [&'static str],
    run: fn(&Setup) -> Result<Report>,
}

/// Input of a benchmark.
struct Setup {
    writ: PathBuf,
    /// Another binary to compare with.
    against: Option<PathBuf>,
    /// A scratch directory on the disk that holds the build: a memory file system would hide the cost of a sync.
    dir: PathBuf,
    quick: bool,
    rounds: usize,
}

#[derive(Debug, Default)]
struct Options {
    names: Vec<String>,
    quick: bool,
    rounds: Option<usize>,
    against: Option<PathBuf>,
    instructions: bool,
    bless: bool,
}

pub(crate) fn run(args: &[String]) -> Result {
    let options = parse(args)?;
    if options.instructions {
        return instructions::run(options.bless);
    }
    let chosen = chosen(&options)?;
    let writ = build(options.quick)?;
    let against = options.against.as_deref().map(|path| installed(path, "bench-against")).transpose()?;
    for bench in &chosen {
        if !knows(&writ, bench.needs) {
            return Err(format!(
                "`{}` needs `writ {}`, which this writ does not have",
                bench.name,
                bench.needs.join(" ")
            ));
        }
    }
    let mut reports = Vec::new();
    for bench in chosen {
        let rounds = options.rounds.unwrap_or(if options.quick { 2 } else { 60 });
        let setup = Setup {
            writ: writ.clone(),
            against: against.clone(),
            dir: target_dir().join(format!("bench-{}-{}", bench.name, std::process::id())),
            quick: options.quick,
            rounds,
        };
        let report = in_fresh_directory(bench, &setup)?;
        println!("{report}");
        reports.push(report);
    }
    let path = target_dir().join("bench.json");
    let document =
        json!({"quick": options.quick, "benches": reports.iter().map(Report::json).collect::<Vec<_>>()});
    std::fs::write(&path, format!("{document:#}\n"))
        .map_err(|error| format!("could not write {}: {error}", path.display()))
}

/// Whether every benchmark can run on the debug build.
pub(crate) fn can_run_quickly() -> bool {
    let writ = target_dir().join("debug/writ");
    BENCHES.iter().all(|bench| knows(&writ, bench.needs))
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => options.quick = true,
            "--instructions" => options.instructions = true,
            "--bless" => options.bless = true,
            "--against" => {
                let path = words.next().ok_or("--against needs the path of a `writ` binary")?;
                options.against = Some(root().join(path));
            }
            "--rounds" => {
                let number = words.next().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
                options.rounds = Some(number.ok_or("--rounds needs a number above zero")?);
            }
            name if BENCHES.iter().any(|bench| bench.name == name) => options.names.push(name.to_owned()),
            other => {
                let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
                return Err(format!("unknown benchmark `{other}`; the benchmarks are {}", names.join(", ")));
            }
        }
    }
    let is_timed =
        options.quick || options.rounds.is_some() || options.against.is_some() || !options.names.is_empty();
    if options.instructions && is_timed {
        return Err("--instructions takes no other option than --bless".to_owned());
    }
    if options.bless && !options.instructions {
        return Err("--bless needs --instructions".to_owned());
    }
    Ok(options)
}

/// The named benchmarks, or all of them; with `--against` those that can run another binary.
fn chosen(options: &Options) -> Result<Vec<&'static Bench>> {
    let is_named = |bench: &&Bench| options.names.iter().any(|name| name == bench.name);
    let can_run = |bench: &&Bench| options.against.is_none() || changes::NAMES.contains(&bench.name);
    if let Some(bench) = BENCHES.iter().find(|bench| is_named(bench) && !can_run(bench)) {
        return Err(format!(
            "--against does not work with `{}`, only with {}",
            bench.name,
            changes::NAMES.join(", ")
        ));
    }
    Ok(BENCHES.iter().filter(|bench| options.names.is_empty() || is_named(bench)).filter(can_run).collect())
}

/// Arguments for cargo and the folder of the result.
fn profile(quick: bool) -> (&'static [&'static str], &'static str) {
    if quick { (&[], "debug") } else { (&["--profile", "dist"], "dist") }
}

fn build(quick: bool) -> Result<PathBuf> {
    let (profile, folder) = profile(quick);
    Job::cargo(&["build", "--quiet", "--bin", "writ"]).args(profile).run()?;
    installed(&target_dir().join(folder).join("writ"), "bench-writ")
}

/// Copies the binary, as `cargo install` does. A file that the linker has just written is in the page cache in small
/// pieces, and starting it measures the linker.
fn installed(linked: &Path, name: &str) -> Result<PathBuf> {
    let copy = target_dir().join(name);
    std::fs::copy(linked, &copy).map_err(|error| format!("could not copy {}: {error}", linked.display()))?;
    Ok(copy)
}

fn in_fresh_directory(bench: &Bench, setup: &Setup) -> Result<Report> {
    let fault = |error: std::io::Error| format!("could not use {}: {error}", setup.dir.display());
    std::fs::create_dir_all(&setup.dir).map_err(fault)?;
    let report = (bench.run)(setup);
    std::fs::remove_dir_all(&setup.dir).map_err(fault)?;
    report
}

impl Setup {
    /// `writ` with its own store and without the caller's configuration.
    fn writ(&self, db: &str, args: &[&str]) -> Job {
        self.program(&self.writ, db, args)
    }

    fn program(&self, binary: &Path, db: &str, args: &[&str]) -> Job {
        let home = self.dir.display().to_string();
        let job = Job::new(&binary.display().to_string(), args);
        job.env("WRIT_DB", &self.path(db)).env("HOME", &home).env("XDG_CONFIG_HOME", &home)
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }
}

/// How long the command takes from start to exit.
fn time(job: &Job) -> Result<Duration> {
    let mut command = job.command();
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let started = Instant::now();
    let status = command.status().map_err(|error| format!("could not start `{job}`: {error}"))?;
    let took = started.elapsed();
    if status.success() { Ok(took) } else { Err(format!("`{job}` failed: {status}")) }
}

/// Starting a process and waiting for its end: the lower limit of every command.
fn bare_process() -> Result<Duration> {
    time(&Job::new("true", &[]))
}

#[cfg(test)]
mod tests;
