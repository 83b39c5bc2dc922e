//! The verbs of the agent contract: one JSON envelope each, field for field.

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::answers::{ann, data, error};
use crate::documents::{plan, scripted, with, writ};
use crate::read_back::work;

/// Calls a verb of the task namespace under a request id.
fn task(cli: &Cli, request: &str, words: &[&str]) -> Output {
    cli.run(["task"].iter().chain(words).chain(&["--request-id", request]))
}

fn created(cli: &Cli, title: &str, request: &str) -> String {
    let made = data(&task(cli, request, &["create", "--title", title]));
    made["task"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_new_task_is_pending_and_printed_field_for_field() {
    let cli = ann();
    let words =
        ["create", "--title", "Fix it", "--desc", "all of it", "--project-id", "p1", "--priority", "3"];
    let made = data(&task(&cli, "r1", &words));
    let (id, at) = (&made["task"]["id"], &made["task"]["created_at"]);
    let expected = json!({
        "task": {
            "id": id, "title": "Fix it", "description": "all of it", "status": "pending", "priority": 3,
            "project_id": "p1", "version": 1, "created_at": at, "updated_at": at,
        },
        "event_id": 1,
    });
    assert_eq!(made, expected);
    assert!(id.as_str().unwrap().starts_with("task_"));
    assert!(contract::domain::time::Timestamp::parse(at.as_str().unwrap()).is_ok(), "{at}");
    // What is read back is the task itself, not nested.
    assert_eq!(data(&cli.run(["task", "get", "--id", id.as_str().unwrap()])), made["task"]);
    // What was not given is left out or empty.
    let plain = data(&task(&cli, "r2", &["create", "--title", "t"]));
    let plain = &plain["task"];
    assert_eq!(
        (&plain["description"], &plain["priority"], plain.get("project_id")),
        (&json!(""), &json!(0), None)
    );
}

#[test]
fn a_list_is_ordered_by_priority_and_then_newest_and_null_when_empty() {
    let cli = ann();
    assert_eq!(data(&cli.run(["task", "list"])), json!({"count": 0, "tasks": null}));
    for (request, title, priority) in
        [("r1", "old", "0"), ("r2", "new", "0"), ("r3", "high", "5"), ("r4", "low", "-5")]
    {
        data(&task(&cli, request, &["create", "--title", title, "--priority", priority]));
    }
    let titles = |words: &[&str]| {
        let list = data(&cli.run(["task", "list"].iter().chain(words)));
        let tasks = list["tasks"].as_array().cloned().unwrap_or_default();
        assert_eq!(list["count"], tasks.len());
        tasks.iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles(&[]), ["high", "new", "old", "low"]);
    assert_eq!(titles(&["--limit", "2"]), ["high", "new"]);
    assert_eq!(titles(&["--priority", "0"]), ["new", "old"]);
    assert_eq!(titles(&["--status", "completed"]), Vec::<String>::new());
    assert_eq!(titles(&["--project-id", "elsewhere"]), Vec::<String>::new());
}

#[test]
fn a_begun_task_is_in_progress_and_the_agents_focus() {
    let cli = ann();
    let id = created(&cli, "t", "r1");
    let begun = data(&task(&cli, "r2", &["begin", "--id", &id]));
    assert_eq!(begun["task"]["status"], "in_progress");
    assert!(begun["status_event_id"].is_i64() && begun["focus_event_id"].is_i64(), "{begun}");
    assert_eq!(begun.as_object().unwrap().len(), 3);
    let again = data(&task(&cli, "r3", &["begin", "--id", &id]));
    assert_eq!((again.get("status_event_id"), again["focus_event_id"].is_i64()), (None, true));
    let status = data(&cli.run(["status", "--agent", " Ann "]));
    let state = &status["agent_state"];
    let expected = json!({
        "agent_name": "ann", "last_seen_event_id": 0, "focus_task_id": id, "version": state["version"],
        "last_active_at": state["last_active_at"],
    });
    assert_eq!(*state, expected);
}

#[test]
fn a_task_that_another_agent_holds_is_not_begun() {
    let cli = ann();
    let id = created(&cli, "t", "r1");
    data(&task(&cli, "r2", &["begin", "--id", &id]));
    let refused = error(&task(&cli, "r1", &["begin", "--id", &id, "--agent", "bob"]));
    assert_eq!(
        (&refused["error_code"], &refused["error"]),
        (&json!("HELD_BY_ANOTHER"), &json!("the task is held by `ann`"))
    );
}

#[test]
fn a_status_is_set_and_a_reason_does_not_outlive_it() {
    let cli = ann();
    let id = created(&cli, "t", "r1");
    let words = ["set-status", "--id", &id, "--status"];
    let set = |request: &str, more: &[&str]| {
        let words: Vec<&str> = words.iter().chain(more).copied().collect();
        let set = data(&task(&cli, request, &words));
        assert!(set["event_id"].is_i64() && set.as_object().unwrap().len() == 2, "{set}");
        set["task"].clone()
    };
    let blocked = set("r2", &["blocked", "--blocked-reason", "no key"]);
    assert_eq!((&blocked["status"], &blocked["blocked_reason"]), (&json!("blocked"), &json!("no key")));
    let pending = set("r3", &["pending"]);
    assert_eq!((&pending["status"], pending.get("blocked_reason")), (&json!("pending"), None));
    let completed = set("r4", &["completed"]);
    assert_eq!((&completed["status"], &completed["evidence"]), (&json!("completed"), &json!("claimed")));
    assert_eq!(completed["version"], 4);
}

#[test]
fn a_completed_task_without_checks_is_only_claimed() {
    let cli = ann();
    let id = created(&cli, "t", "r1");
    let words = ["complete", "--id", &id, "--outcome", "done", "--summary", "it works", "--label", "fix"];
    let done = data(&task(&cli, "r2", &words));
    assert_eq!(
        (&done["task"]["status"], &done["task"]["evidence"]),
        (&json!("completed"), &json!("claimed"))
    );
    assert_eq!((&done["status_event_id"], &done["close_event_id"]), (&json!(2), &json!(3)));
    let events = data(&cli.run(["events", "list", "--kind", "task_closed"]));
    let expected = json!({"outcome": "completed", "summary": "it works", "label": "fix"});
    assert_eq!(
        (&events["events"][0]["message"], &events["events"][0]["metadata"]),
        (&json!("it works"), &expected)
    );
}

#[test]
fn a_blocked_task_keeps_the_reason_or_the_summary() {
    let cli = ann();
    for (request, more, reason) in
        [("r2", &[][..], "stuck"), ("r3", &["--blocked-reason", "no key"], "no key")]
    {
        let id = created(&cli, "t", &format!("make-{request}"));
        let words = ["complete", "--id", &id, "--outcome", "blocked", "--summary", "stuck"];
        let words: Vec<&str> = words.iter().chain(more).copied().collect();
        let closed = data(&task(&cli, request, &words));
        let said = (&closed["task"]["status"], &closed["task"]["blocked_reason"]);
        assert_eq!(said, (&json!("blocked"), &json!(reason)));
    }
}

#[test]
fn events_are_listed_field_for_field_and_newest_first() {
    let cli = ann();
    let id = created(&cli, "t", "r1");
    data(&task(&cli, "r2", &["begin", "--id", &id]));
    data(&task(&cli, "b1", &["create", "--title", "of bob", "--agent", "bob"]));
    let mine = data(&cli.run(["events", "list"]));
    assert_eq!(
        (&mine["agent"], &mine["count"]),
        (&json!("ann"), &json!(mine["events"].as_array().unwrap().len()))
    );
    let first = mine["events"].as_array().unwrap().last().unwrap().clone();
    let expected = json!({
        "id": 1, "kind": "task_created", "agent_name": "ann", "task_id": id, "message": "Task created: t",
        "metadata": first["metadata"], "created_at": first["created_at"],
    });
    assert_eq!(first, expected);
    let numbers = |words: &[&str]| {
        let list = data(&cli.run(["events", "list"].iter().chain(words)));
        list["events"].as_array().unwrap().iter().map(|e| e["id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let all = numbers(&["--all", "--asc"]);
    assert_eq!(all, (1..=i64::try_from(all.len()).unwrap()).collect::<Vec<_>>());
    assert_eq!(numbers(&["--agent", "bob"]), [*all.last().unwrap()]);
    assert_eq!(numbers(&["--all", "--limit", "1"]), [*all.last().unwrap()]);
    assert_eq!(numbers(&["--all", "--asc", "--since-id", "1", "--limit", "1"]), [2]);
    assert_eq!(numbers(&["--kind", "task_created"]), [1]);
    assert_eq!(numbers(&["--all", "--limit", "-3", "--asc"]), all);
    let filtered =
        data(&cli.run(["events", "list", "--task-id", &id, "--kind", "task_created", "--since-id", "0"]));
    let named: Vec<&String> = filtered.as_object().unwrap().keys().collect();
    assert_eq!(named, ["agent", "count", "events", "kind", "task_id"]);
}

#[test]
fn events_can_be_printed_as_the_envelopes_they_are() {
    let cli = ann();
    created(&cli, "t", "r1");
    let output = cli.run(["events", "list", "--all", "--output", "ndjson"]);
    for line in output.success().stdout.lines() {
        assert!(contract::aee::validate(line.as_bytes(), false).allow, "{line}");
    }
    assert_eq!(output.stdout.lines().count(), 1);
}

#[test]
fn the_status_counts_what_is_in_the_store() {
    let cli = writ();
    let path = cli.db();
    data(&task(&cli, "r1", &["create", "--title", "t", "--agent", "ann"]));
    let worked = work(&cli, &plan([scripted("a", "exit 1")])).failed();
    cli.run(["retry", &worked.task_id("a"), "--no-run"]).success();
    let status = data(&cli.run(["status"]));
    let size = std::fs::metadata(&path).unwrap().len();
    assert_eq!(status["db"], json!({"path": path, "source": "env(WRIT_DB)", "ok": true, "size_bytes": size}));
    assert_eq!(
        (&status["counts"]["tasks"], &status["counts"]["tasks_detail"]),
        (
            &json!({"pending": 2, "in_progress": 0, "completed": 0, "blocked": 0}),
            &json!({"total": 2, "unknown": 0})
        )
    );
    assert_eq!(status["runs"], json!({"running": [], "interrupted": [], "stopped": [worked.id()]}));
    let events = data(&cli.run(["events", "list", "--all", "--limit", "1"]));
    assert_eq!(status["counts"]["events"], events["events"][0]["id"]);
    assert_eq!(status.get("agent_state"), None);
}

#[test]
fn every_refusal_is_an_envelope_that_says_what_is_wrong() {
    let cli = ann();
    let id = created(&cli, "t", "r1");
    let cases: &[(&[&str], &str, &str)] = &[
        (
            &["task", "create", "--title", "t"],
            "INVALID_INPUT",
            "--request-id or WRIT_REQUEST_ID is required for idempotent operations",
        ),
        (&["task", "create", "--request-id", "r"], "USAGE", "--title is required"),
        (&["task", "create", "--title", " ", "--request-id", "r"], "INVALID_INPUT", "--title is required"),
        (&["task", "create", "--titel", "t", "--request-id", "r"], "USAGE", "unknown flag: --titel"),
        (&["task", "destroy"], "USAGE", "unknown command \"destroy\" for \"writ task\""),
        (&["task", "list", "--status", "lost"], "INVALID_INPUT", "invalid status 'lost'"),
        (
            &["task", "get", "--id", "task_nowhere"],
            "NOT_FOUND",
            "failed to get task: task not found: task_nowhere",
        ),
        (
            &["task", "begin", "--id", "task_nowhere", "--request-id", "r"],
            "NOT_FOUND",
            "task not found: task_nowhere",
        ),
        (
            &["task", "set-status", "--id", "task_nowhere", "--status", "pending", "--request-id", "r"],
            "NOT_FOUND",
            "failed to get task: task not found: task_nowhere",
        ),
        (
            &["task", "set-status", "--id", &id, "--status", "lost", "--request-id", "r"],
            "INVALID_INPUT",
            "invalid status 'lost'",
        ),
        (
            &["task", "complete", "--id", &id, "--outcome", "maybe", "--summary", "s", "--request-id", "r"],
            "INVALID_INPUT",
            "invalid outcome 'maybe': must be done or blocked",
        ),
        (
            &["task", "complete", "--id", &id, "--outcome", "done", "--summary", "", "--request-id", "r"],
            "INVALID_INPUT",
            "--summary is required",
        ),
    ];
    for (words, code, message) in cases {
        let said = error(&cli.run(*words));
        assert_eq!((&said["error_code"], &said["error"]), (&json!(code), &json!(message)), "{words:?}");
    }
    let before = data(&cli.run(["events", "list", "--all"]));
    assert_eq!(before["count"], 1, "a refused call wrote something");
}

#[test]
fn an_agent_is_required_where_the_contract_says_so() {
    let cli = writ();
    let required = "agent is required unless --all is set (set --agent or WRIT_AGENT)";
    let said = error(&cli.run(["events", "list"]));
    assert_eq!((&said["error_code"], &said["error"]), (&json!("INVALID_INPUT"), &json!(required)));
    // A person needs no name; under the contract's own name everyone does.
    let said = error(&cli.call(["task", "create", "--title", "t", "--request-id", "r"]).named("vybe").run());
    assert_eq!(said["error"], json!("agent is required (set --agent or VYBE_AGENT)"));
    assert!(!cli.db().exists() || data(&cli.run(["events", "list", "--all"]))["count"] == 0);
    data(&cli.run(["task", "list"]));
    data(&cli.run(["status"]));
    // The names of the original count too.
    let call = cli.call(["task", "create", "--title", "t"]);
    data(&call.env("VYBE_AGENT", "ann").env("VYBE_REQUEST_ID", "r").run());
}

#[test]
fn a_bare_namespace_is_an_index_of_its_verbs() {
    let cli = ann();
    let index = data(&cli.run(["events"]));
    let expected = json!({
        "namespace": "writ events",
        "subcommands": [{"name": "list", "description": "List events, newest first"}],
    });
    assert_eq!(index, expected);
    let index = data(&cli.run(["task"]));
    let names: Vec<&Value> =
        index["subcommands"].as_array().unwrap().iter().map(|verb| &verb["name"]).collect();
    assert_eq!(
        names,
        [
            "create",
            "begin",
            "get",
            "list",
            "set-status",
            "complete",
            "set-priority",
            "add-dep",
            "remove-dep",
            "delete"
        ]
    );
}

#[test]
fn the_same_request_is_answered_the_same_and_done_once() {
    let cli = ann();
    let id = created(&cli, "t", "r1");
    let calls: [&[&str]; 4] = [
        &["create", "--title", "other", "--desc", "d"],
        &["begin", "--id", &id],
        &["set-status", "--id", &id, "--status", "blocked", "--blocked-reason", "why"],
        &["complete", "--id", &id, "--outcome", "done", "--summary", "s"],
    ];
    for (number, words) in calls.iter().enumerate() {
        let request = format!("again-{number}");
        let first = task(&cli, &request, words);
        let count = data(&cli.run(["status"]))["counts"]["events"].clone();
        let second = task(&cli, &request, words);
        assert_eq!(second.success().stdout, first.success().stdout);
        assert_eq!(data(&cli.run(["status"]))["counts"]["events"], count, "{words:?} was done twice");
    }
    // Another agent's request ids are its own.
    let other =
        data(&task(&cli, "again-0", &["create", "--title", "other", "--desc", "d", "--agent", "bob"]));
    assert_eq!(data(&cli.run(["task", "list"]))["count"], 3, "{other}");
}

#[test]
fn a_request_id_belongs_to_one_request() {
    let cli = ann();
    let id = created(&cli, "t", "r1");
    for words in [
        &["create", "--title", "u"][..],
        &["create", "--title", "t", "--priority", "1"],
        &["begin", "--id", &id],
    ] {
        let refused = error(&task(&cli, "r1", words));
        assert_eq!(
            (&refused["error_code"], &refused["retry"]),
            (&json!("IDEMPOTENCY_KEY_REUSED"), &json!("changed_request"))
        );
        assert_eq!(refused["error"], "request id `r1` was used for another request (task.create)");
    }
    assert_eq!(data(&cli.run(["status"]))["counts"]["events"], 1);
}

#[test]
fn a_refused_call_leaves_its_request_id_usable() {
    let cli = ann();
    error(&task(&cli, "r1", &["begin", "--id", "task_nowhere"]));
    created(&cli, "t", "r1");
}

/// A task of a plan that is not done, because its check finds no `proof.txt`.
fn unproven(cli: &Cli) -> String {
    let check = json!({"checks": [{"command": ["grep", "-q", "proof", "proof.txt"]}]});
    let worked = work(cli, &plan([with(scripted("a", "print"), check)])).failed();
    worked.task_id("a")
}

#[test]
fn a_task_whose_checks_fail_cannot_be_completed_by_any_verb() {
    let cli = ann();
    let id = unproven(&cli);
    let before = data(&cli.run(["task", "get", "--id", &id]));
    let verbs: [&[&str]; 2] = [
        &["complete", "--id", &id, "--outcome", "done", "--summary", "trust me"],
        &["set-status", "--id", &id, "--status", "completed"],
    ];
    for words in verbs {
        let refused = error(&task(&cli, "r1", words));
        assert_eq!(refused["error_code"], "CHECK_FAILED");
        assert_eq!(refused["error"], "check `grep -q proof proof.txt` failed: exit 2, expected 0");
        let checks: Value =
            serde_json::from_str(refused["error_context"]["checks"].as_str().unwrap()).unwrap();
        assert_eq!(checks[0]["passed"], false);
        assert_eq!(data(&cli.run(["task", "get", "--id", &id])), before);
    }
}

#[test]
fn a_task_whose_checks_pass_is_completed_as_verified() {
    let verbs: [&[&str]; 2] = [
        &["complete", "--outcome", "done", "--summary", "here it is"],
        &["set-status", "--status", "completed"],
    ];
    for words in verbs {
        let cli = ann();
        let id = unproven(&cli);
        // Ann wrote the checks, so another agent completes it.
        let words: Vec<&str> = words.iter().chain(&["--id", &id, "--agent", "bob"]).copied().collect();
        error(&task(&cli, "r1", &words));
        cli.scratch().write("project/proof.txt", "proof\n");
        // Refused before, so the same request may be sent again.
        let done = data(&task(&cli, "r1", &words));
        assert_eq!(
            (&done["task"]["status"], &done["task"]["evidence"]),
            (&json!("completed"), &json!("verified"))
        );
        assert_eq!(done["task"].get("blocked_reason"), None);
    }
}

#[test]
fn people_get_text_when_they_ask_for_it() {
    let cli = ann();
    let id = created(&cli, "Fix it", "r1");
    let text = |words: &[&str]| cli.run(words.iter().chain(&["--output", "text"]));
    assert_eq!(text(&["task", "list"]).success().stdout, format!("{id}  pending             0  Fix it\n"));
    assert_eq!(
        text(&["task", "get", "--id", &id]).success().stdout,
        format!("{id}  pending             0  Fix it\n")
    );
    let began = text(&["task", "begin", "--id", &id, "--request-id", "r2"]);
    assert_eq!(began.success().stdout, format!("began {id}\n"));
    let done =
        text(&["task", "complete", "--id", &id, "--outcome", "done", "--summary", "s", "--request-id", "r3"]);
    assert_eq!(done.success().stdout, format!("{id} is completed\n"));
    let events = text(&["events", "list", "--kind", "task_closed"]);
    assert!(
        events.success().stdout.trim_end().ends_with("task_closed           ann           s"),
        "{events}"
    );
    let status = text(&["status"]);
    assert!(status.success().stdout.contains("tasks    1 completed\n"), "{status}");
    let refused = text(&["task", "get", "--id", "task_nowhere"]);
    assert_eq!(refused.fails_with(1).stdout, "");
    assert_eq!(
        refused.stderr,
        "error: failed to get task: task not found: task_nowhere\nhint: `writ task list` lists tasks\n"
    );
    let refused = text(&["task", "create", "--titel", "t"]);
    assert!(refused.fails_with(1).stderr.contains("unexpected argument '--titel' found"), "{refused}");
}

#[test]
fn a_title_or_description_over_its_limit_or_with_a_secret_is_refused() {
    let cli = ann();
    let long = "x".repeat(501);
    let secret = ["ghp", "_", "0123456789abcdefghijABCDEFGHIJ456789"].concat();
    let cases = [
        (vec!["--title", &long], "INVALID_INPUT"),
        (vec!["--title", "two\nlines"], "INVALID_INPUT"),
        (vec!["--title", "t", "--desc", &secret], "INVALID_INPUT"),
    ];
    for (words, code) in cases {
        let words: Vec<&str> = ["create"].into_iter().chain(words).collect();
        let output = task(&cli, "r1", &words);
        assert_eq!(error(&output)["error_code"], code);
        assert!(!output.stdout.contains(&secret));
    }
    assert_eq!(data(&cli.run(["task", "list"]))["count"], 0);
}
