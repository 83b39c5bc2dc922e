//! Sixty-four processes on one store at once: no write is lost, none happens twice, no task has two holders.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use testkit::{Background, Cli, Output};

use crate::run_view::audit_is_clean;

const CROWD: usize = 64;
/// Starts every call before it waits for the first.
#[track_caller]
fn at_once(cli: &Cli, calls: impl Fn(usize) -> Vec<String>) -> Vec<Value> {
    let running: Vec<Background<'_>> = (0..CROWD).map(|number| cli.spawn(calls(number))).collect();
    let ended: Vec<Output> = running.into_iter().map(|one| one.wait()).collect();
    ended
        .iter()
        .map(|output| {
            assert_eq!(output.status.code(), Some(0), "{output}");
            assert_eq!(output.stdout.lines().count(), 1, "one envelope: {output}");
            output.json()["data"].clone()
        })
        .collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_crowd_on_one_store_loses_nothing_and_does_nothing_twice() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let agent = |number: usize| format!("agent-{number}");

    // The first call of all makes the store; each request is sent by two processes.
    let created = at_once(&cli, |number| {
        let (who, title) = (agent(number / 2), format!("task {}", number / 2));
        words(&["task", "create", "--agent", &who, "--request-id", "create", "--title", &title])
    });
    let ids: BTreeMap<String, BTreeSet<String>> = created.iter().fold(BTreeMap::new(), |mut ids, data| {
        let text = |name: &str| data["task"][name].as_str().unwrap().to_owned();
        ids.entry(text("title")).or_insert_with(BTreeSet::new).insert(text("id"));
        ids
    });
    assert_eq!(ids.len(), CROWD / 2);
    assert!(ids.values().all(|same| same.len() == 1), "one task for each request: {ids:?}");

    let resumed = at_once(&cli, |number| {
        words(&["resume", "--agent", &agent(number), "--request-id", "resume", "--limit", "5"])
    });
    let held: Vec<(String, i64)> = resumed
        .iter()
        .filter(|data| data["focus_task_id"] != "")
        .map(|data| {
            (data["focus_task_id"].as_str().unwrap().to_owned(), data["claim"]["token"].as_i64().unwrap())
        })
        .collect();
    let tasks: BTreeSet<&String> = held.iter().map(|(task, _)| task).collect();
    let tokens: BTreeSet<i64> = held.iter().map(|(_, token)| *token).collect();
    assert_eq!((held.len(), tasks.len(), tokens.len()), (CROWD / 2, CROWD / 2, CROWD / 2), "{held:?}");

    let pushed = at_once(&cli, |number| {
        let who = agent(number);
        let document = json!({
            "event": {"kind": "progress", "message": format!("note {number}")},
            "memories": [
                {"key": "shared", "value": number.to_string(), "scope": "global"},
                {"key": "own", "value": number.to_string(), "scope": "agent", "scope_id": who},
            ],
        });
        words(&["push", "--agent", &who, "--request-id", "push", "--json", &document.to_string()])
    });
    let events: BTreeSet<i64> = pushed.iter().map(|data| data["event_id"].as_i64().unwrap()).collect();
    assert_eq!(events.len(), CROWD);

    let list = |args: &[&str]| cli.run(args).json()["data"].clone();
    assert_eq!(list(&["task", "list", "--limit", "1000"])["count"], CROWD / 2);
    let notes = list(&["events", "list", "--all", "--kind", "progress", "--limit", "1000"]);
    let messages: BTreeSet<&str> =
        notes["events"].as_array().unwrap().iter().map(|event| event["message"].as_str().unwrap()).collect();
    assert_eq!((notes["count"].as_u64(), messages.len()), (Some(CROWD as u64), CROWD));
    for number in 0..CROWD {
        let own = list(&["memory", "get", "--key", "own", "--scope", "agent", "--scope-id", &agent(number)]);
        assert_eq!(own["value"], number.to_string());
    }
    audit_is_clean(&cli);
}
