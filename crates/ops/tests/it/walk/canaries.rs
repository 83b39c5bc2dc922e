//! Plants a secret in every field of every verb's request: it is refused or scrubbed, and in no file of the store.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use contract::domain::code::ErrorCode;
use contract::json::{Map, Value};
use serde_json::json;
use testkit::Scratch;

use super::{Sample, mutation, samples};
use crate::crew_world::Crew;

/// Only the canary has these letters in this order. They are looked for in lower case: names are folded.
const NEEDLE: &str = "c4n4ry";

/// The same for tokens of writ, whose secret part is hexadecimal: four times this.
const HEX_NEEDLE: &str = "c4fec0de0ff1ce55";

/// A made-up token, kept in parts so that scanners of the repository stay quiet.
fn canary() -> String {
    ["gh", "p_", &NEEDLE.repeat(7)].concat()
}

fn key_block() -> String {
    let body = format!("{}\n", NEEDLE.repeat(9)).repeat(9);
    ["-----BEGIN ", "PRIVATE KEY-----\n", &body, "-----END ", "PRIVATE KEY-----"].concat()
}

/// The forms in which a secret comes: alone, among other words, on many lines, by the name of its field, and as the
/// tokens of writ itself.
fn forms() -> [Value; 6] {
    let assigned = ["pass", "word=", NEEDLE, "1", NEEDLE].concat();
    let access = format!("writ_{}_{}", "0".repeat(26), HEX_NEEDLE.repeat(4));
    let among_words = format!("some words {} and more", canary());
    let proof = format!("7-{}", HEX_NEEDLE.repeat(4));
    [json!(canary()), json!(among_words), json!(key_block()), json!(assigned), json!(access), json!(proof)]
}

/// Whether a text has a part of a canary.
fn has_canary(text: &str) -> bool {
    let text = text.to_lowercase();
    [NEEDLE, HEX_NEEDLE].iter().any(|needle| text.contains(needle))
}

/// Every request with a canary in one place: in each text, each list and each map of the sample, inside texts that are
/// documents, and in the fields that the schema has and the sample has not.
fn planted(request: &Value, schema: &Value) -> Vec<Value> {
    let mut made = Vec::new();
    for path in mutation::paths(request, String::new()) {
        match request.pointer(&path) {
            Some(Value::String(text)) => {
                let longer = forms().into_iter().map(|form| match &form {
                    Value::String(secret) => json!(format!("{text}/{secret}")),
                    _ => form,
                });
                let all: Vec<Value> = forms().into_iter().chain(longer).chain(inside(text)).collect();
                made.extend(
                    all.into_iter().map(|other| mutation::with(request, &path, |place| *place = other)),
                );
            }
            Some(Value::Array(_)) => made.extend(forms().map(|form| {
                mutation::with(request, &path, |place| place.as_array_mut().unwrap().push(form))
            })),
            Some(Value::Object(_)) => {
                made.push(mutation::with(request, &path, |place| place[canary()] = json!(1)));
                made.push(mutation::with(request, &path, |place| {
                    place["password"] = json!(NEEDLE.repeat(3));
                }));
                made.push(mutation::with(request, &path, |place| {
                    place["x_any"] = json!([{canary(): canary()}]);
                }));
            }
            Some(Value::Null) => {
                made.extend(forms().map(|form| mutation::with(request, &path, |place| *place = form)));
            }
            Some(Value::Bool(_) | Value::Number(_)) | None => {}
        }
    }
    for path in mutation::paths(request, String::new()) {
        let Some(Value::Object(fields)) = request.pointer(&path) else { continue };
        for name in names_at(schema, &path).into_iter().filter(|name| !fields.contains_key(name)) {
            for form in forms().into_iter().chain([json!([canary()]), json!({canary(): canary()})]) {
                made.push(mutation::with(request, &path, |place| place[&name] = form));
            }
        }
    }
    made
}

/// The documents that a text is, with a canary in each of their fields.
fn inside(text: &str) -> Vec<Value> {
    let Ok(document @ Value::Object(_)) = serde_json::from_str(text) else { return Vec::new() };
    planted(&document, &Value::Null).into_iter().map(|document| json!(document.to_string())).collect()
}

/// The names of fields that a schema has at a path, wherever they are defined.
fn names_at(schema: &Value, path: &str) -> BTreeSet<String> {
    let mut here = vec![schema];
    for step in path.split('/').skip(1) {
        here = here
            .into_iter()
            .flat_map(|node| alternatives(schema, node))
            .filter_map(|node| {
                node["properties"]
                    .get(step)
                    .or_else(|| node.get("items"))
                    .or_else(|| node.get("additionalProperties"))
            })
            .collect();
    }
    let objects = here.into_iter().flat_map(|node| alternatives(schema, node));
    objects.filter_map(|node| node["properties"].as_object()).flat_map(Map::keys).cloned().collect()
}

/// A schema and what it refers to.
fn alternatives<'s>(root: &'s Value, node: &'s Value) -> Vec<&'s Value> {
    let referred = node["$ref"].as_str().and_then(|name| root.pointer(name.trim_start_matches('#')));
    let several = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|name| node[name].as_array()).flatten();
    let below = referred.into_iter().chain(several).flat_map(|node| alternatives(root, node));
    std::iter::once(node).chain(below).collect()
}

/// The files below a directory that hold a canary.
fn holding(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path));
            continue;
        }
        let text = std::fs::read(&path).unwrap();
        if has_canary(&String::from_utf8_lossy(&text)) || has_canary(&path.to_string_lossy()) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Where relative paths of requests lead: one directory for all tests of the process, which must stay empty.
fn working_directory() -> &'static Path {
    static SCRATCH: OnceLock<Scratch> = OnceLock::new();
    let scratch = SCRATCH.get_or_init(|| {
        let scratch = Scratch::new();
        std::env::set_current_dir(scratch.path()).unwrap();
        scratch
    });
    scratch.path()
}

/// Calls the verb with every `step`-th planted request, from `from` on. Returns how many were refused for the secret.
fn plant(sample: &Sample, from: usize, step: usize) -> usize {
    let here = working_directory();
    let entry = sample.entry();
    let schema = (entry.request_schema)();
    let mut crew = Crew::new();
    let (_, request) = (sample.prepare)(&mut crew);
    let mut refused = 0;
    for number in (from..planted(&request, &schema).len()).step_by(step) {
        crew.move_on();
        let (key, request) = (sample.prepare)(&mut crew);
        let Some(request) = planted(&request, &schema).into_iter().nth(number) else { continue };
        let called = (entry.call)(&mut crew.world.cx, key.as_ref(), request.clone());
        let Err(error) = called else { continue };
        let said = format!("{error} {:?} {}", error.hint, error.details).to_lowercase();
        assert!(!has_canary(&said), "{} repeats it: {said}", sample.verb);
        assert_ne!(error.code, ErrorCode::Bug, "{}: {error}: {request}", sample.verb);
        refused += usize::from(said.contains("secret"));
    }
    let found = [holding(crew.world.temp.scratch().path()), holding(here)].concat();
    assert!(
        found.is_empty(),
        "{} leaves it in {found:?}: {}",
        sample.verb,
        culprit(sample, &schema, from, step)
    );
    refused
}

/// The first planted request that leaves the canary in a file.
fn culprit(sample: &Sample, schema: &Value, from: usize, step: usize) -> String {
    let (_, request) = (sample.prepare)(&mut Crew::new());
    for number in (from..planted(&request, schema).len()).step_by(step) {
        let mut crew = Crew::new();
        let (key, request) = (sample.prepare)(&mut crew);
        let request = planted(&request, schema).swap_remove(number);
        let called = (sample.entry().call)(&mut crew.world.cx, key.as_ref(), request.clone());
        let found = [holding(crew.world.temp.scratch().path()), holding(working_directory())].concat();
        if !found.is_empty() {
            return format!("{request} ({called:?}) leaves it in {found:?}");
        }
    }
    "only several calls together leave it in a file".to_owned()
}

/// So many tests share the requests, because one alone would take too long.
const PARTS: usize = 12;

fn part(number: usize) {
    let changing = samples().filter(|sample| sample.entry().effect.mutates());
    let refused: usize = changing.map(|sample| plant(sample, number, PARTS)).sum();
    assert!(refused > 100 / PARTS, "{refused} were refused");
}

macro_rules! parts {
    ($($name:ident: $number:literal),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                part($number);
            }
        )*

        #[test]
        fn the_parts_are_all_there() {
            assert_eq!([$($number),*], std::array::from_fn::<usize, PARTS, _>(|number| number));
        }
    };
}

parts! {
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_0: 0,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_1: 1,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_2: 2,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_3: 3,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_4: 4,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_5: 5,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_6: 6,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_7: 7,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_8: 8,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_9: 9,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_10: 10,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_11: 11,
}

#[test]
fn a_secret_in_any_field_of_a_verb_that_reads_is_not_repeated() {
    let reading = samples().filter(|sample| !sample.entry().effect.mutates());
    reading.for_each(|sample| {
        plant(sample, 0, 1);
    });
}
