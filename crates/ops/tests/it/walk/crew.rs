//! Samples of the crew's verbs.

use contract::domain::crew::token::LockToken;
use serde_json::{Value, json};

use super::Sample;
use crate::crew_world::{Crew, WORKSPACE};
use crate::handoff::exported;

/// A run with one task, which is assigned. Returns the token.
fn assigned(crew: &mut Crew) -> LockToken {
    crew.task("T-1", &["src/a"], json!({}));
    crew.issue("T-1").unwrap().token
}

fn task(crew: &Crew) -> Value {
    json!({"run": crew.run, "task": "T-1"})
}

/// The task, and more fields.
fn with(crew: &Crew, more: Value) -> Value {
    let mut request = task(crew);
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

fn requested_approval(crew: &mut Crew) -> String {
    crew.task("T-1", &["src/a"], json!({}));
    let key = crew.key();
    let request = ops::approval::request::Request {
        run: crew.run.clone(),
        task: "T-1".to_owned(),
        action: None,
        deadline_seconds: None,
    };
    let filed = ops::approval::request::request(&mut crew.world.cx, &key, &request).unwrap();
    filed.answer.asked.id.to_string()
}

/// A run whose task ended without a report of what it spent.
fn withheld(crew: &mut Crew) {
    crew.task("T-1", &["src/a"], json!({}));
    let key = crew.key();
    let limit = json!({"run": crew.run, "cost": 500, "tokens": 70});
    let limit = serde_json::from_value(limit).unwrap();
    ops::budget::set::set(&mut crew.world.cx, &key, &limit).unwrap();
    let share = json!({"run": crew.run, "task": "T-1", "owner": "worker", "cost": 50, "tokens": 7});
    let issued = crew.issue_with(serde_json::from_value(share).unwrap()).unwrap();
    crew.submit(crew.result("T-1", issued.token, "done"), Vec::new()).unwrap();
}

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        verb: "ledger.open",
        prepare: |crew| {
            let document = json!({"objective": "o", "task": [{"id": "a", "command": ["true"]}]});
            let request =
                json!({"document": document.to_string(), "directory": WORKSPACE, "name": "plan.json"});
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "ledger.show",
        prepare: |crew| {
            assigned(crew);
            (None, json!({"run": crew.run}))
        },
    },
    Sample {
        verb: "ledger.apply",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            let delta =
                json!({"task_id": "T-1", "status": "canceled", "owner": "", "reason": "r", "delta_id": "d"});
            let document = crew.envelope(json!([delta]));
            let request =
                json!({"document": document, "objective": "o", "workspace": WORKSPACE, "strict": false});
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "ledger.reconcile",
        prepare: |crew| {
            assigned(crew);
            (None, json!({"run": crew.run}))
        },
    },
    Sample {
        verb: "ledger.repair",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            let begun = json!([{"task_id": "T-1", "status": "in_progress", "owner": "w", "reason": "r", "delta_id": "d"}]);
            crew.apply(crew.envelope(begun), false).unwrap();
            (Some(crew.key()), json!({"run": crew.run, "accept": "seen"}))
        },
    },
    Sample {
        verb: "ledger.close",
        prepare: |crew| {
            let token = assigned(crew);
            crew.submit(crew.result("T-1", token, "done"), Vec::new()).unwrap();
            (Some(crew.key()), json!({"run": crew.run}))
        },
    },
    Sample {
        verb: "assignment.issue",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            let more = json!({
                "owner": "worker", "forbidden_scope": ["docs"], "context_package": [{"kind": "note", "value": "v"}],
                "worklog_path": "logs/a.jsonl", "timeout_seconds": 60, "heartbeat_interval_seconds": 6,
                "cost": 5, "tokens": 7,
            });
            let request = with(crew, more);
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "assignment.show",
        prepare: |crew| {
            assigned(crew);
            (None, task(crew))
        },
    },
    Sample {
        verb: "result.submit",
        prepare: |crew| {
            let token = assigned(crew);
            let document = crew.result("T-1", token, "done");
            let request =
                json!({"document": document, "token": token, "cost": 5, "tokens": 7, "strict": false});
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "heartbeat.send",
        prepare: |crew| {
            let token = assigned(crew);
            let request = with(crew, json!({"token": token, "at": crew.world.temp.now().at}));
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "watchdog.sweep",
        prepare: |crew| {
            assigned(crew);
            crew.world.clock().advance(std::time::Duration::from_secs(61));
            (Some(crew.key()), json!({"run": crew.run}))
        },
    },
    Sample {
        verb: "orchestrate.step",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            crew.paper().printed = crew.envelope(json!([])).to_string().into_bytes();
            let program = json!({"argv": ["orchestrator", "--once"], "run": crew.run, "timeout_ms": 1000});
            let request =
                json!({"program": program, "objective": "o", "workspace": WORKSPACE, "strict": false});
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "lock.acquire",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            let request = with(crew, json!({"resources": ["src/a"], "shared": true, "timeout_seconds": 9}));
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "lock.renew",
        prepare: |crew| {
            let token = assigned(crew);
            let request = with(crew, json!({ "token": token }));
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "lock.release",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            let token = crew.acquire("T-1", &["src/a"]).unwrap();
            let request = with(crew, json!({"token": token, "reason": "not needed"}));
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "lock.force",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            crew.acquire("T-1", &["src/a"]).unwrap();
            let request = with(crew, json!({"reason": "its machine is gone"}));
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "lock.list",
        prepare: |crew| {
            assigned(crew);
            (None, json!({"run": crew.run, "history": true}))
        },
    },
    Sample {
        verb: "lock.check",
        prepare: |crew| {
            assigned(crew);
            (None, with(crew, json!({"changed": ["src/a/x"], "diff": "HEAD"})))
        },
    },
    Sample {
        verb: "worklog.append",
        prepare: |crew| {
            let token = assigned(crew);
            let request = with(
                crew,
                json!({"token": token, "strict": true, "entry": {
                    "action": "a", "files_touched": [], "decision": "d", "result": "r", "next_step": "n",
                }}),
            );
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "worklog.show",
        prepare: |crew| {
            assigned(crew);
            (None, task(crew))
        },
    },
    Sample {
        verb: "worklog.verify",
        prepare: |crew| {
            assigned(crew);
            (None, task(crew))
        },
    },
    Sample {
        verb: "handoff.export",
        prepare: |crew| {
            assigned(crew);
            (None, json!({"run": crew.run, "allow_stale": true, "tripwire": "warn"}))
        },
    },
    Sample {
        verb: "handoff.import",
        prepare: |crew| {
            let mut elsewhere = Crew::new();
            assigned(&mut elsewhere);
            let bundle = exported(&mut elsewhere, false).unwrap();
            let digest = bundle.digest().unwrap();
            let request = json!({
                "document": bundle.document, "digest": digest, "workspace": WORKSPACE, "allow_stale": false,
                "tripwire": "off", "strict": true,
            });
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "handoff.brief",
        prepare: |crew| {
            assigned(crew);
            (None, json!({"run": crew.run, "budget": 500, "tripwire": "deny", "strict": true}))
        },
    },
    Sample {
        verb: "budget.set",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            (Some(crew.key()), json!({"run": crew.run, "cost": 500, "tokens": 70}))
        },
    },
    Sample {
        verb: "budget.settle",
        prepare: |crew| {
            withheld(crew);
            (Some(crate::world::key("person", "settle")), with(crew, json!({"cost": 5, "tokens": 7})))
        },
    },
    Sample {
        verb: "budget.show",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            (None, json!({"run": crew.run}))
        },
    },
    Sample {
        verb: "approval.request",
        prepare: |crew| {
            crew.task("T-1", &["src/a"], json!({}));
            let request = with(crew, json!({"action": "do it", "deadline_seconds": 60}));
            (Some(crew.key()), request)
        },
    },
    Sample {
        verb: "approval.decide",
        prepare: |crew| {
            let id = requested_approval(crew);
            (Some(crew.key()), json!({"id": id, "granted": false, "reason": "not now"}))
        },
    },
    Sample {
        verb: "approval.list",
        prepare: |crew| {
            requested_approval(crew);
            (None, json!({"run": crew.run}))
        },
    },
];
