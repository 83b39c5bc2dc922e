//! Push: an event, memories, artifacts and a status in one piece, or nothing at all.

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::answers::{ann, asked, data, error, events, refusal, task};
use crate::documents::{plan, scripted, with};
use crate::read_back::work;
use crate::run_view::audit_is_clean;

fn push(cli: &Cli, request: &str, document: &Value) -> Output {
    asked(cli, request, &["push", "--json", &document.to_string()])
}

fn pipe(cli: &Cli, request: &str, bytes: impl Into<Vec<u8>>) -> Output {
    cli.call(["push", "--request-id", request]).stdin(bytes).run()
}

/// A push of everything there is, about a task.
fn whole(id: &str) -> Value {
    json!({
        "task_id": id,
        "event": {"kind": "progress", "message": "half of it", "metadata": {"part": 1}},
        "memories": [
            {"key": "chk", "value": "1", "scope": "task", "scope_id": id},
            {"key": "how", "value": "tabs", "scope": "global", "kind": "directive", "pinned": true},
        ],
        "artifacts": [{"file_path": "out/report.md"}, {"file_path": "x.bin", "content_type": "image/x"}],
        "task_status": {"status": "completed", "summary": "it works", "label": "fix"},
    })
}

#[test]
fn everything_is_written_in_order_and_answered_field_for_field() {
    let cli = ann();
    let id = task(&cli, "t");
    let pushed = data(&push(&cli, "r1", &whole(&id)));
    let artifact = |index: usize| &pushed["artifacts"][index]["artifact_id"];
    let expected = json!({
        "event_id": 2,
        "memories": [{"key": "chk", "event_id": 3}, {"key": "how", "event_id": 4}],
        "artifacts": [
            {"artifact_id": artifact(0), "file_path": "out/report.md", "event_id": 5},
            {"artifact_id": artifact(1), "file_path": "x.bin", "event_id": 6},
        ],
        "task_status": {"task_id": id, "status": "completed", "status_event_id": 7, "close_event_id": 8},
    });
    assert_eq!(pushed, expected);
    assert!(artifact(0).as_str().unwrap().starts_with("artifact_"));
    let events = events(&cli);
    let kinds: Vec<&Value> = events[1..].iter().map(|event| &event["kind"]).collect();
    let expected = [
        "progress",
        "memory_upserted",
        "memory_upserted",
        "artifact_added",
        "artifact_added",
        "task_status",
        "task_closed",
    ];
    assert_eq!(kinds, expected);
    let event = &events[1];
    let expected = json!({
        "id": 2, "kind": "progress", "agent_name": "ann", "task_id": id, "message": "half of it",
        "metadata": {"part": 1}, "created_at": event["created_at"],
    });
    assert_eq!(*event, expected);
    let closed = json!({"outcome": "completed", "summary": "it works", "label": "fix"});
    assert_eq!((&events[7]["message"], &events[7]["metadata"]), (&json!("it works"), &closed));
    let task = data(&cli.run(["task", "get", "--id", &id]));
    assert_eq!((&task["status"], &task["evidence"]), (&json!("completed"), &json!("claimed")));
    audit_is_clean(&cli);
}

#[test]
fn artifacts_are_listed_newest_first() {
    let cli = ann();
    let id = task(&cli, "t");
    let list = |words: &[&str]| data(&cli.run(["artifacts", "list", "--task-id"].iter().chain(words)));
    assert_eq!(list(&[&id]), json!({"task_id": id, "count": 0, "artifacts": []}));
    assert_eq!(list(&["x"]), json!({"task_id": "x", "count": 0, "artifacts": []}));
    let pushed = data(&push(&cli, "r1", &whole(&id)));
    let found = list(&[&id]);
    let at = &found["artifacts"][0]["created_at"];
    let artifact = |index: usize, path: &str, content_type: &str| {
        let Value::Object(added) = &pushed["artifacts"][index] else { panic!("{pushed}") };
        json!({
            "id": added["artifact_id"], "task_id": id, "event_id": added["event_id"], "file_path": path,
            "content_type": content_type, "created_at": at,
        })
    };
    let both = [artifact(1, "x.bin", "image/x"), artifact(0, "out/report.md", "")];
    assert_eq!(found, json!({"task_id": id, "count": 2, "artifacts": both}));
    assert_eq!(list(&[&id, "--limit", "1"])["count"], 1);
    let limit = refusal(&cli.run(["artifacts", "list", "--task-id", &id, "--limit", "-1"]));
    assert_eq!(limit, ("INVALID_INPUT".to_owned(), "limit must be > 0".to_owned()));
    // A path may be added again, and a task takes its artifacts along.
    data(&push(&cli, "r2", &json!({"task_id": id, "artifacts": [{"file_path": "x.bin"}]})));
    assert_eq!(list(&[&id])["count"], 3);
}

#[test]
fn standard_input_is_read_where_there_is_no_json_flag() {
    let cli = ann();
    let document = json!({"event": {"kind": "note", "message": "hi"}, "future_field": 1}).to_string();
    let answer = json!({"event_id": 1, "ignored": ["$.future_field"]});
    assert_eq!(data(&pipe(&cli, "r1", document.clone())), answer);
    // However it comes in, it is the same request.
    assert_eq!(data(&asked(&cli, "r1", &["push", "--json", &document])), answer);
    assert_eq!(events(&cli).len(), 1);
}

#[test]
fn an_event_may_stand_alone_and_hold_any_json() {
    let cli = ann();
    let cases = [
        (json!(null), json!(null)),
        (json!("plain"), json!("plain")),
        (json!("{\"a\": [1]}"), json!({"a": [1]})),
        (json!([1, 2.5]), json!([1, 2.5])),
        (json!({"token": "ghp_".to_owned() + &"a1".repeat(20)}), json!({"token": "[REDACTED:github_token]"})),
    ];
    for (number, (given, kept)) in cases.iter().enumerate() {
        let document = json!({"task_id": "task_nowhere", "event": {"kind": "a note", "message": "m", "metadata": given}});
        data(&push(&cli, &format!("r{number}"), &document));
        let event = events(&cli).pop().unwrap();
        assert_eq!((&event["metadata"], &event["task_id"]), (kept, &json!("task_nowhere")));
    }
    let envelopes = cli.run(["events", "list", "--all", "--output", "ndjson"]);
    for line in envelopes.success().stdout.lines() {
        assert!(contract::aee::validate(line.as_bytes(), false).allow, "{line}");
    }
}

#[test]
fn an_event_without_a_task_stands_in_the_project_its_agent_looks_at() {
    let cli = ann();
    let words = ["task", "create", "--title", "t", "--project-id", "p1"];
    let id = data(&asked(&cli, "r1", &words))["task"]["id"].as_str().unwrap().to_owned();
    let note = json!({"event": {"kind": "note", "message": "m"}});
    data(&push(&cli, "r2", &note));
    assert_eq!(events(&cli).pop().unwrap().get("project_id"), None);
    data(&asked(&cli, "r3", &["task", "begin", "--id", &id]));
    data(&push(&cli, "r4", &note));
    assert_eq!(events(&cli).pop().unwrap()["project_id"], "p1");
    let other = task(&cli, "outside");
    data(&push(&cli, "r5", &json!({"task_id": other, "event": {"kind": "note", "message": "m"}})));
    assert_eq!(events(&cli).pop().unwrap().get("project_id"), None);
}

#[test]
fn a_status_moves_the_task_and_closes_it_only_where_it_ends() {
    let cli = ann();
    let id = task(&cli, "t");
    let moved = |request: &str, status: Value| {
        data(&push(&cli, request, &json!({"task_id": id, "task_status": status})))["task_status"].clone()
    };
    assert_eq!(
        moved("r1", json!({"status": "in_progress"})),
        json!({"task_id": id, "status": "in_progress", "status_event_id": 2})
    );
    assert_eq!(
        moved("r2", json!({"status": "blocked", "summary": "stuck"})),
        json!({"task_id": id, "status": "blocked", "status_event_id": 4, "close_event_id": 5})
    );
    let reason = || data(&cli.run(["task", "get", "--id", &id])).get("blocked_reason").cloned();
    assert_eq!(reason(), Some(json!("stuck")));
    moved("r3", json!({"status": "blocked", "summary": "stuck", "blocked_reason": "no key"}));
    assert_eq!(reason(), Some(json!("no key")));
    moved("r4", json!({"status": "pending"}));
    assert_eq!(reason(), None);
}

#[test]
fn a_push_completes_a_task_only_after_its_checks_passed() {
    let cli = ann();
    let check = json!({"checks": [{"command": ["grep", "-q", "proof", "proof.txt"]}]});
    let id = work(&cli, &plan([with(scripted("a", "print"), check)])).failed().task_id("a");
    let count = events(&cli).len();
    let refused = error(&push(&cli, "r1", &whole(&id)));
    assert_eq!(refused["error_code"], "CHECK_FAILED");
    assert_eq!(refused["error_context"]["command"], "grep -q proof proof.txt");
    assert_eq!(events(&cli).len(), count, "a part of it was written");
    cli.scratch().write("project/proof.txt", "proof\n");
    push(&cli, "r1", &whole(&id)).success();
    let task = cli.run(["task", "get", "--id", &id]).success().json();
    // Ann wrote the checks herself.
    assert_eq!(task["data"]["evidence"], "self-checked");
}

#[test]
fn the_same_push_is_done_once() {
    let cli = ann();
    let id = task(&cli, "t");
    let first = push(&cli, "r1", &whole(&id));
    let count = events(&cli).len();
    assert_eq!(push(&cli, "r1", &whole(&id)).success().stdout, first.success().stdout);
    let mut other = whole(&id);
    other["event"]["message"] = json!("other");
    assert_eq!(refusal(&push(&cli, "r1", &other)).0, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(events(&cli).len(), count);
}

/// A document in which one field of the whole is replaced.
fn spoilt(id: &str, pointer: &str, value: Value) -> Value {
    let mut document = whole(id);
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(fields) => fields.insert(name.to_owned(), value),
        other => panic!("{other} has no fields"),
    };
    document
}

#[test]
fn every_field_of_a_wrong_type_is_refused_with_its_path() {
    let cli = ann();
    let id = task(&cli, "t");
    let fields = [
        "/task_id",
        "/event",
        "/event/kind",
        "/event/message",
        "/memories",
        "/memories/0/key",
        "/memories/0/value",
        "/memories/0/value_type",
        "/memories/0/scope",
        "/memories/0/scope_id",
        "/memories/0/expires_at",
        "/memories/0/kind",
        "/memories/0/half_life_days",
        "/memories/0/pinned",
        "/memories/0/source_task_id",
        "/artifacts",
        "/artifacts/0/file_path",
        "/artifacts/0/content_type",
        "/task_status",
        "/task_status/status",
        "/task_status/summary",
        "/task_status/label",
        "/task_status/blocked_reason",
    ];
    for field in fields {
        let wrong =
            if field.contains("/0/") || field.matches('/').count() > 1 { json!([5]) } else { json!(5) };
        let refused = error(&push(&cli, "bad", &spoilt(&id, field, wrong)));
        let path = field.replace("/0/", "[0]/").replace('/', ".");
        assert_eq!(refused["error_code"], "INVALID_INPUT", "{field}");
        let findings = refused["error_context"]["findings"].as_str().unwrap();
        let findings: Value = serde_json::from_str(findings).unwrap();
        assert_eq!(findings[0]["path"], format!("${path}"), "{refused}");
    }
    assert_eq!(events(&cli).len(), 1, "a refused push wrote something");
}

/// A field, what stands there instead, the code, and how the words begin.
type Case<'c> = (&'c str, Value, &'c str, &'c str);

/// Each push is refused whole, and leaves its id usable.
fn refused_whole(cases: Vec<Case<'_>>) {
    let cli = ann();
    let id = task(&cli, "t");
    for (field, value, code, message) in cases {
        let (found, said) = refusal(&push(&cli, "bad", &spoilt(&id, field, value)));
        assert_eq!(found, code, "{field}: {said}");
        assert!(said.starts_with(message), "{field}: {said}");
    }
    assert_eq!(events(&cli).len(), 1, "a refused push wrote something");
    assert_eq!(data(&cli.run(["memory", "list"]))["count"], 0);
    assert_eq!(data(&cli.run(["artifacts", "list", "--task-id", &id]))["count"], 0);
    data(&push(&cli, "bad", &whole(&id)));
}

#[test]
fn an_event_or_a_status_that_breaks_a_rule_leaves_nothing() {
    let (large, invalid) = ("TOO_LARGE", "INVALID_INPUT");
    refused_whole(vec![
        ("/task_id", json!("T-5"), invalid, "$.task_id: not a task id"),
        ("/task_id", json!("task_nowhere"), "NOT_FOUND", "task not found: task_nowhere"),
        ("/task_id", json!(null), invalid, "task_id is required when artifacts are provided"),
        ("/event/kind", json!(" "), invalid, "$.event: kind is required"),
        ("/event/kind", json!("k".repeat(129)), large, "$.event: kind has 129 bytes; the limit is 128"),
        ("/event/message", json!("m".repeat(4097)), large, "$.event: message has 4097 bytes"),
        ("/event/message", json!("a\0b"), invalid, "$.event: message has a NUL character"),
        ("/event/metadata", json!({"m": "m".repeat(16_384)}), large, "$.event: metadata has 16392 bytes"),
        ("/task_status/status", json!("lost"), invalid, "invalid status 'lost'"),
        ("/task_status/summary", json!("s".repeat(5_000)), large, "the summary is longer than 4096 bytes"),
    ]);
    let cli = ann();
    let said = |document: Value| refusal(&push(&cli, "bad", &document)).1;
    let nothing = "push requires at least one operation (event, memories, artifacts, or task_status)";
    assert_eq!(said(json!({"task_id": "task_1", "memories": []})), nothing);
    let needed = "task_id is required when task_status is provided";
    assert_eq!(said(json!({"task_status": {"status": "pending"}})), needed);
}

#[test]
fn a_memory_or_an_artifact_that_breaks_a_rule_leaves_nothing() {
    let (large, invalid) = ("TOO_LARGE", "INVALID_INPUT");
    let many = |item: Value| json!(vec![item; 51]);
    let memories = many(json!({"key": "k", "value": "v", "scope": "global"}));
    let secret = json!("ghp_".to_owned() + &"a1".repeat(20));
    refused_whole(vec![
        ("/memories/1/key", json!("k".repeat(100_000)), large, "$.memories[1]: key has 100000 bytes"),
        ("/memories/1/key", json!("a\0b"), invalid, "$.memories[1]: key has control characters"),
        ("/memories/0/value", json!("a\0b"), invalid, "$.memories[0]: value has a NUL character"),
        ("/memories/0/value", secret, invalid, "$.memories[0]: the text appears to contain a secret"),
        ("/memories/0/scope", json!("galaxy"), invalid, "$.memories[0]: invalid scope: galaxy (must"),
        ("/memories/0/scope", json!("global"), invalid, "$.memories[0]: global scope cannot have a scope_id"),
        ("/memories/1/scope", json!("agent"), invalid, "$.memories[1]: agent scope requires a scope_id"),
        ("/memories/0/expires_at", json!("soon"), invalid, "$.memories[0]: invalid expires_at 'soon'"),
        ("/memories/0/expires_at", json!("2001-01-01T00:00:00Z"), invalid, "expires_at 2001-01-01"),
        ("/memories", memories, large, "the push is not valid: $.memories: allows at most 50"),
        (
            "/artifacts/0/file_path",
            json!("a\0b"),
            invalid,
            "$.artifacts[0]: file_path has control characters",
        ),
        (
            "/artifacts/1/file_path",
            json!("f".repeat(5_000)),
            large,
            "$.artifacts[1]: file_path has 5000 bytes",
        ),
        ("/artifacts", many(json!({"file_path": "f"})), large, "the push is not valid: $.artifacts: allows"),
    ]);
}

#[test]
fn bytes_that_are_no_document_are_refused() {
    let cli = ann();
    let document = json!({"event": {"kind": "note", "message": "m"}}).to_string();
    let padded = |length: usize| document.clone() + &" ".repeat(length - document.len());
    let cases: [(Vec<u8>, &str); 7] = [
        (padded(1024 * 1024 + 1).into_bytes(), "TOO_LARGE"),
        (b"{\"task_id\": \"\xff\"}".to_vec(), "INVALID_INPUT"),
        (b"{\"task_id\": \"\0\"}".to_vec(), "INVALID_INPUT"),
        (b"{\"task_id\": \"a\", \"task_id\": \"b\"}".to_vec(), "INVALID_INPUT"),
        (b"{\"task_id\": \"\\ud800\"}".to_vec(), "INVALID_INPUT"),
        (b"{\"half_life_days\": NaN}".to_vec(), "INVALID_INPUT"),
        ("[".repeat(10_000).into_bytes(), "INVALID_INPUT"),
    ];
    let none = refusal(&pipe(&cli, "bad", Vec::new()));
    assert_eq!(none.1, "JSON input required via --json flag or stdin pipe");
    for (bytes, code) in cases {
        let (found, said) = refusal(&pipe(&cli, "bad", bytes));
        assert_eq!(found, code, "{said}");
        assert!(said.starts_with("the push is not valid: $: "), "{said}");
    }
    assert_eq!(events(&cli).len(), 0);
    let largest = data(&pipe(&cli, "bad", padded(1024 * 1024)));
    assert_eq!(largest, json!({"event_id": 1}), "just within the limit");
}

#[test]
fn people_get_text_when_they_ask_for_it() {
    let cli = ann();
    let id = task(&cli, "t");
    let words = ["push", "--json", &whole(&id).to_string(), "--output", "text"];
    let output = asked(&cli, "r1", &words);
    let text = output.success().stdout.replace(|c: char| c.is_ascii_digit(), "");
    assert!(text.starts_with("event \nstored chk\nstored how\nadded out/report.md as artifact_"), "{text}");
    assert!(output.stdout.ends_with(&format!("{id} is completed\n")), "{output}");
    let list = cli.run(["artifacts", "list", "--task-id", &id, "--output", "text"]);
    assert!(list.success().stdout.contains("  out/report.md\n"), "{list}");
}
