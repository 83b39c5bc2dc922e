//! The hash chain detects every change that other programs make to the log, and reports its place.

use std::sync::OnceLock;

use contract::domain::id::{mint, mint_run};
use contract::domain::time::Now;
use rusqlite::Connection;
use store::{Store, StoreFault, StoreKey, Stream, Tip, Verification};
use testkit::{SeededIds, TempStore, event};

const ROWS: i64 = 5;
const STREAM: &str = "project:a";

/// Three streams of five events each, written in turns.
struct Log {
    temp: TempStore,
    tip: Tip,
}

/// The bytes of such a store and of its key, and its tip.
fn template() -> &'static ([Vec<u8>; 2], Tip) {
    static TEMPLATE: OnceLock<([Vec<u8>; 2], Tip)> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let temp = TempStore::new();
        let mut store = temp.open();
        write(&mut store, &temp.now());
        let tip = store.read().unwrap().tip().unwrap();
        // Closing moves the write-ahead log into the file.
        drop(store);
        ([temp.path(), StoreKey::path_of(&temp.path())].map(|path| std::fs::read(path).unwrap()), tip)
    })
}

fn write(store: &mut Store, now: &Now) {
    let mut ids = SeededIds::new(1);
    let run = mint_run(&mut ids);
    let tx = store.begin().unwrap();
    for round in 1..=ROWS {
        for stream in [Stream::Project("a".to_owned()), Stream::Run(run.clone()), Stream::Store] {
            let mut event = event(&mut ids, now, &format!("round {round}"));
            event.reply_to = Some("evt-before".to_owned());
            event.requires = Some(serde_json::json!({"timeout_ms": 5}));
            event.payload = serde_json::json!({"round": round, "share": 0.1});
            event.project_id = Some("a".to_owned());
            event.task_id = Some(mint(&mut ids, now.at));
            event.run_id = Some(run.clone());
            tx.append(&stream, event).unwrap();
        }
    }
    tx.commit().unwrap();
}

impl Log {
    fn new() -> Self {
        let temp = TempStore::new();
        let ([bytes, key], tip) = template();
        std::fs::write(temp.path(), bytes).unwrap();
        testkit::private_file(&StoreKey::path_of(&temp.path()), key);
        Self { temp, tip: tip.clone() }
    }

    fn store(&self) -> Store {
        self.temp.open()
    }

    fn raw(&self) -> Connection {
        let raw = Connection::open(self.temp.path()).unwrap();
        // The damage need not be durable.
        raw.pragma_update(None, "synchronous", "OFF").unwrap();
        raw
    }

    /// Damages the log and verifies it. Each log is damaged once.
    fn after(self, sql: &str) -> Damaged {
        self.raw().execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let mut store = self.store();
        let tx = store.read().unwrap();
        let (alone, with_tip) = (tx.verify(None).unwrap(), tx.verify(Some(&self.tip)).unwrap());
        Damaged { alone, with_tip }
    }

    fn event_id(&self, seq: i64) -> String {
        let sql = "SELECT event_id FROM events WHERE stream = ?1 AND seq = ?2";
        self.raw().query_row(sql, (STREAM, seq), |row| row.get(0)).unwrap()
    }
}

/// The verification of a damaged log, without and with a tip.
struct Damaged {
    alone: Verification,
    with_tip: Verification,
}

fn places(faults: &[StoreFault]) -> Vec<String> {
    faults.iter().map(|fault| format!("{} {}", fault.stream, fault.seq)).collect()
}

fn after(sql: &str) -> Damaged {
    Log::new().after(sql)
}

const NOTHING: [&str; 0] = [];

#[test]
fn an_untouched_log_is_clean() {
    let log = Log::new();
    let mut store = log.store();
    let tx = store.read().unwrap();
    for earlier in [None, Some(&log.tip)] {
        let expected = Verification { events: 3 * ROWS, streams: 3, ..Verification::default() };
        assert_eq!(tx.verify(earlier).unwrap(), expected);
    }
    drop(tx);
    let tx = store.begin().unwrap();
    tx.append(&Stream::Store, event(&mut SeededIds::new(2), &log.temp.now(), "one more")).unwrap();
    tx.append(&Stream::Project("b".to_owned()), event(&mut SeededIds::new(3), &log.temp.now(), "new"))
        .unwrap();
    tx.commit().unwrap();
    let found = store.read().unwrap().verify(Some(&log.tip)).unwrap();
    assert!(found.is_clean(), "a tip stays true while the log grows: {found:?}");
}

#[test]
fn an_empty_store_is_clean() {
    let temp = TempStore::new();
    let mut store = temp.open();
    let tx = store.read().unwrap();
    let tip = tx.tip().unwrap();
    assert_eq!(tx.verify(Some(&tip)).unwrap(), Verification::default());
}

fn columns() -> Vec<String> {
    let log = Log::new();
    let raw = log.raw();
    let mut statement = raw.prepare("SELECT name FROM pragma_table_info('events')").unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

#[test]
fn every_column_of_a_row_is_bound() {
    // Another value, a value of another type, and none where that is possible.
    let changes = ["{column} || '0'", "NULL", "x'00ff'", "1 - {column}", "'[]'", "'not JSON'"];
    for column in columns() {
        let mut tried = 0;
        for change in changes {
            let log = Log::new();
            let change = change.replace("{column}", &column);
            let sql = format!(
                "UPDATE events SET {column} = {change}
                 WHERE stream = '{STREAM}' AND seq = 3 AND {column} IS NOT {change}"
            );
            let before = log.event_id(3);
            // Some values violate the schema, and some are the same as before.
            match log.raw().execute(&sql, []) {
                Ok(0) | Err(_) => continue,
                Ok(_) => tried += 1,
            }
            let found = log.store().read().unwrap().verify(None).unwrap();
            // A row with a changed stream, position or id is reported under its new values.
            let now: Vec<StoreFault> = found
                .integrity
                .iter()
                .filter(|fault| column == "stream" || fault.stream == STREAM)
                .filter(|fault| column == "seq" || fault.seq == 3)
                .filter(|fault| column == "event_id" || fault.event_id.as_deref() == Some(&before))
                .cloned()
                .collect();
            assert!(!now.is_empty(), "{sql}: {found:?}");
        }
        assert!(tried > 1, "{column} was hardly changed");
    }
}

#[test]
fn a_changed_row_is_the_only_one_accused() {
    for change in ["message = 'other'", "payload = '{}'", "hash = 'sha256:0'", "is_change = 1"] {
        for seq in 1..=ROWS {
            let log = Log::new();
            let id = log.event_id(seq);
            let found = log
                .after(&format!("UPDATE events SET {change} WHERE stream = '{STREAM}' AND seq = {seq}"))
                .alone;
            assert_eq!(places(&found.integrity), [format!("{STREAM} {seq}")], "{change}");
            assert_eq!(found.integrity[0].event_id, Some(id.clone()), "{change}");
            assert!(found.integrity[0].message.contains(&id), "{change}");
            assert_eq!(found.completeness, [], "{change}");
        }
    }
}

#[test]
fn a_removed_row_is_missed() {
    let found = after("DELETE FROM events WHERE stream = 'project:a' AND seq IN (1, 3)").alone;
    assert_eq!(places(&found.completeness), ["project:a 1", "project:a 3"]);
    assert_eq!(places(&found.integrity), NOTHING);
}

#[test]
fn a_removed_row_whose_followers_moved_up_is_found() {
    let found = after(
        "DELETE FROM events WHERE stream = 'project:a' AND seq = 3;
         UPDATE events SET seq = seq - 1 WHERE stream = 'project:a' AND seq > 3;
         UPDATE heads SET seq = seq - 1 WHERE stream = 'project:a';
         UPDATE sqlite_sequence SET seq = seq - 1 WHERE name = 'events';",
    );
    assert_eq!(places(&found.alone.integrity)[..2], ["project:a 3", "project:a 4"]);
}

const TAIL: &str = "DELETE FROM events WHERE stream = 'project:a' AND seq > 3;";
/// Resets the head to event 3.
const HEAD: &str =
    "UPDATE heads SET seq = 3, hash = (SELECT hash FROM events WHERE stream = 'project:a' AND seq = 3)
    WHERE stream = 'project:a';";
const COUNT: &str = "UPDATE sqlite_sequence SET seq = seq - 2 WHERE name = 'events';";

#[test]
fn a_removed_tail_is_missed_by_the_head() {
    let found = after(TAIL).alone;
    assert_eq!(places(&found.completeness), ["project:a 4"]);
    assert_eq!(found.completeness[0].message, "the tail is missing: events 4 to 5");
    assert_eq!(places(&found.integrity), NOTHING);
}

#[test]
fn a_removed_tail_with_a_set_back_head_is_missed_by_the_count() {
    let found = after(&format!("{TAIL}{HEAD}")).alone;
    assert_eq!(places(&found.completeness), ["* 0"]);
    let message = "15 events were written but the streams account for 13; a stream is missing, or its end";
    assert_eq!(found.completeness[0].message, message);
    assert_eq!(places(&found.integrity), NOTHING);
}

#[test]
fn a_removed_tail_with_everything_set_back_is_missed_by_the_seal_and_by_a_tip() {
    // The last two events of the whole log, so that the numbers of the remaining events match the count.
    let last = |sql: &str| sql.replace("project:a", "store");
    let renumbered = "UPDATE events SET id = id - 1 WHERE stream <> 'store' AND id > 12;";
    let found = after(&format!("{}{}{renumbered}{COUNT}", last(TAIL), last(HEAD)));
    assert_eq!(found.alone.tables, ["heads \"store\" does not match its seal"]);
    let chain = Verification { tables: Vec::new(), ..found.alone };
    assert!(chain.is_clean(), "the chain alone cannot detect it: {chain:?}");
    assert_eq!(places(&found.with_tip.completeness), ["store 4", "* 0"]);
    assert_eq!(places(&found.with_tip.integrity), NOTHING);
}

#[test]
fn a_tail_that_was_written_anew_is_not_what_the_tip_says() {
    let log = Log::new();
    log.raw().execute_batch(&format!("{TAIL}{HEAD}{COUNT}")).unwrap();
    let mut store = log.store();
    let tx = store.begin().unwrap();
    for seed in 10..12 {
        let other = event(&mut SeededIds::new(seed), &log.temp.now(), "other");
        tx.append(&Stream::Project("a".to_owned()), other).unwrap();
    }
    tx.commit().unwrap();
    let found = store.read().unwrap().verify(Some(&log.tip)).unwrap();
    let accused: Vec<&str> = found.integrity.iter().map(|fault| fault.message.as_str()).collect();
    assert!(accused.iter().any(|message| message.ends_with("differs from the tip")), "{found:?}");
}

#[test]
fn a_removed_stream_is_missed() {
    let rows = "DELETE FROM events WHERE stream = 'project:a';";
    let head = "DELETE FROM heads WHERE stream = 'project:a';";
    let found = after(rows).alone;
    assert_eq!(places(&found.completeness), ["project:a 1"]);
    assert_eq!(found.completeness[0].message, "the tail is missing: events 1 to 5");

    let found = after(&format!("{rows}{head}"));
    assert_eq!(places(&found.alone.completeness), ["* 0"]);
    assert_eq!(places(&found.with_tip.completeness), ["* 0", "project:a 5"]);

    let found = after(head).alone;
    assert_eq!(places(&found.completeness), ["project:a 5"]);
    assert_eq!(found.completeness[0].message, "events 1 to 5 are missing in the head table");
    assert_eq!(places(&found.integrity), NOTHING);

    let found = after("DELETE FROM events; DELETE FROM heads; DELETE FROM sqlite_sequence;");
    assert_eq!(found.alone.tables, ["heads has 0 rows, but 3 were sealed"]);
    assert_eq!(found.with_tip.completeness.len(), 4, "{:?}", found.with_tip);
}

#[test]
fn swapped_rows_are_both_accused() {
    let swap = |column: &str| {
        format!(
            "CREATE TEMP TABLE two AS SELECT seq, {column} AS held FROM events
                 WHERE stream = 'project:a' AND seq IN (2, 3);
             UPDATE events SET {column} = -{column} WHERE stream = 'project:a' AND seq IN (2, 3);
             UPDATE events SET {column} = (SELECT held FROM two WHERE two.seq = 5 - abs(events.seq))
                 WHERE stream = 'project:a' AND abs(seq) IN (2, 3);"
        )
    };
    let found = after(&swap("seq")).alone;
    assert_eq!(places(&found.integrity)[..2], ["project:a 2", "project:a 3"]);
    assert_eq!(places(&found.completeness), NOTHING);

    let found = after(&swap("id")).alone;
    assert_eq!(places(&found.integrity), ["project:a 3"], "numbers go up along a stream");
    assert_eq!(places(&found.completeness), NOTHING);
}

#[test]
fn an_added_row_is_accused() {
    let copied = |seq: i64, stream: &str| {
        format!(
            "INSERT INTO events SELECT NULL, {stream}, {seq}, hash, 'evt_added', at, type, sender, recipient, intent,
             corr, reply_to, priority, requires, payload, kind, agent, project_id, task_id, run_id, message, is_change,
             substance, steps_back_ms FROM events WHERE stream = 'project:a' AND seq = 5;"
        )
    };
    let cases = [
        (copied(6, "stream"), "project:a 6"),
        (copied(9, "stream"), "project:a 9"),
        (copied(0, "stream"), "project:a 0"),
        (copied(-7, "stream"), "project:a -7"),
        (copied(1, "'project:new'"), "project:new 1"),
        (copied(4, "'project:new'"), "project:new 4"),
    ];
    for (sql, place) in cases {
        let found = after(&sql).alone;
        let accused: Vec<_> = found
            .integrity
            .iter()
            .filter(|fault| format!("{} {}", fault.stream, fault.seq) == place)
            .collect();
        assert!(
            accused.iter().any(|fault| fault.event_id.as_deref() == Some("evt_added")),
            "{sql}: {found:?}"
        );
    }
}

#[test]
fn a_moved_beginning_hides_no_row() {
    let forged = "UPDATE events SET message = 'forged' WHERE stream = 'project:a' AND seq = 2;
        UPDATE heads SET anchor_seq = 2, anchor_hash = (SELECT hash FROM events WHERE stream = 'project:a' AND seq = 2)
        WHERE stream = 'project:a';";
    let found = after(forged).alone;
    assert_eq!(places(&found.integrity), ["project:a 1", "project:a 2"]);
}

#[test]
fn a_beginning_that_was_removed_without_a_note_is_told() {
    let removed =
        "UPDATE heads SET anchor_seq = 2, anchor_hash = (SELECT hash FROM events WHERE stream = 'project:a'
        AND seq = 2) WHERE stream = 'project:a'; DELETE FROM events WHERE stream = 'project:a' AND seq <= 2;";
    let found = after(removed).alone;
    assert_eq!(
        (places(&found.integrity), places(&found.completeness)),
        (vec![], vec!["project:a 1".to_owned()])
    );
}

/// Removes the beginning of a stream and leaves a note with this intent. Returns the number of the note.
fn pruned(log: &Log, intent: &str) -> i64 {
    let mut store = log.store();
    let tx = store.begin().unwrap();
    let (hash, gone) = tx.prune(STREAM, 3).unwrap();
    assert_eq!(gone, 3);
    let mut note = event(&mut SeededIds::new(9), &log.temp.now(), "3 events were removed");
    note.kind = contract::domain::retention::PRUNED.to_owned();
    note.intent = intent.to_owned();
    note.payload = serde_json::json!({"anchor": {"seq": 3, "hash": hash}});
    let number = tx.append(&Stream::Project("a".to_owned()), note).unwrap();
    tx.commit().unwrap();
    number
}

#[test]
fn a_pruned_beginning_with_its_note_is_clean() {
    let log = Log::new();
    assert_eq!(pruned(&log, "writ.events_pruned"), 3 * ROWS + 1, "numbers are never reused");
    let mut store = log.store();
    let tx = store.read().unwrap();
    for earlier in [None, Some(&log.tip)] {
        let expected = Verification { events: 3 * ROWS - 2, streams: 3, ..Verification::default() };
        assert_eq!(tx.verify(earlier).unwrap(), expected);
    }
    assert_eq!(tx.pruned_ever().unwrap(), 3);
}

#[test]
fn an_agents_event_of_that_kind_is_no_note() {
    let log = Log::new();
    // The intent that `push` gives an event of an agent.
    pruned(&log, "agent.events_pruned");
    let found = log.store().read().unwrap().verify(None).unwrap();
    assert_eq!(places(&found.completeness), ["project:a 1"]);
}

#[test]
fn a_head_that_was_changed_is_told() {
    let found = after("UPDATE heads SET hash = 'sha256:0' WHERE stream = 'project:a'").alone;
    assert_eq!(places(&found.integrity), ["project:a 5"]);
    assert_eq!(places(&found.completeness), NOTHING);
    let found = after("UPDATE heads SET seq = 9 WHERE stream = 'project:a'").alone;
    assert_eq!(places(&found.completeness), ["project:a 6", "* 0"]);
}

#[test]
fn a_tip_that_was_changed_is_told() {
    let log = Log::new();
    let mut store = log.store();
    let tx = store.read().unwrap();
    let mut shortened = log.tip.clone();
    shortened.streams.remove(STREAM);
    let found = tx.verify(Some(&shortened)).unwrap();
    assert_eq!(places(&found.integrity), ["* 0"]);
    let text = serde_json::to_string(&log.tip).unwrap();
    assert_eq!(serde_json::from_str::<Tip>(&text).unwrap(), log.tip);
}

#[test]
fn more_faults_than_are_listed_are_counted() {
    let log = Log::new();
    let mut store = log.store();
    let tx = store.begin().unwrap();
    let mut ids = SeededIds::new(4);
    for _ in 0..150 {
        tx.append(&Stream::Store, event(&mut ids, &log.temp.now(), "more")).unwrap();
    }
    tx.commit().unwrap();
    drop(store);
    let found = log.after("UPDATE events SET message = message || '!' WHERE stream = 'store'").alone;
    assert_eq!((found.integrity.len(), found.omitted), (100, 55));
}
