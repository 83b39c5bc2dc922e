//! The crew's verbs.

use serde_json::{Value, json};
use testkit::Cli;

use super::{Example, Row};
use crate::documents::opened;

const PLAN: &str = r#"
objective = "Write a file"
workspace = "."

[[task]]
id = "a"
title = "Write a"
command = ["true"]
writes = ["src/a"]
[[task.checks]]
command = ["grep", "-q", "hello", "src/a/a.txt"]
"#;

fn project(cli: &Cli) -> String {
    cli.project().to_str().unwrap().to_owned()
}

/// The run of a ledger whose first task is assigned, and its packet.
fn assigned(cli: &Cli) -> (String, Value) {
    let run = opened(cli, PLAN);
    let words = ["assignment", "issue", "--run", &run, "--task", "T-1", "--owner", "w"];
    let issued = cli.run(words).success().json();
    (run, issued["data"]["packet"].clone())
}

/// A verb about the assigned task, and its command.
fn about_task(cli: &Cli, words: &[&str], more: Value) -> Example {
    let (run, packet) = assigned(cli);
    let token = packet["x_token"].as_str().unwrap();
    let mut request = json!({"run": run, "task": "T-1"});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut argv = [words, &["--run", &run, "--task", "T-1"]].concat();
    if !request["token"].is_null() {
        request["token"] = packet["x_token"].clone();
        argv.extend(["--token", token]);
    }
    Example::new(request, &argv)
}

fn done(run: &str, packet: &Value) -> Value {
    let criterion = &packet["task"]["acceptance_criteria"][0];
    json!({
        "schema_version": "1.0.0", "run_id": run, "task_id": "T-1", "status": "done",
        "changes": [{"resource": "src/a/a.txt", "action": "create"}],
        "acceptance_check": [{"criterion": criterion, "status": "pass", "evidence": "looked at it"}],
        "worklog_path": packet["task"]["worklog_path"], "notes_for_orchestrator": [],
        "x_token": packet["x_token"],
    })
}

fn output(run: &str, deltas: Value) -> Value {
    json!({
        "schema_version": "1.0.0", "run_id": run, "ledger_delta": deltas, "assignments": [], "active_locks": [],
        "blockers": [], "next_actions": ["look at it"],
    })
}

fn canceled(run: &str) -> Value {
    output(
        run,
        json!([{"task_id": "T-1", "status": "canceled", "owner": "", "reason": "r", "delta_id": "d"}]),
    )
}

/// An approval that somebody else requested.
fn approval(cli: &Cli) -> (String, String) {
    let run = opened(cli, PLAN);
    let asked = cli.run(["approval", "request", "--run", &run, "--task", "T-1"]).success().json();
    (run, asked["data"]["id"].as_str().unwrap().to_owned())
}

pub(super) const ROWS: &[Row] = &[
    Row {
        verb: "ledger.open",
        prepare: |cli| {
            cli.scratch().write("project/plan.toml", PLAN);
            let request = json!({"document": PLAN, "directory": project(cli), "name": "plan.toml"});
            Example::new(request, &["ledger", "open", "plan.toml"])
        },
    },
    Row {
        verb: "ledger.show",
        prepare: |cli| {
            let (run, _) = assigned(cli);
            Example::new(json!({"run": run}), &["ledger", "show", &run])
        },
    },
    Row {
        verb: "ledger.apply",
        prepare: |cli| {
            let document = canceled(&opened(cli, PLAN));
            let request = json!({"document": document, "workspace": project(cli)});
            Example::new(request, &["ledger", "apply", "-"]).stdin(document.to_string())
        },
    },
    Row {
        verb: "ledger.reconcile",
        prepare: |cli| {
            let (run, _) = assigned(cli);
            Example::new(json!({"run": run}), &["ledger", "reconcile", &run])
        },
    },
    Row {
        verb: "ledger.repair",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            let begun = json!([{"task_id": "T-1", "status": "in_progress", "owner": "w", "reason": "r", "delta_id": "d"}]);
            cli.call(["ledger", "apply"]).stdin(output(&run, begun).to_string()).run().success();
            let request = json!({"run": run, "accept": "seen"});
            Example::new(request, &["ledger", "repair", &run, "--accept", "seen"])
        },
    },
    Row {
        verb: "ledger.close",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            cli.call(["ledger", "apply"]).stdin(canceled(&run).to_string()).run().success();
            Example::new(json!({"run": run}), &["ledger", "close", &run])
        },
    },
    Row {
        verb: "assignment.issue",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            let request = json!({
                "run": run, "task": "T-1", "owner": "w", "forbidden_scope": ["docs"],
                "context_package": [{"kind": "note", "value": "v"}], "timeout_seconds": 60, "cost": 1_500_000,
            });
            let words = ["assignment", "issue", "--run", &run, "--task", "T-1", "--owner", "w"];
            let more = ["--forbid", "docs", "--context", "note=v", "--timeout", "60", "--cost", "1.5"];
            Example::new(request, &[&words[..], &more].concat())
        },
    },
    Row { verb: "assignment.show", prepare: |cli| about_task(cli, &["assignment", "show"], json!({})) },
    Row {
        verb: "result.submit",
        prepare: |cli| {
            let (run, packet) = assigned(cli);
            cli.scratch().write("project/src/a/a.txt", "hello");
            let document = done(&run, &packet);
            let request = json!({"document": document, "tokens": 7});
            let argv = ["result", "submit", "-", "--tokens", "7"];
            Example::new(request, &argv).stdin(document.to_string())
        },
    },
    Row { verb: "heartbeat.send", prepare: |cli| about_task(cli, &["heartbeat"], json!({"token": 0})) },
    Row {
        verb: "watchdog.sweep",
        prepare: |cli| {
            let (run, _) = assigned(cli);
            Example::new(json!({"run": run}), &["watchdog", "sweep", "--run", &run])
        },
    },
    Row {
        verb: "orchestrate.step",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            cli.scratch().write("project/output.json", output(&run, json!([])).to_string());
            let file = cli.project().join("output.json");
            let program = json!({"argv": ["cat", file], "run": run, "timeout_ms": 60_000});
            let request = json!({"program": program, "workspace": project(cli)});
            let command = format!("cat {}", file.display());
            let argv = ["orchestrate", "step", "--run", &run, "--timeout", "1m", "--command", &command];
            Example::new(request, &argv)
        },
    },
    Row {
        verb: "lock.acquire",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            let request = json!({"run": run, "task": "T-1", "resources": ["src/a"], "timeout_seconds": 60});
            let words = ["lock", "acquire", "--run", &run, "--task", "T-1", "--timeout", "60", "src/a"];
            Example::new(request, &words)
        },
    },
    Row { verb: "lock.renew", prepare: |cli| about_task(cli, &["lock", "renew"], json!({"token": 0})) },
    Row {
        verb: "lock.release",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            let taken =
                cli.run(["lock", "acquire", "--run", &run, "--task", "T-1", "src/a"]).success().json();
            let token = taken["data"]["token"].as_str().unwrap();
            let request = json!({"run": run, "task": "T-1", "token": token});
            Example::new(request, &["lock", "release", "--run", &run, "--task", "T-1", "--token", token])
        },
    },
    Row {
        verb: "lock.force",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            cli.run(["lock", "acquire", "--run", &run, "--task", "T-1", "src/a"]).success();
            let words = ["lock", "release", "--run", &run, "--task", "T-1", "--force", "--reason", "r"];
            Example::new(json!({"run": run, "task": "T-1", "reason": "r"}), &words).decided(cli)
        },
    },
    Row {
        verb: "lock.list",
        prepare: |cli| {
            let (run, _) = assigned(cli);
            Example::new(json!({"run": run, "history": true}), &["lock", "list", "--run", &run, "--history"])
        },
    },
    Row {
        verb: "lock.check",
        prepare: |cli| {
            let (run, _) = assigned(cli);
            let request = json!({"run": run, "task": "T-1", "changed": ["src/a/a.txt"]});
            Example::new(request, &["lock", "check", "--run", &run, "--task", "T-1", "src/a/a.txt"])
        },
    },
    Row {
        verb: "worklog.append",
        prepare: |cli| {
            let entry = json!({
                "action": "wrote it", "files_touched": [], "decision": "d", "result": "done", "next_step": "n",
            });
            let example = about_task(cli, &["worklog", "append"], json!({"token": 0, "entry": entry}));
            example.stdin(entry.to_string())
        },
    },
    Row { verb: "worklog.show", prepare: |cli| about_task(cli, &["worklog", "show"], json!({})) },
    Row { verb: "worklog.verify", prepare: |cli| about_task(cli, &["worklog", "verify"], json!({})) },
    Row {
        verb: "handoff.export",
        prepare: |cli| {
            let (run, _) = assigned(cli);
            Example::new(json!({"run": run}), &["handoff", "export", &run])
        },
    },
    Row {
        verb: "handoff.import",
        prepare: |cli| {
            let from = Cli::new(env!("CARGO_BIN_EXE_writ"));
            let (run, _) = assigned(&from);
            let bundle = from.run(["handoff", "export", &run]).success().json();
            let request = json!({"document": bundle, "workspace": project(cli)});
            Example::new(request, &["handoff", "import", "-"]).stdin(bundle.to_string())
        },
    },
    Row {
        verb: "handoff.brief",
        prepare: |cli| {
            let (run, _) = assigned(cli);
            let request = json!({"run": run, "budget": 500});
            Example::new(request, &["handoff", "brief", "--run", &run, "--budget", "500"])
        },
    },
    Row {
        verb: "budget.set",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            let request = json!({"run": run, "cost": 5_000_000, "tokens": 70});
            Example::new(request, &["budget", "set", "--run", &run, "--cost", "5", "--tokens", "70"])
        },
    },
    Row {
        verb: "budget.settle",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            cli.run(["budget", "set", "--run", &run, "--cost", "5", "--tokens", "70"]).success();
            let issue = ["assignment", "issue", "--run", &run, "--task", "T-1", "--owner", "w"];
            cli.run([&issue[..], &["--cost", "2", "--tokens", "70"]].concat()).success();
            let cancel = output(
                &run,
                json!([{
                    "task_id": "T-1", "status": "canceled", "owner": "", "reason": "r", "delta_id": "d",
                }]),
            );
            let file = cli.project().join("cancel.json");
            std::fs::write(&file, cancel.to_string()).unwrap();
            cli.run(["ledger", "apply", file.to_str().unwrap()]).success();
            let request = json!({"run": run, "task": "T-1", "cost": 500_000, "tokens": 7});
            Example::new(request, &["budget", "settle", &run, "T-1", "--cost", "0.5", "--tokens", "7"])
                .decided(cli)
        },
    },
    Row {
        verb: "budget.show",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            Example::new(json!({"run": run}), &["budget", "show", "--run", &run])
        },
    },
    Row {
        verb: "approval.request",
        prepare: |cli| {
            let run = opened(cli, PLAN);
            let request = json!({"run": run, "task": "T-1", "action": "do it", "deadline_seconds": 60});
            let words = ["approval", "request", "--run", &run, "--task", "T-1"];
            Example::new(request, &[&words[..], &["--action", "do it", "--deadline", "60"]].concat())
        },
    },
    Row {
        verb: "approval.decide",
        prepare: |cli| {
            let (_, id) = approval(cli);
            let request = json!({"id": id, "granted": true, "reason": "fine"});
            Example::new(request, &["approval", "grant", &id, "--reason", "fine"]).decided(cli)
        },
    },
    Row {
        verb: "approval.list",
        prepare: |cli| {
            let (run, _) = approval(cli);
            Example::new(json!({"run": run}), &["approval", "list", "--run", &run])
        },
    },
];
