//! What agents wrote never commands a terminal and never looks like a line of ours, whatever verb prints it.

use serde_json::{Value, json};
use testkit::{Cli, Output};

/// An escape sequence, an overlong one, a direction override, a character without a width, and a line of its own.
const HOSTILE: &str = "evil\u{1b}[31m\u{9b}2J\u{202e}\u{200b}\u{7}\nFORGED line\r\tFORGED tab";
/// The same for fields that refuse control characters.
const SUBTLE: &str = "evil\u{202e}\u{2066}\u{200b}\u{feff}";

fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}' | '\u{feff}')
}

#[track_caller]
fn is_harmless(output: &Output) {
    // Validators answer with JSON, also where text was asked for and the arguments are wrong. Nothing in it is obeyed on
    // a terminal.
    let document = output.stdout.starts_with("{\"allow\"").then_some(&output.stdout);
    for text in [&output.stdout, &output.stderr].into_iter().filter(|text| Some(*text) != document) {
        assert!(!text.contains(is_obeyed), "{output}\n{text:?}");
    }
}

/// No line begins with what another wrote.
#[track_caller]
fn forges_nothing(output: &Output) {
    is_harmless(output);
    for line in output.stdout.lines().chain(output.stderr.lines()) {
        assert!(!line.trim_start().starts_with("FORGED"), "{output}");
    }
}

/// Runs the command with hostile text for `{}`, or where that is refused, with subtle text.
#[track_caller]
fn plant(cli: &Cli, line: &[&str]) -> Output {
    let with = |text: &str| {
        let words: Vec<String> = line.iter().map(|word| word.replace("{}", text)).collect();
        cli.run(&words)
    };
    let hostile = with(HOSTILE);
    if hostile.status.success() { hostile } else { with(SUBTLE) }
}

fn id_at(output: &Output, pointer: &str) -> String {
    output.json().pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{output}")).to_owned()
}

/// A store with hostile text in everything that an agent or a plan can write.
fn planted(cli: &Cli) -> String {
    let task = id_at(&plant(cli, &["task", "create", "--title", "{}", "--desc", "{}"]), "/data/task/id");
    plant(cli, &["task", "set-status", "--id", &task, "--status", "blocked", "--blocked-reason", "{}"])
        .success();
    plant(cli, &["memory", "set", "--key", "{}", "--value", "{}"]).success();
    plant(cli, &["memory", "set", "--key", "known", "--value", "{}"]).success();
    let push = |text: &str| {
        json!({"task_id": task, "event": {"kind": "note", "message": text, "metadata": {"m": text}},
            "artifacts": [{"file_path": SUBTLE.replace('\n', "")}]})
        .to_string()
    };
    cli.run(["push", "--json", &push(HOSTILE)]).success();
    let escaped = serde_json::to_string(HOSTILE).unwrap();
    let print = format!("printf %s {}", shlex::try_quote(HOSTILE).unwrap());
    let plan = json!({
        "objective": SUBTLE,
        "workspace": ".",
        "task": [
            {"id": "prints", "title": SUBTLE, "command": ["sh", "-c", print]},
            {"id": "fails", "title": SUBTLE, "command": ["sh", "-c", format!("{print} >&2; exit 3")]},
            {"id": "checked", "title": SUBTLE, "command": ["true"],
             "checks": [{"command": ["sh", "-c", format!("{print}; exit 1")]}]},
        ],
    });
    std::fs::write(cli.project().join("plan.json"), plan.to_string()).unwrap();
    let run = cli.run(["run", "plan.json", "--output", "text"]);
    run.fails_with(1);
    is_harmless(&run);
    let ledger = json!({"objective": escaped, "workspace": ".", "task": [
        {"id": "one", "title": SUBTLE, "command": ["true"]}]});
    std::fs::write(cli.project().join("crew.json"), ledger.to_string()).unwrap();
    let crew = id_at(&cli.run(["ledger", "open", "crew.json"]), "/data/run_id");
    let entry = json!({"action": HOSTILE, "result": HOSTILE, "decision": HOSTILE, "next_step": HOSTILE,
        "files_touched": [HOSTILE]})
    .to_string();
    cli.call(["worklog", "append", "--run", &crew, "--task", "T-1"]).stdin(entry).run().success();
    plant(cli, &["approval", "request", "--run", &crew, "--task", "T-1", "--action", "{}"]).success();
    crew
}

#[test]
fn no_verb_prints_what_a_terminal_would_obey() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let crew = planted(&cli);
    cli.run(["handoff", "export", &crew, "crew.handoff.json", "--allow-stale"]).success();
    let lines: &[&[&str]] = &[
        &["task", "get", "--id", "fails"],
        &["task", "list"],
        &["task", "list", "--status", "blocked"],
        &["ready"],
        &["status"],
        &["memory", "list"],
        &["memory", "search", "--query", "evil"],
        &["events", "list", "--all", "--limit", "200"],
        &["events", "list", "--all", "--limit", "200", "--output", "ndjson"],
        &["artifacts", "list", "--task-id", "fails"],
        &["loop", "--dry-run", "--agent", "a", "--command", "true"],
        &["loop", "stats"],
        &["runs", "list"],
        &["runs", "show", "@last"],
        &["trace", "@last", "--all"],
        &["ledger", "show", &crew],
        &["ledger", "reconcile", &crew],
        &["assignment", "show", "--run", &crew, "--task", "T-1"],
        &["worklog", "show", "--run", &crew, "--task", "T-1"],
        &["worklog", "verify", "--run", &crew, "--task", "T-1"],
        &["approval", "list", "--run", &crew],
        &["lock", "list"],
        &["lock", "check", "--run", &crew, SUBTLE],
        &["budget", "show", "--run", &crew],
        &["handoff", "brief", "crew.handoff.json"],
        &["plan", "check", "plan.json"],
        &["run", "plan.json", "--dry-run"],
        &["validate", "plan", "plan.json"],
        &["audit", "verify"],
        &["audit", "tip"],
        &["config", "show"],
        &["doctor"],
        &["gc", "--dry-run"],
        &["watchdog", "sweep"],
    ];
    for line in lines {
        let output = cli.run(line.iter().chain(&["--output", "text"]).copied());
        // The first of two formats counts for what was given in the line itself.
        let output =
            if output.stderr.contains("cannot be used multiple times") { cli.run(*line) } else { output };
        forges_nothing(&output);
        assert!(!output.stderr.contains("unexpected argument"), "{output}");
    }
    // Lines and tabs belong to the text here.
    for line in [
        &["logs"][..],
        &["logs", "prints"],
        &["logs", "fails"],
        &["logs", "checked"],
        &["memory", "get", "--key", "known"],
        &["resume", "--peek"],
        &["resume"],
    ] {
        is_harmless(&cli.run(line.iter().chain(&["--output", "text"]).copied()));
    }
    let text = cli.run(["logs", "prints"]);
    assert!(
        text.stdout.starts_with("evil\\u001b[31m\\u009b2J\\u202e\\u200b\\u0007\nFORGED line\\u000d\tFORGED")
    );
    assert_eq!(cli.run(["logs", "prints", "--raw"]).success().stdout, HOSTILE);
}

#[test]
fn errors_repeat_what_was_typed_without_obeying_it() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    let listed = cli.run(["schema", "commands", "--output", "json"]).json();
    let commands: Vec<String> = listed["data"]["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["command"].as_str().unwrap().trim_start_matches("writ ").to_owned())
        .collect();
    assert!(commands.len() > 80, "{}", commands.len());
    let flag = format!("--{HOSTILE}");
    for command in &commands {
        let words: Vec<&str> = command.split(' ').chain([flag.as_str(), "--output", "text"]).collect();
        let output = cli.run(words);
        forges_nothing(&output);
    }
    for line in [
        &["task", "get", "--id", HOSTILE][..],
        &["logs", HOSTILE],
        &["runs", "show", HOSTILE],
        &["trace", HOSTILE],
        &["cancel", HOSTILE],
        &["retry", HOSTILE],
        &[HOSTILE],
        &["task", HOSTILE],
        &["task", "list", "--limit", HOSTILE],
        &["task", "list", "--status", HOSTILE],
        &["runs", "list", "--state", HOSTILE],
        &["run", HOSTILE],
        &["task", "create", "--title", "x", "--request-id", HOSTILE],
        &["task", "create", "--title", "x", "--agent", HOSTILE],
        &["runs", "list", "--output", HOSTILE],
        &["lock", "list", "--run", HOSTILE],
        &["schema", "show", HOSTILE],
        &["worklog", "show", "--run", HOSTILE, "--task", HOSTILE],
    ] {
        let format = if line.contains(&"--output") { vec![] } else { vec!["--output", "text"] };
        let output = cli.run(line.iter().copied().chain(format));
        assert!(!output.status.success(), "{output}");
        forges_nothing(&output);
    }
}

#[test]
fn bad_input_is_never_worth_the_same_request_again() {
    let cli = Cli::new(env!("CARGO_BIN_EXE_writ"));
    for line in [
        &["run", "nowhere.toml"][..],
        &["plan", "check", "nowhere.toml"],
        &["task", "get", "--id", "nothing"],
        &["task", "create", "--title", ""],
        &["push", "--json", "{"],
        &["task", "list", "--limit", "many"],
        &["runs", "show", "nothing"],
        &["runs", "list", "--db-path", "/"],
        &["runs", "list", "--db-path", "/dev/null/writ.db"],
        &["retry", "nothing"],
        &["ledger", "open", "nowhere.json"],
        &["ledger", "apply", "nowhere.json"],
        &["backup", "/dev/null/copy.db"],
        &["import", "nowhere.jsonl"],
        &["lock", "acquire", "--run", "r", "--task", "T-1", "src"],
        &["memory", "set", "--key", "k", "--value", "v", "--scope", "moon"],
    ] {
        let output = cli.run(line.iter().chain(&["--output", "json"]).copied());
        assert!(!output.status.success(), "{output}");
        let answer = output.json();
        assert_ne!(answer["retry"], "same_request", "{output}");
        assert_ne!(output.status.code(), Some(75), "{output}");
    }
}
