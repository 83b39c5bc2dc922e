#![expect(clippy::disallowed_methods, reason = "the vectors are files")]

use std::path::Path;

use serde_json::json;

use super::*;

/// Runs every case below a folder and gives the names of those that passed and the reasons of those that did not.
fn run_folder(root: &Path) -> (Vec<String>, Vec<String>) {
    let mut passed = Vec::new();
    let mut failed = Vec::new();
    for path in files_below(root) {
        let relative = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let bytes = std::fs::read(&path).unwrap();
        for case in cases(&VectorFile { path: &relative, bytes: &bytes }) {
            let beside = path.parent().unwrap();
            let files: Vec<Vec<u8>> =
                case.needs.iter().map(|name| std::fs::read(beside.join(name)).unwrap()).collect();
            match case.run(&files) {
                Ok(()) => passed.push(case.name),
                Err(mismatch) => failed.push(format!("{}: {mismatch}", case.name)),
            }
        }
    }
    (passed, failed)
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn every_vector_of_this_crate_passes() {
    let (passed, failed) = run_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors"));
    assert_eq!(failed, Vec::<String>::new());
    assert!(passed.len() > 60, "only {} cases were found", passed.len());
}

const MINIMAL: &[u8] = include_bytes!("../../vectors/aop/valid/c-2.1-task-minimal.json");

fn outcome(vector: &Value, file: &[u8]) -> String {
    let index = json!({"cases": [vector]}).to_string();
    let found = cases(&VectorFile { path: "cases.json", bytes: index.as_bytes() });
    let [case] = found.as_slice() else { return format!("{} cases", found.len()) };
    let files: Vec<Vec<u8>> = case.needs.iter().map(|_| file.to_vec()).collect();
    case.run(&files).map_or_else(|mismatch| mismatch.to_string(), |()| "passed".to_owned())
}

#[test]
fn a_failing_case_says_why() {
    let message = |kind: &str, expect: Value| json!({"file": "a.json", "kind": kind, "expect": expect});
    insta::assert_snapshot!(outcome(&message("TASK", json!({"allow": true})), MINIMAL), @"passed");
    insta::assert_snapshot!(outcome(&message("TASK", json!({"allow": false})), MINIMAL), @r#"expected {"allow":false}, got OK: a valid TASK"#);
    insta::assert_snapshot!(outcome(&message("TASK", json!({"allow": false, "code": "E_TIMEOUT"})), b"{"), @r#"expected {"allow":false,"code":"E_TIMEOUT"}, got E_PARSE_FAILURE: $: EOF while parsing an object at line 1 column 1"#);
    insta::assert_snapshot!(outcome(&message("RESPONSE", json!({"allow": true})), MINIMAL), @"expected a RESPONSE, got a TASK");
    insta::assert_snapshot!(outcome(&message("TASK", json!({"allow": true, "warnings": ["E_X"]})), MINIMAL), @r#"expected the warnings ["E_X"], got []"#);
    let detection = json!({"name": "n", "input": "hello", "expect": {"version": "v1"}});
    insta::assert_snapshot!(outcome(&detection, b""), @r#"expected {"version":"v1"}, got {"code":"E_PARSE_FAILURE","fallback":false,"version":"unstructured"}"#);
}

#[test]
fn recipes_make_large_messages() {
    let recipe = |set: Value, expect: Value| {
        outcome(&json!({"name": "n", "base": "b.json", "set": set, "expect": expect}), MINIMAL)
    };
    let padding = json!({"extensions.x_padding": {"repeat": "ab", "times": 150_000}});
    assert_eq!(recipe(padding, json!({"allow": false, "code": "E_CONTEXT_OVERFLOW"})), "passed");
    let copies = json!({"task.inputs": {"copies": {"type": "FILE"}, "times": 2}, "task.attempt": 2});
    assert_eq!(recipe(copies, json!({"allow": true, "warnings": []})), "passed");
    let huge = json!({"task.inputs": {"copies": "x", "times": 1_000_000_000}});
    insta::assert_snapshot!(recipe(huge, json!({"allow": false})), @"the recipe generates too much");
    let through = json!({"task.objective.x": 1});
    insta::assert_snapshot!(recipe(through, json!({"allow": false})), @"`task.objective.x` goes through a value that is not an object");
}

#[test]
fn a_case_reads_nothing_outside_its_folder() {
    for path in ["../secret.json", "/etc/passwd", "a/../../b.json", "C:/x.json", "a\\..\\b"] {
        let vector = json!({"file": path, "kind": "TASK", "expect": {"allow": false}});
        assert_eq!(outcome(&vector, b""), "names a file outside its folder");
    }
}

#[test]
fn an_unknown_file_has_no_cases() {
    for (path, bytes) in [("a.json", "{}"), ("b.json", "{"), ("README.md", "Task: x"), ("c.json", "[1]")] {
        assert!(cases(&VectorFile { path, bytes: bytes.as_bytes() }).is_empty(), "{path}");
    }
}
