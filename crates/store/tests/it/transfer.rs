//! An export that is imported and exported again gives the same bytes; an import writes all or nothing.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::id::mint;
use contract::domain::memory::{MemoryKind, MemoryScope, NewMemory, ValueType};
use contract::domain::request::{Agent, RequestId};
use contract::domain::status::{Evidence, Status};
use rusqlite::Connection;
use store::{BackupOptions, Error, Store, StoredAnswer, Stream};
use testkit::{SeededIds, TempStore, event};

const KEEP: BackupOptions = BackupOptions { overwrite: false, without_key: false };
const REPLACE: BackupOptions = BackupOptions { overwrite: true, without_key: false };

/// A store with rows in most tables, pruned events, and texts that are hard to encode.
fn filled() -> TempStore {
    let temp = TempStore::new();
    let (mut store, now, mut ids) = (temp.open(), temp.now(), SeededIds::new(1));
    let tx = store.begin().unwrap();
    let project = Stream::Project("p\u{0}\"\n\u{2028}".to_owned());
    let mut change =
        |change: Change| tx.change(&project, event(&mut ids, &now, "é\u{1F600}\r\n\\"), &change).unwrap();
    let tasks: Vec<_> = (1..=3).map(|seed| mint(&mut SeededIds::new(seed), now.at)).collect();
    for (number, task) in tasks.iter().enumerate() {
        change(Change::TaskCreated {
            task_id: task.clone(),
            title: format!("title {number}"),
            description: "\u{7f}\t'quoted'".to_owned(),
            priority: (1 << 53) - 1,
            project_id: Some("p".to_owned()),
            part: None,
            depends_on: tasks[..number].to_vec(),
            checks: None,
        });
    }
    let (from, to, evidence) = (Status::Todo, Status::Done, Some(Evidence::Claimed));
    change(Change::TaskMoved { task_id: tasks[0].clone(), from, to, evidence, reason: None });
    for (id, half_life_days) in [(1, Some(0.1)), (2, Some(1e-300)), (3, None), (4, Some(90.0))] {
        change(Change::MemorySet {
            memory: NewMemory {
                id,
                place: MemoryScope::global(),
                key: id.to_string(),
                value: "[1, 2.50]".to_owned(),
                value_type: ValueType::Array,
                kind: MemoryKind::Lesson,
                half_life_days,
                pinned: id == 1,
                expires_at: Some(now.at),
                source_task_id: None,
            },
        });
    }
    change(Change::AgentFocused { agent: "a".to_owned(), task_id: Some(tasks[2].clone()), project_id: None });
    change(Change::ProjectAdded { project_id: "p".to_owned(), name: "p".to_owned() });
    tx.advance_cursor("a", None, 3, now.at).unwrap();
    tx.next_number("fencing").unwrap();
    let (agent, request) = (Agent::parse("a").unwrap(), RequestId::parse("r").unwrap());
    let answer = Some(serde_json::json!({"share": 0.1, "text": "x"}));
    let answered = StoredAnswer { operation: "o".to_owned(), fingerprint: "f".to_owned(), answer };
    tx.keep_answer(&agent, &request, &answered, now.at).unwrap();
    let (hash, _) = tx.prune(&project.name(), 2).unwrap();
    let mut note = event(&mut ids, &now, "pruned");
    note.kind = contract::domain::retention::PRUNED.to_owned();
    note.intent = contract::domain::event_kind::own_intent(&note.kind);
    note.payload = serde_json::json!({"anchor": {"seq": 2, "hash": hash}});
    tx.append(&project, note).unwrap();
    tx.commit().unwrap();
    temp
}

fn exported(temp: &TempStore) -> Vec<u8> {
    let mut bytes = Vec::new();
    temp.open().export(&mut bytes).unwrap();
    bytes
}

fn import(bytes: &[u8]) -> (TempStore, store::Result<store::TransferSummary>) {
    let temp = TempStore::new();
    let moved = temp.open().import(&mut &*bytes);
    (temp, moved)
}

#[test]
fn what_is_exported_and_imported_is_exported_as_the_same_bytes() {
    let temp = filled();
    let bytes = exported(&temp);
    let (copy, moved) = import(&bytes);
    assert_eq!(moved.unwrap().tables["tasks"], 3);
    assert!(exported(&copy) == bytes, "the second export differs");
    let (mut one, mut other) = (temp.open(), copy.open());
    assert_eq!(one.rows().unwrap(), other.rows().unwrap());
    assert_eq!(one.read().unwrap().tip().unwrap(), other.read().unwrap().tip().unwrap());
    // Full-text search works, though its index was not exported.
    let at = temp.now().at;
    let words = |store: &mut Store| store.read().unwrap().memories_with(&["2"], at, 10).unwrap().len();
    assert_eq!(words(&mut one), words(&mut other));
    assert!(words(&mut one) > 0);
    // Both continue with the same numbers.
    for store in [&mut one, &mut other] {
        let tx = store.begin().unwrap();
        let number = tx.append(&Stream::Store, event(&mut SeededIds::new(77), &temp.now(), "next")).unwrap();
        assert_eq!((number, tx.next_number("fencing").unwrap()), (12, 2));
        tx.commit().unwrap();
    }
}

#[test]
fn an_empty_store_can_be_exported_too() {
    let bytes = exported(&TempStore::new());
    let (copy, moved) = import(&bytes);
    assert_eq!(moved.unwrap().rows, 0);
    assert!(exported(&copy) == bytes);
}

#[test]
fn every_table_is_in_an_export() {
    let temp = filled();
    let text = String::from_utf8(exported(&temp)).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let named: BTreeSet<String> = last["end"]["tables"].as_object().unwrap().keys().cloned().collect();
    let raw = Connection::open(temp.path()).unwrap();
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'memory_words%'
               AND name NOT LIKE 'sqlite_%' AND name NOT IN ('seal', 'store')";
    let tables: BTreeSet<String> =
        raw.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(named, tables);
}

#[test]
fn a_truncated_or_altered_export_is_refused_and_nothing_is_written() {
    let bytes = exported(&filled());
    let text = String::from_utf8(bytes.clone()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut bad: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"hello\n".to_vec(),
        text.replace("title 1", "title 9").into_bytes(),
        text.replace("\"schema\":", "\"schema\":1").into_bytes(),
        [&bytes[..], b"{}\n"].concat(),
        [&lines[1..], &lines[..1]].concat().concat().into_bytes(),
    ];
    // Without any one line, with any one line twice, and cut anywhere.
    for number in 0..lines.len() {
        bad.push([&lines[..number], &lines[number + 1..]].concat().concat().into_bytes());
        bad.push([&lines[..=number], &lines[number..]].concat().concat().into_bytes());
        let end: usize = lines[..=number].iter().map(|line| line.len()).sum();
        bad.push(bytes[..end - 1].to_vec());
        bad.push(bytes[..end - lines[number].len() / 2 - 1].to_vec());
    }
    let empty = exported(&TempStore::new());
    for (number, bytes) in bad.iter().enumerate() {
        let (temp, moved) = import(bytes);
        let error = moved.expect_err(&format!("{number}: {}", String::from_utf8_lossy(bytes)));
        assert!(
            [ErrorCode::InvalidInput, ErrorCode::UnsupportedVersion].contains(&error.code()),
            "{number}: {error:?}"
        );
        assert!(exported(&temp) == empty, "{number}: something was written");
    }
}

#[test]
fn a_changed_log_is_refused_even_if_the_digest_was_recomputed() {
    let temp = filled();
    let raw = Connection::open(temp.path()).unwrap();
    raw.execute_batch("UPDATE events SET message = 'forged' WHERE id = 5").unwrap();
    let (_, moved) = import(&exported(&temp));
    assert!(matches!(moved, Err(Error::Transfer { line: 0, .. })), "{moved:?}");
}

#[test]
fn an_import_into_a_store_with_rows_is_refused() {
    let bytes = exported(&filled());
    let temp = filled();
    let before = exported(&temp);
    let refused = temp.open().import(&mut &*bytes).unwrap_err();
    assert!(matches!(refused, Error::NotEmpty { .. }), "{refused:?}");
    assert!(exported(&temp) == before);
}

#[test]
fn a_file_appears_whole_for_its_user_alone_and_replaces_nothing_unless_told() {
    let temp = filled();
    let (lines, copy) = (temp.scratch().join("out.ndjson"), temp.scratch().join("copy.db"));
    let mut store = temp.open();
    store.export_to(&lines, false).unwrap();
    store.back_up_to(&copy, KEEP).unwrap();
    for path in [&lines, &copy] {
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(matches!(store.export_to(&lines, false), Err(Error::Exists { .. })));
    assert!(matches!(store.back_up_to(&copy, KEEP), Err(Error::Exists { .. })));
    store.export_to(&lines, true).unwrap();
    store.back_up_to(&copy, REPLACE).unwrap();
    assert!(
        matches!(store.back_up_to(&temp.path(), REPLACE), Err(Error::Exists { .. })),
        "never over the store itself"
    );
    let nowhere = temp.scratch().join("no/such/place");
    assert!(matches!(store.back_up_to(&nowhere, KEEP), Err(Error::Output { .. })));
    drop(store);
    let mut names: Vec<String> = std::fs::read_dir(temp.scratch().path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["copy.db", "copy.db.key", "out.ndjson", "writ.db", "writ.db.key"],
        "no other file is left"
    );
    let mut copied = Store::open(&copy, temp.now().at).unwrap();
    assert_eq!(copied.rows().unwrap(), temp.open().rows().unwrap());
}

#[test]
fn a_backup_can_be_made_while_another_writes() {
    let temp = filled();
    let mut writer = temp.open();
    let tx = writer.begin().unwrap();
    tx.append(&Stream::Store, event(&mut SeededIds::new(5), &temp.now(), "not yet")).unwrap();
    let copy = temp.scratch().join("copy.db");
    let copied = temp.open().back_up_to(&copy, KEEP).unwrap();
    tx.commit().unwrap();
    assert!(copied.verification.is_clean());
    let mut copied = Store::open(&copy, temp.now().at).unwrap();
    assert_eq!(copied.read().unwrap().events_ever().unwrap(), 11, "what was not committed is not in it");
}

/// Does something at each read of the import's input.
struct Reading<'r, F: FnMut(usize)> {
    rest: &'r [u8],
    reads: usize,
    at_each: F,
}

impl<F: FnMut(usize)> std::io::Read for Reading<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.rest.read(buffer)
    }
}

impl<F: FnMut(usize)> std::io::BufRead for Reading<'_, F> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        (self.at_each)(self.reads);
        self.reads += 1;
        Ok(&self.rest[..self.rest.len().min(64)])
    }

    fn consume(&mut self, amount: usize) {
        self.rest = &self.rest[amount..];
    }
}

#[test]
fn others_can_write_while_an_import_is_read_and_see_nothing_of_it_before_its_end() {
    let bytes = exported(&filled());
    let temp = TempStore::new();
    let (mut store, mut other) = (temp.open(), temp.open());
    other.wait_at_most(std::time::Duration::ZERO).unwrap();
    let mut got_the_lock = 0;
    let at_each = |_| {
        let tx = other.begin().unwrap();
        assert_eq!(tx.events_ever().unwrap(), 0, "the import is not visible yet");
        got_the_lock += 1;
    };
    store.import(&mut Reading { rest: &bytes, reads: 0, at_each }).unwrap();
    assert!(got_the_lock > 50, "another writer had its turn {got_the_lock} times");
    assert!(other.read().unwrap().events_ever().unwrap() > 0);
    assert_eq!(exported(&temp), bytes);
}

#[test]
fn a_store_that_others_filled_during_an_import_keeps_what_they_wrote_and_nothing_else() {
    let bytes = exported(&filled());
    let temp = TempStore::new();
    let (mut store, mut other, now) = (temp.open(), temp.open(), temp.now());
    let mut ids = SeededIds::new(3);
    let at_each = |reads| {
        if reads == 5 {
            let tx = other.begin().unwrap();
            tx.append(&Stream::Store, event(&mut ids, &now, "first")).unwrap();
            tx.commit().unwrap();
        }
    };
    let error = store.import(&mut Reading { rest: &bytes, reads: 0, at_each }).unwrap_err();
    assert!(matches!(error, Error::NotEmpty { .. }), "{error:?}");
    assert_eq!(other.read().unwrap().events_ever().unwrap(), 1);
}

#[test]
fn the_next_import_removes_what_a_killed_one_left_and_not_what_a_living_one_uses() {
    let bytes = exported(&filled());
    let temp = TempStore::new();
    let staged = || -> Vec<String> {
        let entries = std::fs::read_dir(temp.path().parent().unwrap()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name.contains(".importing-")).collect()
    };
    let left = std::path::PathBuf::from(format!("{}.importing-1-0", temp.path().display()));
    std::fs::write(&left, "half an import").unwrap();
    let mut seen = Vec::new();
    let at_each = |_| seen = staged();
    temp.open().import(&mut Reading { rest: &bytes, reads: 0, at_each }).unwrap();
    assert_eq!(seen.len(), 1, "only its own: {seen:?}");
    assert_ne!(Some(seen[0].as_str()), left.file_name().unwrap().to_str());
    assert_eq!(staged(), Vec::<String>::new());
}
