//! One durable change in one process, compared with one durable insert by the `sqlite3` shell.

use std::path::Path;

use super::report::Report;
use super::rounds::{contender, interleave, micros};
use super::{Bench, Setup, bare_process, time};
use crate::Result;
use crate::job::Job;

pub(super) const CREATE: Bench = Bench { name: "create", needs: &["task", "create"], run: create };
pub(super) const PUSH: Bench = Bench { name: "push", needs: &["push"], run: push };
pub(super) const RESUME: Bench = Bench { name: "resume", needs: &["resume"], run: resume };

/// Benchmarks that can run a second binary.
pub(super) const NAMES: [&str; 3] = [CREATE.name, PUSH.name, RESUME.name];

pub(super) const SCHEMA: &str = "PRAGMA journal_mode=WAL;
CREATE TABLE task (id TEXT PRIMARY KEY, title TEXT NOT NULL, created_at INTEGER NOT NULL);";
pub(super) const TASK: &[&str] = &["task", "create", "--title", "measure one change"];
const NOTE: &str = r#"{"event":{"kind":"progress","message":"measure one change"}}"#;

fn create(setup: &Setup) -> Result<Report> {
    measured(setup, CREATE.name, "writ task create", TASK)
}

fn push(setup: &Setup) -> Result<Report> {
    measured(setup, PUSH.name, "writ push", &["push", "--json", NOTE])
}

fn resume(setup: &Setup) -> Result<Report> {
    // Something to resume.
    for (binary, db) in binaries(setup) {
        time(&keyed(setup, (binary, db), TASK, "a-task"))?;
    }
    measured(setup, RESUME.name, "writ resume", &["resume"])
}

/// Our binary and, with `--against`, the other one; each has its own store.
fn binaries(setup: &Setup) -> Vec<(&Path, &'static str)> {
    let other = setup.against.as_deref().map(|other| (other, "against.db"));
    std::iter::once((setup.writ.as_path(), "writ.db")).chain(other).collect()
}

fn keyed(setup: &Setup, (binary, db): (&Path, &str), words: &[&str], request: &str) -> Job {
    setup.program(binary, db, &[words, &["--agent", "bench", "--request-id", request]].concat())
}

/// The `sqlite3` shell with one durable insert.
pub(super) fn insert(database: &str, number: usize) -> Job {
    let sql = format!(
        "PRAGMA synchronous=FULL; INSERT INTO task VALUES ('task-{number}', 'measure one change', {number});"
    );
    Job::new("sqlite3", &[database, &sql])
}

fn measured(setup: &Setup, name: &'static str, ours: &'static str, words: &[&str]) -> Result<Report> {
    let plain = setup.path("plain.db");
    Job::new("sqlite3", &[&plain, SCHEMA]).output()?;
    let mut contenders = Vec::new();
    for (binary, contestant) in binaries(setup).into_iter().zip([ours, "the other binary"]) {
        contenders.push(contender(contestant, move |round| {
            time(&keyed(setup, binary, words, &format!("bench-{round}"))).map(micros)
        }));
    }
    contenders.push(contender("sqlite3 insert", |round| time(&insert(&plain, round)).map(micros)));
    contenders.push(contender("true", |_| bare_process().map(micros)));
    let series = interleave(setup.rounds, contenders)?;
    // A program that answers without writing anything would always be fastest.
    if !setup.dir.join("writ.db").is_file() {
        return Err(format!("`{ours}` wrote no store at WRIT_DB"));
    }
    Ok(Report::of_first(name, "one durable change, process start to exit", series))
}
