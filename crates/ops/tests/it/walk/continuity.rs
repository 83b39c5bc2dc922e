//! Samples of the agent contract's verbs.

use serde_json::{Value, json};

use super::Sample;
use crate::crew_world::Crew;
use crate::world::submit;

/// A task under a new id, made by another agent.
fn task(crew: &mut Crew, title: &str) -> String {
    crew.world.task(title)
}

/// A stored memory, by its key.
fn memory(crew: &mut Crew) -> String {
    crew.world.memory("style")
}

/// A task of a run, with a check.
fn checked(crew: &mut Crew) -> String {
    let mut request = submit(&["a"]);
    request.plan.tasks[0].checks = vec![serde_json::from_value(json!({"command": ["true"]})).unwrap()];
    let key = crew.key();
    let run = ops::run::accept::submit(&mut crew.world.cx, &key, &request).unwrap().answer.run_id;
    crew.world.task_of(&run, "a").id.to_string()
}

fn place(key: &str) -> Value {
    json!({"key": key, "scope": "global", "scope_id": null})
}

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        verb: "resume",
        prepare: |crew| {
            let id = task(crew, "one");
            (
                Some(crew.key()),
                json!({"project_dir": "/w/p", "limit": 5, "focus": id, "budget": 1000,
                "only_task": null}),
            )
        },
    },
    Sample {
        verb: "resume.peek",
        prepare: |crew| {
            let id = task(crew, "one");
            let request = json!({"agent": "ann", "project_dir": "/w/p", "limit": 5, "focus": id, "budget": 1000,
                "as_of": null, "short": true});
            (None, request)
        },
    },
    Sample {
        verb: "agent.push",
        prepare: |crew| {
            let id = task(crew, "one");
            let request = json!({
                "task_id": id,
                "event": {"kind": "note", "message": "m", "metadata": {"a": 1}},
                "memories": [{"key": "k", "value": "v", "scope": "global"}],
                "artifacts": [{"file_path": "out.md"}],
                "task_status": {"status": "blocked", "summary": "s"},
            });
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "task.create",
        prepare: |crew| {
            let request = json!({"title": "one", "description": "more", "project_id": "p", "priority": 3,
                "checks": [{"command": ["true"], "shell": false, "expects": "EXIT_CODE_0"}],
                "check_directory": "/w"});
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "task.begin",
        prepare: |crew| {
            let id = task(crew, "one");
            (Some(crew.key()), json!({"id": id}))
        },
    },
    Sample {
        verb: "task.get",
        prepare: |crew| {
            let id = task(crew, "one");
            (None, json!({"id": id}))
        },
    },
    Sample {
        verb: "task.list",
        prepare: |crew| {
            crew.world.task("one");
            let request = json!({"status": "pending", "project_id": null, "priority": 0, "limit": 10});
            (None, request)
        },
    },
    Sample {
        verb: "task.ready",
        prepare: |crew| {
            task(crew, "one");
            (None, json!({"limit": 5}))
        },
    },
    Sample {
        verb: "task.set_status",
        prepare: |crew| {
            let id = checked(crew);
            (Some(crew.key()), json!({"id": id, "status": "completed", "blocked_reason": "r"}))
        },
    },
    Sample {
        verb: "task.complete",
        prepare: |crew| {
            let id = checked(crew);
            let request =
                json!({"id": id, "outcome": "done", "summary": "s", "label": "l", "blocked_reason": null});
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "task.set_priority",
        prepare: |crew| {
            let id = task(crew, "one");
            (Some(crew.key()), json!({"id": id, "priority": 7}))
        },
    },
    Sample {
        verb: "task.add_dependency",
        prepare: |crew| {
            let (id, needed) = (task(crew, "one"), task(crew, "two"));
            (Some(crew.key()), json!({"id": id, "depends_on": needed}))
        },
    },
    Sample {
        verb: "task.remove_dependency",
        prepare: |crew| {
            let (id, needed) = (task(crew, "one"), task(crew, "two"));
            let request = json!({"id": id, "depends_on": needed});
            let added = serde_json::from_value(request.clone()).unwrap();
            let key = crew.key();
            ops::task::add_dependency::add(&mut crew.world.cx, &key, &added).unwrap();
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "task.delete",
        prepare: |crew| {
            let id = task(crew, "one");
            (Some(crew.key()), json!({"id": id}))
        },
    },
    Sample {
        verb: "memory.set",
        prepare: |crew| {
            let request = json!({"key": "k", "value": "5", "value_type": "number", "scope": "project",
                "scope_id": "p", "expires_at": null, "kind": "lesson", "half_life_days": 2.5, "pinned": true,
                "source_task_id": "task_1", "expires_in": "7d"});
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "memory.get",
        prepare: |crew| {
            let key = memory(crew);
            (None, place(&key))
        },
    },
    Sample {
        verb: "memory.list",
        prepare: |crew| {
            memory(crew);
            (None, json!({"scope": "global", "scope_id": null, "limit": 5}))
        },
    },
    Sample {
        verb: "memory.search",
        prepare: |crew| {
            memory(crew);
            (None, json!({"query": "style", "limit": 5}))
        },
    },
    Sample {
        verb: "memory.pin",
        prepare: |crew| {
            let key = memory(crew);
            let mut request = place(&key);
            request["unpin"] = json!(true);
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "memory.delete",
        prepare: |crew| {
            let key = memory(crew);
            (Some(crew.key()), place(&key))
        },
    },
    Sample {
        verb: "memory.gc",
        prepare: |crew| {
            memory(crew);
            (Some(crew.key()), json!({"limit": 5}))
        },
    },
    Sample { verb: "artifact.list", prepare: |_| (None, json!({"task_id": "task_1", "limit": 5})) },
    Sample {
        verb: "event.list",
        prepare: |crew| {
            let id = task(crew, "one");
            let request = json!({"agent": "setup", "task_id": id, "kind": "task_created", "corr": null,
                "since_id": 0, "ascending": true, "include_archived": true, "limit": 5});
            (None, request)
        },
    },
    Sample {
        verb: "event.note",
        prepare: |crew| {
            let id = task(crew, "one");
            let request = json!({"kind": "note", "message": "m", "metadata": {"a": 1}, "project_id": "p",
                "task_id": id});
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "session.checkpoint",
        prepare: |crew| {
            let id = task(crew, "one");
            (Some(crew.key()), json!({"task_id": id, "project_id": "/w/p", "reason": "auto"}))
        },
    },
    Sample { verb: "agent.leave", prepare: |crew| (Some(crew.key()), json!({})) },
    Sample { verb: "status.show", prepare: |_| (None, json!({"agent": "ann", "check": true})) },
];
