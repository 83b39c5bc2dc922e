//! Compares validating with reading the same bytes into plain structs, on one thread.
//!
//! Prints one JSON line per document: `{document, contenders: [{name, median_us}]}`, ours first.
#![expect(clippy::print_stdout, reason = "what it prints is its answer")]

mod plain;

use std::hint::black_box;
use std::time::Instant;

use contract::validate::{Kind, ValidateOptions, schema, validate};
use serde_json::{Value, json};

/// The whole TASK of AOP's section 2.2.
const TASK: &str = include_str!("../../../../contract/vectors/aop/valid/c-2.2-task-full.json");
/// A layer's decision, as in section 6 of the binding of AOCL to AEE.
const EVENT: &str = include_str!("layer-decision.json");

/// Calls in one measurement: enough to make the cost of reading the clock negligible.
const CALLS: u32 = 200;

fn main() {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(60_usize);
    println!("{}", measured("aop_task", Kind::Aop, TASK.as_bytes(), rounds, typed_task));
    println!("{}", measured("aee_event", Kind::Aee, EVENT.as_bytes(), rounds, typed_event));
}

type Contender<'a> = (&'static str, &'a dyn Fn(&[u8]));

fn typed_task(bytes: &[u8]) {
    black_box(serde_json::from_slice::<plain::Task>(bytes).expect("BUG: the document fits its structs"));
}

fn typed_event(bytes: &[u8]) {
    black_box(serde_json::from_slice::<plain::Envelope>(bytes).expect("BUG: the document fits its structs"));
}

/// Runs the contenders in turn, so that a busy machine slows all of them, and returns the medians.
fn measured(name: &str, kind: Kind, bytes: &[u8], rounds: usize, typed: fn(&[u8])) -> Value {
    let options = ValidateOptions::default();
    assert!(validate(Some(kind), bytes, &options).allow, "BUG: {name} is valid");
    let schema = schema::of(kind, false).expect("BUG: the kind has a schema");
    let schema = jsonschema::options().build(&schema).expect("BUG: our schemas are schemas");
    let ours = |bytes: &[u8]| drop(black_box(validate(Some(kind), bytes, &options)));
    let value = |bytes: &[u8]| drop(black_box(serde_json::from_slice::<Value>(bytes)));
    let strict = |bytes: &[u8]| drop(black_box(contract::json::strict::parse(bytes)));
    let by_schema = |bytes: &[u8]| {
        let value: Value = serde_json::from_slice(bytes).expect("BUG: the document is JSON");
        black_box(schema.is_valid(&value));
    };
    let contenders: [Contender<'_>; 5] = [
        ("validate", &ours),
        ("serde_json into structs", &typed),
        ("serde_json into a tree", &value),
        ("strict parsing alone", &strict),
        ("jsonschema", &by_schema),
    ];
    let mut costs = vec![Vec::new(); contenders.len()];
    for round in 0..=rounds {
        for ((_, run), costs) in contenders.iter().zip(&mut costs) {
            let started = Instant::now();
            (0..CALLS).for_each(|_| run(black_box(bytes)));
            let cost = started.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS);
            // The first round warms up.
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    let row = |((name, _), costs): (&(&str, _), Vec<f64>)| json!({"name": name, "median_us": median(costs)});
    json!({"document": name, "contenders": contenders.iter().zip(costs).map(row).collect::<Vec<_>>()})
}

fn median(mut costs: Vec<f64>) -> f64 {
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}
