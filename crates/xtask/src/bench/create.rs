//! One durable change, a whole process each time, against the `sqlite3` shell doing one durable insert.

use super::report::Report;
use super::rounds::{contender, interleave, micros};
use super::{Bench, Setup, bare_process, time};
use crate::Result;
use crate::job::Job;

pub(super) const BENCH: Bench = Bench { name: "create", needs: &["task", "create"], run };

const SCHEMA: &str = "PRAGMA journal_mode=WAL;
CREATE TABLE task (id TEXT PRIMARY KEY, title TEXT NOT NULL, created_at INTEGER NOT NULL);";

fn run(setup: &Setup) -> Result<Report> {
    let plain = setup.path("plain.db");
    Job::new("sqlite3", &[&plain, SCHEMA]).output()?;
    let create = |round: usize| {
        let request = format!("bench-{round}");
        setup.writ(
            "writ.db",
            &[
                "task",
                "create",
                "--agent",
                "bench",
                "--request-id",
                &request,
                "--title",
                "measure one change",
            ],
        )
    };
    let insert = |round: usize| {
        let sql = format!(
            "PRAGMA synchronous=FULL; INSERT INTO task VALUES ('task-{round}', 'measure one change', {round});"
        );
        Job::new("sqlite3", &[&plain, &sql])
    };
    let series = interleave(
        setup.rounds,
        vec![
            contender("writ task create", |round| time(&create(round)).map(micros)),
            contender("sqlite3 insert", |round| time(&insert(round)).map(micros)),
            contender("true", |_| bare_process().map(micros)),
        ],
    )?;
    // A program that answers without writing would win every race.
    if !setup.dir.join("writ.db").is_file() {
        return Err("`writ task create` left no store at WRIT_DB".to_owned());
    }
    Ok(Report { name: BENCH.name, about: "one durable change, process start to exit", series })
}
