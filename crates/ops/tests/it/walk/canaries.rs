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

/// A place in a request, and the canary that comes there.
struct Plant {
    path: String,
    how: How,
}

enum How {
    Replace(Value),
    /// After the text that is there.
    Append(Value),
    Push(Value),
    Field(String, Value),
    /// In the document that the text is.
    Inside(Box<Plant>),
}

impl Plant {
    fn new(path: &str, how: How) -> Self {
        Self { path: path.to_owned(), how }
    }

    /// The request with the canary. `None` if this request has no such place.
    fn planted(&self, request: &Value) -> Option<Value> {
        let mut planted = request.clone();
        let place = planted.pointer_mut(&self.path)?;
        match &self.how {
            How::Replace(secret) => *place = secret.clone(),
            How::Append(secret) => *place = json!(format!("{}/{}", place.as_str()?, secret.as_str()?)),
            How::Push(secret) => place.as_array_mut()?.push(secret.clone()),
            How::Field(name, secret) => {
                place.as_object_mut()?.insert(name.clone(), secret.clone());
            }
            How::Inside(plant) => {
                let document = serde_json::from_str(place.as_str()?).ok()?;
                *place = json!(plant.planted(&document)?.to_string());
            }
        }
        Some(planted)
    }
}

/// Every place for a canary: in each text, each list and each map of the sample, inside texts that are documents, and in
/// the fields that the schema has and the sample has not. Values of the sample are not in it, so that it fits every
/// request that is made in the same way.
fn plants(request: &Value, schema: &Value) -> Vec<Plant> {
    let mut made = Vec::new();
    for path in mutation::paths(request, String::new()) {
        let mut plant = |how| made.push(Plant::new(&path, how));
        match request.pointer(&path) {
            Some(Value::String(text)) => {
                forms().map(How::Replace).into_iter().for_each(&mut plant);
                forms().map(How::Append).into_iter().for_each(&mut plant);
                let inside = inside(text).into_iter();
                inside.map(|other| How::Inside(Box::new(other))).for_each(&mut plant);
            }
            Some(Value::Array(_)) => forms().map(How::Push).into_iter().for_each(&mut plant),
            Some(Value::Object(_)) => {
                plant(How::Field(canary(), json!(1)));
                plant(How::Field("password".to_owned(), json!(NEEDLE.repeat(3))));
                plant(How::Field("x_any".to_owned(), json!([{canary(): canary()}])));
            }
            Some(Value::Null) => forms().map(How::Replace).into_iter().for_each(&mut plant),
            Some(Value::Bool(_) | Value::Number(_)) | None => {}
        }
    }
    for path in mutation::paths(request, String::new()) {
        let Some(Value::Object(fields)) = request.pointer(&path) else { continue };
        for name in names_at(schema, &path).into_iter().filter(|name| !fields.contains_key(name)) {
            for form in forms().into_iter().chain([json!([canary()]), json!({canary(): canary()})]) {
                made.push(Plant::new(&path, How::Field(name.clone(), form)));
            }
        }
    }
    made
}

/// The places in the document that a text is.
fn inside(text: &str) -> Vec<Plant> {
    let Ok(document @ Value::Object(_)) = serde_json::from_str(text) else { return Vec::new() };
    plants(&document, &Value::Null)
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
    for plant in plants(&request, &schema).iter().skip(from).step_by(step) {
        crew.move_on();
        let (key, request) = (sample.prepare)(&mut crew);
        let request = plant.planted(&request).expect("BUG: a sample always has the same places");
        let called = (entry.call)(
            &mut crew.world.cx,
            &key.clone().unwrap_or_else(crate::world::reader),
            request.clone(),
        );
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
    for plant in plants(&request, schema).iter().skip(from).step_by(step) {
        let mut crew = Crew::new();
        let (key, request) = (sample.prepare)(&mut crew);
        let request = plant.planted(&request).expect("BUG: a sample always has the same places");
        let called = (sample.entry().call)(
            &mut crew.world.cx,
            &key.clone().unwrap_or_else(crate::world::reader),
            request.clone(),
        );
        let found = [holding(crew.world.temp.scratch().path()), holding(working_directory())].concat();
        if !found.is_empty() {
            return format!("{request} ({called:?}) leaves it in {found:?}");
        }
    }
    "only several calls together leave it in a file".to_owned()
}

/// So many tests share the requests, because one alone would take too long.
const PARTS: usize = 36;

/// A part has all verbs of one group and one of so many shares of their requests: making a store costs more than a request.
const SHARES: usize = 12;

fn part(number: usize) {
    let groups = PARTS / SHARES;
    let changing = samples().filter(|sample| sample.entry().effect.mutates());
    let group = changing.skip(number % groups).step_by(groups);
    let refused: usize = group.map(|sample| plant(sample, number / groups, SHARES)).sum();
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
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_12: 12,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_13: 13,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_14: 14,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_15: 15,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_16: 16,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_17: 17,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_18: 18,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_19: 19,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_20: 20,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_21: 21,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_22: 22,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_23: 23,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_24: 24,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_25: 25,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_26: 26,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_27: 27,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_28: 28,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_29: 29,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_30: 30,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_31: 31,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_32: 32,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_33: 33,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_34: 34,
    a_secret_in_any_field_of_any_verb_is_in_no_file_of_the_store_part_35: 35,
}

#[test]
fn a_secret_in_any_field_of_a_verb_that_reads_is_not_repeated() {
    let reading = samples().filter(|sample| !sample.entry().effect.mutates());
    reading.for_each(|sample| {
        plant(sample, 0, 1);
    });
}
