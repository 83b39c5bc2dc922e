//! Decisions of a person: at a terminal with the action's digits, or with a token; never by an agent.

use std::os::unix::fs::PermissionsExt;

use contract::domain::id::Minter;
use contract::domain::request::{Agent, RequestId};
use contract::domain::token::TokenScope;
use ops::{Caller, token};
use serde_json::{Value, json};
use testkit::{Cli, Output, SeededIds, eventually};

use crate::local;

/// The digits that a terminal shows to confirm an action.
pub(crate) fn digits(shown: &str) -> Option<String> {
    let (_, rest) = shown.rsplit_once("\nType ")?;
    rest.split_once(" to confirm: ").map(|(digits, _)| digits.to_owned())
}

/// A token that a person created under this request id.
pub(crate) fn created(cli: &Cli, name: &str, person: &str, request: &str) -> String {
    let caller = Caller::human(Agent::parse(person).unwrap());
    let key = local::session(caller, RequestId::parse(request).unwrap(), None);
    let request = token::create::Request {
        name: name.to_owned(),
        scope: TokenScope::Approve,
        expires_in_seconds: None,
    };
    token::create::create(&mut local::open(cli), &key, &request).unwrap().answer.secret.unwrap()
}

/// A new token.
pub(crate) fn token(cli: &Cli) -> String {
    let name = format!("t{:x}", SeededIds::surprising().random_bits());
    created(cli, &name, "ann", &name)
}

/// Runs a command that needs a person's decision.
#[track_caller]
pub(crate) fn decide(cli: &Cli, words: &[&str]) -> Output {
    cli.call(words).env("WRIT_TOKEN", token(cli)).run()
}

fn writ() -> Cli {
    Cli::new(env!("CARGO_BIN_EXE_writ"))
}

/// A pending approval of a task of a new run.
fn pending(cli: &Cli) -> String {
    let plan = "objective = \"o\"\nworkspace = \".\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\nwrites = [\"a\"]\n";
    cli.scratch().write("project/plan.toml", plan);
    let opened = cli.run(["ledger", "open", "plan.toml", "--output", "json"]).success().json();
    let run = opened["data"]["run_id"].as_str().unwrap().to_owned();
    let words = ["approval", "request", "--run", &run, "--task", "T-1", "--output", "json"];
    cli.run(words).success().json()["data"]["id"].as_str().unwrap().to_owned()
}

fn state(cli: &Cli) -> Value {
    let run = ["approval", "list", "--run", "@last", "--output", "json"];
    let listed = cli.run(run).success().json();
    let filed = &listed["data"]["approvals"][0];
    json!([filed["state"], filed["decided_by"]])
}

#[test]
fn a_terminal_without_an_agent_decides_only_with_the_right_digits() {
    let cli = writ();
    let id = pending(&cli);
    // Neither standard input nor another approval's digits decide anything.
    for typed in ["y", "", "000000 ", "DIGITS"] {
        let mut asked = cli
            .call(["approval", "grant", &id])
            .env("USER", "eve")
            .env("WRIT_AGENT", "bot")
            .on_terminal(200, 24);
        let shown = || digits(&String::from_utf8_lossy(&asked.printed()));
        eventually("the question is asked", || shown().is_some());
        let right = shown().unwrap();
        assert_ne!(right, "000000");
        asked.press(&format!("{}\n", typed.replace("DIGITS", &right)));
        assert_eq!(asked.wait().success(), typed == "DIGITS", "{typed:?}");
        if typed != "DIGITS" {
            assert_eq!(state(&cli), json!(["pending", null]), "{typed:?}");
        }
    }
    assert_eq!(state(&cli), json!(["granted", "human.eve"]));
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn an_agent_among_the_ancestors_is_refused_every_decision() {
    let cli = writ();
    let id = pending(&cli);
    cli.run(["budget", "set", "--run", "@last", "--cost", "1"]).success();
    let decisions = [
        format!("approval grant {id}"),
        format!("approval deny {id}"),
        "budget set --run @last --cost 2".to_owned(),
        "token create mine --scope approve".to_owned(),
    ];
    for words in &decisions {
        let script = format!("#!/bin/sh\n{} {words}\n", env!("CARGO_BIN_EXE_writ"));
        let agent = cli.scratch().write("bin/claude", script);
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        let terminal = Cli::new("script").env("WRIT_DB", cli.db());
        let line = format!("cd {} && {}", cli.project().display(), agent.display());
        let refused = terminal.call(["-qec", &line, "/dev/null"]).env("TERM", "xterm").stdin("y\n").run();
        assert!(refused.fails_with(1).stdout.contains("`claude` (process"), "{words}: {refused}");
    }
    assert_eq!(state(&cli), json!(["pending", null]));
}

#[test]
fn an_executor_inside_a_run_cannot_decide_although_it_opens_a_terminal() {
    let cli = writ();
    let id = pending(&cli);
    let writ = env!("CARGO_BIN_EXE_writ");
    let inside =
        format!("script -qec '{writ} approval grant {id}' /dev/null > said.txt 2>&1 < /dev/null; true");
    let plan = json!({"objective": "o", "workspace": ".", "task": [{"id": "a", "sandbox": "off",
        "command": ["sh", "-c", inside]}]});
    cli.scratch().write("project/inside.json", plan.to_string());
    cli.run(["run", "inside.json"]).success();
    let said = std::fs::read_to_string(cli.project().join("said.txt")).unwrap();
    assert!(said.contains("was started by writ for an agent"), "{said}");
    let words = ["approval", "list", "--output", "json"];
    assert_eq!(cli.run(words).success().json()["data"]["approvals"][0]["state"], "pending");
}

#[test]
fn without_a_terminal_a_token_decides_from_a_variable_or_a_file() {
    let cli = writ();
    let id = pending(&cli);
    let refused = cli.run(["approval", "grant", &id, "--output", "json"]).fails_with(1).json();
    assert_eq!(refused["error_code"], "DENIED");
    assert!(refused["suggested_action"].as_str().unwrap().contains("WRIT_TOKEN"), "{refused}");
    let secret = created(&cli, "ci", "ann", "make");
    let file = cli.scratch().write("token", format!("{secret}\n"));
    let granted = cli.run(["approval", "grant", &id, "--token-file", file.to_str().unwrap()]);
    granted.success();
    assert_eq!(state(&cli), json!(["granted", "service.token.ci"]));
    let listed = cli.run(["token", "list", "--output", "json"]);
    listed.success();
    assert!(listed.json()["data"]["tokens"][0]["last_used_at"].is_string(), "{listed}");
    assert!(!listed.stdout.contains(secret.rsplit('_').next().unwrap()));
    cli.run(["token", "revoke", "ci"]).success();
    let second = pending(&cli);
    let refused =
        cli.call(["approval", "grant", &second, "--output", "json"]).env("WRIT_TOKEN", &secret).run();
    assert_eq!(refused.fails_with(1).json()["error_context"]["rule"], "token_revoked");
    // No file of the store holds the secret.
    for path in ops::files_of(&cli.db()).unwrap() {
        let bytes = std::fs::read(&path).unwrap_or_default();
        let has = bytes.windows(64).any(|part| part == &secret.as_bytes()[secret.len() - 64..]);
        assert!(!has, "{}", path.display());
    }
    cli.run(["audit", "verify", "--replay"]).success();
}
