//! Everyday reads in a small store and in one that is a thousand times as large.

use super::report::Report;
use super::rounds::{contender, interleave, micros};
use super::{Bench, Setup, profile, time};
use crate::Result;
use crate::job::{Job, target_dir};

pub(super) const BENCH: Bench = Bench { name: "scale", needs: &["resume"], run };

/// Tasks and events.
const SMALL: (usize, usize) = (100, 1_000);
const LARGE: (usize, usize) = (100_000, 1_000_000);
const LARGE_QUICKLY: (usize, usize) = (300, 3_000);

/// Each verb in the large store, then in the small one.
const VERBS: &[(&str, &str, &[&str])] = &[
    ("resume, large", "resume, small", &["resume", "--limit", "100", "--project-dir", "/w/p1"]),
    ("task list, large", "task list, small", &["task", "list", "--limit", "20"]),
    ("events list, large", "events list, small", &["events", "list", "--agent", "agent-1"]),
    ("ready, large", "ready, small", &["ready"]),
];

fn run(setup: &Setup) -> Result<Report> {
    let (profile, folder) = profile(setup.quick);
    Job::cargo(&["build", "--quiet", "--bin", "fill-store"]).args(profile).run()?;
    let filler = target_dir().join(folder).join("fill-store").display().to_string();
    let large = if setup.quick { LARGE_QUICKLY } else { LARGE };
    for (name, (tasks, events)) in [("large.db", large), ("small.db", SMALL)] {
        Job::new(&filler, &[&setup.path(name), &tasks.to_string(), &events.to_string()]).output()?;
    }
    let call = |db: &str, words: &[&str], round: usize| {
        // A new agent each round, so that none has seen more events than another.
        let (agent, request) = (format!("bench-{round}"), format!("{db}-{round}"));
        let named = words.contains(&"--agent");
        let who = ["--agent", &agent, "--request-id", &request];
        setup.writ(db, &[words, if named { &who[2..] } else { &who[..] }].concat())
    };
    let mut contenders = Vec::new();
    for (in_large, in_small, words) in VERBS {
        contenders.push(contender(in_large, move |round| time(&call("large.db", words, round)).map(micros)));
        contenders.push(contender(in_small, move |round| time(&call("small.db", words, round)).map(micros)));
    }
    let series = interleave(setup.rounds, contenders)?;
    let pairs = (0..series.len() / 2).map(|verb| (2 * verb, 2 * verb + 1)).collect();
    let about = "a million events and 100 thousand tasks against a thousand events, process start to exit";
    Ok(Report { name: BENCH.name, about, series, pairs })
}
