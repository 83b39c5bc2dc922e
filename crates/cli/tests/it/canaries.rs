//! Secrets in everything that children print and callers write: none of it is in a file that writ keeps.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{aop, opened, plan, shell, with, writ};

/// Only canaries have these letters in this order. They are looked for in lower case.
const NEEDLE: &str = "c4n4ry";

/// Shell functions that print canaries, so that no file of the test has one: `c` a token, `k` a private key.
const LIB: &str = r#"
c() { printf 'gh'; printf 'p_'; for i in 1 2 3 4 5 6 7; do printf c4n4rx | tr x y; done; }
k() {
    printf '%s' '-----BEGIN RSA '; printf '%s\n' 'PRIVATE KEY-----'
    for i in 1 2 3 4 5 6 7 8 9; do printf 'c4n4rxc4n4rxc4n4rxc4n4rxc4n4rx\n' | tr x y; done
    printf '%s' '-----END RSA '; printf '%s\n' 'PRIVATE KEY-----'
}
message() {
    printf '{"aop_version":"2.0.2-C","schema_version":"2.0.2","protocol_family":"AOP","session_id":"S-1","task_id":"T-1",%s}\n' "$1"
}
agent='"agent":{"name":"emma","provider":"OTHER","model":"none"}'
"#;

/// A secret that only its name gives away, on several lines, with what JSON escapes.
fn given() -> String {
    format!("{NEEDLE} \"one\"\n  {NEEDLE} two\\three\n")
}

fn token() -> String {
    ["gh", "p_", &NEEDLE.repeat(7)].concat()
}

fn cli() -> Cli {
    let cli = writ().env("GIVEN", given());
    cli.scratch().write(cli.project().join("lib.sh"), LIB);
    cli
}

/// Everything that writ wrote: the store, its log, logs of attempts, worklogs, backups, exports. What the test itself
/// sent and was answered is in `calls`.
#[track_caller]
fn keeps_no_canary(cli: &Cli) {
    keeps_no(cli, NEEDLE);
}

#[track_caller]
fn keeps_no(cli: &Cli, needle: &str) {
    let mut found = Vec::new();
    search(cli.scratch().path(), needle, &mut found);
    assert_eq!(found, Vec::<String>::new(), "these files have a canary");
}

fn search(directory: &Path, needle: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        let named = path.to_string_lossy().to_lowercase().contains(needle);
        if path.is_dir() {
            if !path.ends_with("calls") {
                search(&path, needle, found);
            }
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).to_lowercase();
        if named || text.contains(needle) {
            found.push(path.display().to_string());
        }
    }
}

fn backed_up_and_exported(cli: &Cli) {
    let out = cli.scratch().dir("out");
    cli.run(["backup", out.join("copy.db").to_str().unwrap()]).success();
    cli.run(["export", out.join("export.ndjson").to_str().unwrap()]).success();
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn nothing_that_a_child_or_a_check_prints_is_kept_with_a_secret_in_it() {
    let cli = cli();
    let env = json!({"env": {"GIVEN": "env:GIVEN"}});
    let halves = "c | cut -c 1-20 | tr -d '\\n'; c | cut -c 21-";
    let lines = [
        format!(". ./lib.sh; c; {halves}; k; k >&2; c >&2; printf '%s' \"$GIVEN\"; printf '%s\\n' \"$GIVEN\" | sed 's/^/web | /'"),
        ". ./lib.sh; k; printf 'pass''word:\\n  c4n4rx123\\n' | tr x y; exit 3".to_owned(),
        // As long as two thirds of a log, so that the key is where the beginning ends and the middle is dropped.
        ". ./lib.sh; head -c 524000 /dev/zero | tr '\\0' x; echo; k; c; k; head -c 600000 /dev/zero | tr '\\0' x; k".to_owned(),
    ];
    let tasks =
        lines.iter().enumerate().map(|(number, line)| with(shell(&format!("t{number}"), line), env.clone()));
    let ran = cli.call(["run", "-", "--output", "json"]).stdin(plan(tasks).to_string()).run();
    assert_eq!(ran.json()["data"]["state"], "failed", "{ran}");
    // What is kept of a check's output begins inside the token, or inside the key.
    for (number, check) in [
        ". ./lib.sh; c; head -c 1985 /dev/zero | tr '\\0' x; exit 1",
        ". ./lib.sh; k; head -c 1800 /dev/zero | tr '\\0' x; exit 1",
        ". ./lib.sh; printf '%s' \"$GIVEN\"; head -c 1980 /dev/zero | tr '\\0' x >&2; exit 1",
    ]
    .iter()
    .enumerate()
    {
        let checked = json!({"env": {"GIVEN": "env:GIVEN"}, "checks": [{"command": check, "shell": true}]});
        let task = with(shell(&format!("c{number}"), "true"), checked);
        let ran = cli.call(["run", "-", "--output", "json"]).stdin(plan([task]).to_string()).run();
        assert_eq!(ran.json()["data"]["state"], "failed", "{ran}");
    }
    backed_up_and_exported(&cli);
    keeps_no_canary(&cli);
    let shown = cli.run(["logs", "@last"]).stdout.clone();
    assert!(!shown.to_lowercase().contains(NEEDLE), "{shown}");
}

#[test]
fn nothing_that_an_agent_answers_is_kept_with_a_secret_in_it() {
    let cli = cli();
    let ends = [
        r#""task_status":{"state":"COMPLETED","final_signal":"SUCCESS","message":"'"$(c)"'"},"execution_summary":{"summary":"'"$(c)"' did it","actions":["'"$(c)"'"]}"#,
        r#""task_status":{"state":"FAILED","final_signal":"FAILURE","message":"'"$(c)"'"},"error_details":{"error_code":"'"$(c)"'","error_message":"'"$(c)"'"}"#,
        r#""task_status":{"state":"'"$(c)"'","final_signal":"SUCCESS"},"'"$(c)"'":1"#,
    ];
    for end in ends {
        let script = format!(
            ". ./lib.sh; cat > /dev/null; c >&2; echo; c; echo; echo '{{\"log\":\"'\"$(c)\"'\"}}'
             message '\"message_type\":\"EVENT\",\"event\":\"HEARTBEAT\",\"agent\":\"emma\",\"timestamp\":\"2026-01-01T12:00:00Z\",\"current_phase\":\"'\"$(c)\"'\"'
             message '\"message_type\":\"RESPONSE\",'\"$agent\"',{end}'"
        );
        let mut task = aop(&cli, "");
        task["task"]["extensions"]["x_command"] = json!(["sh", "-c", script]);
        let ran = cli.call(["run", "-", "--output", "json"]).stdin(task.to_string()).run();
        assert!(ran.json()["data"]["run_id"].is_string(), "{ran}");
    }
    backed_up_and_exported(&cli);
    keeps_no_canary(&cli);
}

#[test]
fn nothing_that_a_worker_prints_is_in_its_worklog_or_its_bundle() {
    let cli = cli();
    let plan = r#"
objective = "Write a file"
workspace = "."
[[task]]
id = "a"
command = ["true"]
writes = ["a"]
"#;
    let run = opened(&cli, plan);
    // The token of the assignment goes to the test in other letters.
    let script = ". ./lib.sh; printf %s \"$WRIT_ASSIGNMENT\" | tr 0-9a-f g-v > ../token; k; c; \
        head -c 1985 /dev/zero | tr '\\0' x; c >&2; echo; \
        echo \"as $WRIT_ASSIGNMENT\"; echo \"<${WRIT_ASSIGNMENT#*-}>\" >&2; exit 1";
    let words = ["worker", "run", "--run", &run, "--owner", "w1", "--", "sh", "-c", script];
    cli.run(words).fails_with(1);
    let shown = cli.run(["worklog", "show", "--run", &run, "--task", "T-1"]).success().stdout.clone();
    assert!(shown.contains("REDACTED"), "{shown}");
    let token = fs::read_to_string(cli.project().join("../token")).unwrap();
    let plain = |letter: char| letter.to_digit(32).and_then(|digit| char::from_digit(digit - 16, 16));
    let proof: String = token.split('-').nth(1).unwrap().chars().map(|c| plain(c).unwrap()).collect();
    assert_eq!(proof.len(), 64, "{token}");
    assert!(!shown.contains(&proof), "{shown}");
    let bundle = cli.scratch().dir("out").join("bundle.json");
    cli.run(["handoff", "export", &run, bundle.to_str().unwrap(), "--allow-stale"]).success();
    backed_up_and_exported(&cli);
    keeps_no_canary(&cli);
    keeps_no(&cli, &proof);
}

#[test]
fn nothing_that_a_hook_is_told_is_kept_with_a_secret_in_it() {
    let cli = cli();
    let key = {
        let body = format!("{}\n", NEEDLE.repeat(9)).repeat(9);
        ["-----BEGIN ", "PRIVATE KEY-----\n", &body, "-----END ", "PRIVATE KEY-----"].concat()
    };
    let mut forms = vec![token(), format!("{} {}", "x".repeat(70_000), token()), key.clone()];
    // Characters that are taken out must not hide a secret from the search.
    forms.push(format!("gh\u{200e}{}", &token()[2..]));
    forms.push(format!("{}{key}{}", "x\n".repeat(30_000), "y".repeat(64 * 1024 - 200)));
    for (number, form) in forms.iter().enumerate() {
        let base = json!({"session_id": format!("s-{number}"), "cwd": cli.project(), "hook_event_name": "X"});
        let tool = json!({"tool_name": "Bash", "tool_input": {"command": form, form: form, "password": NEEDLE.repeat(3)},
            "tool_response": {"stdout": form, "stderr": form, "exit_code": 1, "error": form}, "error": form});
        for (handler, fields) in [
            ("session-start", json!({"source": form})),
            ("prompt", json!({"prompt": form})),
            ("tool-success", tool.clone()),
            ("tool-failure", tool),
            ("stop", json!({"last_assistant_message": form, "reason": form})),
            ("session-end", json!({"reason": form})),
            ("session-start", json!({"session_id": form})),
            // A path is taken as it is written: one with an invisible character has no token in it.
            ("prompt", json!({"cwd": format!("/tmp/{}", form.replace('\u{200e}', "")), "prompt": "p"})),
        ] {
            let input: Value = with(base.clone(), fields);
            cli.call(["hook", handler]).stdin(input.to_string()).run().success();
        }
    }
    backed_up_and_exported(&cli);
    keeps_no_canary(&cli);
}

#[test]
fn a_name_with_a_secret_is_refused_and_not_repeated() {
    let cli = cli();
    let token = token();
    let (agent, id) = (["--agent", "ann"], ["--request-id", "r"]);
    let refused = |words: &[&str]| {
        let output = cli.run(words.iter().chain(["--output", "json"].iter()));
        assert_eq!(output.status.code(), Some(1), "{output}");
        let said = output.json();
        assert_eq!(said["error_code"], "INVALID_INPUT", "{output}");
        assert!(said["error"].as_str().unwrap().contains("secret"), "{output}");
        let all = format!("{}{}", output.stdout, output.stderr).to_lowercase();
        assert!(!all.contains(NEEDLE), "{output}");
    };
    refused(&[&["task", "create", "--title", "t", "--agent", &token][..], &id].concat());
    refused(&[&["task", "create", "--title", "t", "--request-id", &token][..], &agent].concat());
    let project = format!("/srv/{token}");
    refused(&[&["task", "create", "--title", "t", "--project-id", &project][..], &agent, &id].concat());
    let file = cli.scratch().join(format!("{token}.db"));
    let file = file.to_str().unwrap();
    refused(&["backup", file]);
    refused(&["export", file]);
    refused(&["salvage", cli.db().to_str().unwrap(), "--into", file]);
    refused(&[&["task", "create", "--title", "t", "--db-path", file][..], &agent, &id].concat());
    let run =
        opened(&cli, "objective = \"o\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\nwrites = [\"a\"]\n");
    refused(&["handoff", "export", &run, file]);
    refused(&[&["memory", "set", "--key", &token, "--value", "v"][..], &agent, &id].concat());
    backed_up_and_exported(&cli);
    keeps_no_canary(&cli);
}
