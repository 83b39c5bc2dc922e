//! Words that only SQLite has stay in `store/src/sqlite`: the other statements run on PostgreSQL too.

use super::Violation;
use super::tree::{File, Tree};

const STORE: &str = "crates/store/src/";
const SQLITE: &str = "crates/store/src/sqlite";

/// In lower case.
const WORDS: &[&str] = &[
    "rowid",
    "pragma",
    "sqlite_",
    "fts5",
    " match ?",
    "json_set",
    "json_extract",
    "json_each",
    "'$.",
    "insert or ",
    "vacuum",
    "attach ",
    "not indexed",
    "begin immediate",
    "update_hook",
    "-wal",
    "-shm",
    "openflags",
    "busy_timeout",
    "transactionbehavior",
    "rusqlite::errorcode",
    "rusqlite::ffi",
    "rusqlite::hooks",
    "rusqlite::config",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let shared = |file: &&File| file.path.starts_with(STORE) && !file.path.starts_with(SQLITE);
    tree.rust().filter(shared).flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Violation> {
    let code = file.lines().filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter_map(|(number, line)| {
        let line = line.to_lowercase();
        let word = WORDS.iter().find(|word| line.contains(**word)).copied();
        let word = word.or_else(|| has_scalar_max(&line).then_some("max(a, b)"))?;
        let message = format!("`{word}` is only in SQLite; it belongs in store/src/sqlite");
        Some(Violation::new("dialect", &file.path, number, message))
    })
    .collect()
}

/// Whether the line calls SQL's `max` with two arguments. Rust's is a method.
fn has_scalar_max(line: &str) -> bool {
    line.match_indices("max(").any(|(at, call)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| " (,".contains(before)) && has_second_argument(&line[at + call.len()..])
    })
}

fn has_second_argument(arguments: &str) -> bool {
    let mut depth = 0;
    for character in arguments.chars() {
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            ',' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}
