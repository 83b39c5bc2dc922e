//! Verification reports whatever other programs change in a store: rows of every table, the schema, single bits.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::id::{Minter, mint};
use contract::domain::limit_window::{LimitWindow, Reset, ResetBasis, Sighting};
use contract::domain::memory::{MemoryKind, MemoryScope, NewMemory, ValueType};
use contract::domain::request::{Agent, RequestId};
use contract::domain::status::Status;
use contract::domain::task::TaskId;
use contract::domain::time::{Clock, Now};
use rusqlite::Connection;
use store::{AuditDepth, Store, StoreKey, StoredAnswer, Stream, Verification};
use testkit::{ManualClock, Scratch, SeededIds, Storm, TempStore, event, rounds};

const SEAL_BROKEN: &str =
    "the seal was not made with the store's key: the seal, the key or a sealed row was changed";

/// A store with tasks, memories, answers and cursors, closed; all of it written by the store itself.
fn written(tasks: u64) -> TempStore {
    let temp = TempStore::new();
    let (mut store, now, mut ids) = (temp.open(), temp.now(), SeededIds::new(7));
    for number in 0..tasks {
        let tx = store.begin().unwrap();
        let task_id = mint(&mut ids, now.at);
        let stream = Stream::Project(format!("p{}", number % 5));
        let mut change =
            |change: Change| tx.change(&stream, event(&mut ids, &now, "change"), &change).unwrap();
        change(Change::TaskCreated {
            task_id: task_id.clone(),
            title: format!("title {number}"),
            description: "what is to be done ".repeat(20),
            priority: 1,
            project_id: Some("p".to_owned()),
            part: None,
            depends_on: Vec::new(),
            checks: None,
        });
        let (from, to) = (Status::Todo, Status::Blocked);
        change(Change::TaskMoved { task_id, from, to, evidence: None, reason: Some("later".into()) });
        change(Change::MemorySet {
            memory: NewMemory {
                id: i64::try_from(number).unwrap() + 1,
                place: MemoryScope::global(),
                key: format!("key {number}"),
                value: format!("remembered words {number}"),
                value_type: ValueType::String,
                kind: MemoryKind::Lesson,
                half_life_days: Some(0.5),
                pinned: false,
                expires_at: None,
                source_task_id: None,
            },
        });
        let (agent, request) = (Agent::parse("a").unwrap(), RequestId::parse(&format!("r{number}")).unwrap());
        let answer = Some(serde_json::json!({"number": number, "text": "an answer ".repeat(10)}));
        let answered = StoredAnswer { operation: "o".to_owned(), fingerprint: "f".to_owned(), answer };
        tx.keep_answer(&agent, &request, &answered, now.at).unwrap();
        tx.advance_cursor(&format!("a{number}"), None, i64::try_from(number).unwrap(), now.at).unwrap();
        tx.next_number("fencing").unwrap();
        tx.commit().unwrap();
    }
    drop(store);
    temp
}

/// A store with a row in almost every table: one that an earlier version wrote, migrated.
fn full() -> TempStore {
    let temp = TempStore::new();
    let stores = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/fixtures/stores");
    std::fs::copy(format!("{stores}/0003-37c7faa.db"), temp.path()).unwrap();
    let (mut store, now, mut ids) = (temp.open(), temp.now(), SeededIds::new(8));
    let tx = store.begin().unwrap();
    let by = "human.ann".to_owned();
    // Nothing older was ever halted.
    let halted =
        [Change::Halted { epoch: 1, reason: None, by: by.clone() }, Change::HaltLifted { epoch: 2, by }];
    for change in halted.into_iter().chain(limited(&mut ids, &now)) {
        tx.change(&Stream::Store, event(&mut ids, &now, "change"), &change).unwrap();
    }
    tx.commit().unwrap();
    drop(store);
    assert_eq!(faults(&temp.path()), Vec::<String>::new());
    temp
}

/// A task that waits for a limit window.
fn limited(ids: &mut SeededIds, now: &Now) -> [Change; 3] {
    let task_id: TaskId = mint(ids, now.at);
    let seen = Sighting {
        run_id: mint(ids, now.at),
        task_id: task_id.clone(),
        attempt_id: mint(ids, now.at),
        at: now.at,
    };
    let created = Change::TaskCreated {
        task_id: task_id.clone(),
        title: "t".to_owned(),
        description: String::new(),
        priority: 0,
        project_id: None,
        part: None,
        depends_on: Vec::new(),
        checks: None,
    };
    let resource = "claude".to_owned();
    let window = LimitWindow {
        resource: resource.clone(),
        reset: Reset::after(now, Duration::from_secs(60)),
        basis: ResetBasis::Provider,
        reason: "rate limit".to_owned(),
        seen,
        times: 1,
        resuming: None,
    };
    [
        created,
        Change::LimitWindowSet { window: Box::new(window) },
        Change::TaskWaitsForLimit { task_id, resource },
    ]
}

/// Everything that a full check finds.
fn faults(path: &Path) -> Vec<String> {
    let found = || -> store::Result<Vec<String>> {
        let mut store = Store::open(path, ManualClock::new().now().at)?;
        let found = store.read()?.verify(None)?;
        if !found.is_clean() {
            return Ok(vec![format!("{found:?}")]);
        }
        assert_eq!(found.seal_not_checked, None);
        let words = store.verify_words()?;
        if !words.is_empty() {
            return Ok(words);
        }
        let (rebuilt, real) = (store.rebuilt()?.rows()?, store.rows()?);
        let different = |row: &&String| !rebuilt.contains(*row) || !real.contains(*row);
        Ok(rebuilt.iter().chain(&real).filter(different).cloned().collect())
    };
    found().unwrap_or_else(|error| {
        assert_eq!(error.code(), ErrorCode::Corrupt, "{error:?}");
        vec![error.to_string()]
    })
}

fn tables(raw: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow')
        AND name NOT IN ('sqlite_schema', 'sqlite_temp_schema') ORDER BY name";
    let mut statement = raw.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

fn columns(raw: &Connection, table: &str) -> Vec<(String, String)> {
    let mut statement = raw.prepare("SELECT name, type FROM pragma_table_info(?1)").unwrap();
    let names = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    names.map(Result::unwrap).collect()
}

fn verified(path: &Path) -> store::Result<Verification> {
    Store::open(path, ManualClock::new().now().at)?.read()?.verify(None)
}

/// A copy of a store with its key.
fn copy(temp: &TempStore, scratch: &Scratch, name: &str) -> PathBuf {
    let path = scratch.join(name);
    std::fs::copy(temp.path(), &path).unwrap();
    std::fs::copy(StoreKey::path_of(&temp.path()), StoreKey::path_of(&path)).unwrap();
    path
}

/// A damaged copy of the store. `None` if the schema does not allow the change.
fn damaged(temp: &TempStore, scratch: &Scratch, sql: &str) -> Option<PathBuf> {
    let path = copy(temp, scratch, "writ.db");
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF").unwrap();
    raw.execute_batch(sql).ok()?;
    (raw.changes() > 0 || sql.starts_with("CREATE") || sql.contains("DROP") || sql.contains("ALTER"))
        .then_some(path)
}

/// Damages a copy of the store with SQL and verifies it.
fn after(temp: &TempStore, sql: &str) -> Verification {
    let scratch = Scratch::new();
    let path = damaged(temp, &scratch, sql).unwrap_or_else(|| panic!("nothing was changed: {sql}"));
    verified(&path).unwrap()
}

/// Ways to change a table: each column of its first row, the row itself, and a row that was not there.
fn tamperings(raw: &Connection, table: &str) -> Vec<String> {
    let without_rowid = ["worklog_lines", "memory_words_idx", "memory_words_config"].contains(&table);
    let first =
        if without_rowid { "1 = 1".to_owned() } else { format!("rowid = (SELECT min(rowid) FROM {table})") };
    let columns = columns(raw, table);
    let other = |(column, kind): &(String, String)| match kind.as_str() {
        "INTEGER" | "REAL" => format!("coalesce({column}, 0) + 1"),
        "BLOB" => format!("zeroblob(length({column}))"),
        _ => format!("coalesce({column}, '') || '0'"),
    };
    let change = |column: &(String, String)| {
        format!("UPDATE {table} SET {} = {} WHERE {first}", column.0, other(column))
    };
    let new: Vec<&str> = columns
        .iter()
        .map(|(name, kind)| match (name.as_str(), kind.as_str()) {
            ("seal" | "lease_seal", _) => "NULL",
            (_, "INTEGER") => "777",
            (_, "REAL") => "0.5",
            _ => "'x'",
        })
        .collect();
    let mut all: Vec<String> = columns.iter().map(change).collect();
    all.push(format!("DELETE FROM {table} WHERE {first}"));
    all.push(format!("INSERT INTO {table} VALUES ({})", new.join(", ")));
    all
}

/// Into how many tests the tables are divided, because each change is verified in full.
const PARTS: usize = 4;

fn every_change_is_reported(part: usize) {
    let temp = full();
    let raw = Connection::open(temp.path()).unwrap();
    let tables: Vec<String> = tables(&raw).into_iter().skip(part).step_by(PARTS).collect();
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    let mut unseen = Vec::new();
    for table in &tables {
        for sql in tamperings(&raw, table) {
            let scratch = Scratch::new();
            if let Some(path) = damaged(&temp, &scratch, &sql) {
                *tried.entry(table.clone()).or_default() += 1;
                if faults(&path).is_empty() {
                    unseen.push(sql);
                }
            }
        }
    }
    assert_eq!(unseen, Vec::<String>::new(), "not reported");
    let untried: Vec<&String> = tables.iter().filter(|table| !tried.contains_key(*table)).collect();
    assert_eq!(untried, Vec::<&String>::new(), "every table is tampered with");
    assert!(tried.values().sum::<usize>() * PARTS >= 60, "{tried:?}");
}

#[test]
fn a_changed_added_or_removed_row_of_the_first_tables_is_reported() {
    every_change_is_reported(0);
}

#[test]
fn a_changed_added_or_removed_row_of_the_second_tables_is_reported() {
    every_change_is_reported(1);
}

#[test]
fn a_changed_added_or_removed_row_of_the_third_tables_is_reported() {
    every_change_is_reported(2);
}

#[test]
fn a_changed_added_or_removed_row_of_the_fourth_tables_is_reported() {
    every_change_is_reported(3);
}

#[test]
fn an_erased_lease_heartbeat_or_count_is_reported() {
    let temp = full();
    let heartbeat = "UPDATE attempts SET heartbeat_at = 5";
    let erasures = [
        "UPDATE tasks SET claim_boot_id = NULL, claim_until = NULL, claim_holder = NULL, lease_seal = NULL
         WHERE claim_token IS NOT NULL",
        "UPDATE runs SET lease_boot_id = NULL, lease_until = NULL, lease_seal = NULL WHERE owner IS NOT NULL",
        "UPDATE locks SET holder = NULL, lease_seal = NULL WHERE active = 1",
        "UPDATE attempts SET heartbeat_at = NULL, lease_seal = NULL",
        "UPDATE ledger_rows SET heard_at = NULL, heard_boot_id = NULL, heard_boot_ms = NULL, lease_seal = NULL
         WHERE heard_at IS NOT NULL",
        "UPDATE memories SET access_count = 0, last_accessed_at = NULL, lease_seal = NULL WHERE access_count > 0",
        "UPDATE agents SET version = 1, lease_seal = NULL",
        "UPDATE cursors SET last_event_id = 0, updated_at = 0, seal = NULL",
        "UPDATE requests SET answer = NULL, seal = NULL WHERE answer IS NOT NULL",
        "UPDATE heads SET archived_seq = 1, seal = NULL",
        heartbeat,
    ];
    for sql in erasures {
        let found = after(&temp, sql);
        let table = sql.split_whitespace().nth(1).unwrap();
        assert!(found.tables.iter().any(|fault| fault.starts_with(table)), "{sql}: {found:?}");
    }
    // With the row's own word for it gone too, the replay differs.
    for sql in [
        "UPDATE tasks SET claim_agent = NULL, claim_token = NULL, claim_since = NULL, claim_boot_id = NULL,
         claim_until = NULL, claim_holder = NULL, lease_seal = NULL WHERE claim_token IS NOT NULL",
        "UPDATE runs SET owner = NULL, lease_boot_id = NULL, lease_until = NULL, lease_seal = NULL
         WHERE owner IS NOT NULL",
    ] {
        let scratch = Scratch::new();
        assert_ne!(faults(&damaged(&temp, &scratch, sql).unwrap()), Vec::<String>::new(), "{sql}");
    }
}

#[test]
fn a_full_text_index_without_its_inner_pages_is_reported() {
    let temp = written(200);
    for sql in [
        "DELETE FROM memory_words_idx",
        "DELETE FROM memory_words_idx WHERE segid = (SELECT max(segid) FROM memory_words_idx)",
        "INSERT INTO memory_words_config VALUES ('pgsz', 64)",
        "INSERT INTO memory_words_data VALUES (777, x'00')",
        "INSERT INTO memory_words_idx VALUES (777, x'00', 2)",
    ] {
        let scratch = Scratch::new();
        let found = faults(&damaged(&temp, &scratch, sql).unwrap());
        assert!(found[0].starts_with("the full-text index"), "{sql}: {found:?}");
    }
}

#[test]
fn an_event_does_not_say_that_a_store_was_salvaged() {
    let temp = written(1);
    let mut store = temp.open();
    let tx = store.begin().unwrap();
    let mut forged = event(&mut SeededIds::new(5), &temp.now(), "Salvaged from a damaged store");
    forged.kind = "store_salvaged".to_owned();
    forged.intent = "writ.store_salvaged".to_owned();
    forged.from = "service.writ".to_owned();
    tx.append(&Stream::Store, forged).unwrap();
    tx.commit().unwrap();
    assert!(!store.read().unwrap().was_salvaged().unwrap());
    // Nor does another program: the counter that says it is sealed.
    let found = after(&temp, "INSERT INTO counters (name, value) VALUES ('salvaged', 1)");
    assert!(!found.tables.is_empty(), "{found:?}");
}

#[test]
fn a_store_that_is_migrated_to_seals_says_so_once() {
    let temp = full();
    let raw = Connection::open(temp.path()).unwrap();
    let sql = "SELECT stream || ' ' || sender || ' ' || intent || ' ' || payload FROM events WHERE kind = 'store_sealed'";
    let mut statement = raw.prepare(sql).unwrap();
    let found: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(found, ["store service.writ writ.store_sealed {\"schema_before\":5}"]);
}

#[test]
fn a_changed_schema_is_reported() {
    let temp = written(2);
    let tamperings = [
        (
            "CREATE TRIGGER quiet AFTER INSERT ON events BEGIN DELETE FROM heads; END",
            "trigger quiet was added",
        ),
        ("CREATE TABLE extra (x)", "table extra was added"),
        ("CREATE VIEW shown AS SELECT 1", "view shown was added"),
        ("CREATE INDEX more ON tasks (title)", "index more was added"),
        ("DROP INDEX tasks_by_name", "index tasks_by_name is missing"),
        ("DROP TRIGGER memories_added", "trigger memories_added is missing"),
        ("DROP TABLE cursors", "table cursors is missing"),
        ("ALTER TABLE tasks ADD COLUMN extra TEXT", "table tasks was changed"),
        (
            "DROP INDEX tasks_by_name; CREATE INDEX tasks_by_name ON tasks (name)",
            "index tasks_by_name was changed",
        ),
    ];
    for (sql, expected) in tamperings {
        let found = after(&temp, sql);
        assert!(found.schema.iter().any(|fault| fault == expected), "{sql}: {found:?}");
        assert!(!found.is_clean());
    }
}

#[test]
fn a_fencing_counter_behind_a_given_token_is_reported_even_without_the_key() {
    let temp = TempStore::new();
    let (mut store, now, mut ids) = (temp.open(), temp.now(), SeededIds::new(1));
    let tx = store.begin().unwrap();
    let task_id: contract::domain::task::TaskId = mint(&mut ids, now.at);
    let mut change = |change: Change| {
        tx.change(&Stream::Store, event(&mut ids, &now, "change"), &change).unwrap();
    };
    change(Change::TaskCreated {
        task_id: task_id.clone(),
        title: "t".to_owned(),
        description: String::new(),
        priority: 0,
        project_id: None,
        part: None,
        depends_on: Vec::new(),
        checks: None,
    });
    let (from, to) = (Status::Todo, Status::InProgress);
    change(Change::TaskMoved { task_id: task_id.clone(), from, to, evidence: None, reason: None });
    let token = (1..=5).map(|_| tx.next_number("fencing").unwrap()).last().unwrap();
    let lease = contract::domain::time::Lease::starting(&now, std::time::Duration::from_secs(60));
    let agent = "a".to_owned();
    let claim: contract::domain::task::Claim =
        serde_json::from_value(serde_json::json!({"agent": agent, "token": token, "lease": lease})).unwrap();
    change(Change::TaskClaimed { task_id: task_id.clone(), claim });
    // Released: only the log knows the token.
    change(Change::TaskReleased { task_id });
    tx.commit().unwrap();
    drop(store);
    std::fs::remove_file(StoreKey::path_of(&temp.path())).unwrap();
    assert!(verified(&temp.path()).unwrap().is_clean());
    let raw = Connection::open(temp.path()).unwrap();
    raw.execute("UPDATE counters SET value = 4 WHERE name = 'fencing'", []).unwrap();
    drop(raw);
    let found = verified(&temp.path()).unwrap();
    assert_eq!(found.tables, ["the fencing counter is 4, but token 5 was given"]);
}

#[test]
fn a_row_that_was_set_back_or_removed_with_its_seal_is_reported() {
    let temp = written(2);
    let raw = Connection::open(temp.path()).unwrap();
    let hex = |sql: &str| -> String { raw.query_row(sql, [], |row| row.get(0)).unwrap() };
    let row = hex("SELECT hex(seal) FROM cursors WHERE agent = 'a0'");
    let (sums, mac) = (hex("SELECT hex(sums) FROM seal"), hex("SELECT hex(mac) FROM seal"));
    drop(raw);
    let mut store = temp.open();
    let tx = store.begin().unwrap();
    tx.advance_cursor("a0", None, 3, temp.now().at).unwrap();
    tx.append(&Stream::Store, event(&mut SeededIds::new(5), &temp.now(), "later")).unwrap();
    tx.commit().unwrap();
    drop(store);
    assert!(verified(&temp.path()).unwrap().is_clean());
    let back = format!("UPDATE cursors SET last_event_id = 0, seal = x'{row}' WHERE agent = 'a0'");
    assert_eq!(after(&temp, &back).tables, ["rows of cursors were set back to an older state"]);
    let found = after(&temp, &format!("{back}; UPDATE seal SET sums = x'{sums}', mac = x'{mac}'"));
    assert!(found.tables.iter().any(|fault| fault.starts_with("heads has")), "{found:?}");
    let gone = "DELETE FROM requests WHERE rowid = (SELECT min(rowid) FROM requests)";
    assert_eq!(after(&temp, gone).tables, ["requests has 1 rows, but 2 were sealed"]);
}

#[test]
fn writing_over_a_changed_row_does_not_make_it_genuine() {
    let write = |temp: &TempStore, sql: &str| {
        Connection::open(temp.path()).unwrap().execute_batch(sql).unwrap();
        let mut store = temp.open();
        let tx = store.begin().unwrap();
        tx.next_number("fencing").unwrap();
        tx.append(&Stream::Project("p0".to_owned()), event(&mut SeededIds::new(5), &temp.now(), "on"))
            .unwrap();
        tx.commit().unwrap();
        drop(store);
        verified(&temp.path()).unwrap()
    };
    assert!(write(&written(2), "SELECT 1").is_clean());
    for sql in [
        "UPDATE counters SET value = 40",
        "UPDATE counters SET value = 40, seal = NULL",
        "UPDATE heads SET archived_seq = 2 WHERE stream = 'project:p0'",
    ] {
        let found = write(&written(2), sql);
        assert!(
            found.tables[0].starts_with("the seal was not made with the store's key"),
            "{sql}: {found:?}"
        );
    }
}

#[test]
fn a_changed_answer_is_not_given_again() {
    let temp = written(2);
    let (agent, request) = (Agent::parse("a").unwrap(), RequestId::parse("r1").unwrap());
    assert!(temp.open().read().unwrap().stored_answer(&agent, &request).unwrap().is_some());
    let raw = Connection::open(temp.path()).unwrap();
    raw.execute("UPDATE requests SET answer = '{\"number\":7}'", []).unwrap();
    drop(raw);
    let error = temp.open().read().unwrap().stored_answer(&agent, &request).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Corrupt);
}

#[test]
fn a_missing_replaced_or_shared_key_is_told_and_nothing_is_written_with_it() {
    let temp = written(2);
    let key = StoreKey::path_of(&temp.path());
    let bytes = std::fs::read(&key).unwrap();
    let mut seed = 10;
    let mut write = |mut store: Store| {
        seed += 1;
        let tx = store.begin()?;
        tx.append(&Stream::Store, event(&mut SeededIds::new(seed), &temp.now(), "more"))?;
        tx.commit()
    };
    std::fs::remove_file(&key).unwrap();
    let found = verified(&temp.path()).unwrap();
    let why = format!("the store's key {} is missing", key.display());
    assert_eq!((found.is_clean(), found.seal_not_checked), (true, Some(why)));
    assert_eq!(write(temp.open()).unwrap_err().code(), ErrorCode::StoreUnavailable);
    assert!(!key.exists(), "it is not made in silence");

    testkit::private_file(&key, &bytes);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let found = verified(&temp.path()).unwrap();
    let why = format!("the store's key {} has mode 0644: others can use it", key.display());
    assert_eq!((found.is_clean(), found.seal_not_checked), (true, Some(why)));
    assert_eq!(write(temp.open()).unwrap_err().code(), ErrorCode::StoreUnavailable);

    testkit::private_file(&key, &[9; 32]);
    let found = verified(&temp.path()).unwrap();
    assert_eq!(found.tables[0], SEAL_BROKEN);
    // Writing goes on, and does not make the seal look genuine.
    write(temp.open()).unwrap();
    assert!(!verified(&temp.path()).unwrap().is_clean());
    testkit::private_file(&key, &bytes);
    let found = verified(&temp.path()).unwrap();
    assert!(!found.is_clean(), "what was written under another key is not sealed");

    let mut store = temp.open();
    store.seal_anew_at_next_transaction().unwrap();
    write(store).unwrap();
    assert!(verified(&temp.path()).unwrap().is_clean());
}

#[test]
fn a_store_without_a_key_gets_one_only_when_it_is_sealed_anew() {
    let temp = written(1);
    let key = StoreKey::path_of(&temp.path());
    std::fs::remove_file(&key).unwrap();
    let mut store = temp.open();
    store.seal_anew_at_next_transaction().unwrap();
    let tx = store.begin().unwrap();
    tx.append(&Stream::Store, event(&mut SeededIds::new(11), &temp.now(), "sealed")).unwrap();
    tx.commit().unwrap();
    let tx = store.begin().unwrap();
    tx.append(&Stream::Store, event(&mut SeededIds::new(12), &temp.now(), "and on")).unwrap();
    tx.commit().unwrap();
    drop(store);
    let found = verified(&temp.path()).unwrap();
    assert!(found.is_clean() && found.seal_not_checked.is_none(), "{found:?}");
}

#[test]
fn the_quick_check_sees_the_chain_and_its_ends_and_nothing_else() {
    let temp = written(3);
    let quick = |sql: &str| {
        Connection::open(temp.path()).unwrap().execute_batch(sql).unwrap();
        temp.open().read().unwrap().verify_to(None, AuditDepth::Chain).unwrap()
    };
    assert!(quick("UPDATE cursors SET last_event_id = 77").is_clean());
    assert!(!verified(&temp.path()).unwrap().is_clean());
    let found = quick("UPDATE heads SET archived_seq = 1");
    assert_eq!(found.tables.len(), 3, "{found:?}");
    assert!(found.tables[0].ends_with("does not match its seal"), "{found:?}");
}

/// Random places, others in each run. `WRIT_SEED` repeats them.
struct Random(SeededIds);

impl Random {
    fn new() -> Self {
        Self(SeededIds::surprising())
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.below(limit as u64)).unwrap()
    }
}

/// The export of a store that finds no fault with itself, or the faults.
fn looked_at(path: &Path) -> Result<Vec<u8>, Vec<String>> {
    if let Err(error) = Store::open(path, ManualClock::new().now().at) {
        let known = [ErrorCode::Corrupt, ErrorCode::NewerStore, ErrorCode::StoreUnavailable];
        assert!(known.contains(&error.code()), "{error:?}");
        return Err(vec![error.to_string()]);
    }
    let found = faults(path);
    if !found.is_empty() {
        return Err(found);
    }
    let mut lines = Vec::new();
    let mut store = Store::open(path, ManualClock::new().now().at).unwrap();
    store.export(&mut lines).map_err(|error| vec![error.to_string()])?;
    Ok(lines)
}

#[test]
fn soak_every_flipped_bit_is_reported_or_was_unused() {
    let temp = written(60);
    let whole = std::fs::read(temp.path()).unwrap();
    let expected = looked_at(&temp.path()).unwrap();
    let rounds = rounds(200);
    let mut random = Random::new();
    let seed = random.0.seed();
    let mut reported = 0;
    for _ in 0..rounds {
        let scratch = Scratch::new();
        let path = copy(&temp, &scratch, "writ.db");
        let (at, bit) = (random.below(whole.len()), random.below(8));
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        std::fs::write(&path, bytes).unwrap();
        match looked_at(&path) {
            Ok(lines) => assert!(lines == expected, "bit {bit} of byte {at} changed the export unnoticed"),
            Err(_) => reported += 1,
        }
    }
    assert!(reported * 20 > rounds, "only {reported} of {rounds} bits mattered");
    Storm { rounds: rounds.into(), operations: rounds.into(), seed: Some(seed), ..Storm::default() }.report();
}

#[test]
fn soak_a_damaged_store_gives_back_what_is_whole() {
    const PAGE: usize = 4096;
    let temp = written(60);
    let whole = std::fs::read(temp.path()).unwrap();
    let events = verified(&temp.path()).unwrap().events;
    let rounds = rounds(40);
    let mut random = Random::new();
    let seed = random.0.seed();
    let mut kept_most = 0;
    for round in 0..rounds {
        let scratch = Scratch::new();
        let path = copy(&temp, &scratch, "writ.db");
        let mut bytes = whole.clone();
        match round % 4 {
            // A bit, a page of garbage, an empty page, a file that ends early.
            0 => bytes[random.below(whole.len())] ^= 1,
            1 => bytes[(1 + random.below(whole.len() / PAGE - 1)) * PAGE..][..PAGE].fill(0xa5),
            2 => bytes[(1 + random.below(whole.len() / PAGE - 1)) * PAGE..][..PAGE].fill(0),
            _ => bytes.truncate(whole.len() / 2 + random.below(whole.len() / 2)),
        }
        std::fs::write(&path, &bytes).unwrap();
        let into = scratch.join("new.db");
        let now = temp.now().at;
        let saved = store::salvage(&path, &into, &mut SeededIds::new(1000), now).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "the damaged store is only read");
        let found = verified(&into).unwrap();
        assert!(found.is_clean() && found.seal_not_checked.is_none(), "round {round}: {found:?} {saved:?}");
        assert_eq!(found.events - 1, i64::try_from(saved.events_kept).unwrap() + noted(&into), "{saved:?}");
        kept_most += u32::from(saved.events_kept * 10 >= usize::try_from(events).unwrap() * 9);
        // It can be used.
        let mut store = Store::open(&into, now).unwrap();
        let tx = store.begin().unwrap();
        tx.append(&Stream::Store, event(&mut SeededIds::new(2000), &temp.now(), "on it goes")).unwrap();
        tx.commit().unwrap();
        let names = scratch.names("");
        assert!(!names.iter().any(|name| name.contains("salvaging-")), "no copy is left: {names:?}");
    }
    assert!(kept_most * 2 > rounds, "most of the log survives in only {kept_most} of {rounds} rounds");
    Storm { rounds: rounds.into(), operations: rounds.into(), seed: Some(seed), ..Storm::default() }.report();
}

/// Streams whose beginning was lost, each with an event that says so.
fn noted(path: &Path) -> i64 {
    let raw = Connection::open(path).unwrap();
    let sql = "SELECT count(*) FROM events WHERE kind = 'events_pruned'";
    raw.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_whole_store_is_salvaged_with_all_it_has_and_nothing_is_overwritten() {
    let temp = written(5);
    let into = temp.scratch().join("new.db");
    let salvage = || store::salvage(&temp.path(), &into, &mut SeededIds::new(1000), temp.now().at);
    let saved = salvage().unwrap();
    assert_eq!((saved.lost.clone(), saved.unchained.clone(), saved.rebuilt), (Vec::new(), None, true));
    assert_eq!((saved.events_read, saved.events_kept), (15, 15));
    assert_eq!((saved.tasks, saved.memories, saved.answers), (5, 5, 5));
    let mut new = Store::open(&into, temp.now().at).unwrap();
    assert_eq!(new.rows().unwrap(), temp.open().rows().unwrap());
    assert!(new.read().unwrap().was_salvaged().unwrap());
    assert_eq!(new.read().unwrap().last_number("fencing").unwrap(), 5);
    assert_eq!(salvage().unwrap_err().code(), ErrorCode::AlreadyExists);
    // Without the key nobody knows whether the answers are what was answered.
    std::fs::remove_file(StoreKey::path_of(&temp.path())).unwrap();
    let into = temp.scratch().join("other.db");
    let saved = store::salvage(&temp.path(), &into, &mut SeededIds::new(1000), temp.now().at).unwrap();
    assert_eq!((saved.answers, saved.answers_forgotten), (0, 5));
    let missing = temp.scratch().join("nowhere.db");
    let error = store::salvage(&missing, &temp.scratch().join("x.db"), &mut SeededIds::new(1), temp.now().at);
    assert_eq!(error.unwrap_err().code(), ErrorCode::Io);
}

#[test]
fn a_salvage_that_fails_leaves_nothing_and_can_be_tried_again() {
    let temp = written(3);
    let scratch = Scratch::new();
    let into = scratch.join("new.db");
    let salvage = |ids: &mut SeededIds| store::salvage(&temp.path(), &into, ids, temp.now().at);
    let now = temp.now().at;
    // Its last event gets the id of an event that is there: it fails when everything else is done.
    let mut same = SeededIds::new(7);
    same.random_bits();
    assert!(salvage(&mut same).is_err());
    assert_eq!(scratch.names(""), Vec::<String>::new());
    // What a killed one left is removed, and never taken for a store.
    std::fs::create_dir(scratch.join("new.db.salvaging-1")).unwrap();
    assert_eq!(salvage(&mut SeededIds::new(1000)).unwrap().tasks, 3);
    assert!(!scratch.has("new.db.salvaging-1"));
    assert!(Store::open(&into, now).unwrap().read().unwrap().verify(None).unwrap().is_clean());
}

#[test]
fn a_damaged_store_of_an_older_schema_is_salvaged() {
    const PAGE: usize = 4096;
    let stores = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/fixtures/stores");
    for name in ["0001-f434e81.db", "0003-37c7faa.db"] {
        let whole = std::fs::read(format!("{stores}/{name}")).unwrap();
        let scratch = Scratch::new();
        std::fs::write(scratch.join("whole.db"), &whole).unwrap();
        let raw = Connection::open(scratch.join("whole.db")).unwrap();
        let page = |object: &str| -> usize {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
            raw.query_row(sql, [object], |row| row.get::<_, u32>(0)).unwrap() as usize
        };
        // With an index gone it can be migrated; with a table gone that a migration changes, it cannot.
        for damaged in [page("tasks_by_status"), page("counters")] {
            let scratch = Scratch::new();
            let (path, into) = (scratch.join("old.db"), scratch.join("new.db"));
            let mut bytes = whole.clone();
            bytes[..16].fill(0);
            bytes[(damaged - 1) * PAGE..][..PAGE].fill(0xa5);
            std::fs::write(&path, &bytes).unwrap();
            let now = ManualClock::new().now().at;
            let saved = store::salvage(&path, &into, &mut SeededIds::new(1000), now).unwrap();
            assert_eq!((saved.events_read, saved.events_kept), (249, 249), "{name}: {saved:?}");
            assert_eq!(saved.tasks, 20, "{name}: {saved:?}");
            let found = verified(&into).unwrap();
            assert!(found.is_clean(), "{name}: {found:?}");
            let mut new = Store::open(&into, now).unwrap();
            let tx = new.read().unwrap();
            // A worker of that version still has its token, which is the number alone.
            assert!(tx.last_number("fencing").unwrap() > 0, "{name}");
            assert_eq!(
                tx.last_number("fencing_plain").unwrap(),
                tx.last_number("fencing").unwrap(),
                "{name}"
            );
        }
    }
}

#[test]
fn a_backup_verifies_with_the_key_beside_it_and_says_so_without() {
    let temp = written(3);
    let (with, without) = (temp.scratch().join("with.db"), temp.scratch().join("without.db"));
    let copied = temp.open().back_up_to(&with, store::BackupOptions::default()).unwrap();
    assert_eq!(copied.key, Some(StoreKey::path_of(&with)));
    assert!(copied.verification.is_clean() && copied.verification.seal_not_checked.is_none());
    assert_eq!(std::fs::metadata(StoreKey::path_of(&with)).unwrap().permissions().mode() & 0o777, 0o600);
    let found = verified(&with).unwrap();
    assert!(found.is_clean() && found.seal_not_checked.is_none(), "{found:?}");
    let options = store::BackupOptions { without_key: true, ..Default::default() };
    let copied = temp.open().back_up_to(&without, options).unwrap();
    assert!(copied.key.is_none() && !StoreKey::path_of(&without).exists());
    assert!(copied.verification.seal_not_checked.is_none(), "the store's own key checks the copy");
    // Restored where the key is, it is whole without sealing it anew.
    std::fs::copy(&without, temp.path()).unwrap();
    let found = verified(&temp.path()).unwrap();
    assert!(found.is_clean() && found.seal_not_checked.is_none(), "{found:?}");
}
