//! The guide for crews: its example is run as it is printed, and its table names every extension of the documents.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use testkit::Cli;

const LINES_MAX: usize = 30;

fn guide() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/crew.md");
    std::fs::read_to_string(path).unwrap()
}

/// The shell commands of the example.
fn example(guide: &str) -> String {
    let after = guide.split("## A crew of two shell workers").nth(1).unwrap();
    let code = after.split("```sh\n").nth(1).unwrap();
    code.split("```").next().unwrap().to_owned()
}

#[test]
fn the_example_of_the_guide_works_as_it_is_printed() {
    let script = example(&guide());
    assert!(script.lines().count() < LINES_MAX, "{} lines", script.lines().count());
    let cli = Cli::writ();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_writ"));
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let shell = Cli::new("/bin/sh").env("WRIT_DB", cli.db()).env("PATH", path);
    let words = ["-euc".to_owned(), script];
    shell.call(words).in_dir(cli.project()).run().success();
    let runs = cli.run(["runs", "list", "--output", "json"]).success().json();
    assert_eq!(runs["data"]["runs"][0]["state"], "done", "{runs}");
    assert!(cli.scratch().read(cli.project().join("index.txt")).contains("two.txt"));
    cli.run(["audit", "verify", "--replay"]).success();
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
}

/// Collects the names of properties that begin with `x_`.
fn extensions(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let named = fields.get("properties").and_then(Value::as_object);
            let names = named.into_iter().flatten().map(|(name, _)| name);
            found.extend(names.filter(|name| name.starts_with("x_")).cloned());
            fields.values().for_each(|field| extensions(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| extensions(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_table_of_the_guide_names_every_extension() {
    let guide = guide();
    let cli = Cli::writ();
    let mut found = BTreeSet::new();
    let kinds = ["assignment", "orchestrator", "result", "worklog-entry", "handoff", "locks", "deltas"];
    for kind in kinds {
        extensions(&cli.run(["schema", "show", kind]).success().json(), &mut found);
    }
    assert!(found.len() >= 10, "{found:?}");
    let missing: Vec<&String> = found.iter().filter(|name| !guide.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/crew.md does not name {missing:?}");
}
