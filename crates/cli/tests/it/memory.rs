//! Memory: written, read, found and forgotten, field for field.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};
use testkit::Cli;

use crate::answers::{ann, asked, data, error, events, refusal, task};

fn set(cli: &Cli, request: &str, words: &[&str]) -> Value {
    let words: Vec<&str> = ["memory", "set"].iter().chain(words).copied().collect();
    data(&asked(cli, request, &words))
}

fn get(cli: &Cli, key: &str) -> Value {
    data(&cli.run(["memory", "get", "--key", key]))
}

fn keys(answer: &Value) -> Vec<&str> {
    let memories = answer["memories"].as_array().unwrap();
    assert_eq!(answer["count"], memories.len());
    memories.iter().map(|memory| memory["key"].as_str().unwrap()).collect()
}

#[test]
fn a_memory_is_printed_field_for_field() {
    let cli = ann();
    assert_eq!(
        set(&cli, "r1", &["-k", "style", "-v", "tabs"]),
        json!({"event_id": 1, "key": "style", "scope": "global"})
    );
    let memory = get(&cli, "style");
    let at = &memory["created_at"];
    let expected = json!({
        "id": 1, "key": "style", "value": "tabs", "value_type": "string", "scope": "global", "scope_id": "",
        "updated_at": at, "created_at": at, "access_count": 0, "pinned": false, "kind": "fact", "relevance": 1.0,
        "source_event_id": 1,
    });
    assert_eq!(memory, expected);
    assert!(contract::domain::time::Timestamp::parse(at.as_str().unwrap()).is_ok(), "{at}");
    let list = data(&cli.run(["memory", "list"]));
    assert_eq!((&list["scope"], list.get("scope_id"), keys(&list)), (&json!("global"), None, vec!["style"]));
}

#[test]
fn everything_that_can_be_said_of_a_memory_is_kept() {
    let cli = ann();
    let id = task(&cli, "t");
    let words = [
        "--key",
        "limits",
        "--value",
        "[1, 2]",
        "--type",
        "array",
        "--scope",
        "task",
        "--scope-id",
        &id,
        "--expires-in",
        "1h30m",
        "--kind",
        "lesson",
        "--half-life-days",
        "2.5",
        "--pin",
        "--source-task-id",
        &id,
    ];
    let made = set(&cli, "r1", &words);
    let expires_at = made["expires_at"].as_str().unwrap();
    assert!(expires_at.ends_with('Z'), "{expires_at} is not UTC");
    assert_eq!((&made["scope"], &made["scope_id"]), (&json!("task"), &json!(id)));
    let list = data(&cli.run(["memory", "list", "-s", "task", "--scope-id", &id]));
    assert_eq!((&list["scope"], &list["scope_id"]), (&json!("task"), &json!(id)));
    let memory = &list["memories"][0];
    let expected = json!({
        "id": 1, "key": "limits", "value": "[1, 2]", "value_type": "array", "scope": "task", "scope_id": id,
        "expires_at": expires_at, "updated_at": memory["updated_at"], "created_at": memory["created_at"],
        "access_count": 0, "pinned": true, "kind": "lesson", "half_life_days": 2.5, "relevance": 1.0,
        "source_event_id": made["event_id"], "source_task_id": id,
    });
    assert_eq!(*memory, expected);
    // Its event stands with the task.
    let written = events(&cli).pop().unwrap();
    assert_eq!((&written["kind"], &written["task_id"]), (&json!("memory_upserted"), &json!(id)));
}

#[test]
fn types_are_inferred_from_the_value() {
    let cli = ann();
    for (value, kind) in [
        ("tabs", "string"),
        ("-12.5", "number"),
        ("true", "boolean"),
        ("[1]", "array"),
        ("{\"a\":1}", "json"),
        ("", "string"),
    ] {
        set(&cli, &format!("r {value}"), &["-k", kind, "-v", value]);
        let memory = get(&cli, kind);
        assert_eq!((&memory["value"], &memory["value_type"]), (&json!(value), &json!(kind)));
    }
}

#[test]
fn a_later_write_keeps_what_it_does_not_name() {
    let cli = ann();
    set(
        &cli,
        "r1",
        &["-k", "k", "-v", "1", "--kind", "lesson", "--half-life-days", "3", "--pin", "--expires-in", "2w"],
    );
    let first = get(&cli, "k");
    set(&cli, "r2", &["-k", "k", "-v", "two"]);
    let second = get(&cli, "k");
    assert_eq!((&second["value"], &second["value_type"]), (&json!("two"), &json!("string")));
    for kept in ["id", "kind", "half_life_days", "pinned", "created_at", "source_event_id"] {
        assert_eq!(second[kept], first[kept], "{kept}");
    }
    assert_eq!(second.get("expires_at"), None);
    set(&cli, "r3", &["-k", "k", "-v", "3", "--kind", "directive"]);
    assert_eq!(get(&cli, "k")["kind"], "directive");
    // A pin is only taken away by its own verb.
    let unpinned = data(&asked(&cli, "r4", &["memory", "pin", "-k", "k", "--unpin"]));
    assert_eq!(unpinned, json!({"event_id": 4, "key": "k", "scope": "global", "pinned": false}));
    assert_eq!(get(&cli, "k")["pinned"], false);
}

#[test]
fn scopes_do_not_see_each_other() {
    let cli = ann();
    for (request, scope, id) in
        [("r1", "project", "p1"), ("r2", "project", "p2"), ("r3", "agent", "Ann"), ("r4", "task", "t")]
    {
        set(&cli, request, &["-k", "k", "-v", id, "-s", scope, "--scope-id", id]);
    }
    let value = |scope: &str, id: &str| {
        data(&cli.run(["memory", "get", "-k", "k", "-s", scope, "--scope-id", id]))["value"].clone()
    };
    assert_eq!(value("project", "p1"), "p1");
    assert_eq!(value("project", "p2"), "p2");
    assert_eq!(value("agent", "ann"), "Ann", "an agent is the same however it writes its name");
    assert_eq!(refusal(&cli.run(["memory", "get", "-k", "k"])).1, "memory entry not found");
    let event = &events(&cli)[0];
    assert_eq!((&event["project_id"], &event["task_id"]), (&json!("p1"), &json!("")));
}

#[test]
fn the_pinned_and_the_newest_come_first() {
    let cli = ann();
    for key in ["a", "b", "c"] {
        set(&cli, key, &["-k", key, "-v", "v"]);
    }
    assert_eq!(keys(&data(&cli.run(["memory", "list"]))), ["c", "b", "a"]);
    data(&asked(&cli, "pin", &["memory", "pin", "-k", "a"]));
    assert_eq!(keys(&data(&cli.run(["memory", "list"]))), ["a", "c", "b"]);
    let first = data(&cli.run(["memory", "list", "--limit", "2"]));
    assert_eq!((keys(&first), &first["more"]), (vec!["a", "c"], &json!(true)));
}

#[test]
fn what_was_forgotten_is_gone() {
    let cli = ann();
    set(&cli, "r1", &["-k", "k", "-v", "v", "-s", "project", "--scope-id", "p"]);
    let words = ["memory", "delete", "-k", "k", "-s", "project", "--scope-id", "p"];
    let deleted = data(&asked(&cli, "r2", &words));
    assert_eq!(deleted, json!({"event_id": 2, "key": "k", "scope": "project", "scope_id": "p"}));
    let gone = ("NOT_FOUND".to_owned(), "memory entry not found".to_owned());
    assert_eq!(refusal(&asked(&cli, "r3", &words)), gone);
    assert_eq!(refusal(&cli.run(["memory", "get", "-k", "k", "-s", "project", "--scope-id", "p"])), gone);
    let list = data(&cli.run(["memory", "list", "-s", "project", "--scope-id", "p"]));
    assert_eq!(list, json!({"scope": "project", "scope_id": "p", "count": 0, "memories": []}));
}

#[test]
fn a_collection_always_leaves_an_event() {
    let cli = ann();
    assert_eq!(
        data(&asked(&cli, "r1", &["memory", "gc"])),
        json!({"event_id": 1, "deleted": 0, "limit": 500})
    );
    let event = &events(&cli)[0];
    assert_eq!((&event["kind"], &event["metadata"]), (&json!("memory_gc"), &json!({"deleted": 0})));
}

#[test]
fn memories_are_found_by_their_words() {
    let cli = ann();
    set(&cli, "r1", &["-k", "build-command", "-v", "run cargo nextest in the workspace"]);
    set(&cli, "r2", &["-k", "style", "-v", "cargo fmt before a commit", "-s", "project", "--scope-id", "p"]);
    let found = |words: &[&str]| {
        let answer = data(&cli.run(["memory", "search"].iter().chain(words)));
        assert_eq!(answer["query"], words[0]);
        let mut found: Vec<String> = keys(&answer).iter().map(ToString::to_string).collect();
        found.sort();
        found
    };
    assert_eq!(found(&["cargo"]), ["build-command", "style"]);
    assert_eq!(found(&["CARGO nextest"]), ["build-command"]);
    assert_eq!(found(&["build"]), ["build-command"]);
    assert_eq!(found(&["\"nextest"]), ["build-command"], "what is typed is never syntax");
    assert_eq!(found(&["cargo", "--limit", "1"]).len(), 1);
    for nothing in ["rust", "cargo OR rust", "car*", "NEAR(cargo fmt)", "--", "'"] {
        let words = ["memory", "search", "--", nothing];
        assert_eq!(data(&cli.run(words))["count"], 0, "{nothing}");
    }
    data(&asked(&cli, "r3", &["memory", "delete", "-k", "build-command"]));
    assert_eq!(found(&["nextest"]), Vec::<String>::new());
}

#[test]
fn the_same_write_is_done_once_and_answered_the_same() {
    let cli = ann();
    let verbs: [&[&str]; 5] = [
        &["memory", "set", "-k", "k", "-v", "v", "--expires-in", "1h"],
        &["memory", "pin", "-k", "k"],
        &["memory", "set", "-k", "l", "-v", "w"],
        &["memory", "delete", "-k", "l"],
        &["memory", "gc", "--limit", "7"],
    ];
    for (number, words) in verbs.iter().enumerate() {
        let first = asked(&cli, &format!("r{number}"), words);
        let count = events(&cli).len();
        assert_eq!(asked(&cli, &format!("r{number}"), words).success().stdout, first.success().stdout);
        assert_eq!(events(&cli).len(), count, "{words:?}");
    }
    let reused = error(&asked(&cli, "r0", &["memory", "set", "-k", "k", "-v", "other"]));
    assert_eq!(reused["error_code"], "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(get(&cli, "k")["value"], "v");
    crate::run_view::audit_is_clean(&cli);
}

/// Each call is refused with these words, and nothing is written.
#[track_caller]
fn refused(cases: &[(&[&str], &str, &str)]) {
    let cli = ann();
    set(&cli, "r1", &["-k", "k", "-v", "v"]);
    for (words, code, message) in cases {
        let words: Vec<&str> = ["memory"].iter().chain(*words).copied().collect();
        let output = asked(&cli, "bad", &words);
        assert_eq!(refusal(&output), ((*code).to_owned(), (*message).to_owned()));
    }
    assert_eq!(events(&cli).len(), 1, "a refused call wrote something");
    assert_eq!(get(&cli, "k")["value"], "v");
    // The id of a refused call is free.
    set(&cli, "bad", &["-k", "k", "-v", "w"]);
}

#[test]
fn names_and_values_over_their_limits_are_refused() {
    let (long, huge) = ("k".repeat(100_000), "v".repeat(70_000));
    let secret = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ456789"].concat();
    let (large, invalid) = ("TOO_LARGE", "INVALID_INPUT");
    let key = "key has 100000 bytes; the limit is 512";
    refused(&[
        (&["set", "-k", &long, "-v", "v"], large, key),
        (&["get", "-k", &long], large, key),
        (&["delete", "-k", &long], large, key),
        (&["pin", "-k", &long], large, key),
        (&["set", "-k", "k", "-v", &huge], large, "value has 70000 bytes; the limit is 65536"),
        (&["set", "-k", "", "-v", "v"], invalid, "key is required"),
        (&["set", "-k", "a\nb", "-v", "v"], invalid, "key has control characters"),
        (&["set", "-k", "k", "-v", &secret], invalid, "the text appears to contain a secret (github_token)"),
        (&["search", " "], invalid, "the query has no words"),
        (&["search", "a b c d e f g h i j k l m n o p q"], large, "the query has 17 words; the limit is 16"),
        (&["gc", "--limit", "0"], invalid, "limit must be > 0"),
        (&["gc", "--limit", "-5"], invalid, "limit must be > 0"),
        (&["gc", "--limit", "10001"], large, "limit must be at most 10000"),
        (&["list", "--limit", "-1"], invalid, "limit must be > 0"),
        (&["search", "k", "--limit", "-1"], invalid, "limit must be > 0"),
    ]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let usage = "required flag(s) \"value\" not set";
    let galaxy = "invalid scope: galaxy (must be one of: global, project, task, agent)";
    let half_life = "half_life_days must be more than 0 and at most 36500";
    let invalid = "INVALID_INPUT";
    let mut all: Vec<(&[&str], &str, &str)> = vec![
        (&["set", "-k", "k"], "USAGE", usage),
        (&["pin", "-k", "elsewhere"], "NOT_FOUND", "memory entry not found"),
        (&["list", "-s", "galaxy"], invalid, galaxy),
        (&["list", "--scope-id", "x"], invalid, "global scope cannot have a scope_id"),
        (&["get", "-k", "k", "-s", "task"], invalid, "task scope requires a scope_id"),
    ];
    let cases: &[(&[&str], &str)] = &[
        (&["--expires-in", "soon"], "invalid expiry 'soon': must be a duration"),
        (&["--expires-in", "9999999w"], "invalid expiry '9999999w': longer than a hundred years"),
        (&["-s", "galaxy"], galaxy),
        (&["--scope-id", "x"], "global scope cannot have a scope_id"),
        (&["-s", "task"], "task scope requires a scope_id"),
        (&["-t", "float"], "invalid value type 'float'"),
        (&["-t", "number"], "the value is not of type number"),
        (&["--kind", "myth"], "invalid kind 'myth'"),
        (&["--half-life-days", "-1"], half_life),
        (&["--half-life-days", "NaN"], half_life),
    ];
    let sets: Vec<Vec<&str>> =
        cases.iter().map(|(more, _)| [&["set", "-k", "k", "-v", "v"], *more].concat()).collect();
    all.extend(sets.iter().zip(cases).map(|(words, (_, message))| (words.as_slice(), invalid, *message)));
    refused(&all);
}

#[test]
fn ids_that_are_too_long_and_words_that_are_no_text_are_refused() {
    let cli = ann();
    let (code, message) =
        refusal(&asked(&cli, &"r".repeat(10_000), &["memory", "set", "-k", "k", "-v", "w"]));
    let expected = "the request id must be 1 to 256 bytes without control characters";
    assert_eq!((code.as_str(), message.as_str()), ("INVALID_INPUT", expected));
    let not_text = OsStr::from_bytes(b"\xff");
    let words = ["memory", "set", "-k", "k", "--request-id", "bad", "-v"].map(OsStr::new);
    assert_eq!(refusal(&cli.run(words.iter().chain(&[not_text]))).0, "USAGE");
    assert_eq!(events(&cli).len(), 0);
}

#[test]
fn people_get_text_when_they_ask_for_it() {
    let cli = ann();
    let text = |words: &[&str]| {
        let words: Vec<&str> = ["memory"].iter().chain(words).chain(&["--output", "text"]).copied().collect();
        asked(&cli, words[1], &words).success().stdout.clone()
    };
    assert_eq!(text(&["list"]), "no memories\n");
    assert_eq!(text(&["set", "-k", "style", "-v", "tabs\nalways"]), "stored style\n");
    assert_eq!(text(&["get", "-k", "style"]), "tabs\nalways\n");
    assert_eq!(text(&["pin", "-k", "style"]), "pinned style\n");
    assert_eq!(text(&["list"]), "* global                    fact       style  tabs always\n");
    assert_eq!(text(&["search", "always"]), text(&["list"]));
    assert_eq!(text(&["gc"]), "deleted 0 expired memories\n");
    assert_eq!(text(&["delete", "-k", "style"]), "deleted style\n");
}
