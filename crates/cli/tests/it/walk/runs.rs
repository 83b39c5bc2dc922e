//! The verbs of runs, of the store and of documents.

use contract::domain::retention::Retention;
use serde_json::{Value, json};
use testkit::Cli;

use super::{Example, Row};
use crate::bad_stores::sqlite;
use crate::decisions;
use crate::documents::{aop, plan, shell};
use crate::vybe_import::VYBE;
use crate::windows;

const PLAN: &str = r#"
objective = "Do two things"
workspace = "."

[[task]]
id = "first"
command = ["echo", "hello"]
[[task.checks]]
command = ["true"]

[[task]]
id = "second"
command = ["true"]
depends_on = ["first"]
"#;

fn write_plan(cli: &Cli) -> String {
    cli.scratch().write("project/plan.toml", PLAN);
    text(&cli.project())
}

fn text(path: &std::path::Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A person trusted the project; its commands are gone since.
fn trusted(cli: &Cli) {
    create_task(cli);
    let row = format!("('{}', 'sha256:0', '[\"cargo test\"]', 'human.ann', 0)", text(&cli.project()));
    let columns = "directory, digest, commands, trusted_by, trusted_at";
    sqlite(&cli.db(), &format!("INSERT INTO trusted_projects ({columns}) VALUES {row}"));
}

fn data(cli: &Cli, words: &[&str]) -> Value {
    cli.run(words.iter().chain(&["--output", "json"])).json()["data"].clone()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A run that is done.
fn done(cli: &Cli) -> Value {
    write_plan(cli);
    data(cli, &["run", "plan.toml"])
}

/// The task of a run that wrote a file.
fn wrote(cli: &Cli) -> String {
    let task = json!({"id": "w", "command": ["touch", "made"], "writes": ["made"]});
    let answer =
        cli.call(["run", "-", "--output", "json"]).stdin(plan([task]).to_string()).run().success().json();
    word(&answer["data"]["tasks"][0]["id"])
}

/// A run with one task that fails until there is a file `ready`.
fn failed(cli: &Cli) -> Value {
    cli.scratch().write("project/failing.json", plan([shell("only", "test -f ready")]).to_string());
    data(cli, &["run", "failing.json"])
}

/// A run of the session `S-1`.
fn of_session(cli: &Cli) -> String {
    cli.scratch().write("project/task.json", aop(cli, "aop-success").to_string());
    data(cli, &["run", "task.json"]);
    "S-1".to_owned()
}

fn create_task(cli: &Cli) -> String {
    let words = ["task", "create", "--title", "one", "--agent", "setup", "--request-id", "one"];
    word(&data(cli, &words)["task"]["id"])
}

/// A task that left unmerged work in its clone.
fn unmerged(cli: &Cli) {
    let git = |words: &[&str]| {
        let name = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
        cli.call(name.iter().chain(words)).program("git").run().success();
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let plan = "objective = \"o\"\nworkspace = \".\"\nisolation = \"worktree\"\nsandbox = \"off\"\n[[task]]\nid = \"a\"\n\
                shell = true\ncommand = \"echo x > left; exit 1\"\n";
    cli.scratch().write(cli.project().join("clone.toml"), plan);
    cli.call(["run", "clone.toml"]).run().fails_with(1);
}

fn submitted(cli: &Cli) -> Value {
    json!({"document": PLAN, "directory": write_plan(cli), "name": "plan.toml"})
}

pub(super) const ROWS: &[Row] = &[
    Row { verb: "run.submit", prepare: |cli| Example::new(submitted(cli), &["run", "plan.toml"]) },
    Row {
        verb: "run.preview",
        prepare: |cli| Example::new(submitted(cli), &["run", "plan.toml", "--dry-run"]),
    },
    Row {
        verb: "run.continue",
        prepare: |cli| {
            let failed = failed(cli);
            cli.scratch().write("project/ready", "");
            cli.run(["retry", &word(&failed["tasks"][0]["id"]), "--no-run"]).success();
            let run = word(&failed["run_id"]);
            Example::new(json!({"run": run}), &["run", "--continue", &run])
        },
    },
    Row {
        verb: "run.list",
        prepare: |cli| {
            done(cli);
            failed(cli);
            Example::new(json!({"state": "done"}), &["runs", "list", "--state", "done"])
        },
    },
    Row {
        verb: "run.show",
        prepare: |cli| {
            let run = word(&done(cli)["run_id"]);
            Example::new(json!({"run": run}), &["runs", "show", &run])
        },
    },
    Row {
        verb: "limits.list",
        prepare: |cli| {
            windows::limited(cli);
            Example::new(json!({}), &["limits", "list"])
        },
    },
    Row {
        verb: "limits.clear",
        prepare: |cli| {
            windows::limited(cli);
            Example::new(json!({"resource": "claude"}), &["limits", "clear", "claude"])
        },
    },
    Row {
        verb: "session.list",
        prepare: |cli| {
            of_session(cli);
            Example::new(json!({}), &["session", "list"])
        },
    },
    Row {
        verb: "session.show",
        prepare: |cli| Example::new(json!({"session": of_session(cli)}), &["session", "show", "S-1"]),
    },
    Row {
        verb: "session.report",
        prepare: |cli| Example::new(json!({"session": of_session(cli)}), &["session", "report", "S-1"]),
    },
    Row {
        verb: "session.audit",
        prepare: |cli| Example::new(json!({"session": of_session(cli)}), &["session", "audit", "S-1"]),
    },
    Row {
        verb: "session.write_audit",
        prepare: |cli| {
            let request = json!({"session": of_session(cli), "directory": cli.project().join("audit")});
            Example::new(request, &["session", "audit", "S-1", "--write", "audit"])
        },
    },
    Row {
        verb: "run.trace",
        prepare: |cli| {
            let run = word(&done(cli)["run_id"]);
            Example::new(json!({"run": run}), &["trace", &run])
        },
    },
    Row {
        verb: "run.logs",
        prepare: |cli| {
            let task = word(&done(cli)["tasks"][0]["id"]);
            let argv = ["logs", &task, "--attempt", "1", "--stream", "stdout"];
            Example::new(json!({"task": task, "attempt": 1, "stream": "stdout"}), &argv)
        },
    },
    Row {
        verb: "run.logs_of_run",
        prepare: |cli| {
            let run = word(&done(cli)["run_id"]);
            Example::new(json!({"run": run}), &["logs", &run])
        },
    },
    Row {
        verb: "run.cancel",
        prepare: |cli| {
            let failed = failed(cli);
            cli.run(["retry", &word(&failed["tasks"][0]["id"]), "--no-run"]).success();
            let run = word(&failed["run_id"]);
            let argv = ["cancel", &run, "--reason", "not needed"];
            Example::new(json!({"id": run, "reason": "not needed"}), &argv)
        },
    },
    Row {
        verb: "task.cancel",
        prepare: |cli| {
            let task = create_task(cli);
            // A unique prefix is enough.
            let argv = ["cancel", &task[..task.len() - 1]];
            Example::new(json!({"id": task}), &argv)
        },
    },
    Row {
        verb: "task.retry",
        prepare: |cli| {
            let task = word(&failed(cli)["tasks"][0]["id"]);
            Example::new(json!({"task_id": task}), &["retry", &task, "--no-run"])
        },
    },
    Row {
        verb: "task.escalate",
        prepare: |cli| {
            let task = word(&failed(cli)["tasks"][0]["id"]);
            cli.run(["retry", &task, "--no-run"]).success();
            let argv = ["escalate", &task, "--to", "high", "--reason", "it is late"];
            Example::new(json!({"task": task, "to": "high", "reason": "it is late"}), &argv)
        },
    },
    Row {
        verb: "rollback.undo",
        prepare: |cli| {
            let task = wrote(cli);
            Example::new(json!({"task": task}), &["rollback", &task])
        },
    },
    Row {
        verb: "rollback.preview",
        prepare: |cli| {
            let task = wrote(cli);
            Example::new(json!({"task": task}), &["rollback", &task, "--preview"])
        },
    },
    Row {
        verb: "snapshots.list",
        prepare: |cli| {
            wrote(cli);
            Example::new(json!({"limit": 3}), &["snapshots", "list", "--limit", "3"])
        },
    },
    Row {
        verb: "snapshots.gc",
        prepare: |cli| {
            wrote(cli);
            Example::new(json!({}), &["snapshots", "gc"])
        },
    },
    Row {
        verb: "snapshots.preview_gc",
        prepare: |cli| {
            wrote(cli);
            Example::new(json!({}), &["snapshots", "gc", "--dry-run"])
        },
    },
    Row {
        verb: "audit.verify",
        prepare: |cli| {
            create_task(cli);
            let tip = cli.run(["audit", "tip"]).success().json();
            cli.scratch().write("project/tip.json", tip.to_string());
            let argv = ["audit", "verify", "--tip", "tip.json", "--quick"];
            Example::new(json!({"tip": tip, "quick": true}), &argv)
        },
    },
    Row {
        verb: "audit.reseal",
        // Nobody is asked while the seal matches.
        prepare: |cli| {
            create_task(cli);
            Example::new(json!({"reason": "restored"}), &["audit", "reseal", "--reason", "restored"])
        },
    },
    Row {
        verb: "audit.tip",
        prepare: |cli| {
            create_task(cli);
            Example::new(json!({}), &["audit", "tip"])
        },
    },
    Row {
        verb: "worktree.list",
        prepare: |cli| {
            create_task(cli);
            Example::new(json!({}), &["worktree", "list"])
        },
    },
    Row {
        verb: "worktree.gc",
        prepare: |cli| {
            create_task(cli);
            Example::new(json!({}), &["worktree", "gc"])
        },
    },
    Row {
        verb: "worktree.preview_gc",
        prepare: |cli| {
            create_task(cli);
            Example::new(json!({}), &["worktree", "gc", "--dry-run"])
        },
    },
    Row {
        verb: "worktree.discard",
        prepare: |cli| {
            unmerged(cli);
            let words = ["worktree", "discard", "a"];
            let fixed = ["--agent", super::AGENT, "--request-id", super::REQUEST_ID];
            // It is done once, and both doors give the stored answer.
            decisions::decide(cli, &[&words[..], &fixed].concat()).success();
            Example::new(json!({"task": "a"}), &words)
        },
    },
    Row {
        verb: "worktree.preview_discard",
        prepare: |cli| {
            unmerged(cli);
            Example::new(json!({"task": "a"}), &["worktree", "discard", "a", "--dry-run"])
        },
    },
    Row {
        verb: "store.gc",
        prepare: |cli| {
            create_task(cli);
            Example::new(json!({"retention": Retention::default()}), &["gc"])
        },
    },
    Row {
        verb: "store.gc_preview",
        prepare: |cli| {
            create_task(cli);
            Example::new(json!({}), &["gc", "--dry-run"])
        },
    },
    Row {
        verb: "token.create",
        prepare: |cli| {
            // A person created it under this request id, so both doors give the stored answer.
            decisions::created(cli, "ci", super::AGENT, super::REQUEST_ID);
            let request = json!({"name": "ci", "scope": "approve"});
            Example::new(request, &["token", "create", "ci", "--scope", "approve"])
        },
    },
    Row {
        verb: "token.list",
        prepare: |cli| {
            decisions::token(cli);
            Example::new(json!({}), &["token", "list"])
        },
    },
    Row {
        verb: "token.revoke",
        prepare: |cli| {
            decisions::created(cli, "ci", "ann", "create");
            Example::new(json!({"token": "ci"}), &["token", "revoke", "ci"])
        },
    },
    Row {
        verb: "epoch.halt",
        prepare: |cli| {
            Example::new(json!({"reason": "enough"}), &["halt", "--reason", "enough"]).decided(cli)
        },
    },
    Row {
        verb: "epoch.resume",
        prepare: |cli| {
            let example = Example::new(json!({"reason": "mended"}), &["resume-all", "--reason", "mended"]);
            let example = example.decided(cli);
            decisions::decide(cli, &["halt"]).success();
            example
        },
    },
    Row {
        verb: "trust.grant",
        // Without commands nobody is asked.
        prepare: |cli| Example::new(json!({"directory": text(&cli.project())}), &["trust"]),
    },
    Row {
        verb: "trust.show",
        prepare: |cli| Example::new(json!({"directory": text(&cli.project())}), &["trust", "--check"]),
    },
    Row {
        verb: "trust.list",
        prepare: |cli| {
            trusted(cli);
            Example::new(json!({}), &["trust", "--list"])
        },
    },
    Row {
        verb: "trust.revoke",
        prepare: |cli| {
            trusted(cli);
            Example::new(json!({"directory": text(&cli.project())}), &["trust", "--revoke"])
        },
    },
    Row {
        verb: "store.backup",
        prepare: |cli| {
            create_task(cli);
            let file = text(&cli.project().join("copy.db"));
            Example::new(json!({"file": file}), &["backup", "copy.db"])
        },
    },
    Row {
        verb: "store.export",
        prepare: |cli| {
            create_task(cli);
            let file = text(&cli.project().join("all.ndjson"));
            Example::new(json!({"file": file}), &["export", "all.ndjson"])
        },
    },
    Row {
        verb: "store.import",
        prepare: |cli| {
            create_task(cli);
            cli.run(["export", "all.ndjson"]).success();
            std::fs::remove_file(cli.db()).unwrap();
            let file = text(&cli.project().join("all.ndjson"));
            Example::new(json!({"file": file}), &["import", "all.ndjson"])
        },
    },
    Row {
        verb: "store.upgrade",
        prepare: |cli| {
            create_task(cli);
            Example::new(json!({}), &["upgrade"])
        },
    },
    Row {
        verb: "store.import_vybe",
        prepare: |cli| {
            let file = cli.project().join("vybe.db");
            sqlite(&file, VYBE);
            Example::new(json!({"file": text(&file)}), &["import", "--from", "vybe", "vybe.db"])
        },
    },
    Row {
        verb: "document.validate",
        prepare: |cli| {
            write_plan(cli);
            let argv = ["validate", "plan", "plan.toml", "--strict"];
            Example::new(json!({"document": PLAN, "kind": "plan", "strict": true}), &argv)
        },
    },
    Row {
        verb: "document.convert",
        prepare: |cli| {
            let document = aop(cli, "exit 0").to_string();
            let now = "2026-01-01T12:00:00Z";
            let request = json!({"document": document, "to": "aee", "now": now});
            Example::new(request, &["convert", "--to", "aee", "--now", now]).stdin(document)
        },
    },
    Row { verb: "schema.list", prepare: |_| Example::new(json!({}), &["schema", "list"]) },
    Row {
        verb: "schema.show",
        prepare: |_| {
            Example::new(json!({"kind": "aop", "strict": true}), &["schema", "show", "aop", "--strict"])
        },
    },
    Row { verb: "plan.check", prepare: |cli| Example::new(submitted(cli), &["plan", "check", "plan.toml"]) },
    Row { verb: "plan.schema", prepare: |_| Example::new(json!({}), &["plan", "schema"]) },
];
