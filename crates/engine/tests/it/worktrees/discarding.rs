//! Clones that are discarded: not under an attempt, and never without saying what is lost.

use super::*;

#[test]
fn a_clone_that_an_attempt_enters_is_not_taken_away() {
    let mut bench = Bench::new();
    let first = bench.open("a");
    bench.edit(&first, "new", "work\n");
    let order = |workspace| CloneOrder {
        run: &bench.run,
        task: &first.record.task_id,
        name: "a",
        workspace,
        ports: 0,
        at: NOW,
    };
    let workspace = bench.path("work");
    let (clone, hold) = bench.clones.open(&bench.runner(), &order(&workspace)).unwrap();
    let seen = bench.clones.loss(&bench.runner(), &clone).unwrap();
    let discard = |unused: Result<(), WorktreeError>| {
        bench.clones.discard_with_work(&bench.runner(), &clone, (&seen.0, &seen.1), || unused)
    };
    assert!(matches!(discard(Ok(())), Err(WorktreeError::InUse)));
    // The attempt is in the store from now on.
    drop(hold);
    assert!(matches!(discard(Err(WorktreeError::Changed)), Err(WorktreeError::Changed)));
    assert!(clone.tree().join("new").exists());
    let bundle = discard(Ok(())).unwrap();
    assert_eq!(bench.clones.bundle_of(&clone.record, &bench.runner().mark).unwrap(), bundle);
    assert!(bundle.unwrap().exists() && !clone.tree().exists());
}

#[test]
fn a_count_of_commits_that_cannot_be_read_is_told() {
    let mut bench = Bench::new();
    let clone = bench.open("a");
    bench.edit(&clone, "new", "work\n");
    let path = bench.git_that("*\\ rev-list\\ --count\\ *", "echo many; exit 0");
    bench.environment.insert("PATH".into(), path);
    let (_, loss) = bench.clones.loss(&bench.runner(), &clone).unwrap();
    assert_eq!(loss.cannot_keep.as_deref(), Some("git counted `many` commits"));
}
