//! The agent contract's verbs.

use serde_json::{Value, json};
use testkit::Cli;

use super::{Example, Row};

/// Calls the program as the agent that prepares the store; each call has a request id of its own.
fn setup(cli: &Cli, words: &[&str]) -> Value {
    let request = words.join(" ").replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let who = ["--agent", "setup", "--output", "json", "--request-id", &request];
    cli.run(words.iter().chain(&who)).success().json()["data"].clone()
}

fn task(cli: &Cli, title: &str) -> String {
    setup(cli, &["task", "create", "--title", title])["task"]["id"].as_str().unwrap().to_owned()
}

fn memory(cli: &Cli) {
    setup(cli, &["memory", "set", "--key", "style", "--value", "tabs"]);
}

/// The task of a run that was stopped before its end, with a check that passes by now.
fn checked(cli: &Cli) -> String {
    let plan = "objective = \"o\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\n[[task.checks]]\n\
                command = [\"test\", \"-e\", \"there\"]\n";
    cli.scratch().write("project/plan.toml", plan);
    let run = cli.run(["run", "plan.toml", "--output", "json"]).json()["data"]["run_id"].clone();
    let shown = cli.run(["runs", "show", run.as_str().unwrap(), "--output", "json"]).success().json();
    cli.scratch().write("project/there", "");
    shown["data"]["tasks"][0]["id"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned()
}

/// A request that names one task, for a command that takes its id.
fn of_task(cli: &Cli, words: &[&str]) -> Example {
    let id = task(cli, "one");
    let argv: Vec<&str> = words.iter().copied().chain(["--id", &id]).collect();
    Example::new(json!({"id": id}), &argv)
}

pub(super) const ROWS: &[Row] = &[
    Row {
        verb: "resume",
        prepare: |cli| {
            let id = task(cli, "one");
            let request = json!({"project_dir": "/usr/lib", "limit": 5, "focus": id, "budget": 1000});
            let argv =
                ["resume", "--project-dir", "/usr/lib", "--limit", "5", "--focus", &id, "--budget", "1000"];
            Example::new(request, &argv)
        },
    },
    Row {
        verb: "resume.peek",
        prepare: |cli| {
            task(cli, "one");
            let as_of = "2999-01-01T00:00:00Z";
            let request = json!({"agent": "ann", "limit": 1000, "budget": 1500, "as_of": as_of});
            Example::new(request, &["resume", "--peek", "--as-of", as_of])
        },
    },
    Row {
        verb: "agent.push",
        prepare: |cli| {
            let id = task(cli, "one");
            let request = json!({
                "task_id": id,
                "event": {"kind": "note", "message": "m", "metadata": {"a": 1}, "colour": "red"},
                "memories": [{"key": "k", "value": "v", "scope": "global"}],
                "artifacts": [{"file_path": "out.md"}],
                "task_status": {"status": "blocked", "summary": "s"},
            });
            let stdin = request.to_string();
            Example::new(request, &["push"]).stdin(stdin)
        },
    },
    Row {
        verb: "task.create",
        prepare: |_| {
            let check = json!({"command": ["test", "-e", "a b"], "shell": false, "expects": "EXIT_CODE_0"});
            let script = json!({"command": ["a && b"], "shell": true});
            let request = json!({"title": "one", "description": "more", "project_id": "/p", "priority": 3,
                "checks": [check, script]});
            let argv = [
                "task",
                "create",
                "--title",
                "one",
                "--desc",
                "more",
                "--project-id",
                "/p",
                "--priority",
                "3",
                "--check",
                "test -e 'a b'",
                "--check-shell",
                "a && b",
            ];
            Example::new(request, &argv)
        },
    },
    Row { verb: "task.begin", prepare: |cli| of_task(cli, &["task", "begin"]) },
    Row { verb: "task.get", prepare: |cli| of_task(cli, &["task", "get"]) },
    Row { verb: "task.delete", prepare: |cli| of_task(cli, &["task", "delete"]) },
    Row {
        verb: "task.list",
        prepare: |cli| {
            for (title, priority) in [("one", "1"), ("two", "2"), ("three", "1")] {
                setup(cli, &["task", "create", "--title", title, "--priority", priority]);
            }
            let request = json!({"status": "pending", "priority": 1, "limit": 1});
            let argv = ["task", "list", "--status", "pending", "--priority", "1", "--limit", "1"];
            Example::new(request, &argv)
        },
    },
    Row {
        verb: "task.ready",
        prepare: |cli| {
            task(cli, "one");
            Example::new(json!({"limit": 5}), &["ready", "--limit", "5"])
        },
    },
    Row {
        verb: "task.set_status",
        prepare: |cli| {
            let id = checked(cli);
            let request = json!({"id": id, "status": "completed"});
            Example::new(request, &["task", "set-status", "--id", &id, "--status", "completed"])
        },
    },
    Row {
        verb: "task.complete",
        prepare: |cli| {
            let id = checked(cli);
            let request = json!({"id": id, "outcome": "done", "summary": "s", "label": "l"});
            let argv =
                ["task", "complete", "--id", &id, "--outcome", "done", "--summary", "s", "--label", "l"];
            Example::new(request, &argv)
        },
    },
    Row {
        verb: "task.set_priority",
        prepare: |cli| {
            let id = task(cli, "one");
            let argv = ["task", "set-priority", "--id", &id, "--priority", "7"];
            Example::new(json!({"id": id, "priority": 7}), &argv)
        },
    },
    Row {
        verb: "task.add_dependency",
        prepare: |cli| {
            let (id, needed) = (task(cli, "one"), task(cli, "two"));
            let argv = ["task", "add-dep", "--id", &id, "--depends-on", &needed];
            Example::new(json!({"id": id, "depends_on": needed}), &argv)
        },
    },
    Row {
        verb: "task.remove_dependency",
        prepare: |cli| {
            let (id, needed) = (task(cli, "one"), task(cli, "two"));
            setup(cli, &["task", "add-dep", "--id", &id, "--depends-on", &needed]);
            let argv = ["task", "remove-dep", "--id", &id, "--depends-on", &needed];
            Example::new(json!({"id": id, "depends_on": needed}), &argv)
        },
    },
    Row {
        verb: "memory.set",
        prepare: |_| {
            let request = json!({"key": "k", "value": "5", "value_type": "number", "scope": "agent",
                "scope_id": "ann", "kind": "lesson", "half_life_days": 2.5, "pinned": true, "expires_in": "7d"});
            let place = ["--scope", "agent", "--scope-id", "ann"];
            let words = ["memory", "set", "-k", "k", "-v", "5", "--type", "number", "--kind", "lesson"];
            let more = ["--half-life-days", "2.5", "--pin", "--expires-in", "7d"];
            Example::new(request, &[&words[..], &place, &more].concat())
        },
    },
    Row {
        verb: "memory.get",
        prepare: |cli| {
            memory(cli);
            Example::new(json!({"key": "style"}), &["memory", "get", "--key", "style"])
        },
    },
    Row {
        verb: "memory.list",
        prepare: |cli| {
            memory(cli);
            Example::new(json!({"scope": "global", "limit": 5}), &["memory", "list", "--limit", "5"])
        },
    },
    Row {
        verb: "memory.search",
        prepare: |cli| {
            memory(cli);
            Example::new(json!({"query": "tabs"}), &["memory", "search", "tabs"])
        },
    },
    Row {
        verb: "memory.pin",
        prepare: |cli| {
            memory(cli);
            Example::new(json!({"key": "style"}), &["memory", "pin", "--key", "style"])
        },
    },
    Row {
        verb: "memory.delete",
        prepare: |cli| {
            memory(cli);
            Example::new(json!({"key": "style"}), &["memory", "delete", "--key", "style"])
        },
    },
    Row {
        verb: "memory.gc",
        prepare: |cli| {
            memory(cli);
            Example::new(json!({"limit": 5}), &["memory", "gc", "--limit", "5"])
        },
    },
    Row {
        verb: "artifact.list",
        prepare: |cli| {
            let id = task(cli, "one");
            let document = json!({"task_id": id, "artifacts": [{"file_path": "out.md"}]}).to_string();
            setup(cli, &["push", "--json", &document]);
            Example::new(json!({"task_id": id}), &["artifacts", "list", "--task-id", &id])
        },
    },
    Row {
        verb: "event.list",
        prepare: |cli| {
            let id = task(cli, "one");
            let request = json!({"task_id": id, "kind": "task_created", "ascending": true, "limit": 5});
            let argv = [
                "events",
                "list",
                "--all",
                "--task-id",
                &id,
                "--kind",
                "task_created",
                "--asc",
                "--limit",
                "5",
            ];
            Example::new(request, &argv)
        },
    },
    Row {
        verb: "status.show",
        prepare: |cli| {
            task(cli, "one");
            Example::new(json!({"agent": "ann", "check": true}), &["status", "--check"])
        },
    },
];
