//! The commands themselves: help, completions, configuration, published files, the audit.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Cli, Output};

use crate::bad_stores::sqlite;
use crate::documents::{plan, scripted, with, writ};
use crate::read_back::work;

/// A file of this repository.
fn published(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let list = help.lines().take_while(|line| !line.ends_with("ptions:"));
    let names = list.filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    names.map(|(name, _)| name.to_owned()).filter(|name| name.starts_with(char::is_lowercase)).collect()
}

/// Every command with the words that lead to it, found by asking each for its help.
fn commands(cli: &Cli) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut pending = vec![Vec::new()];
    while let Some(words) = pending.pop() {
        let help = cli.run(words.iter().map(String::as_str).chain(["--help"]));
        assert_eq!(help.success().stderr, "");
        assert!(help.stdout.contains("Usage: writ"), "{help}");
        pending.extend(listed(&help.stdout).into_iter().map(|name| [words.clone(), vec![name]].concat()));
        found.push(words);
    }
    found
}

#[test]
fn every_command_has_help_and_touches_nothing_for_it() {
    let cli = writ();
    let found = commands(&cli);
    let spoken: BTreeSet<String> = found.iter().map(|words| words.join(" ")).collect();
    for words in ["init", "run", "plan schema", "task set-status", "events list", "audit tip", "completions"]
    {
        assert!(spoken.contains(words), "`writ {words}` is in no list of commands: {spoken:?}");
    }
    assert!(!cli.db().exists());
}

#[test]
fn words_that_are_no_command_are_usage_errors() {
    let cli = writ();
    let output = cli.run(["rnu", "plan.toml"]);
    assert!(output.fails_with(2).stderr.contains("unrecognized subcommand 'rnu'"), "{output}");
    assert!(cli.run(["run"]).fails_with(2).stderr.contains("<FILE"));
    let json = cli.run(["run", "--output", "json"]).fails_with(2).json();
    assert_eq!((&json["error_code"], &json["success"]), (&json!("USAGE"), &json!(false)));
    assert!(cli.run(["--version"]).success().stdout.starts_with("writ "));
}

#[test]
fn without_words_programs_get_the_list_of_commands() {
    let cli = writ();
    let nothing: [&str; 0] = [];
    let index = cli.run(nothing).success().json();
    assert_eq!(index["data"]["commands"], json!(listed(&cli.run(["--help"]).success().stdout)));
}

#[test]
fn completions_are_scripts_that_know_every_command() {
    let cli = writ();
    let names = listed(&cli.run(["--help"]).success().stdout);
    for shell in ["bash", "zsh", "fish"] {
        let script = cli.run(["completions", shell]);
        for name in &names {
            assert!(script.success().stdout.contains(name.as_str()), "{shell} does not know `{name}`");
        }
    }
    let script = cli.run(["completions", "bash"]).success().stdout.clone();
    let path = cli.scratch().write("completions.bash", script);
    Cli::new("bash").run(["-n", path.to_str().unwrap()]).success();
    cli.run(["completions", "cobol"]).fails_with(2);
}

#[test]
fn the_configuration_is_shown_with_its_sources() {
    let cli = writ();
    let user = cli.scratch().write(
        "home/.config/writ/config.toml",
        "[policy]\ndeny_shell = true\n[executors.emma]\ncommand = [\"emma\", \"-q\"]\n",
    );
    let project = cli.scratch().write("project/.writ/config.toml", "[policy]\ntimeout_max = \"1h\"\n");
    let inside = cli.scratch().dir("project/deep/inside");
    let output = cli.call(["config", "show", "--output", "json", "--agent", "ann"]).in_dir(inside).run();
    let shown = output.success().json();
    let row = |name: &str, value: &str, from: &str| json!({"name": name, "value": value, "from": from});
    let [user, project] = [&user, &project].map(|path| path.to_str().unwrap());
    let expected = json!([
        row("store", cli.db().to_str().unwrap(), "WRIT_DB"),
        row("agent", "ann", "--agent"),
        row("user configuration", user, "read"),
        row("project configuration", project, "read"),
        row("executors.emma", "emma -q", user),
        row("policy.deny_shell", "true", user),
        row("policy.timeout_max", "1h", project),
    ]);
    assert_eq!(shown["data"]["values"], expected);
    let set = shown["data"]["environment"].as_array().unwrap();
    let is_set = |name: &str| set.iter().find(|variable| variable["name"] == name).unwrap()["set"].clone();
    assert_eq!((is_set("WRIT_DB"), is_set("WRIT_AGENT")), (json!(true), json!(false)));
    let text = cli.run(["config", "show"]);
    assert!(text.success().stdout.contains("policy.deny_shell      true"), "{text}");
    assert!(!cli.db().exists(), "showing the configuration needs no store");
}

#[test]
fn the_store_is_where_the_nearest_word_says() {
    let cli = writ();
    let of = |output: Output| output.success().json()["data"]["db"].clone();
    let at = |name: &str| cli.scratch().join(name);
    let place =
        |db: &Value| (db["path"].as_str().unwrap().to_owned(), db["source"].as_str().unwrap().to_owned());
    let named = |path: PathBuf, source: &str| (path.to_str().unwrap().to_owned(), source.to_owned());
    let flag = of(cli.run(["status", "--db-path", at("flag.db").to_str().unwrap()]));
    assert_eq!(place(&flag), named(at("flag.db"), "cli(--db-path)"));
    let both = of(cli.call(["status"]).env("VYBE_DB_PATH", at("vybe.db")).run());
    assert_eq!(place(&both), named(at("writ.db"), "env(WRIT_DB)"));
    let vybe = of(cli.call(["status"]).without_env("WRIT_DB").env("VYBE_DB_PATH", at("vybe.db")).run());
    assert_eq!(place(&vybe), named(at("vybe.db"), "env(VYBE_DB_PATH)"));
    let default = of(cli.call(["status"]).without_env("WRIT_DB").run());
    assert_eq!(default["ok"], false, "a look makes no store");
    cli.call(["task", "list"]).without_env("WRIT_DB").run().success();
    let expected = at("home/.local/share/writ/writ.db");
    assert_eq!(place(&default), named(expected.clone(), "default"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&expected), mode(expected.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_healthy_machine_passes_the_doctor() {
    let cli = writ();
    work(&cli, &plan([scripted("a", "print")])).succeeded();
    let found = cli.run(["doctor", "--output", "json"]).success().json();
    let looks = found["data"]["looks"].as_array().unwrap();
    let whats: Vec<&Value> = looks.iter().map(|look| &look["what"]).collect();
    let store = ["store", "log", "seal", "runs", "key", "logs", "index", "copies", "snapshots"];
    let expected = [&["supervision", "namespaces", "sandbox", "configuration", "disk"][..], &store].concat();
    assert_eq!(whats, expected);
    assert!(looks.iter().all(|look| look["ok"] == true), "{found}");
    assert!(cli.run(["doctor"]).success().stdout.lines().all(|line| line.starts_with("ok ")));
}

#[test]
fn the_doctor_names_what_is_wrong() {
    let cli = writ();
    work(&cli, &plan([scripted("a", "print")])).succeeded();
    sqlite(&cli.db(), "UPDATE events SET message = 'other' WHERE id = 2");
    cli.scratch().write("project/.writ/config.toml", "[policy]\ndeny_shel = true\n");
    let found = cli.run(["doctor"]);
    let bad: Vec<&str> = found.fails_with(65).stdout.lines().filter(|line| line.starts_with("BAD")).collect();
    assert_eq!(bad.len(), 2, "{found}");
    assert!(bad[0].contains("configuration") && bad[0].contains("deny_shel"), "{found}");
    assert_eq!(bad[1], "BAD  log            1 changed, 0 missing; see `writ audit verify`");
    let other = writ();
    fs::write(
        other.db(),
        "no database at all, but long enough to have a header of one hundred bytes".repeat(9),
    )
    .unwrap();
    assert!(other.run(["doctor"]).fails_with(1).stdout.contains("BAD  store"));
}

#[test]
fn a_project_is_made_once_and_not_at_all_on_trial() {
    let cli = writ();
    let file = cli.project().join(".writ/config.toml");
    let trial = cli.run(["init", "--dry-run"]);
    let next = "next: name the project's checks in ./.writ/config.toml and allow them with `writ trust`";
    let expected = format!("would make ./.writ/config.toml\nwould make {}\n{next}\n", cli.db().display());
    assert_eq!(
        (trial.success().stdout.as_str(), file.exists(), cli.db().exists()),
        (expected.as_str(), false, false)
    );
    let made = cli.run(["init"]);
    assert_eq!(made.success().stdout, expected.replace("would make", "made"));
    assert!(file.exists() && cli.db().exists());
    cli.run(["config", "show"]).success();
    // A second time changes nothing, also not what somebody has written since.
    fs::write(&file, "[policy]\ndeny_shell = true\n").unwrap();
    assert_eq!(cli.run(["init"]).success().stdout, "everything is there already\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), "[policy]\ndeny_shell = true\n");
    let json = cli.run(["init", "--output", "json"]).success().json();
    assert_eq!(json["data"], json!({"made": [], "dry_run": false}));
    let refused = cli.run(["init", "nowhere"]);
    assert!(refused.fails_with(1).stderr.contains("nowhere is not a directory"), "{refused}");
}

#[test]
fn the_published_schema_is_the_one_the_program_prints() {
    let printed = writ().run(["plan", "schema"]).success().stdout.clone();
    let path = published("docs/plan.schema.json");
    assert_eq!(
        fs::read_to_string(&path).unwrap_or_default(),
        printed,
        "{} is old: refresh it with `cargo run --bin writ -- plan schema > docs/plan.schema.json`",
        path.display()
    );
}

#[test]
fn the_example_plan_is_valid_and_has_every_field_of_the_schema() {
    let cli = writ();
    let path = published("docs/plan.example.toml");
    let checked = cli.run(["plan", "check", path.to_str().unwrap()]);
    assert_eq!(
        checked.success().stdout,
        format!(
            "ok: plan with 2 tasks: page, review\n\
             warning: $.task[0].pins[0]: there is no `tests` in the workspace\n\
             warning: $.task[0].isolation: needs a git repository with a commit, and there is no `.git` in the workspace\n\
             next:\n  writ run {}\n",
            path.display()
        )
    );
    let text = fs::read_to_string(path).unwrap();
    let example = contract::plan::read::toml_value(&text).unwrap();
    let tasks = example["task"].as_array().unwrap();
    let inside = |name: &str| tasks.iter().filter_map(|task| task.get(name)).cloned().collect::<Vec<Value>>();
    let checks: Vec<Value> =
        inside("checks").iter().flat_map(|list| list.as_array().unwrap().clone()).collect();
    let schema = cli.run(["plan", "schema"]).success().json();
    for (kind, examples) in [
        ("plan", vec![example.clone()]),
        ("task", tasks.clone()),
        ("check", checks),
        ("budget", inside("budget")),
        (
            "alternative",
            inside("alternatives").iter().flat_map(|list| list.as_array().unwrap().clone()).collect(),
        ),
    ] {
        for field in schema["$defs"][kind]["properties"].as_object().unwrap().keys() {
            assert!(
                examples.iter().any(|one| one.get(field).is_some()),
                "no {kind} of the example has `{field}`"
            );
        }
    }
}

/// A store with a run, a task of a project and a task of none: three streams.
fn audited() -> Cli {
    let cli = writ();
    let create = ["task", "create", "--agent", "ann", "--title", "t"];
    cli.run(create.iter().chain(&["--request-id", "r1"])).success();
    cli.run(create.iter().chain(&["--request-id", "r2", "--project-id", "p"])).success();
    let checks = json!({"checks": [{"command": ["true"]}]});
    work(&cli, &plan([with(scripted("a", "print"), checks)])).succeeded();
    cli
}

#[test]
fn an_untouched_log_verifies_and_rebuilds_every_table() {
    let cli = audited();
    let verified = cli.run(["audit", "verify", "--replay"]);
    let lines: Vec<&str> = verified.success().stdout.lines().collect();
    assert!(lines[0].ends_with(" events in 3 streams"), "{verified}");
    let expected = [
        "file: ok, all of it can be read",
        "schema: ok, as in a new store",
        "integrity: ok, no event was changed",
        "completeness: ok, no event is missing",
        "seal: ok, every one fits",
        "replay: ok, the log rebuilds every table",
    ];
    assert_eq!(lines[1..], expected);
    let json = cli.run(["audit", "verify", "--replay", "--output", "json"]).success().json();
    let found = &json["data"]["verification"];
    assert_eq!((&found["integrity"], &found["completeness"]), (&json!([]), &json!([])));
    assert_eq!(json["data"]["replay_differences"], json!([]));
    // A store without a single event is whole, too.
    let fresh = writ();
    fresh.run(["task", "list"]).success();
    fresh.run(["audit", "verify"]).success();
}

#[test]
fn a_changed_event_is_named_whatever_part_of_it_was_changed() {
    let changes = [
        "message = 'other'",
        "payload = '{}'",
        "sender = 'agent.mallory'",
        "at = at + 1",
        "kind = 'other'",
        "corr = 'other-corr'",
        "hash = 'sha256:' || substr(hash, 9) || 'a'",
    ];
    for change in changes {
        let cli = audited();
        let id = sqlite(
            &cli.db(),
            &format!("UPDATE events SET {change} WHERE id = 4; SELECT event_id FROM events WHERE id = 4"),
        );
        let verified = cli.run(["audit", "verify"]);
        let lines: Vec<&str> = verified.fails_with(65).stdout.lines().collect();
        let named = format!("event {} (number 4) was changed", id.trim());
        assert!(
            lines[3].starts_with("integrity: run_") || lines[3].starts_with("integrity: run:"),
            "{verified}"
        );
        assert!(lines[3].ends_with(&named), "{change}: {verified}");
        assert!(lines.contains(&"completeness: ok, no event is missing"), "{change}: {verified}");
    }
}

/// The longest stream and the number of its last event.
fn longest(cli: &Cli) -> (String, i64) {
    let line = sqlite(&cli.db(), "SELECT stream, seq FROM heads ORDER BY seq DESC LIMIT 1");
    let (stream, seq) = line.trim().split_once('|').unwrap();
    (stream.to_owned(), seq.parse().unwrap())
}

#[test]
fn events_that_are_missing_are_counted_and_are_no_damage_of_the_rest() {
    let cli = audited();
    let (stream, last) = longest(&cli);
    sqlite(&cli.db(), &format!("DELETE FROM events WHERE stream = '{stream}' AND seq = {last}"));
    let verified = cli.run(["audit", "verify"]);
    let lines: Vec<&str> = verified.fails_with(65).stdout.lines().collect();
    let tail = format!("completeness: {stream} at {last}: the tail is missing: events {last} to {last}");
    assert_eq!(lines[3..5], ["integrity: ok, no event was changed", &tail]);
    let cli = audited();
    let (stream, _) = longest(&cli);
    sqlite(&cli.db(), &format!("DELETE FROM events WHERE stream = '{stream}' AND seq IN (3, 4)"));
    let verified = cli.run(["audit", "verify"]);
    let lines: Vec<&str> = verified.fails_with(65).stdout.lines().collect();
    let gap = format!("completeness: {stream} at 3: events 3 to 4 are missing");
    assert_eq!(lines[3..5], ["integrity: ok, no event was changed", &gap]);
}

#[test]
fn a_stream_that_is_missing_as_a_whole_is_noticed() {
    let cli = audited();
    let (stream, _) = longest(&cli);
    sqlite(
        &cli.db(),
        &format!("DELETE FROM events WHERE stream = '{stream}'; DELETE FROM heads WHERE stream = '{stream}'"),
    );
    let verified = cli.run(["audit", "verify"]);
    assert!(verified.fails_with(65).stdout.contains("the streams account for 2"), "{verified}");
    assert!(verified.stdout.contains("integrity: ok"), "{verified}");
}

/// Every trace of a removed event but the tip: the events that stay are counted anew, and so is their number.
const RENUMBERED: &str =
    "CREATE TEMP TABLE counted AS SELECT id, row_number() OVER (ORDER BY id) AS n FROM events;
    UPDATE events SET id = -(SELECT n FROM counted WHERE counted.id = events.id);
    UPDATE events SET id = -id;
    UPDATE sqlite_sequence SET seq = (SELECT count(*) FROM events) WHERE name = 'events'";

#[test]
fn a_tip_kept_elsewhere_shows_what_was_removed_with_all_its_traces() {
    let cli = audited();
    let tip = cli.run(["audit", "tip"]).success().stdout.clone();
    let path = cli.scratch().write("tip.json", &tip);
    let verify = || cli.run(["audit", "verify", "--tip", path.to_str().unwrap()]);
    verify().success();
    let (stream, last) = longest(&cli);
    let forged = format!(
        "DELETE FROM events WHERE stream = '{stream}' AND seq = {last};
         UPDATE heads SET seq = {last} - 1, hash = (SELECT hash FROM events WHERE stream = '{stream}' AND seq = {last} - 1)
             WHERE stream = '{stream}';
         {RENUMBERED}"
    );
    sqlite(&cli.db(), &forged);
    assert!(cli.run(["audit", "verify"]).fails_with(65).stdout.contains("seal: heads"));
    // Without the key only the tip shows it.
    fs::remove_file(cli.scratch().join("writ.db.key")).unwrap();
    let unsealed = cli.run(["audit", "verify", "--quick"]);
    assert!(unsealed.success().stdout.contains("seal not checked: the store's key"), "{unsealed}");
    let found = verify();
    assert!(
        found.fails_with(65).stdout.contains(&format!("{stream} at {last}: the tail is missing")),
        "{found}"
    );
    let forged = format!(
        "DELETE FROM events WHERE stream = '{stream}'; DELETE FROM heads WHERE stream = '{stream}'; {RENUMBERED}"
    );
    sqlite(&cli.db(), &forged);
    cli.run(["audit", "verify", "--quick"]).success();
    let found = verify();
    let named = format!("{stream} at {last}: the whole stream is missing; the tip has {last} events of it");
    assert!(found.fails_with(65).stdout.contains(&named), "{found}");
}

#[test]
fn what_was_added_after_a_tip_is_no_fault() {
    let cli = audited();
    let path = cli.scratch().write("tip.json", &cli.run(["audit", "tip"]).success().stdout);
    cli.run(["task", "create", "--agent", "ann", "--title", "u", "--request-id", "r9"]).success();
    cli.run(["audit", "verify", "--tip", path.to_str().unwrap()]).success();
}

#[test]
fn a_tip_that_was_changed_or_is_none_is_refused() {
    let cli = audited();
    let tip = cli.run(["audit", "tip"]).success().json();
    let verify = |text: String| {
        let path = cli.scratch().write("tip.json", text);
        cli.run(["audit", "verify", "--tip", path.to_str().unwrap()])
    };
    let changed = with(tip, json!({"events": 1}));
    let refused = verify(changed.to_string());
    assert!(refused.fails_with(1).stderr.contains("digest does not match its contents"), "{refused}");
    let refused = verify("none".to_owned());
    assert!(refused.fails_with(1).stderr.contains("tip.json"), "{refused}");
}

/// The exit code of each command when nobody reads what it prints.
fn unread(cli: &Cli, commands: &[&str]) -> Vec<String> {
    let shell = Cli::new("sh");
    let calls: Vec<String> = commands.iter().map(|words| format!("\"$0\" {words}; echo $? >&2")).collect();
    let calls = calls.join("; ");
    // Filled until the reader has gone: from then on every byte meets a closed pipe.
    let script = format!("trap '' PIPE; {{ while printf x 2> /dev/null; do :; done; {calls}; }} | true");
    let call = shell.call(["-c", &script, env!("CARGO_BIN_EXE_writ")]);
    let output = call.env("WRIT_DB", cli.db()).in_dir(cli.project()).run();
    output.stderr.lines().map(str::to_owned).collect()
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let cli = audited();
    let worked = work(&cli, &plan([scripted("a", "flood 200000")])).succeeded();
    cli.scratch().write("project/plan.json", plan([scripted("a", "print")]).to_string());
    let (trace, logs) = (format!("trace {}", worked.id()), format!("logs {}", worked.task_id("a")));
    let commands = [
        "--help",
        "completions bash",
        "plan schema",
        "plan check plan.json",
        "runs list",
        "status",
        "task list",
        "events list --all",
        "audit verify",
        "doctor",
        "config show",
        &trace,
        &logs,
    ];
    assert_eq!(unread(&cli, &commands), vec!["0"; commands.len()]);
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let cli = audited();
    let worked = work(&cli, &plan([scripted("a", "flood 200000")])).succeeded();
    let shell = Cli::new("sh");
    for words in ["status", "completions bash", &format!("logs {}", worked.task_id("a"))] {
        let script = format!("\"$0\" {words} > /dev/full");
        let output = shell.call(["-c", &script, env!("CARGO_BIN_EXE_writ")]).env("WRIT_DB", cli.db()).run();
        assert!(!output.status.success(), "{output}");
    }
}

#[test]
fn a_person_without_a_name_sees_the_events_of_everybody() {
    let cli = writ();
    cli.run(["task", "create", "--title", "t", "--agent", "ann", "--request-id", "r"]).success();
    let seen = cli.run(["events", "list", "--output", "text"]);
    assert!(seen.success().stdout.contains("ann"), "{seen}");
    let asked = cli.run(["events", "list", "--output", "json"]);
    assert!(asked.fails_with(1).stdout.contains("agent is required unless --all is set"), "{asked}");
}

#[test]
fn a_list_in_lines_has_one_line_for_each_entry() {
    let cli = writ();
    for title in ["one", "two"] {
        cli.run(["task", "create", "--title", title]).success();
    }
    let lines = cli.run(["task", "list", "--output", "ndjson"]).success().json_lines();
    assert_eq!(lines.iter().filter(|task| task["title"].is_string()).count(), 2);
    let empty = cli.run(["approval", "list", "--output", "ndjson"]);
    assert_eq!(empty.success().stdout, "");
}

#[test]
fn a_missing_file_is_named() {
    let cli = writ();
    let imported = cli.run(["import", "--from", "vybe", "/nosuch", "--output", "text"]);
    assert!(imported.fails_with(1).stderr.contains("there is no file /nosuch"), "{imported}");
}

#[test]
fn what_is_wrong_is_said_in_plain_words() {
    let cli = writ();
    cli.scratch().write("project/plan.toml", "objective = \"o\"\n");
    for words in [&["orchestrate", "step"][..], &["ledger", "apply"], &["handoff", "import"]] {
        let refused = cli.run(words.iter().copied().chain(["plan.toml", "--output", "text"]));
        assert!(refused.stderr.contains("plan.toml is not JSON"), "{refused}");
    }
    let number = cli.run(["runs", "list", "--limit", "x"]);
    assert!(number.fails_with(2).stderr.contains("it is not a whole number"), "{number}");
    let version = cli.call(["validate", "assignment"]).stdin("{\"schema_version\": 1}").run();
    assert!(version.stdout.contains("must be a string such as"), "{version}");
    cli.run(["task", "create", "--title", "t"]).success();
    let store = cli.db();
    let store = store.to_str().unwrap();
    let itself = cli.run(["backup", store, "--force", "--output", "text"]);
    assert!(itself.fails_with(1).stderr.contains("is the store itself"), "{itself}");
    let copy = cli.scratch().write("project/copy.db", "");
    let salvaged = cli.run(["salvage", store, "--into", copy.to_str().unwrap(), "--output", "text"]);
    assert!(!salvaged.fails_with(1).stderr.contains("--force"), "{salvaged}");
    let trace = cli.run(["trace", "nothing", "--output", "text"]);
    assert!(trace.fails_with(1).stderr.contains("hint: name a run"), "{trace}");
}
