//! Stores that earlier versions wrote: each opens, replays, gives its stored answers again, and goes on.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Cli, Output, eventually};

use crate::documents::writ;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stores")
}

/// A copy of a store, and what has to be true of it.
struct Old {
    name: String,
    cli: Cli,
    expected: Value,
}

impl Old {
    fn all() -> Vec<Old> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "db"));
        paths.sort();
        paths.iter().map(|path| Old::copy(path)).collect()
    }

    fn copy(path: &Path) -> Old {
        let cli = writ();
        fs::copy(path, cli.db()).unwrap();
        let key = path.with_extension("key");
        if key.exists() {
            let beside = cli.db().with_extension("db.key");
            fs::copy(key, &beside).unwrap();
            fs::set_permissions(beside, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let expected = fs::read_to_string(path.with_extension("json")).unwrap();
        let expected = serde_json::from_str(&expected).unwrap();
        Old { name: path.file_stem().unwrap().to_str().unwrap().to_owned(), cli, expected }
    }

    fn text(&self, name: &str) -> &str {
        self.expected[name].as_str().unwrap_or_else(|| panic!("{} has no {name}", self.name))
    }

    /// The old calls were made in the workspace, which is part of some requests.
    fn call(&self, agent: &str, words: &[&str], stdin: &str) -> Output {
        let workspace = PathBuf::from(self.text("workspace"));
        let dir = if workspace.is_dir() { workspace } else { self.cli.project() };
        self.cli.call(words).env("WRIT_AGENT", agent).in_dir(dir).stdin(stdin).run()
    }

    fn run(&self, words: &[&str]) -> Output {
        self.call("ann", &[words, &["--output", "json"]].concat(), "")
    }

    #[track_caller]
    fn data(&self, words: &[&str]) -> Value {
        self.run(words).success().json()["data"].clone()
    }

    #[track_caller]
    fn code(&self, words: &[&str], exit: i32) -> String {
        self.run(words).fails_with(exit).json()["error_code"].as_str().unwrap().to_owned()
    }

    /// The open assignment's token and its number. Tokens of the first stores are numbers alone.
    fn token(&self) -> (String, i64) {
        let token = &self.expected["token"];
        let token = token.as_str().map_or_else(|| token.to_string(), str::to_owned);
        let number = token.split('-').next().unwrap().parse().unwrap();
        (token, number)
    }

    #[track_caller]
    fn is_sound(&self) {
        let tip = self.cli.scratch().write("tip.json", self.expected["tip"].to_string());
        self.run(&["audit", "verify", "--replay", "--tip", tip.to_str().unwrap()]).success();
    }

    fn task(&self, run: &str, name: &str) -> Value {
        let shown = self.data(&["runs", "show", run]);
        shown["tasks"].as_array().unwrap().iter().find(|task| task["name"] == name).unwrap().clone()
    }
}

/// Everything that is expected is there; fields that came later do not matter.
fn holds(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(wanted), Value::Object(fields)) => {
            wanted.iter().all(|(name, value)| holds(value, fields.get(name).unwrap_or(&Value::Null)))
        }
        (Value::Array(wanted), Value::Array(items)) => {
            wanted.len() == items.len() && wanted.iter().zip(items).all(|(value, item)| holds(value, item))
        }
        _ => expected == found,
    }
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// The directory that the runs of a store name as their workspace, for one test at a time. It is gone afterwards.
struct Workspace {
    path: PathBuf,
    _turn: File,
}

impl Workspace {
    /// Nothing where this machine does not let us make it; then the steps that need it are skipped.
    #[expect(clippy::print_stderr, reason = "a step that is skipped is named")]
    fn of(old: &Old) -> Option<Workspace> {
        let made = Workspace::make(old);
        if made.is_none() {
            eprintln!("{}: skipped, {} cannot be made here", old.name, old.text("workspace"));
        }
        made
    }

    fn make(old: &Old) -> Option<Workspace> {
        let path = PathBuf::from(old.text("workspace"));
        let turn = File::create(path.with_extension("lock")).ok()?;
        eventually("no other test uses the directory", || turn.try_lock().is_ok());
        if path.exists() {
            fs::remove_dir_all(&path).ok()?;
        }
        fs::create_dir(&path).ok()?;
        Some(Workspace { path, _turn: turn })
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // The next test removes what is left here.
        drop(fs::remove_dir_all(&self.path));
    }
}

#[test]
fn every_old_store_opens_replays_and_shows_what_it_showed() {
    let stores = Old::all();
    assert!(!stores.is_empty());
    for old in stores {
        // Where it cannot be made the calls run elsewhere. While it is held no other test removes it.
        let _workspace = Workspace::of(&old);
        old.is_sound();
        for read in old.expected["reads"].as_array().unwrap() {
            let output = old.call(read["agent"].as_str().unwrap(), &words(&read["read"]), "");
            let found = output.success().json();
            let expected = shown_today(&read["holds"]);
            assert!(holds(&expected, &found), "{}: {expected} is not in {found}", old.name);
        }
    }
}

/// A run whose engine had died was shown as running when these stores were made.
fn shown_today(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let is_run = fields.contains_key("objective") && fields.get("state") == Some(&json!("running"));
            let today = |(name, field): (&String, &Value)| match name.as_str() {
                "state" if is_run => (name.clone(), json!("interrupted")),
                _ => (name.clone(), shown_today(field)),
            };
            Value::Object(fields.iter().map(today).collect())
        }
        Value::Array(items) => items.iter().map(shown_today).collect(),
        other => other.clone(),
    }
}

/// Tokens were plain numbers when the first stores were made. Today's have a proof behind the number.
fn as_before_proofs(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let before = |(name, field): (&String, &Value)| match (name.as_str(), field.as_str()) {
                ("x_token", _) => None,
                ("token", Some(token)) => {
                    let (number, proof) = token.split_once('-').expect("a number and its proof");
                    assert_eq!(proof.len(), 64, "{token}");
                    Some((name.clone(), json!(number.parse::<i64>().unwrap())))
                }
                _ => Some((name.clone(), as_before_proofs(field))),
            };
            Value::Object(fields.iter().filter_map(before).collect())
        }
        Value::Array(items) => items.iter().map(as_before_proofs).collect(),
        other => other.clone(),
    }
}

#[test]
fn an_old_store_gives_its_stored_answers_again() {
    for old in Old::all() {
        let Some(_workspace) = Workspace::of(&old) else { continue };
        let events = old.data(&["status"])["counts"]["events"].clone();
        for repeat in old.expected["repeats"].as_array().unwrap() {
            let (agent, stdin) = (repeat["agent"].as_str().unwrap(), repeat["stdin"].as_str().unwrap());
            let again = old.call(agent, &words(&repeat["repeat"]), stdin);
            let again = again.success().json();
            match repeat.get("holds") {
                Some(part) => assert!(holds(part, &again), "{}: {part} is not in {again}", old.name),
                None => {
                    let first: Value = serde_json::from_str(repeat["answer"].as_str().unwrap()).unwrap();
                    let (again, first) = (as_before_proofs(&again["data"]), as_before_proofs(&first["data"]));
                    assert_eq!(again, first, "{}: {}", old.name, repeat["repeat"]);
                }
            }
        }
        assert_eq!(old.data(&["status"])["counts"]["events"], events, "{}: nothing is done twice", old.name);
        // The id of an answered request belongs to that request.
        let taken = ["task", "create", "--title", "another", "--request-id", "create finish it"];
        assert_eq!(old.code(&taken, 1), "IDEMPOTENCY_KEY_REUSED");
    }
}

#[test]
fn an_old_store_goes_on() {
    for old in Old::all() {
        // While it is held no other test removes the directory that the calls run in.
        let _workspace = Workspace::of(&old);
        let made = old.data(&["task", "create", "--title", "a new one", "--request-id", "new"]);
        let id = made["task"]["id"].as_str().unwrap().to_owned();
        old.data(&["task", "add-dep", "--id", &id, "--depends-on", old.text("begun"), "--request-id", "dep"]);
        let done = ["--outcome", "done", "--summary", "s", "--request-id", "done"];
        old.data(&[&["task", "complete", "--id", old.text("begun")], &done[..]].concat());
        // Both tasks that waited for it are free.
        for waited in [old.text("task"), &id] {
            assert_eq!(old.data(&["task", "get", "--id", waited])["status"], "pending", "{}", old.name);
        }
        old.is_sound();
    }
}

#[test]
fn a_run_that_an_old_engine_left_is_continued() {
    for old in Old::all() {
        let Some(workspace) = Workspace::of(&old) else { continue };
        fs::write(workspace.path.join("go"), "").unwrap();
        let run = old.text("interrupted_run");
        let parked = old.run(&["run", "--continue", run]);
        assert_eq!(parked.fails_with(1).json()["data"]["state"], "stopped", "{parked}");
        assert_eq!(
            ["safe", "after", "unsafe"].map(|name| old.task(run, name)["status"].clone()),
            [json!("done"), json!("done"), json!("blocked")]
        );
        old.run(&["run", "--continue", run, "--rerun-parked"]).success();
        let attempts = old.task(run, "unsafe")["attempts"].clone();
        let states: Vec<&Value> = attempts.as_array().unwrap().iter().map(|one| &one["state"]).collect();
        assert_eq!(states, [&json!("unknown"), &json!("succeeded")]);
        old.is_sound();
    }
}

#[test]
fn the_ledger_of_an_old_crew_goes_on() {
    for old in Old::all() {
        let Some(_workspace) = Workspace::of(&old) else { continue };
        let (run, task, (token, number)) = (old.text("ledger"), old.text("open_task"), old.token());
        let of_task = ["--run", run, "--task", task];
        let beat = [&["heartbeat"], &of_task[..], &["--token", &token]].concat();
        // Its lease ended long ago, or belongs to another boot. It holds its locks until it is swept.
        assert_eq!(old.code(&beat, 1), "TASK_TIMEOUT");
        let swept = old.data(&["watchdog", "sweep"]);
        assert_eq!(swept["timed_out"][0]["task_id"], task, "{swept}");
        assert_eq!(swept["denied"], json!([old.text("approval")]), "{swept}");
        assert_eq!(old.code(&beat, 1), "CONCURRENCY_CONFLICT");
        let replan = json!({
            "schema_version": "1.0.0", "run_id": run, "assignments": [], "active_locks": [], "blockers": [],
            "next_actions": [],
            "ledger_delta": [
                {"task_id": task, "status": "todo", "owner": "", "reason": "again", "delta_id": "again"},
            ],
        });
        old.call("ann", &["ledger", "apply", "-", "--output", "json"], &replan.to_string()).success();
        let issue = |task: &str| {
            let words = ["assignment", "issue", "--run", run, "--task", task];
            old.data(&[&words[..], &["--cost", "1", "--tokens", "10"]].concat())
        };
        let given = issue(task);
        assert!(given["packet"]["x_fencing_token"].as_i64().unwrap() > number, "{given}");
        let new = given["token"].as_str().unwrap().to_owned();
        let entry = json!({"action": "went on", "files_touched": [], "decision": "d", "result": "r", "next_step": "n"});
        let append = [&["worklog", "append"], &of_task[..], &["--token", &new, "--output", "json"]].concat();
        old.call("ann", &append, &entry.to_string()).success();
        let packet = &given["packet"];
        let criterion = &packet["task"]["acceptance_criteria"][0];
        let result = json!({
            "schema_version": "1.0.0", "run_id": packet["run_id"], "task_id": task, "status": "done",
            "changes": [], "worklog_path": packet["task"]["worklog_path"], "notes_for_orchestrator": [],
            "acceptance_check": [{"criterion": criterion, "status": "pass", "evidence": "seen"}],
            "x_token": given["token"],
        });
        let done = old.call("ann", &["result", "submit", "--output", "json"], &result.to_string());
        // Since then a ledger says who wrote its checks, and here that was the worker.
        let evidence = if old.name.as_str() < "0004" { "verified" } else { "self-checked" };
        assert_eq!(done.success().json()["data"]["evidence"], evidence, "{done}");
        // Nobody decided in time, so the answer is no. Another request can be granted.
        let denied = ["assignment", "issue", "--run", run, "--task", "T-3", "--cost", "1", "--tokens", "10"];
        assert_eq!(old.code(&denied, 1), "NON_COMPLIANT");
        let asked = old.data(&["approval", "request", "--run", run, "--task", "T-3"]);
        let asked = asked["id"].as_str().unwrap();
        crate::decisions::decide(&old.cli, &["approval", "grant", asked, "--output", "json"]).success();
        issue("T-3");
        old.is_sound();
    }
}
