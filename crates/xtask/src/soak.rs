//! `cargo xtask soak`: runs the long tests with many more rounds.

use crate::Result;
use crate::job::Job;
use crate::test::{self, Runner};

pub(crate) const ABOUT: &str = "\
Run the long tests with more rounds

Runs every test whose name starts with `soak_` with N times its usual rounds (20 unless --factor says
otherwise). `cargo xtask test` runs the same tests with a few rounds. ARGS go to
the runner.";

const FACTOR: u32 = 20;
const NAMES: &str = "soak_";

pub(crate) fn run(args: &[String]) -> Result {
    let (factor, rest) = parse(args)?;
    test::run_jobs(&plan(Runner::installed(), factor, rest))
}

fn parse(args: &[String]) -> Result<(u32, &[String])> {
    let Some(("--factor", rest)) = args.split_first().map(|(word, rest)| (word.as_str(), rest)) else {
        return Ok((FACTOR, args));
    };
    let (number, rest) = rest.split_first().ok_or("--factor needs a number")?;
    let number = number.parse().ok().filter(|number| *number > 0);
    Ok((number.ok_or("--factor needs a number above zero")?, rest))
}

fn plan(runner: Runner, factor: u32, args: &[String]) -> Vec<Job> {
    let job = match runner {
        Runner::Nextest => {
            let filter = format!("test(/(^|::){NAMES}/)");
            Job::cargo(&["nextest", "run", "--profile", "soak", "-E", &filter])
        }
        Runner::CargoTest => Job::cargo(&["test", NAMES]),
    };
    let everything: &[&str] = if test::selects_packages(args) { &[] } else { &["--workspace"] };
    vec![test::helpers(), job.args(everything).args(args).env("WRIT_SOAK", &factor.to_string())]
}

#[cfg(test)]
mod tests;
