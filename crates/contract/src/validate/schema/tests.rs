#![expect(clippy::disallowed_methods, reason = "the vectors are files")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use super::of;
use crate::conformance::{VectorFile, cases};
use crate::domain::executor::ExecutorName;
use crate::json::strict;
use crate::plan::{CommandUse, KnownExecutor, PromptUse};
use crate::validate::{Kind, ValidateOptions, validate};

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The documents of the vectors, by kind; of a kind with one document per line, the lines.
fn documents() -> BTreeMap<Kind, Vec<Value>> {
    let mut found: BTreeMap<Kind, Vec<Value>> = BTreeMap::new();
    for path in files_below(&vectors()) {
        let bytes = std::fs::read(&path).unwrap();
        let relative = path.strip_prefix(vectors()).unwrap().to_str().unwrap().to_owned();
        for case in cases(&VectorFile { path: &relative, bytes: &bytes }) {
            let folder = path.parent().unwrap();
            let needed: Vec<Vec<u8>> =
                case.needs.iter().map(|name| std::fs::read(folder.join(name)).unwrap()).collect();
            let Ok(question) = case.question(&needed) else { continue };
            let (Some(kind), Some(input)) = (question["kind"].as_str(), question["input"].as_str()) else {
                continue;
            };
            let kind = Kind::named(kind).unwrap();
            let documents = match kind {
                Kind::Trace => Vec::new(),
                Kind::Worklog => {
                    input.lines().filter_map(|line| strict::parse(line.as_bytes()).ok()).collect()
                }
                _ => strict::parse(input.as_bytes()).ok().into_iter().collect::<Vec<_>>(),
            };
            found
                .entry(kind)
                .or_default()
                .extend(documents.into_iter().filter(|d| d.to_string().len() < 20_000));
        }
    }
    let plan = json!({"objective": "o", "task": [{"id": "a", "command": ["true"], "writes": ["x"], "env": {"A": "b"},
        "checks": [{"command": ["true"], "expects": "EXIT_CODE_0"}], "timeout": "5m", "budget": {"cost_usd": "1.5"}},
        {"id": "b", "command": ["true"], "depends_on": ["a"]}]});
    found.entry(Kind::Plan).or_default().push(plan);
    let answers = [
        json!({"schema_version": "v1", "success": true, "data": {"a": 1}}),
        json!({"schema_version": "v1", "success": false, "error": "e", "error_code": "C", "error_context": {}}),
    ];
    found.entry(Kind::Continuity).or_default().extend(answers);
    found
}

/// The rules that a schema cannot express: (kind, rule), from the list that is published with the vectors.
fn beyond() -> BTreeSet<(String, String)> {
    let list = list();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    list.iter().map(|row| (text(row, "kind"), text(row, "rule"))).collect()
}

fn list() -> Vec<Value> {
    let list: Value =
        serde_json::from_slice(&std::fs::read(vectors().join("beyond-schema.json")).unwrap()).unwrap();
    list["rules"].as_array().unwrap().clone()
}

fn judged(kind: Kind, document: &Value, strict: bool) -> crate::verdict::Verdict {
    let mut text = document.to_string();
    if kind == Kind::Worklog {
        text.push('\n');
    }
    let executors = [
        KnownExecutor {
            name: ExecutorName::shell(),
            prompt: PromptUse::Unused,
            command: CommandUse::Required,
        },
        KnownExecutor {
            name: ExecutorName::aop_stdio(),
            prompt: PromptUse::Required,
            command: CommandUse::Required,
        },
    ];
    validate(
        Some(kind),
        text.as_bytes(),
        &ValidateOptions { strict, executors: &executors, ..ValidateOptions::default() },
    )
}

/// Disagreements of the schema and the code about a document, except by a listed rule.
fn disagreement(kind: Kind, strict: bool, schema: &Validator, document: &Value) -> Vec<String> {
    static LISTED: LazyLock<BTreeSet<(String, String)>> = LazyLock::new(beyond);
    let verdict = judged(kind, document, strict);
    match (schema.is_valid(document), verdict.allow) {
        (true, true) | (false, false) => Vec::new(),
        (false, true) => {
            let faults: Vec<String> = schema.iter_errors(document).map(|error| error.to_string()).collect();
            vec![format!("{kind} strict={strict}: only the schema refuses: {faults:?} {document}")]
        }
        (true, false) => {
            let unlisted = verdict
                .details
                .findings
                .iter()
                .filter(|finding| !LISTED.contains(&(kind.to_string(), finding.rule.to_owned())));
            unlisted
                .map(|finding| {
                    format!("{kind} strict={strict}: only the code refuses: [{}] {finding}", finding.rule)
                })
                .collect()
        }
    }
}

/// Values that a mutation may insert anywhere.
static INTRUDERS: LazyLock<Vec<Value>> = LazyLock::new(intruders);

fn intruders() -> Vec<Value> {
    let texts = [
        "", " ", "\u{a0}", "x", "é", "DONE", "done", "v1", "1", "2.0", "T-1", "x_y", "src", "../x", "a*", "/",
    ];
    let times = [
        "2026-02-30T00:00:00Z",
        "2026-01-26T12Z",
        "2026-01-26T12:00:00",
        "2026-01-26t12:00:00.5z",
        "20260126T120000Z",
        "2026-01-26T12:00:60Z",
        "2026-01-26T12:00:00+01:00",
        "2026-01-26T12:00:00Z[UTC]",
    ];
    let mut all: Vec<Value> = texts.iter().chain(&times).map(|text| json!(text)).collect();
    all.extend([
        json!("y".repeat(600)),
        json!("y".repeat(6000)),
        json!("3f56dc4d-35cf-4f97-925c-0b04a6fe8bf4"),
    ]);
    all.extend([
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1),
        json!(1.0),
        json!(1.5),
    ]);
    all.extend([json!(101), json!(1e17), json!(-1e300), json!(9_007_199_254_740_992_i64)]);
    all.extend([
        json!([]),
        json!({}),
        json!([1]),
        json!([""]),
        json!({"a": 1}),
        json!({"x_a": 1}),
        json!([{}]),
    ]);
    all
}

#[derive(Debug, Clone)]
struct Mutation {
    /// Which node, counted through the document; which of its members or items; what is done there.
    node: usize,
    member: usize,
    deed: usize,
    intruder: usize,
}

fn any_mutation() -> impl Strategy<Value = Mutation> {
    (0..200_usize, 0..30_usize, 0..6_usize, 0..INTRUDERS.len())
        .prop_map(|(node, member, deed, intruder)| Mutation { node, member, deed, intruder })
}

fn mutate(document: &mut Value, mutation: &Mutation) {
    let total = count(document);
    let mut left = mutation.node % total;
    let node = find(document, &mut left).unwrap();
    let intruder = INTRUDERS[mutation.intruder].clone();
    match (node, mutation.deed) {
        (Value::Object(fields), 0) => {
            let name = fields.keys().nth(mutation.member % fields.len().max(1)).cloned();
            name.map(|name| fields.remove(&name));
        }
        (Value::Object(fields), 1) => {
            fields.insert("zzz".to_owned(), intruder);
        }
        (Value::Object(fields), 2) => {
            fields.insert("x_more".to_owned(), intruder);
        }
        (Value::Array(items), 0 | 1) if !items.is_empty() => {
            items.remove(mutation.member % items.len());
        }
        (Value::Array(items), 2 | 3) => {
            let copies = items.first().cloned().unwrap_or(intruder);
            items.extend(vec![copies; 1 + mutation.member * 4]);
        }
        (node, _) => *node = intruder,
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn find<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| find(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|item| find(item, left)),
        _ => None,
    }
}

#[test]
fn schema_and_code_agree_about_mutated_documents() {
    const ROUNDS: usize = 150;
    let mut wrong: BTreeSet<String> = BTreeSet::new();
    let config = Config { failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let strategy = (any::<prop::sample::Index>(), prop::collection::vec(any_mutation(), 1..4));
    for (kind, documents) in documents().into_iter().filter(|(_, documents)| !documents.is_empty()) {
        for strict in [false, true] {
            let Some(schema) = of(kind, strict) else { continue };
            let schema = jsonschema::options().build(&schema).unwrap();
            for document in &documents {
                wrong.extend(disagreement(kind, strict, &schema, document));
            }
            for _ in 0..ROUNDS {
                let (index, mutations) = strategy.new_tree(&mut runner).unwrap().current();
                let mut document = documents[index.index(documents.len())].clone();
                for mutation in &mutations {
                    mutate(&mut document, mutation);
                }
                wrong.extend(disagreement(kind, strict, &schema, &document));
            }
        }
    }
    let mut seen = BTreeSet::new();
    let head = |text: &String| text.split(['$', '{']).next().unwrap_or_default().to_owned();
    let shown: Vec<&String> = wrong.iter().filter(|text| seen.insert(head(text))).collect();
    assert!(wrong.is_empty(), "{} disagreements\n{shown:#?}", wrong.len());
}

/// The document of the vector that a row names.
fn of_vector(row: &Value) -> Value {
    let base: Value =
        serde_json::from_slice(&std::fs::read(vectors().join(row["from"].as_str().unwrap())).unwrap())
            .unwrap();
    let base = match row["case"].as_str() {
        Some(name) => {
            base["cases"].as_array().unwrap().iter().find(|case| case["name"] == name).unwrap().clone()
        }
        None => base,
    };
    let mut document = if base.get("validator").is_some() { base["input"].clone() } else { base };
    if row["line"].is_u64() {
        document = document[usize::try_from(row["line"].as_u64().unwrap()).unwrap()].clone();
    }
    document
}

/// A listed document: its own, or one of a vector, with some of its members set.
fn made(row: &Value) -> Value {
    let mut document = row.get("document").cloned().unwrap_or_else(|| of_vector(row));
    for (pointer, value) in row["set"].as_object().unwrap_or(&Map::new()) {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let value = &match (value["repeat"].as_str(), value["times"].as_u64(), value["parts"].as_array()) {
            (Some(text), Some(times), _) => json!(text.repeat(usize::try_from(times).unwrap())),
            // What looks like a secret is kept in parts.
            (_, _, Some(parts)) => json!(parts.iter().filter_map(Value::as_str).collect::<String>()),
            _ => value.clone(),
        };
        match document.pointer_mut(parent).unwrap() {
            Value::Object(fields) if value == "(removed)" => drop(fields.remove(name)),
            Value::Object(fields) => drop(fields.insert(name.to_owned(), value.clone())),
            Value::Array(items) if name == "-" => items.push(value.clone()),
            Value::Array(items) => items[name.parse::<usize>().unwrap()] = value.clone(),
            other => panic!("{pointer} is in {other}"),
        }
    }
    document
}

#[test]
fn every_listed_rule_is_one_that_only_the_code_has() {
    for row in list() {
        let kind = Kind::named(row["kind"].as_str().unwrap()).unwrap();
        let strict = row["strict"] == true;
        let document = made(&row);
        let schema = jsonschema::options().build(&of(kind, strict).unwrap()).unwrap();
        assert!(schema.is_valid(&document), "the schema does refuse {row}");
        let verdict = judged(kind, &document, strict);
        let found = verdict.details.findings.iter().any(|finding| finding.rule == row["rule"]);
        assert!(!verdict.allow && found, "{row}: {}", json!(verdict));
    }
}

/// A changed schema shows up here; accept its new digest in the commit that changes it.
#[test]
fn published_schemas_change_only_on_purpose() {
    let mut lines = String::new();
    for kind in Kind::ALL {
        for (mode, strict) in [("lenient", false), ("strict", true)] {
            let Some(schema) = of(*kind, strict) else { continue };
            let digest = crate::digest::of_bytes(schema.to_string().as_bytes());
            lines.push_str(&format!("{kind} {mode} {}\n", &digest["sha256:".len()..][..16]));
        }
    }
    insta::assert_snapshot!(lines, @"
    assignment lenient 224d43692cda5b5e
    assignment strict f9d8f484a694777e
    locks lenient 20b28b3713d06c51
    locks strict a133fa460c0ac719
    result lenient 24d23ae6ea505ffc
    result strict 0196855ecce65901
    worklog lenient dc02b11d68a03004
    worklog strict e815aa14ba339ce3
    worklog-entry lenient aec39c2b84884cbd
    worklog-entry strict 55970a66248baba4
    handoff lenient 59aab4c805eefcc3
    handoff strict 63074f449c562881
    orchestrator lenient 9fbf806c113c575f
    orchestrator strict 215c63b17e24dbae
    deltas lenient 127e2be8a3938b57
    deltas strict 4007b10d8bcbf0d9
    reconcile lenient 8645958d1c8b8233
    reconcile strict 19948da8946994fd
    watchdog lenient d954f605b102ba48
    watchdog strict 5928c2bd7ee792d4
    aop lenient d2705cfbc8ae427c
    aop strict 6d95b8f50fdc708b
    aop-audit lenient 5923eec01cf0d2bd
    aop-audit strict 5923eec01cf0d2bd
    aee lenient 9bdc9f900143a4bd
    aee strict c49ad25378d2f690
    stack lenient fdfd19c6afd414f9
    stack strict 3d117aff095cde5d
    trace lenient 750999ae6f238931
    trace strict 76b723118587857e
    bridge lenient 972be146b6eb7b45
    bridge strict a6ee2f7781741c6f
    candidate lenient e4c9e0032c661516
    candidate strict e4c9e0032c661516
    harvest lenient 624140d84ad82724
    harvest strict c319bd9cd7f910bc
    constraint lenient 8ace519aec0c40eb
    constraint strict 0a4a0ca2c4d194cc
    stage1 lenient 4a6627e1a1ecf03c
    stage1 strict ddc180645f6c26da
    memrl lenient e22bc1833ae6aedf
    memrl strict d904f8be2c09ff36
    council lenient 487dedf0d3ab8625
    council strict df82bf0b8f74d907
    continuity lenient a9419f7efb8fec26
    continuity strict 0fb8b27b0daec296
    plan lenient d336013b5e436dc6
    plan strict d336013b5e436dc6
    ");
}
