use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::conformance::{VectorFile, cases};
use crate::domain::time::Timestamp;
use crate::secrets;
use crate::shape::{Shape, schema};

type Validator = fn(&[u8], &Options) -> Verdict;

const VALIDATORS: [(&str, Validator); 10] = [
    ("assignment", validate_assignment),
    ("locks", validate_locks),
    ("result", validate_result),
    ("worklog", validate_worklog),
    ("worklog_entry", validate_worklog_entry),
    ("handoff", validate_handoff),
    ("envelope", validate_envelope),
    ("deltas", validate_deltas),
    ("reconcile", validate_reconcile),
    ("watchdog", validate_watchdog),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors/operator")
}

#[expect(clippy::disallowed_methods, reason = "vectors are files, and tests may read them")]
fn read(path: &std::path::Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The input of a valid vector.
fn valid(name: &str) -> Value {
    read(&folder().join(format!("valid/{name}.json")))["input"].clone()
}

/// One whole document for each kind of validator.
fn documents() -> Vec<(&'static str, Value)> {
    static DOCUMENTS: LazyLock<Vec<(&str, Value)>> = LazyLock::new(read_documents);
    DOCUMENTS.clone()
}

fn read_documents() -> Vec<(&'static str, Value)> {
    let table = |name: &str| read(&folder().join(format!("vectors/{name}.json")))["cases"].clone();
    let deltas = table("ledger-delta")[0].clone();
    vec![
        ("assignment", valid("assignment-minimal")),
        ("locks", valid("locks-original-valid")),
        ("result", valid("result-redacted-note")),
        ("worklog_entry", valid("worklog-blocked-final")[1].clone()),
        ("handoff", valid("handoff-typical")),
        ("envelope", valid("envelope-typical")),
        ("deltas", json!({"base": deltas["base"], "streams": deltas["streams"]})),
        ("reconcile", table("reconcile")[0]["input"].clone()),
        ("watchdog", table("watchdog")[0]["input"].clone()),
    ]
}

fn validate(kind: &str, document: &Value, options: &Options) -> Verdict {
    let (_, validate) = VALIDATORS.iter().find(|(name, _)| *name == kind).unwrap();
    validate(document.to_string().as_bytes(), options)
}

/// Every pointer to a value in a document, the document itself left out.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        _ => Vec::new(),
    };
    for (name, child) in children {
        let pointer = format!("{at}/{name}");
        found.push(pointer.clone());
        pointers(child, &pointer, found);
    }
}

#[expect(clippy::disallowed_methods, reason = "vectors are files, and tests may read them")]
fn files_below(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The cases themselves are run with those of all contracts.
#[test]
fn every_operator_vector_is_run() {
    for path in files_below(&folder()) {
        let value = read(&path);
        let bytes = value.to_string();
        let written = value["cases"].as_array().map_or(1, Vec::len);
        let found = cases(&VectorFile { path: path.to_str().unwrap(), bytes: bytes.as_bytes() });
        assert_eq!(found.len(), written, "{}", path.display());
        assert!(found.iter().all(|case| case.contract == "operator"), "{}", path.display());
    }
}

/// What must be true of any verdict.
fn sound(kind: &str, verdict: &Verdict) {
    let code = Code::parse(&verdict.code).unwrap();
    assert_eq!(verdict.allow, code == Code::Ok, "{kind}");
    assert_eq!(exit_code(verdict) == 0, verdict.allow, "{kind}");
    assert_eq!(verdict.details.findings.is_empty(), verdict.allow, "{kind}: {verdict:?}");
    assert!(!verdict.reason.is_empty(), "{kind}");
    assert_eq!(verdict.details.rule.is_some(), !verdict.allow, "{kind}");
    assert!(verdict.details.findings.iter().all(|finding| finding.path.starts_with('$')), "{kind}");
}

#[test]
fn removing_or_replacing_one_value_never_confuses_a_validator() {
    for (kind, document) in documents() {
        sound(kind, &validate(kind, &document, &Options::default()));
        let mut places = Vec::new();
        pointers(&document, "", &mut places);
        for place in places {
            let values =
                [json!(null), json!(-1.5), json!(""), json!([]), json!({}), json!("../*"), json!([[{}]])];
            for (index, value) in values.into_iter().enumerate() {
                let mut changed = document.clone();
                *changed.pointer_mut(&place).unwrap() = value;
                let options = Options { strict: index % 2 == 0, root: Some("/srv"), ..Options::default() };
                sound(kind, &validate(kind, &changed, &options));
            }
        }
    }
}

#[test]
fn a_missing_required_field_is_named() {
    for (kind, document) in documents() {
        let shape = shapes().into_iter().find(|shape| {
            shape.fields.iter().filter(|field| field.required).all(|field| document.get(field.name).is_some())
        });
        for field in shape.unwrap().fields.iter().filter(|field| field.required) {
            let mut changed = document.clone();
            changed.as_object_mut().unwrap().remove(field.name);
            let verdict = validate(kind, &changed, &Options::default());
            assert_eq!(verdict.code, "MISSING_REQUIRED_INPUT", "{kind} {}: {}", field.name, verdict.reason);
            assert_eq!(verdict.details.more["missing"], json!([field.name]), "{kind}");
        }
    }
}

#[test]
fn a_document_is_printed_as_it_was_read() {
    let options = Options::default();
    let assignment = valid("assignment-x-field-strict");
    let read = read_assignment(assignment.to_string().as_bytes(), &options).unwrap().0;
    assert_eq!(json!(read), assignment);
    let result = valid("result-redacted-note");
    let read = read_result(result.to_string().as_bytes(), &options).unwrap().0;
    assert_eq!(json!(read), result);
    let envelope = valid("envelope-typical");
    let read = read_envelope(envelope.to_string().as_bytes(), &options).unwrap().0;
    assert_eq!(json!(read), envelope);
    let handoff = valid("handoff-typical");
    let mut printed = json!(read_handoff(handoff.to_string().as_bytes(), &options).unwrap().0);
    printed["ledger"][2]["last_heartbeat_at"] = Value::Null;
    assert_eq!(printed, handoff);
    let entry = valid("worklog-blocked-final")[1].clone();
    let read: WorklogEntry = serde_json::from_value(entry.clone()).unwrap();
    assert_eq!(json!(read), entry);
}

#[test]
fn numbers_may_be_written_with_a_point() {
    let mut assignment = valid("assignment-minimal");
    assignment["task"]["timeout_seconds"] = json!(1200.0);
    let (read, _) = read_assignment(assignment.to_string().as_bytes(), &Options::default()).unwrap();
    assert_eq!(read.task.timeout_seconds, 1200);
}

#[test]
fn a_result_returns_the_token_of_its_assignment() {
    let mut packet = valid("assignment-minimal");
    packet["x_fencing_token"] = json!(7);
    let (assignment, _) = read_assignment(packet.to_string().as_bytes(), &Options::default()).unwrap();
    let answer = |token: Value, strict: bool| {
        let mut result = valid("result-redacted-note");
        result["x_fencing_token"] = token.clone();
        if token.is_null() {
            result.as_object_mut().unwrap().remove("x_fencing_token");
        }
        let options = Options { assignment: Some(&assignment), strict, ..Options::default() };
        let verdict = validate("result", &result, &options);
        (verdict.code, verdict.details.rule.unwrap_or_default())
    };
    let stale = ("CONCURRENCY_CONFLICT".to_owned(), "stale_fencing_token".to_owned());
    assert_eq!(answer(json!(7), true).0, "OK");
    assert_eq!(answer(json!(6), false), stale);
    assert_eq!(answer(json!(null), false).0, "OK");
    // A token that is missing is a missing input, not a conflict.
    assert_eq!(answer(json!(null), true), ("MISSING_REQUIRED_INPUT".to_owned(), "missing".to_owned()));
}

#[test]
fn every_fault_is_reported_with_its_place() {
    let mut packet = valid("assignment-minimal");
    for (pointer, value) in [
        ("/run_id", json!("x")),
        ("/task/title", json!("")),
        ("/task/lock_scope", json!(["a", "a/b", "*", "../x"])),
        ("/task/timeout_seconds", json!(1)),
        ("/task/acceptance_criteria", json!(["skip validation"])),
        ("/active_locks/0/active", json!("yes")),
        ("/context_package/0/value", json!("postgres://svc:pa55word@db/x")),
    ] {
        *packet.pointer_mut(pointer).unwrap() = value;
    }
    let verdict = validate("assignment", &packet, &Options::default());
    let mut lines = vec![verdict.code];
    lines.extend(verdict.details.findings.iter().map(|f| format!("{} [{}] {}", f.path, f.rule, f.message)));
    insta::assert_snapshot!(lines.join("\n"), @r"
    MISSING_REQUIRED_INPUT
    $.active_locks[0].active [item_field] must be true or false, is text
    $.context_package[0].value [secret] appears to contain a secret (url_credentials); redact it and send it again
    $.run_id [run_id] must be a UUID, such as 3f56dc4d-35cf-4f97-925c-0b04a6fe8bf4
    $.task.acceptance_criteria[0] [instruction_override] the text asks to skip a check
    $.task.lock_scope[1] [self_overlap] `a/b` overlaps `a` before it
    $.task.lock_scope[2] [glob_not_supported] globs are not supported; name the file or its directory
    $.task.lock_scope[3] [workspace_escape] leads out of the workspace
    $.task.timeout_seconds [integer] must be at least 30, is 1
    $.task.title [empty] must not be empty
    ");
}

#[test]
fn many_faults_do_not_hide_the_one_that_decides() {
    let mut envelope = valid("envelope-typical");
    envelope["ledger_delta"] = json!(vec![json!({}); 200]);
    envelope.as_object_mut().unwrap().remove("next_actions");
    let verdict = validate("envelope", &envelope, &Options::default());
    assert_eq!(
        (verdict.code.as_str(), verdict.details.path.as_deref()),
        ("MISSING_REQUIRED_INPUT", Some("$.next_actions"))
    );
    let mut envelope = valid("envelope-typical");
    let mut packet = envelope["assignments"][0].clone();
    packet["schema_version"] = json!("9.0.0");
    envelope["ledger_delta"] = json!(vec![json!({}); 200]);
    envelope["assignments"] = json!([packet]);
    let verdict = validate("envelope", &envelope, &Options::default());
    assert_eq!(verdict.code, "UNKNOWN_SCHEMA_VERSION");
    assert_eq!(verdict.details.findings.len(), 100);
}

#[test]
fn an_answer_is_compared_with_the_packet_as_it_was_sent() {
    let mut packet = valid("assignment-minimal");
    packet["task"]["lock_scope"] = json!(["src", "tests"]);
    packet["task"]["forbidden_scope"] = json!(["src/secret"]);
    assert!(!validate("assignment", &packet, &Options::default()).allow);
    let assignment = recall_assignment(packet.to_string().as_bytes()).unwrap();
    let rule = |resource: &str| {
        let mut result = valid("result-redacted-note");
        result["changes"][0]["resource"] = json!(resource);
        let options = Options { assignment: Some(&assignment), ..Options::default() };
        validate("result", &result, &options).details.rule.unwrap_or_default()
    };
    assert_eq!(rule("src/a.py"), "");
    assert_eq!(rule("src"), "in_forbidden_scope");
    assert_eq!(rule("src/secret/x"), "in_forbidden_scope");
    assert_eq!(rule("docs"), "outside_lock_scope");
    assert!(recall_assignment(b"{}").is_err());
}

#[test]
fn an_entry_can_be_validated_before_it_is_written() {
    let entry = valid("worklog-blocked-final")[1].clone();
    assert!(validate("worklog_entry", &entry, &Options::default()).allow);
    let mut torn = entry.clone();
    torn.as_object_mut().unwrap().remove("timestamp");
    let verdict = validate("worklog_entry", &torn, &Options::default());
    assert_eq!(
        (verdict.code.as_str(), verdict.details.path.as_deref()),
        ("MISSING_REQUIRED_INPUT", Some("$.timestamp"))
    );
}

#[test]
fn the_codes_are_a_closed_list() {
    let line = |code: &Code| format!("{code} {} {:?}", code.exit(), code.retry());
    let table: Vec<String> = Code::ALL.iter().map(line).collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    OK 0 NotNeeded
    SCHEMA_INVALID 1 AfterChange
    MISSING_REQUIRED_INPUT 1 AfterChange
    UNKNOWN_SCHEMA_VERSION 1 AfterChange
    LOCK_CONFLICT 1 AfterOthers
    SCOPE_VIOLATION 1 AfterChange
    INVALID_TRANSITION 1 Never
    DEPENDENCY_NOT_MET 1 AfterOthers
    CONCURRENCY_CONFLICT 1 AfterRereading
    TASK_TIMEOUT 1 AfterReplanning
    ACCEPTANCE_FAILED 1 Once
    LEDGER_INCONSISTENT 1 Never
    NON_COMPLIANT 1 AfterChange
    MISSING_VALIDATOR 2 Never
    UNTRUSTED_CONTEXT_BLOCK 1 AfterChange
    ");
}

#[test]
fn a_verdict_that_contradicts_itself_is_refused() {
    let mut verdict = validate("locks", &valid("locks-original-valid"), &Options::default());
    assert_eq!(exit_code(&verdict), 0);
    verdict.allow = false;
    assert_eq!(exit_code(&verdict), 2);
    verdict.code = "SCHEMA_INVALID".to_owned();
    assert_eq!(exit_code(&verdict), 1);
    verdict.code = "MISSING_VALIDATOR".to_owned();
    assert_eq!(exit_code(&verdict), 2);
    verdict.code = "SOMETHING".to_owned();
    assert_eq!(exit_code(&verdict), 2);
}

#[test]
fn every_shape_has_a_schema() {
    for shape in shapes() {
        let schema = schema::schema(shape.name, &Shape::Object(shape));
        assert_eq!(schema["title"], shape.name);
    }
}

#[test]
fn a_large_lock_table_is_checked_in_one_pass() {
    let lock = |task: usize, resource: String| json!({"task_id": format!("T-{task}"), "resource": resource, "active": true});
    let apart: Vec<Value> = (0..3000).map(|n| lock(n, format!("src/{n}/a.rs"))).collect();
    assert!(validate("locks", &json!({"locks": apart}), &Options::default()).allow);
    let same: Vec<Value> = (0..3000).map(|n| lock(n, "src".to_owned())).collect();
    let verdict = validate("locks", &json!({"locks": same}), &Options::default());
    assert_eq!(verdict.code, "LOCK_CONFLICT");
    assert_eq!(verdict.details.more["conflicts"].as_array().unwrap().len(), 100);
}

/// JSON with the words of these documents in it, so that it gets further than the first check.
fn json_like() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "schema_version",
        "run_id",
        "task_id",
        "task",
        "locks",
        "ledger",
        "active_locks",
        "ledger_delta",
        "status",
        "in_progress",
        "T-1",
        "1.0.0",
        "resource",
        "active",
        "dependencies",
        "changes",
        "acceptance_check",
        "base",
        "streams",
        "rows",
        "now",
        "tasks",
        "2026-02-14T20:00:00Z",
        "last_heartbeat_at",
        "delta_id",
        "x_row",
        "a/b",
        "assignments",
        "blockers",
        "results",
        "timeout_seconds",
        "lock_scope",
        "events",
        "constraints",
        "",
    ]);
    let text = prop_oneof![word.clone().prop_map(str::to_owned), "\\PC{0,8}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_make_a_validator_panic(bytes: Vec<u8>) {
        for (kind, validate) in VALIDATORS {
            sound(kind, &validate(&bytes, &Options { prior: Some(&bytes), ..Options::default() }));
        }
    }

    #[test]
    fn no_document_makes_a_validator_panic(document in json_like(), strict: bool, fold: bool) {
        let options = Options { strict, fold, now: Timestamp::parse_utc("2026-02-14T20:00:00Z"), ..Options::default() };
        for (kind, validate) in VALIDATORS {
            let bytes = format!("{document}\n").into_bytes();
            sound(kind, &validate(&bytes, &options));
        }
    }

    #[test]
    fn part_of_a_document_replaced_by_anything_is_judged(
        kind in 0..9usize, place: prop::sample::Index, value in json_like(),
    ) {
        let (kind, mut document) = documents().swap_remove(kind);
        let mut places = Vec::new();
        pointers(&document, "", &mut places);
        *document.pointer_mut(&places[place.index(places.len())]).unwrap() = value;
        sound(kind, &validate(kind, &document, &Options::default()));
    }

    #[test]
    fn no_verdict_repeats_a_secret(kind in 0..9usize, place: prop::sample::Index, as_key: bool) {
        const SECRET: &str = "postgres://svc:pa55word0123456789012345678901234567890@db/x";
        let (kind, mut document) = documents().swap_remove(kind);
        let mut places = Vec::new();
        pointers(&document, "", &mut places);
        let value = if as_key { json!({SECRET: SECRET}) } else { json!(SECRET) };
        *document.pointer_mut(&places[place.index(places.len())]).unwrap() = value;
        for strict in [false, true] {
            let verdict = validate(kind, &document, &Options { strict, ..Options::default() });
            let printed = serde_json::to_string(&verdict).unwrap();
            prop_assert!(!printed.contains("pa55word"), "{}", printed);
            prop_assert!(secrets::find(&printed).is_none());
        }
    }

    #[test]
    fn the_order_of_a_lock_table_does_not_matter(
        locks in prop::collection::vec(("T-[1-4]", "[ab](/[ab]){0,3}", any::<bool>(), any::<bool>()), 0..12),
    ) {
        let table = |locks: &[(String, String, bool, bool)]| {
            let lock = |(task, resource, active, shared): &(String, String, bool, bool)| {
                let mode = if *shared { "shared" } else { "exclusive" };
                json!({"task_id": task, "resource": resource, "active": active, "x_mode": mode})
            };
            let table = json!({"locks": locks.iter().map(lock).collect::<Vec<Value>>()});
            let verdict = validate("locks", &table, &Options::default());
            (verdict.code, verdict.details.more.get("conflicts").cloned())
        };
        let mut turned = locks.clone();
        turned.reverse();
        prop_assert_eq!(table(&locks), table(&turned));
    }
}
