//! One durable change, a whole process each time, against the `sqlite3` shell doing one durable insert.

use super::report::Report;
use super::rounds::{contender, interleave, micros};
use super::{Bench, Setup, bare_process, time};
use crate::Result;
use crate::job::Job;

pub(super) const CREATE: Bench = Bench { name: "create", needs: &["task", "create"], run: create };
pub(super) const PUSH: Bench = Bench { name: "push", needs: &["push"], run: push };
pub(super) const RESUME: Bench = Bench { name: "resume", needs: &["resume"], run: resume };

const SCHEMA: &str = "PRAGMA journal_mode=WAL;
CREATE TABLE task (id TEXT PRIMARY KEY, title TEXT NOT NULL, created_at INTEGER NOT NULL);";
const TASK: &[&str] = &["task", "create", "--title", "measure one change"];
const NOTE: &str = r#"{"event":{"kind":"progress","message":"measure one change"}}"#;

fn create(setup: &Setup) -> Result<Report> {
    measured(setup, CREATE.name, "writ task create", TASK)
}

fn push(setup: &Setup) -> Result<Report> {
    measured(setup, PUSH.name, "writ push", &["push", "--json", NOTE])
}

fn resume(setup: &Setup) -> Result<Report> {
    // Something to resume.
    time(&keyed(setup, TASK, "a-task"))?;
    measured(setup, RESUME.name, "writ resume", &["resume"])
}

fn keyed(setup: &Setup, words: &[&str], request: &str) -> Job {
    setup.writ("writ.db", &[words, &["--agent", "bench", "--request-id", request]].concat())
}

fn measured(setup: &Setup, name: &'static str, ours: &'static str, words: &[&str]) -> Result<Report> {
    let plain = setup.path("plain.db");
    Job::new("sqlite3", &[&plain, SCHEMA]).output()?;
    let change = |round: usize| keyed(setup, words, &format!("bench-{round}"));
    let insert = |round: usize| {
        let sql = format!(
            "PRAGMA synchronous=FULL; INSERT INTO task VALUES ('task-{round}', 'measure one change', {round});"
        );
        Job::new("sqlite3", &[&plain, &sql])
    };
    let series = interleave(
        setup.rounds,
        vec![
            contender(ours, |round| time(&change(round)).map(micros)),
            contender("sqlite3 insert", |round| time(&insert(round)).map(micros)),
            contender("true", |_| bare_process().map(micros)),
        ],
    )?;
    // A program that answers without writing would win every race.
    if !setup.dir.join("writ.db").is_file() {
        return Err(format!("`{ours}` left no store at WRIT_DB"));
    }
    Ok(Report::of_first(name, "one durable change, process start to exit", series))
}
