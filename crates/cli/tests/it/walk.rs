//! Every verb through two doors: the registry in this process and the command of the built program, on equal stores.
//! Both give the same document.

mod continuity;
mod crew;
mod equal;
mod runs;

use contract::domain::request::{Agent, RequestId};
use ops::Caller;
use ops::Session;
use ops::registry;
use serde_json::Value;
use testkit::Cli;

use crate::{decisions, local};

/// A verb with a request, and the command that makes the same request.
struct Row {
    verb: &'static str,
    /// Prepares the store with calls of the program.
    prepare: fn(&Cli) -> Example,
}

struct Example {
    request: Value,
    /// The words after the program's name. `--output json` is added, and who asks under which request id.
    argv: Vec<String>,
    stdin: Option<String>,
    /// A token, where a person has to decide.
    token: Option<String>,
}

impl Example {
    fn new(request: Value, argv: &[&str]) -> Self {
        Self { request, argv: argv.iter().map(|&word| word.to_owned()).collect(), stdin: None, token: None }
    }

    /// The same for what only a person may decide.
    fn decided(self, cli: &Cli) -> Self {
        Self { token: Some(decisions::token(cli)), ..self }
    }

    fn stdin(self, text: impl Into<String>) -> Self {
        Self { stdin: Some(text.into()), ..self }
    }
}

/// Who asks, and under which request id.
const AGENT: &str = "ann";
const REQUEST_ID: &str = "walk-1";

fn rows() -> impl Iterator<Item = &'static Row> {
    [continuity::ROWS, crew::ROWS, runs::ROWS].into_iter().flatten()
}

#[test]
fn every_verb_has_one_row() {
    // Some verbs are called by hooks and loops alone.
    for verb in registry::VERBS.iter().filter(|verb| !verb.command.is_empty()) {
        let count = rows().filter(|row| row.verb == verb.name).count();
        assert_eq!(count, 1, "{}", verb.name);
    }
    for row in rows() {
        assert!(registry::find(row.verb).is_some(), "{}", row.verb);
    }
}

#[track_caller]
fn same_through_both_doors(rows: &[Row]) {
    for row in rows {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        let example = (row.prepare)(&cli);
        // Both calls happen in the same place, which is put back in between: what is stored names paths.
        let before = equal::files(cli.scratch().path());
        let in_process = through_the_registry(&cli, row, &example);
        equal::restore(cli.scratch().path(), &before);
        let by_command = through_the_command(&cli, &example);
        let (a, b) = (equal::document(&in_process), equal::document(&by_command));
        assert_eq!(a, b, "{}: left the registry, right `writ {}`", row.verb, example.argv.join(" "));
    }
}

fn through_the_registry(cli: &Cli, row: &Row, example: &Example) -> Value {
    let verb = registry::find(row.verb).unwrap();
    let request_id = RequestId::parse(REQUEST_ID).unwrap();
    let session =
        local::session(Caller::agent(Agent::parse(AGENT).unwrap()), request_id, example.token.clone());
    let request_id = session.request_id.clone().filter(|_| verb.effect.mutates());
    let session = Session { request_id, ..session };
    let answered = (verb.call)(&mut local::open(cli), &session, example.request.clone());
    answered.unwrap_or_else(|error| panic!("{}: {error}: {}", row.verb, error.details)).answer
}

fn through_the_command(cli: &Cli, example: &Example) -> Value {
    let fixed = ["--output", "json", "--agent", AGENT, "--request-id", REQUEST_ID].map(str::to_owned);
    let mut call = cli.call(example.argv.iter().cloned().chain(fixed)).env("USER", AGENT);
    if let Some(token) = &example.token {
        call = call.env("WRIT_TOKEN", token);
    }
    if let Some(text) = &example.stdin {
        call = call.stdin(text.as_bytes());
    }
    let printed = call.run().success().json();
    // Validators and the like print their document without an envelope.
    let is_envelope = printed["schema_version"] == "v1" && printed.get("data").is_some();
    if is_envelope { printed["data"].clone() } else { printed }
}

/// The rest of the scratch directory is mounted read-only, with the store in it.
const READ_ONLY: &str = "mount --bind \"$S\" \"$S\" && mount --bind \"$S/project\" \"$S/project\" &&
    mount -o remount,bind,ro \"$S\" && cd \"$S/project\" && exec \"$@\"";

#[test]
fn every_reading_verb_answers_the_same_from_a_store_on_a_read_only_disk() {
    // A preview of the collection tries it in a transaction that it takes back, and a clone is compared with a list of files
    // that is written beside it.
    let tries = ["store.gc_preview", "worktree.preview_discard"];
    let reads =
        |row: &&Row| !registry::find(row.verb).unwrap().effect.mutates() && !tries.contains(&row.verb);
    for row in rows().filter(reads) {
        let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
        let example = (row.prepare)(&cli);
        // Some examples need nothing in the store, but there must be one.
        cli.run(["runs", "list"]).success();
        let fixed = ["--output", "json", "--agent", AGENT].map(str::to_owned);
        let words: Vec<String> = example.argv.iter().cloned().chain(fixed).collect();
        let start = "unshare -Urm true 2> /dev/null && exec unshare -Urm sh -c \"$0\" sh \"$@\"; exec unshare -m sh -c \"$0\" sh \"$@\"";
        let before = ["-c", start, READ_ONLY, env!("CARGO_BIN_EXE_writ")].map(str::to_owned);
        let mut call = cli.call(before.iter().chain(&words)).program("sh").env("S", cli.scratch().path());
        let mut usual = cli.call(&words);
        if let Some(text) = &example.stdin {
            (call, usual) = (call.stdin(text.as_bytes()), usual.stdin(text.as_bytes()));
        }
        let from_read_only = call.run();
        let usual = usual.run();
        assert_eq!(from_read_only.status.code(), usual.status.code(), "{}: {from_read_only}", row.verb);
        let (a, b) = (equal::document(&from_read_only.json()), equal::document(&usual.json()));
        assert_eq!(a, b, "{}: left on a read-only disk", row.verb);
    }
}

#[test]
fn continuity_verbs_answer_the_same_through_the_registry_and_their_command() {
    same_through_both_doors(continuity::ROWS);
}

#[test]
fn crew_verbs_answer_the_same_through_the_registry_and_their_command() {
    same_through_both_doors(crew::ROWS);
}

#[test]
fn verbs_of_runs_stores_and_documents_answer_the_same_through_the_registry_and_their_command() {
    same_through_both_doors(runs::ROWS);
}
