use contract::domain::id::Id;

use super::*;
use crate::supervisor::logs::{LogReader, LogStream, Piece};

fn id<K: contract::domain::id::Kind>(bits: u128) -> Id<K> {
    Id::from_bits(bits)
}

#[test]
fn transcripts_of_a_task_are_numbered_from_its_own_first_one() {
    let directory = tempfile::tempdir().unwrap();
    let (task, other) = (id(1), id(2));
    assert_eq!(of_task(&directory.path().join("missing"), &task), []);
    for (attempt, task) in [(10, &task), (11, &other), (12, &task)] {
        create(directory.path(), task, &id(attempt), &Hidden::default()).unwrap().finish();
    }
    // The log of a run's attempt.
    fs::write(directory.path().join(format!("{}.log", id::<contract::domain::id::Attempt>(13))), "").unwrap();
    let found: Vec<_> =
        of_task(directory.path(), &task).into_iter().map(|one| (one.attempt, one.number)).collect();
    assert_eq!(found, [(id(10), 1), (id(12), 2)]);
    fs::remove_file(directory.path().join(&of_task(directory.path(), &task)[0].file)).unwrap();
    create(directory.path(), &task, &id(14), &Hidden::default()).unwrap().finish();
    let numbers: Vec<i64> = of_task(directory.path(), &task).iter().map(|one| one.number).collect();
    assert_eq!(numbers, [2, 3]);
}

#[test]
fn a_transcript_has_no_hidden_value() {
    let directory = tempfile::tempdir().unwrap();
    let mut hidden = Hidden::default();
    hidden.add("correct-horse-7");
    let mut log = create(directory.path(), &id(1), &id(10), &hidden).unwrap();
    log.write(LogStream::Stdout, b"it is correct-horse-7\n");
    log.finish();
    let file = directory.path().join(&of_task(directory.path(), &id(1))[0].file);
    let pieces: Vec<Piece> = LogReader::open(&file).unwrap().map(Result::unwrap).collect();
    let [Piece::Output(LogStream::Stdout, bytes)] = pieces.as_slice() else { panic!("{pieces:?}") };
    assert!(!String::from_utf8_lossy(bytes).contains("horse"), "{bytes:?}");
}
