//! A task writes below its workspace. A path that leads out is refused wherever a plan comes in, and nothing is written.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::aee;

fn plan(writes: &str) -> Value {
    json!({"objective": "o", "workspace": ".", "task": [{"id": "a", "command": ["true"], "writes": [writes]}]})
}

#[test]
fn a_write_scope_outside_the_workspace_is_refused_at_every_intake() {
    for outside in ["/etc/passwd", "../x", "/", "/etc"] {
        let cli = Cli::writ();
        cli.scratch().write("project/plan.json", plan(outside).to_string());
        cli.scratch()
            .write("project/aee.json", aee("writ.run.plan", json!({"plan": plan(outside)})).to_string());
        for words in [
            &["plan", "check", "plan.json"][..],
            &["run", "plan.json"],
            &["run", "plan.json", "--dry-run"],
            &["ledger", "open", "plan.json"],
            &["plan", "check", "aee.json"],
            &["run", "aee.json"],
        ] {
            let refused = cli.run([words, &["--output", "json"]].concat());
            let document = refused.fails_with(1).json();
            let context = document["error_context"].to_string();
            assert!(context.contains("task[0].writes[0]"), "{outside} {words:?}: {refused}");
            assert!(context.contains("workspace_escape"), "{outside} {words:?}: {refused}");
        }
        let runs = cli.run(["runs", "list", "--output", "json"]).success().json();
        assert_eq!(runs["data"]["count"], 0, "{outside}");
    }
}

#[test]
fn an_absolute_write_scope_in_the_workspace_is_one_of_it() {
    let cli = Cli::writ();
    let inside = cli.project().join("src");
    cli.scratch().write("project/plan.json", plan(inside.to_str().unwrap()).to_string());
    cli.run(["plan", "check", "plan.json"]).success();
    let shown = cli.run(["run", "plan.json", "--dry-run", "--output", "json"]).success().json();
    assert!(!shown["data"].to_string().contains(inside.to_str().unwrap()), "{shown}");
    cli.run(["run", "plan.json"]).success();
}
