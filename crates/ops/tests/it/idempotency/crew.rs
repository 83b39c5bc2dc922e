//! The verbs of a crew, each with a request that is good, another that is, and one that is refused.

use contract::domain::money::MicroUsd;
use ops::{approval, assignment, budget, handoff, ledger, lock, orchestrate, result, worklog};
use serde_json::{Value, json};

use super::{Verb, chosen, plain};
use crate::crew_world::{RUN, WORKSPACE};
use crate::world::{World, key, submit};

fn document(deltas: &Value) -> Value {
    json!({
        "schema_version": "1.0.0", "run_id": RUN, "ledger_delta": deltas, "assignments": [], "active_locks": [],
        "blockers": [], "next_actions": [],
    })
}

fn delta(name: &str, status: &str, id: &str) -> Value {
    json!({
        "task_id": name, "status": status, "owner": "", "reason": "r", "delta_id": id,
        "x_row": {"title": name, "lock_scope": [name], "acceptance_criteria": ["it works"], "timeout_seconds": 9999},
    })
}

fn changing(deltas: &Value) -> ledger::apply::Request {
    let workspace = Some(WORKSPACE.to_owned());
    ledger::apply::Request { document: document(deltas), objective: None, workspace, strict: false }
}

fn two_tasks(world: &mut World) {
    let request = changing(&json!([delta("T-1", "todo", "a"), delta("T-2", "todo", "b")]));
    ledger::apply::apply(&mut world.cx, &key("setup", "tasks"), &request).unwrap();
}

fn acquire(name: &str) -> lock::acquire::Request {
    lock::acquire::Request {
        run: RUN.to_owned(),
        task: name.to_owned(),
        resources: vec![name.to_owned()],
        shared: false,
        timeout_seconds: None,
        token: None,
    }
}

fn issue(name: &str) -> assignment::issue::Request {
    assignment::issue::Request { run: RUN.to_owned(), task: Some(name.to_owned()), ..Default::default() }
}

fn ask(name: &str) -> approval::request::Request {
    let (run, task) = (RUN.to_owned(), name.to_owned());
    approval::request::Request { run, task, action: None, deadline_seconds: Some(999_999) }
}

pub(super) const LOCK_ACQUIRE: Verb = Verb {
    name: "lock.acquire",
    prepare: |world| {
        two_tasks(world);
        let requests = [acquire("T-1"), acquire("T-2"), acquire("T-9")];
        Box::new(move |cx, key, which| lock::acquire::acquire(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const LOCK_RELEASE: Verb = Verb {
    name: "lock.release",
    prepare: |world| {
        two_tasks(world);
        let [first, second] = ["T-1", "T-2"].map(|name| {
            lock::acquire::acquire(&mut world.cx, &key("setup", name), &acquire(name)).unwrap().answer.token
        });
        let request = |name: &str, token| lock::release::Request {
            run: RUN.to_owned(),
            task: name.to_owned(),
            token,
            reason: None,
        };
        let requests = [request("T-1", first), request("T-2", second), request("T-1", second)];
        Box::new(move |cx, key, which| lock::release::release(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const LOCK_FORCE: Verb = Verb {
    name: "lock.force",
    prepare: |world| {
        two_tasks(world);
        for name in ["T-1", "T-2"] {
            lock::acquire::acquire(&mut world.cx, &key("setup", name), &acquire(name)).unwrap();
        }
        let request = |name: &str| lock::force::Request {
            run: RUN.to_owned(),
            task: name.to_owned(),
            reason: "its machine is gone".to_owned(),
        };
        let requests = [request("T-1"), request("T-2"), request("T-9")];
        Box::new(move |cx, key, which| lock::force::force(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const LEDGER_OPEN: Verb = Verb {
    name: "ledger.open",
    prepare: |_| {
        let mut refused = submit(&["c"]);
        refused.plan.tasks[0].prompt = Some("use password=hunter2hunter2".to_owned());
        let requests = [submit(&["a"]), submit(&["a", "b"]), refused];
        Box::new(move |cx, key, which| {
            ledger::open::open_submission(cx, key, &chosen(which, &requests)).map(plain)
        })
    },
};

pub(super) const LEDGER_APPLY: Verb = Verb {
    name: "ledger.apply",
    prepare: |_| {
        let deltas = [delta("T-1", "todo", "a"), delta("T-2", "todo", "b"), delta("T-3", "done", "c")];
        let requests = deltas.map(|delta| changing(&json!([delta])));
        Box::new(move |cx, key, which| ledger::apply::apply(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const LEDGER_CLOSE: Verb = Verb {
    name: "ledger.close",
    prepare: |world| {
        const OTHER: &str = "11111111-2222-4333-8444-555555555555";
        for (run, status) in [(RUN, "canceled"), (OTHER, "failed")] {
            let mut request = changing(&json!([delta("T-1", "todo", "a"), delta("T-1", status, "b")]));
            request.document["run_id"] = json!(run);
            ledger::apply::apply(&mut world.cx, &key("setup", run), &request).unwrap();
        }
        let requests = [RUN, OTHER, "run_none"].map(|run| ledger::close::Request { run: run.to_owned() });
        Box::new(move |cx, key, which| ledger::close::close(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const LEDGER_REPAIR: Verb = Verb {
    name: "ledger.repair",
    prepare: |world| {
        const OTHER: &str = "11111111-2222-4333-8444-555555555555";
        for run in [RUN, OTHER] {
            let mut begun = delta("T-1", "in_progress", "b");
            begun["owner"] = json!("w");
            let mut request = changing(&json!([delta("T-1", "todo", "a"), begun]));
            request.document["run_id"] = json!(run);
            ledger::apply::apply(&mut world.cx, &key("setup", run), &request).unwrap();
        }
        let requests =
            [RUN, OTHER, "run_none"].map(|run| ledger::repair::Request { run: run.to_owned(), accept: None });
        Box::new(move |cx, key, which| ledger::repair::repair(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const ASSIGNMENT_ISSUE: Verb = Verb {
    name: "assignment.issue",
    prepare: |world| {
        two_tasks(world);
        let requests = [issue("T-1"), issue("T-2"), issue("T-9")];
        Box::new(move |cx, key, which| {
            assignment::issue::issue(cx, key, &chosen(which, &requests)).map(plain)
        })
    },
};

pub(super) const RESULT_SUBMIT: Verb = Verb {
    name: "result.submit",
    prepare: |world| {
        two_tasks(world);
        let [first, second] = ["T-1", "T-2"].map(|name| {
            assignment::issue::issue(&mut world.cx, &key("setup", name), &issue(name)).unwrap().answer.token
        });
        let request = |name: &str, token| result::submit::Request {
            document: json!({
                "schema_version": "1.0.0", "run_id": RUN, "task_id": name, "status": "done", "changes": [],
                "acceptance_check": [{"criterion": "it works", "status": "pass", "evidence": "e"}],
                "worklog_path": format!("worklogs/{RUN}/{name}.jsonl"), "notes_for_orchestrator": [],
            }),
            token: Some(token),
            cost: None,
            tokens: None,
            strict: false,
        };
        let requests = [request("T-1", first), request("T-2", second), request("T-1", second)];
        Box::new(move |cx, key, which| result::submit::submit(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const ORCHESTRATE_STEP: Verb = Verb {
    name: "orchestrate.step",
    prepare: |_| {
        let deltas = [delta("T-1", "todo", "a"), delta("T-2", "todo", "b"), delta("T-3", "done", "c")];
        let requests = deltas.map(|delta| orchestrate::step::Request {
            document: Some(document(&json!([delta]))),
            program: None,
            objective: None,
            workspace: Some(WORKSPACE.to_owned()),
            strict: false,
        });
        Box::new(move |cx, key, which| orchestrate::step::step(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const BUDGET_SET: Verb = Verb {
    name: "budget.set",
    prepare: |world| {
        two_tasks(world);
        let request = |cost: i64| budget::set::Request {
            run: RUN.to_owned(),
            cost: Some(MicroUsd(cost)),
            tokens: Some(0),
        };
        let requests = [request(5), request(6), request(-1)];
        Box::new(move |cx, key, which| budget::set::set(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const BUDGET_SETTLE: Verb = Verb {
    name: "budget.settle",
    prepare: |world| {
        two_tasks(world);
        let limit = budget::set::Request { run: RUN.to_owned(), cost: Some(MicroUsd(100)), tokens: Some(0) };
        budget::set::set(&mut world.cx, &key("setup", "budget"), &limit).unwrap();
        for name in ["T-1", "T-2"] {
            let share =
                assignment::issue::Request { cost: Some(MicroUsd(40)), tokens: Some(0), ..issue(name) };
            assignment::issue::issue(&mut world.cx, &key("setup", name), &share).unwrap();
            let cancel = changing(&json!([delta(name, "canceled", &format!("c-{name}"))]));
            ledger::apply::apply(&mut world.cx, &key("setup", &format!("cancel {name}")), &cancel).unwrap();
        }
        let request = |task: &str, cost: i64| budget::settle::Request {
            run: RUN.to_owned(),
            task: task.to_owned(),
            cost: Some(MicroUsd(cost)),
            tokens: None,
        };
        let requests = [request("T-1", 5), request("T-2", 6), request("T-1", 41)];
        Box::new(move |cx, key, which| budget::settle::settle(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const APPROVAL_REQUEST: Verb = Verb {
    name: "approval.request",
    prepare: |world| {
        two_tasks(world);
        let requests = [ask("T-1"), ask("T-2"), ask("T-9")];
        Box::new(move |cx, key, which| {
            approval::request::request(cx, key, &chosen(which, &requests)).map(plain)
        })
    },
};

pub(super) const APPROVAL_DECIDE: Verb = Verb {
    name: "approval.decide",
    prepare: |world| {
        two_tasks(world);
        let mut ids = Vec::new();
        for name in ["T-1", "T-2"] {
            let filed = approval::request::request(&mut world.cx, &key("setup", name), &ask(name)).unwrap();
            ids.push(filed.answer.asked.id.to_string());
        }
        let request = |id: &str| approval::decide::Request { id: id.to_owned(), granted: true, reason: None };
        let requests = [request(&ids[0]), request(&ids[1]), request("approval_0")];
        Box::new(move |cx, key, which| {
            approval::decide::decide(cx, key, &chosen(which, &requests)).map(plain)
        })
    },
};

pub(super) const HANDOFF_IMPORT: Verb = Verb {
    name: "handoff.import",
    prepare: |_| {
        // Written in a store of its own, so that it is new here.
        let mut elsewhere = World::new();
        two_tasks(&mut elsewhere);
        let asked = handoff::export::Request { run: RUN.to_owned(), ..Default::default() };
        let bundle = |world: &mut World| handoff::export::export(&mut world.cx, &asked).unwrap().document;
        let first = bundle(&mut elsewhere);
        let other: Value =
            serde_json::from_str(&first.to_string().replace(RUN, "11111111-2222-4333-8444-555555555555"))
                .unwrap();
        let mut broken = first.clone();
        broken["x_run"]["state"] = json!("done");
        let request = |document: Value| handoff::import::Request {
            document,
            digest: None,
            workspace: WORKSPACE.to_owned(),
            allow_stale: false,
            tripwire: contract::operator::Tripwire::Deny,
            strict: false,
        };
        let requests = [request(first), request(other), request(broken)];
        Box::new(move |cx, key, which| handoff::import::import(cx, key, &chosen(which, &requests)).map(plain))
    },
};

pub(super) const WORKLOG_APPEND: Verb = Verb {
    name: "worklog.append",
    prepare: |world| {
        two_tasks(world);
        let request = |name: &str| worklog::append::Request {
            run: RUN.to_owned(),
            task: name.to_owned(),
            token: None,
            entry: json!({
                "action": "a", "files_touched": [], "decision": "d", "result": "r", "next_step": "n",
            }),
            strict: false,
        };
        let requests = [request("T-1"), request("T-2"), request("T-9")];
        Box::new(move |cx, key, which| worklog::append::append(cx, key, &chosen(which, &requests)).map(plain))
    },
};
