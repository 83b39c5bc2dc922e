//! What the store keeps and for how long.

use serde_json::json;
use testkit::Cli;

use crate::documents::writ;
use crate::durable::mutations::Author;

/// A store in which something was begun and finished long ago.
fn old_store() -> Cli {
    let cli = writ();
    let mut author = Author::new(&cli.db(), 1);
    let finished = author.task("finished");
    author.call("task.complete", json!({"id": finished, "outcome": "done", "summary": "well"}));
    author.task("still to do");
    cli
}

#[test]
fn gc_removes_what_is_old_and_the_audit_says_where_the_log_begins() {
    let cli = old_store();
    let would = cli.run(["gc", "--dry-run"]);
    assert!(would.success().stdout.contains("3 old events would be removed"), "{would}");
    assert!(would.stdout.contains("kept: the rest of project:p, which task_"), "{would}");
    let whole = cli.run(["audit", "verify", "--replay", "--output", "json"]).success().json();
    assert_eq!((&whole["data"]["replayed"], &whole["data"]["pruned_events"]), (&json!(true), &json!(0)));

    let call = ["gc", "--output", "json", "--agent", "ann", "--request-id", "g1"];
    let done = cli.run(call);
    assert_eq!(done.success().json()["data"]["done"]["pruned"], 3, "{done}");
    assert_eq!(cli.run(call).success().stdout, done.stdout, "the same answer again");

    let text = cli.run(["audit", "verify", "--replay"]);
    let said = &text.success().stdout;
    assert!(said.contains("integrity: ok") && said.contains("completeness: ok"), "{text}");
    assert!(said.contains("3 old events were removed") && said.contains("replay: not possible"), "{text}");
    let document = cli.run(["audit", "verify", "--replay", "--output", "json"]).success().json();
    assert_eq!(
        (&document["data"]["replayed"], &document["data"]["pruned_events"]),
        (&json!(false), &json!(3))
    );
    let kinds = cli.run(["events", "list", "--all", "--kind", "events_pruned", "--output", "json"]);
    assert_eq!(kinds.success().json()["data"]["count"], 1, "{kinds}");
}

#[test]
fn the_user_decides_how_long_events_are_kept_and_a_project_has_no_say() {
    let cli = old_store();
    cli.scratch().write("project/.writ/config.toml", "events_retention_days = 1\n");
    cli.scratch().write("home/.config/writ/config.toml", "events_retention_days = 3650\n");
    let output = cli.run(["gc"]);
    assert!(output.success().stdout.contains("0 old events removed"), "{output}");
    let shown = cli.run(["config", "show"]);
    assert!(shown.success().stdout.contains("events_retention_days  3650"), "{shown}");
    for (name, number) in
        [("events_retention_days", 3651), ("events_prune_batch", 10_001), ("events_summarize_threshold", 19)]
    {
        cli.scratch().write("home/.config/writ/config.toml", format!("{name} = {number}\n"));
        let refused = cli.run(["gc"]);
        assert!(refused.fails_with(1).stderr.contains(name), "{refused}");
    }
}

#[test]
fn archived_events_are_listed_only_when_asked_for() {
    let cli = old_store();
    let mut author = Author::new(&cli.db(), 2);
    (0..70).for_each(|number| drop(author.task(&number.to_string())));
    drop(author);
    cli.scratch().write(
        "home/.config/writ/config.toml",
        "events_summarize_threshold = 20\nevents_summarize_keep_recent = 5\nevents_retention_days = 3650\n",
    );
    let output = cli.run(["gc"]);
    assert!(output.success().stdout.starts_with("69 events archived in 1 summaries"), "{output}");
    let count = |words: &[&str]| {
        let all = ["events", "list", "--all", "--output", "json"];
        cli.run(all.iter().chain(words)).success().json()["data"]["count"].clone()
    };
    assert_eq!(
        (count(&["--limit", "1000"]), count(&["--limit", "1000", "--include-archived"])),
        (json!(6), json!(75))
    );
}
