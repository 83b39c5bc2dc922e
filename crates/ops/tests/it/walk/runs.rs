//! Samples of the verbs of runs, of the store and of documents.

use std::time::Duration;

use contract::domain::attempt::NewAttempt;
use contract::domain::id::mint;
use contract::domain::run::RunState;
use contract::domain::status::Status;
use ops::run::journal::{self, JournalEntry, Wants};
use serde_json::{Value, json};
use testkit::{Cli, SeededIds};

use super::Sample;
use crate::crew_world::Crew;
use crate::limit_windows::window_of;
use crate::rollbacks::ended_task;
use crate::world::{caller, commands, owner};

const PLAN: &str = r#"
objective = "Do a thing"
workspace = "."

[[task]]
id = "a"
command = ["true"]
"#;

/// A provider refuses work; the name of its resource.
fn limited(crew: &mut Crew) -> String {
    let resource = format!("limited-{}", crew.world.round);
    window_of(&mut crew.world, &resource, &resource, Duration::from_secs(3600));
    resource
}

/// A run whose only task failed on its first attempt; the task's id.
fn failed_task(crew: &mut Crew) -> String {
    let world = &mut crew.world;
    let run = world.run(&["a"]);
    world.own(&run, 7);
    let task_id = world.task_of(&run, "a").id;
    let moved = |to| JournalEntry::MoveTask { task_id: task_id.clone(), to, reason: None };
    let entries = [
        moved(Status::InProgress),
        moved(Status::Failed),
        JournalEntry::MoveRun { to: RunState::Failed, result: Some(json!({"state": "failed"})) },
    ];
    journal::write(&mut world.cx, &caller("writ"), &run, &owner(7), &entries).unwrap();
    task_id.to_string()
}

/// A task with an attempt; its id.
fn attempted_task(crew: &mut Crew) -> String {
    let world = &mut crew.world;
    let run = world.run(&["a"]);
    world.own(&run, 7);
    let task_id = world.task_of(&run, "a").id;
    let attempt = NewAttempt {
        id: mint(&mut SeededIds::new(77 + u64::from(world.round)), world.temp.now().at),
        task_id: task_id.clone(),
        run_id: run.clone(),
        number: 1,
        executor: "shell".to_owned(),
        model: None,
        alternative: None,
        agent_session: None,
        owner: owner(7),
    };
    let to = Status::InProgress;
    let entries = [
        JournalEntry::MoveTask { task_id: task_id.clone(), to, reason: None },
        JournalEntry::StartAttempt { attempt, dispatch: None, wants: Wants::default() },
    ];
    journal::write(&mut world.cx, &caller("writ"), &run, &owner(7), &entries).unwrap();
    task_id.to_string()
}

/// A run of an AOP session; gives the session's id.
fn of_session(crew: &mut Crew) -> String {
    let session_id = "S-1".to_owned();
    let mut request = crate::world::submit(&["a"]);
    request.aop.session_id = Some(session_id.clone());
    let key = crew.key();
    ops::run::accept::submit(&mut crew.world.cx, &key, &request).unwrap();
    session_id
}

fn submitted(document: Value) -> Value {
    json!({"document": document, "directory": "/workspace", "name": "plan.toml"})
}

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        verb: "run.submit",
        prepare: |crew| {
            let mut request = submitted(json!(PLAN));
            request["lock_wait_ms"] = json!(1000);
            request["depth"] = json!(2);
            request["parent_run"] = json!("run_0");
            request["parent_task"] = json!("task_0");
            (Some(crew.key()), request)
        },
    },
    Sample { verb: "run.preview", prepare: |_| (None, submitted(json!(PLAN))) },
    Sample {
        verb: "run.continue",
        prepare: |crew| {
            let run = crew.world.run(&["a"]);
            (Some(crew.key()), json!({"run": run, "rerun_parked": true, "lock_wait_ms": 5}))
        },
    },
    Sample {
        verb: "run.list",
        prepare: |crew| {
            crew.world.run(&["a"]);
            (None, json!({"state": "submitted", "limit": 5}))
        },
    },
    Sample {
        verb: "run.show",
        prepare: |crew| {
            attempted_task(crew);
            let run = crew.world.run(&["b", "c"]);
            (None, json!({"run": run}))
        },
    },
    Sample {
        verb: "run.trace",
        prepare: |crew| {
            let run = crew.world.run(&["a"]);
            (None, json!({"run": run}))
        },
    },
    Sample {
        verb: "run.logs",
        prepare: |crew| (None, json!({"task": attempted_task(crew), "attempt": 1, "stream": "stdout"})),
    },
    Sample {
        verb: "run.logs_of_run",
        prepare: |crew| {
            attempted_task(crew);
            (None, json!({"run": "@last", "stream": "stdout"}))
        },
    },
    Sample {
        verb: "run.cancel",
        prepare: |crew| {
            let run = crew.world.run(&["a"]);
            crew.world.own(&run, 7);
            (Some(crew.key()), json!({"id": run, "reason": "not needed"}))
        },
    },
    Sample {
        verb: "task.cancel",
        prepare: |crew| {
            let task = crew.world.task("one");
            (Some(crew.key()), json!({"id": task, "reason": "not needed"}))
        },
    },
    Sample {
        verb: "task.retry",
        prepare: |crew| {
            let task = failed_task(crew);
            (Some(crew.key()), json!({"task_id": task}))
        },
    },
    Sample {
        verb: "task.escalate",
        prepare: |crew| {
            let run = crew.world.run(&["a"]);
            let task = crew.world.task_of(&run, "a").id;
            (Some(crew.key()), json!({"task": task, "to": "high", "reason": "it is late"}))
        },
    },
    Sample {
        verb: "rollback.undo",
        prepare: |crew| {
            let task = ended_task(&mut crew.world, "w");
            (Some(crew.key()), json!({"task": task, "redo": false}))
        },
    },
    Sample {
        verb: "rollback.preview",
        prepare: |crew| (None, json!({"task": ended_task(&mut crew.world, "w"), "redo": false})),
    },
    Sample {
        verb: "session.list",
        prepare: |crew| {
            (None, {
                of_session(crew);
                json!({})
            })
        },
    },
    Sample { verb: "session.show", prepare: |crew| (None, json!({"session": of_session(crew)})) },
    Sample { verb: "session.report", prepare: |crew| (None, json!({"session": of_session(crew)})) },
    Sample { verb: "session.audit", prepare: |crew| (None, json!({"session": of_session(crew)})) },
    Sample {
        verb: "session.write_audit",
        prepare: |crew| {
            let request = json!({"session": of_session(crew), "directory": beside(crew, "audit")});
            (Some(crew.key()), request)
        },
    },
    Sample { verb: "snapshots.list", prepare: |_| (None, json!({"limit": 5})) },
    Sample { verb: "snapshots.gc", prepare: |crew| (Some(crew.key()), json!({})) },
    Sample { verb: "snapshots.preview_gc", prepare: |_| (None, json!({})) },
    Sample {
        verb: "token.create",
        prepare: |crew| {
            let name = format!("made-{}", crew.world.round);
            (Some(crew.key()), json!({"name": name, "scope": "approve", "expires_in_seconds": 60}))
        },
    },
    Sample { verb: "token.list", prepare: |_| (None, json!({})) },
    Sample {
        verb: "token.revoke",
        prepare: |crew| {
            let name = format!("old-{}", crew.world.round);
            let request = crate::idempotency::new_token(&name);
            let key = crate::world::key("person", &name);
            ops::token::create::create(&mut crew.world.cx, &key, &request).unwrap();
            (Some(crew.key()), json!({"token": name}))
        },
    },
    Sample {
        verb: "limits.list",
        prepare: |crew| {
            limited(crew);
            (None, json!({}))
        },
    },
    Sample {
        verb: "limits.clear",
        prepare: |crew| {
            let resource = limited(crew);
            (Some(crew.key()), json!({"resource": resource}))
        },
    },
    Sample {
        verb: "epoch.halt",
        prepare: |crew| (Some(crew.key()), json!({"reason": "the agents delete files"})),
    },
    Sample {
        verb: "epoch.resume",
        prepare: |crew| {
            let key = crew.key();
            ops::epoch::halt::halt(&mut crew.world.cx, &key, &ops::epoch::halt::Request::default()).unwrap();
            (Some(crew.key()), json!({"reason": "mended"}))
        },
    },
    Sample {
        verb: "trust.grant",
        prepare: |crew| {
            crew.world.host.paper.borrow_mut().project = Some(commands());
            (Some(crew.key()), json!({"directory": "/w"}))
        },
    },
    Sample {
        verb: "trust.show",
        prepare: |crew| {
            crew.world.host.paper.borrow_mut().project = Some(commands());
            (None, json!({"directory": "/w"}))
        },
    },
    Sample {
        verb: "trust.list",
        prepare: |crew| {
            crew.world.trust("/w");
            (None, json!({"limit": 5}))
        },
    },
    Sample {
        verb: "trust.revoke",
        prepare: |crew| {
            crew.world.trust("/w");
            (Some(crew.key()), json!({"directory": "/w"}))
        },
    },
    Sample {
        verb: "audit.verify",
        prepare: |crew| {
            crew.world.task("one");
            let tip = json!(ops::audit::tip(&mut crew.world.cx).unwrap());
            (None, json!({"tip": tip, "quick": true}))
        },
    },
    Sample {
        verb: "audit.tip",
        prepare: |crew| {
            crew.world.task("one");
            (None, json!({}))
        },
    },
    Sample { verb: "audit.reseal", prepare: |crew| (Some(crew.key()), json!({"reason": "restored"})) },
    Sample { verb: "store.gc", prepare: |crew| (Some(crew.key()), retention()) },
    Sample { verb: "store.gc_preview", prepare: |_| (None, retention()) },
    Sample { verb: "worktree.list", prepare: |_| (None, json!({})) },
    Sample { verb: "worktree.gc", prepare: |crew| (Some(crew.key()), json!({})) },
    Sample { verb: "worktree.preview_gc", prepare: |_| (None, json!({})) },
    Sample {
        verb: "worktree.discard",
        prepare: |crew| {
            let task = crew.world.clone_of("one");
            (Some(crew.key()), json!({"task": task}))
        },
    },
    Sample {
        verb: "worktree.preview_discard",
        prepare: |crew| {
            let task = crew.world.clone_of("one");
            (None, json!({"task": task}))
        },
    },
    Sample {
        verb: "store.backup",
        prepare: |crew| (Some(crew.key()), json!({"file": beside(crew, "copy.db"), "force": true})),
    },
    Sample {
        verb: "store.export",
        prepare: |crew| (Some(crew.key()), json!({"file": beside(crew, "all.ndjson"), "force": true})),
    },
    Sample {
        verb: "store.import",
        prepare: |crew| {
            let file = beside(crew, "all.ndjson");
            let mut out = std::fs::File::create(&file).unwrap();
            ops::transfer::export::to_stream(&mut crew.world.cx, &mut out).unwrap();
            (Some(crew.key()), json!({"file": file}))
        },
    },
    Sample { verb: "store.upgrade", prepare: |crew| (Some(crew.key()), json!({})) },
    Sample {
        verb: "store.import_vybe",
        prepare: |crew| {
            let file = beside(crew, &format!("vybe{}.db", crew.world.round));
            Cli::new("sqlite3").run([file.as_str(), VYBE]).success();
            (Some(crew.key()), json!({"file": file}))
        },
    },
    Sample {
        verb: "document.validate",
        prepare: |_| {
            let request = json!({
                "document": PLAN, "kind": "plan", "strict": true, "root": "/w", "now": "2026-01-01T12:00:00Z",
                "assignment": "{}", "prior": "", "outcome": "done", "tripwire": "warn", "fold_case": true,
                "allow_stale": false, "check_locks": true,
            });
            (None, request)
        },
    },
    Sample {
        verb: "document.convert",
        prepare: |_| {
            let request = json!({"document": "{}", "to": "aop", "root": "/w", "now": "2026-01-01T12:00:00Z"});
            (None, request)
        },
    },
    Sample { verb: "schema.list", prepare: |_| (None, json!({})) },
    Sample { verb: "schema.show", prepare: |_| (None, json!({"kind": "aop", "strict": true})) },
    Sample {
        verb: "plan.check",
        prepare: |_| {
            let plan = json!({"objective": "o", "task": [{"id": "a", "command": ["true"]}]});
            (None, submitted(plan))
        },
    },
    Sample { verb: "plan.schema", prepare: |_| (None, json!({})) },
];

fn retention() -> Value {
    json!({"retention": {
        "events_retention_days": 30, "events_prune_batch": 500, "events_summarize_threshold": 200,
        "events_summarize_keep_recent": 50,
    }})
}

/// A file in the directory of the store.
fn beside(crew: &Crew, name: &str) -> String {
    let path = crew.world.temp.path().with_file_name(name);
    path.to_str().unwrap().to_owned()
}

/// The tables that a vybe database has.
const VYBE: &str = "
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER);
CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT, description TEXT, status TEXT, priority INTEGER, project_id TEXT,
    blocked_reason TEXT, version INTEGER, created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE task_dependencies (task_id TEXT, depends_on_task_id TEXT);
CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT, agent_name TEXT, project_id TEXT, task_id TEXT, message TEXT,
    metadata TEXT, created_at TIMESTAMP, archived_at TIMESTAMP);
CREATE TABLE memory (id INTEGER PRIMARY KEY, key TEXT, value TEXT, value_type TEXT, scope TEXT, scope_id TEXT,
    expires_at TIMESTAMP, updated_at TIMESTAMP, created_at TIMESTAMP);
CREATE TABLE artifacts (id TEXT PRIMARY KEY, task_id TEXT, event_id INTEGER, file_path TEXT, content_type TEXT,
    created_at TIMESTAMP);
CREATE TABLE projects (id TEXT PRIMARY KEY, name TEXT, metadata TEXT, created_at TIMESTAMP);
CREATE TABLE agent_state (agent_name TEXT PRIMARY KEY, last_seen_event_id INTEGER, focus_task_id TEXT,
    focus_project_id TEXT, version INTEGER, last_active_at TIMESTAMP);
CREATE TABLE idempotency (agent_name TEXT, request_id TEXT, command TEXT, result_json TEXT);
INSERT INTO memory VALUES
    (1, 'style', 'tabs', 'string', 'global', '', NULL, '2026-02-21T09:00:00Z', '2026-02-21T09:00:00Z');
";
