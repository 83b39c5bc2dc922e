//! Takes snapshots and rolls back, for the benchmark: `snapshot-for-bench take|finish|roll SNAPSHOTS INDEX ROOT ATTEMPT`.

use std::path::PathBuf;
use std::process::ExitCode;

use contract::domain::attempt::AttemptId;
use contract::domain::rollback::{Direction, RollbackCounts};
use contract::domain::run::RunId;
use contract::domain::scope::Scope;
use contract::domain::task::TaskId;
use contract::domain::time::Timestamp;
use engine::index::Index;
use engine::snapshots::{RestoreJob, SnapshotSubject, Snapshots};

const TASK: &str = "task_01m7kx2z7bf7psp30qsbrnep67";
const RUN: &str = "3f5626fe-3b5a-4a0c-8a1d-6d1f3b0c9a11";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, snapshots, index, root, attempt] = &words[..] else { return ExitCode::from(2) };
    if done(what, [snapshots, index, root], attempt).is_some() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Nothing if it could not be done.
fn done(what: &str, [snapshots, index, root]: [&str; 3], attempt: &str) -> Option<()> {
    let (snapshots, index) = (Snapshots::at(PathBuf::from(snapshots)), Index::at(PathBuf::from(index)));
    let (attempt, root) = (AttemptId::parse(attempt).ok()?, PathBuf::from(root));
    let (task, run) = (TaskId::parse(TASK).ok()?, RunId::from_uuid(RUN)?);
    let scopes = [Scope::parse("tree", None).ok()?];
    let at = Timestamp::from_millis(0);
    let subject = SnapshotSubject {
        attempt: &attempt,
        task: &task,
        run: &run,
        name: "t",
        root: &root,
        scopes: &scopes,
        at,
    };
    match what {
        "take" => snapshots.take(&index, &subject).ok().map(drop),
        "finish" => snapshots.finish(&index, &subject).ok(),
        "roll" => {
            let attempts = [attempt.clone()];
            let files =
                snapshots.roll_back(&index, &RestoreJob::new(&root, &attempts, Direction::Undo)).ok()?;
            let counts = RollbackCounts::of(&files);
            (counts.done > 0 && !counts.is_partial()).then_some(())
        }
        _ => None,
    }
}
