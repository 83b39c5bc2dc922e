//! `writ audit verify` of a large store: the whole check, and the chain alone.

use super::report::Report;
use super::rounds::{contender, interleave, micros};
use super::{Bench, Setup, profile, time};
use crate::Result;
use crate::job::{Job, target_dir};

pub(super) const BENCH: Bench = Bench { name: "audit", needs: &["audit"], run };

/// Tasks and events.
const LARGE: (usize, usize) = (100_000, 1_000_000);
const LARGE_QUICKLY: (usize, usize) = (300, 3_000);
/// Each round takes many seconds, and the differences are large.
const ROUNDS_MAX: usize = 3;

fn run(setup: &Setup) -> Result<Report> {
    let (profile, folder) = profile(setup.quick);
    Job::cargo(&["build", "--quiet", "--bin", "fill-store"]).args(profile).run()?;
    let filler = target_dir().join(folder).join("fill-store").display().to_string();
    let (tasks, events) = if setup.quick { LARGE_QUICKLY } else { LARGE };
    Job::new(&filler, &[&setup.path("audit.db"), &tasks.to_string(), &events.to_string()]).output()?;
    let verify = |words: &'static [&'static str]| {
        let call = setup.writ("audit.db", &[&["audit", "verify"], words].concat());
        time(&call).map(micros)
    };
    let contenders = vec![
        contender("audit verify, full", move |_| verify(&[])),
        contender("audit verify --quick", move |_| verify(&["--quick"])),
    ];
    let series = interleave(setup.rounds.min(ROUNDS_MAX), contenders)?;
    let about = "a million events and 100 thousand tasks, process start to exit";
    Ok(Report { name: BENCH.name, about, series, pairs: vec![(0, 1)] })
}
