//! Called under another name, the program is that name's contract and nothing else.

use std::path::PathBuf;

use contract::continuity::state::{CloseOutcome, TaskState};
use contract::domain::memory::{MemoryKind, Scope, ValueType};
use ops::verb::{Effect, Surface};
use serde_json::{Value, json};
use testkit::{Cli, eventually};

use crate::documents::writ;

/// A link named `vybe`, made by the program itself.
fn linked(cli: &Cli) -> PathBuf {
    let made = cli.run(["personality", "install", "bin", "--output", "json"]).success().json();
    let bin = cli.project().join("bin");
    let made_link = |name: &str| json!({"path": bin.join(name).to_str().unwrap(), "status": "made"});
    assert_eq!(made["data"]["links"], json!([made_link("vybe"), made_link("ol"), made_link("ao")]));
    bin.join("vybe")
}

/// Calls it by its other name; the environment names nothing of writ's.
fn call(cli: &Cli, words: &[&str]) -> testkit::Output {
    cli.call(words)
        .named("vybe")
        .without_env("WRIT_DB")
        .env("VYBE_DB_PATH", cli.scratch().join("vybe.db"))
        .run()
}

#[track_caller]
fn error(cli: &Cli, words: &[&str]) -> String {
    let output = call(cli, words);
    let envelope = output.fails_with(1).json();
    assert_eq!((&envelope["success"], output.stderr.as_str()), (&json!(false), ""), "{output}");
    envelope["error"].as_str().unwrap().to_owned()
}

#[test]
fn links_are_made_once_and_never_over_somebody_elses_program() {
    let cli = writ();
    let link = linked(&cli);
    let index = Cli::new(&link).run(["--version"]).success().json();
    assert_eq!(index["success"], true);
    let again = cli.run(["personality", "install", "bin", "--output", "json"]).success().json();
    assert_eq!(again["data"]["links"][0]["status"], "kept");
    cli.scratch().write("project/other/vybe", "#!/bin/sh\n");
    let refused = cli.run(["personality", "install", "other", "--output", "json"]).fails_with(1).json();
    assert_eq!(refused["error_code"], "ALREADY_EXISTS");
    assert_eq!(cli.scratch().read("project/other/vybe"), "#!/bin/sh\n");
}

#[test]
fn only_the_contracts_commands_are_shown() {
    let cli = writ();
    let index = call(&cli, &[]).success().json();
    let commands = index["data"]["commands"].as_array().unwrap();
    let contract = [
        "artifacts",
        "events",
        "help",
        "hook",
        "loop",
        "memory",
        "push",
        "resume",
        "schema",
        "status",
        "task",
        "upgrade",
    ];
    assert_eq!(commands, &contract);
    assert_eq!(index["data"]["schema_hint"], "vybe schema commands");
    assert_eq!(index["data"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(call(&cli, &["--agent", "a"]).success().json(), index);
    let space = call(&cli, &["events"]).success().json();
    assert_eq!(space["data"]["namespace"], "vybe events");
    assert_eq!(space["data"]["subcommands"][0]["name"], "list");
    let hooks = call(&cli, &["hook"]).success().json();
    let names: Vec<&Value> =
        hooks["data"]["subcommands"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["install", "uninstall"]);
    for words in [&["help"][..], &["-h"], &["task", "--help"]] {
        let help = call(&cli, words);
        assert!(help.success().stdout.contains("Usage: vybe"), "{help}");
    }
    for words in [["-v"], ["--version"]] {
        let version = call(&cli, &words).success().json();
        assert_eq!(version["data"], json!({"version": env!("CARGO_PKG_VERSION")}));
    }
}

#[test]
fn misunderstandings_are_documents_too() {
    let cli = writ();
    assert_eq!(error(&cli, &["run", "plan.toml"]), "unknown command \"run\" for \"vybe\"");
    assert_eq!(error(&cli, &["task", "list", "--bogus"]), "unknown flag: --bogus");
    assert_eq!(error(&cli, &["task", "create"]), "--title is required");
    assert_eq!(error(&cli, &["memory", "set", "-k", "x"]), "required flag(s) \"value\" not set");
    assert_eq!(error(&cli, &["hook", "bogus"]), "unknown command \"bogus\" for \"vybe hook\"");
    assert_eq!(error(&cli, &["--agent", "a", "task", "run"]), "unknown command \"run\" for \"vybe task\"");
    let words = ["task", "create", "--title", "t"];
    assert_eq!(error(&cli, &words), "agent is required (set --agent or VYBE_AGENT)");
    let more = [&words[..], &["--agent", "ann"]].concat();
    assert_eq!(error(&cli, &more), "--request-id or VYBE_REQUEST_ID is required for idempotent operations");
    assert!(!cli.scratch().has("vybe.db"));
}

#[test]
fn its_variables_are_read_and_its_output_is_always_json() {
    let cli = writ();
    let acting = |words: &[&str]| {
        let call = cli
            .call(words)
            .named("vybe")
            .without_env("WRIT_DB")
            .env("VYBE_DB_PATH", cli.scratch().join("v.db"));
        call.env("VYBE_AGENT", "ann").env("VYBE_REQUEST_ID", "r1").env("WRIT_AGENT", "writ-agent")
    };
    let made = acting(&["task", "create", "--title", "t", "--output", "text"]).run().success().json();
    let id = made["data"]["task"]["id"].as_str().unwrap().to_owned();
    assert!(cli.scratch().has("v.db"));
    let plain = acting(&["task", "get", "--id", &id]).run();
    let pretty = acting(&["task", "get", "--id", &id]).env("VYBE_PRETTY_JSON", "true").run();
    assert_eq!(plain.success().json(), pretty.success().json());
    assert_eq!(plain.stdout.lines().count(), 1);
    assert!(pretty.stdout.starts_with("{\n  \"schema_version\": \"v1\",\n"), "{pretty}");
    let events = acting(&["events", "list"]).run().success().json();
    assert_eq!((&events["data"]["agent"], &events["data"]["count"]), (&json!("ann"), &json!(1)));
}

#[test]
fn every_command_is_described_for_programs() {
    let cli = writ();
    let described = call(&cli, &["schema", "commands"]).success().json()["data"]["commands"].clone();
    let row = |name: &str| {
        let rows = described.as_array().unwrap();
        rows.iter()
            .find(|row| row["command"] == name)
            .unwrap_or_else(|| panic!("no `{name}` in {described}"))
            .clone()
    };
    let create = row("vybe task create");
    assert_eq!((&create["mutates"], &create["requires_request_id"]), (&json!(true), &json!(true)));
    // The agent may be named by a variable, so its flag is not required.
    assert_eq!(create["args_schema"]["required"], json!(["title"]));
    let agent = create["args_schema"]["properties"]["agent"]["description"].as_str().unwrap();
    assert!(agent.contains("VYBE_AGENT") && !described.to_string().contains("WRIT_"), "{agent}");
    let priority = &create["args_schema"]["properties"]["priority"];
    assert_eq!((&priority["type"], &priority["default"]), (&json!("integer"), &json!(0)));
    let list = row("vybe events list");
    assert_eq!((&list["mutates"], &list["requires_request_id"]), (&json!(false), &json!(false)));
    assert_eq!(list["args_schema"]["properties"]["all"]["type"], "boolean");
    assert_eq!(row("vybe hook install")["mutates"], true);
    assert_eq!(row("vybe schema commands")["mutates"], false, "it describes itself");
    let is_help = |row: &Value| row["command"].as_str().unwrap().ends_with(" help");
    assert!(!described.as_array().unwrap().iter().any(is_help), "{described}");
    assert!(!described.to_string().contains("session-start"), "hidden commands stay hidden");
    let of_agents = |verb: &&ops::verb::VerbEntry| verb.surface == Surface::Continuity;
    let has_command = |verb: &&ops::verb::VerbEntry| !verb.command.is_empty() && !verb.command.contains("--");
    for verb in ops::registry::VERBS.iter().filter(of_agents).filter(has_command) {
        let shown = row(&format!("vybe {}", verb.command));
        assert_eq!(shown["mutates"], verb.effect.mutates(), "{shown}");
        assert_eq!(shown["requires_request_id"], verb.effect == Effect::Once, "{shown}");
    }
    for (command, flag, words) in [
        ("task set-status", "status", TaskState::WORDS),
        ("task complete", "outcome", CloseOutcome::WORDS),
        ("memory set", "scope", Scope::WORDS),
        ("memory set", "type", ValueType::WORDS),
        ("memory set", "kind", MemoryKind::WORDS),
        ("memory list", "scope", Scope::WORDS),
    ] {
        let shown = row(&format!("vybe {command}"));
        assert_eq!(shown["args_schema"]["properties"][flag]["enum"], json!(words), "{shown}");
    }
    let own =
        cli.run(["schema", "commands", "--output", "json"]).success().json()["data"]["commands"].clone();
    assert!(own.as_array().unwrap().iter().any(|row| row["command"] == "writ run" && row["mutates"] == true));
}

#[test]
fn other_writers_are_waited_for_as_long_as_was_said() {
    let cli = writ();
    let store = cli.scratch().join("vybe.db");
    call(&cli, &["upgrade"]).success();
    let sqlite = Cli::new("sqlite3");
    let mut other = sqlite.call([&store]).open_stdin().spawn();
    other.send("BEGIN IMMEDIATE; SELECT 'held';");
    eventually("another writer has the store", || other.stdout().contains("held"));
    let words = ["task", "create", "--title", "t", "--agent", "a", "--request-id", "r"];
    let busy = |wait: &str| {
        let call = cli.call(words).named("vybe").without_env("WRIT_DB").env("VYBE_DB_PATH", &store);
        call.env("VYBE_BUSY_TIMEOUT_MS", wait)
    };
    let refused = busy("30").run().fails_with(1).json();
    assert_eq!((&refused["error_code"], &refused["retry"]), (&json!("BUSY"), &json!("same_request")));
    // A hook gives up soon, says so in one line, and its agent goes on.
    let hook = cli.call(["hook", "stop", "--db-path", store.to_str().unwrap()]).stdin("{}").run();
    assert_eq!((hook.success().stdout.as_str(), hook.stderr.lines().count()), ("", 1), "{hook}");
    // What cannot be understood is as if it had not been said: it waits until the other is done.
    let waiting = busy("soon").spawn();
    other.send("ROLLBACK;");
    other.close_stdin();
    waiting.wait().success();
    other.wait().success();
}
