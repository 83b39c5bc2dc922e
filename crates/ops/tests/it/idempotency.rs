//! A request id is one logical write: repeated, it gives the same answer and does nothing more.

mod crew;

use std::sync::Barrier;

use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::retention::Retention;
use contract::domain::run::RunState;
use contract::domain::status::Status;
use ops::Session;
use ops::registry;
use ops::run::journal::{self, JournalEntry};
use ops::verb::Effect;
use ops::{Context, Error, Reply, event, memory, push, resume, run, session, task};
use serde::Serialize;
use serde_json::{Value, json};
use store::Store;

use crate::rollbacks::ended_task;
use crate::world::{
    World, begin, caller, cancel, commands, complete, context, create, key, named, owner, pinned, pushed,
    remember, set_status, submit,
};

/// Which of a verb's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Good,
    /// Good as well, and not the same.
    Other,
    Refused,
}

type Call = Box<dyn Fn(&mut Context, &Session, Which) -> Result<Reply<Value>, Error>>;

/// A verb on things that were prepared for it.
struct Verb {
    name: &'static str,
    prepare: fn(&mut World) -> Call,
}

fn plain<A: Serialize>(given: Reply<A>) -> Reply<Value> {
    let Reply { answer, replayed } = given;
    Reply { answer: serde_json::to_value(answer).unwrap(), replayed }
}

fn chosen<T: Clone>(which: Which, [good, other, refused]: &[T; 3]) -> T {
    match which {
        Which::Good => good.clone(),
        Which::Other => other.clone(),
        Which::Refused => refused.clone(),
    }
}

/// A run whose first task failed, as an engine leaves it.
fn failed_run(world: &mut World, names: &[&str]) -> String {
    let run = world.run(names);
    world.own(&run, 7);
    let task_id = world.task_of(&run, names[0]).id;
    let to_failed = |to| JournalEntry::MoveTask { task_id: task_id.clone(), to, reason: None };
    let entries = [
        to_failed(Status::InProgress),
        to_failed(Status::Failed),
        JournalEntry::MoveRun { to: RunState::Failed, result: Some(json!({"state": "failed"})) },
    ];
    journal::write(&mut world.cx, &caller("writ"), &run, &owner(7), &entries).unwrap();
    task_id.to_string()
}

pub(crate) fn new_token(name: &str) -> ops::token::create::Request {
    let scope = contract::domain::token::TokenScope::Approve;
    ops::token::create::Request { name: name.to_owned(), scope, expires_in_seconds: None }
}

fn project(directory: &str) -> ops::trust::grant::Request {
    ops::trust::grant::Request { directory: directory.to_owned() }
}

/// Every verb that changes something.
const VERBS: &[Verb] = &[
    Verb {
        name: "task.create",
        prepare: |_| {
            let requests = ["one", "two", " "].map(create);
            Box::new(move |cx, key, which| {
                task::create::create(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "token.create",
        prepare: |_| {
            let requests = ["ci", "cd", "NO"].map(new_token);
            Box::new(move |cx, key, which| {
                let mut reply = ops::token::create::create(cx, key, &chosen(which, &requests))?;
                // The secret is shown once; everything else is the same.
                assert_eq!(reply.answer.secret.take().is_none(), reply.replayed);
                Ok(plain(reply))
            })
        },
    },
    Verb {
        name: "token.revoke",
        prepare: |world| {
            for name in ["ci", "cd"] {
                ops::token::create::create(&mut world.cx, &key("setup", name), &new_token(name)).unwrap();
            }
            let request = |token: &str| ops::token::revoke::Request { token: token.to_owned() };
            let requests = ["ci", "cd", "nobody"].map(request);
            Box::new(move |cx, key, which| {
                ops::token::revoke::revoke(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "limits.clear",
        prepare: |world| {
            for (name, resource) in [("x", "claude"), ("y", "codex")] {
                crate::limit_windows::window_of(world, name, resource, std::time::Duration::from_secs(3600));
            }
            let request =
                |resource: &str| ops::limit_window::clear::Request { resource: resource.to_owned() };
            let requests = ["claude", "codex", "nothing"].map(request);
            Box::new(move |cx, key, which| {
                ops::limit_window::clear::clear(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "epoch.halt",
        prepare: |_| {
            let long = "x".repeat(contract::domain::limits::EVENT_MESSAGE_BYTES_MAX + 1);
            let requests = ["one", "two", &long]
                .map(|reason| ops::epoch::halt::Request { reason: Some(reason.to_owned()) });
            Box::new(move |cx, key, which| {
                ops::epoch::halt::halt(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "epoch.resume",
        prepare: |world| {
            let long = "x".repeat(contract::domain::limits::EVENT_MESSAGE_BYTES_MAX + 1);
            let request = ops::epoch::halt::Request { reason: None };
            ops::epoch::halt::halt(&mut world.cx, &key("person", "halt"), &request).unwrap();
            let requests = ["one", "two", &long]
                .map(|reason| ops::epoch::resume_all::Request { reason: Some(reason.to_owned()) });
            Box::new(move |cx, key, which| {
                ops::epoch::resume_all::resume_all(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "trust.grant",
        prepare: |world| {
            world.host.paper.borrow_mut().project = Some(commands());
            let requests = ["/w", "/v", ""].map(project);
            Box::new(move |cx, key, which| {
                ops::trust::grant::grant(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "audit.reseal",
        prepare: |world| {
            // Another key: the seal does not match it.
            testkit::private_file(&store::StoreKey::path_of(&world.temp.path()), &[7; 32]);
            let requests = ["a restore", "another", ""]
                .map(|reason| ops::audit::reseal::Request { reason: Some(reason.to_owned()) });
            Box::new(move |cx, key, which| {
                ops::audit::reseal::reseal(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "trust.revoke",
        prepare: |world| {
            world.trust("/w");
            world.trust("/v");
            let requests = ["/w", "/v", "/nowhere"].map(project);
            Box::new(move |cx, key, which| {
                ops::trust::revoke::revoke(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "task.begin",
        prepare: |world| {
            let requests =
                [world.task("first"), world.task("second"), "task_none".to_owned()].map(|id| begin(&id));
            Box::new(move |cx, key, which| task::begin::begin(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "task.set_status",
        prepare: |world| {
            let id = world.task("first");
            let requests = [
                set_status(&id, "blocked"),
                set_status(&id, "in_progress"),
                set_status("task_none", "blocked"),
            ];
            Box::new(move |cx, key, which| {
                task::set_status::set_status(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "task.complete",
        prepare: |world| {
            let id = world.task("first");
            let requests = [complete(&id, "done"), complete(&id, "blocked"), complete("task_none", "done")];
            Box::new(move |cx, key, which| {
                task::complete::complete(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "task.set_priority",
        prepare: |world| {
            let id = world.task("first");
            let request = |id: &str, priority| task::set_priority::Request { id: id.to_owned(), priority };
            let requests = [request(&id, 5), request(&id, 6), request("task_none", 5)];
            Box::new(move |cx, key, which| {
                task::set_priority::set_priority(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "task.add_dependency",
        prepare: |world| {
            let [a, b, c] = ["first", "second", "third"].map(|title| world.task(title));
            let request = |id: &str, on: &str| task::add_dependency::Request {
                id: id.to_owned(),
                depends_on: on.to_owned(),
            };
            let requests = [request(&a, &b), request(&a, &c), request(&a, &a)];
            Box::new(move |cx, key, which| {
                task::add_dependency::add(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "agent.push",
        prepare: |world| {
            let id = world.task("first");
            let whole = |id: &str, status: &str| {
                pushed(json!({
                    "task_id": id,
                    "event": {"kind": "progress", "message": "half", "metadata": {"part": 1}},
                    "memories": [{"key": "k", "value": "v", "scope": "global"}],
                    "artifacts": [{"file_path": "out.md"}],
                    "task_status": {"status": status, "summary": "s"},
                }))
            };
            let requests = [whole(&id, "completed"), whole(&id, "blocked"), whole("task_none", "completed")];
            Box::new(move |cx, key, which| push::push(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "memory.set",
        prepare: |_| {
            let requests =
                [remember("k", "v", Some("1h")), remember("k", "w", None), remember("", "v", None)];
            Box::new(move |cx, key, which| memory::set::set(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "memory.delete",
        prepare: |world| {
            let requests = [world.memory("one"), world.memory("two"), "three".to_owned()].map(|k| named(&k));
            Box::new(move |cx, key, which| {
                memory::delete::delete(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "task.remove_dependency",
        prepare: |world| {
            let [a, b, c] = ["first", "second", "third"].map(|title| world.task(title));
            for (number, on) in [&b, &c].into_iter().enumerate() {
                let request = task::add_dependency::Request { id: a.clone(), depends_on: on.clone() };
                task::add_dependency::add(&mut world.cx, &key("setup", &format!("wait {number}")), &request)
                    .unwrap();
            }
            let request = |id: &str, on: &str| task::remove_dependency::Request {
                id: id.to_owned(),
                depends_on: on.to_owned(),
            };
            let requests = [request(&a, &b), request(&a, &c), request("task_0", &b)];
            Box::new(move |cx, key, which| {
                task::remove_dependency::remove(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "task.delete",
        prepare: |world| {
            let requests = [world.task("first"), world.task("second"), "task_none".to_owned()]
                .map(|id| task::delete::Request { id });
            Box::new(move |cx, key, which| {
                task::delete::delete(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "resume",
        prepare: |world| {
            world.task("first");
            let request = |limit, focus: Option<&str>| resume::Request {
                project_dir: None,
                limit: Some(limit),
                focus: focus.map(str::to_owned),
                budget: None,
                only_task: None,
            };
            let requests = [request(10, None), request(11, None), request(10, Some("task_none"))];
            Box::new(move |cx, key, which| resume::resume(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "event.note",
        prepare: |_| {
            let request = |kind: &str| event::note::Request {
                kind: kind.to_owned(),
                message: "m".to_owned(),
                metadata: json!({}),
                project_id: None,
                task_id: None,
            };
            let requests = [request("one"), request("two"), request("")];
            Box::new(move |cx, key, which| event::note::note(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "session.checkpoint",
        prepare: |_| {
            let request = |reason: String| session::checkpoint::Request {
                reason: Some(reason),
                ..session::checkpoint::Request::default()
            };
            let requests =
                [request("one".to_owned()), request("two".to_owned()), request("x".repeat(10_000))];
            Box::new(move |cx, key, which| {
                session::checkpoint::write(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "memory.pin",
        prepare: |world| {
            let requests =
                [world.memory("one"), world.memory("two"), "three".to_owned()].map(|k| pinned(&k, false));
            Box::new(move |cx, key, which| memory::pin::pin(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "memory.gc",
        prepare: |world| {
            world.memory("one");
            let requests = [5, 6, 0].map(|limit| memory::gc::Request { limit: Some(limit) });
            Box::new(move |cx, key, which| memory::gc::gc(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "store.gc",
        prepare: |world| {
            // Old, but not so old that the keys of this test expire with it.
            let task = world.task("old");
            world.close(&task);
            world.clock().advance(std::time::Duration::from_hours(3 * 24));
            let requests = [2, 1, 0].map(|events_retention_days| ops::gc::Request {
                retention: Retention { events_retention_days, ..Retention::default() },
                after: None,
            });
            Box::new(move |cx, key, which| ops::gc::gc(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "run.submit",
        prepare: |_| {
            let mut refused = submit(&["c"]);
            refused.plan.tasks[0].prompt = Some("use password=hunter2hunter2".to_owned());
            let requests = [submit(&["a"]), submit(&["a", "b"]), refused];
            Box::new(move |cx, key, which| run::accept::submit(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "run.cancel",
        prepare: |world| {
            let requests = [world.run(&["a"]).to_string(), world.run(&["b"]).to_string(), "run_0".to_owned()]
                .map(|id| cancel(&id));
            Box::new(move |cx, key, which| run::cancel::cancel(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "task.cancel",
        prepare: |world| {
            let requests =
                [world.task("first"), world.task("second"), "task_none".to_owned()].map(|id| cancel(&id));
            Box::new(move |cx, key, which| run::cancel::cancel(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "task.retry",
        prepare: |world| {
            let ids =
                [failed_run(world, &["a"]), failed_run(world, &["b", "c"]), world.task("no part of a run")];
            let requests = ids.map(|task_id| run::retry::Request { task_id: Some(task_id), run: None });
            Box::new(move |cx, key, which| run::retry::retry(cx, key, &chosen(which, &requests)).map(plain))
        },
    },
    Verb {
        name: "task.escalate",
        prepare: |world| {
            let runs = [world.run(&["a"]), world.run(&["b"])];
            let [first, second] =
                [(&runs[0], "a"), (&runs[1], "b")].map(|(run, name)| world.task_of(run, name).id.to_string());
            let requests = [first, second, world.task("no part of a run")]
                .map(|task| run::escalate::Request { task, to: Priority::High, reason: None });
            Box::new(move |cx, key, which| {
                run::escalate::escalate(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    Verb {
        name: "rollback.undo",
        prepare: |world| {
            let tasks = [ended_task(world, "p"), ended_task(world, "q"), world.task("no part of a run")];
            let requests = tasks.map(|task| ops::rollback::undo::Request { task, redo: false });
            Box::new(move |cx, key, which| {
                ops::rollback::undo::undo(cx, key, &chosen(which, &requests)).map(plain)
            })
        },
    },
    crew::LOCK_ACQUIRE,
    crew::LOCK_RELEASE,
    crew::LOCK_FORCE,
    crew::LEDGER_OPEN,
    crew::LEDGER_APPLY,
    crew::LEDGER_CLOSE,
    crew::LEDGER_REPAIR,
    crew::ASSIGNMENT_ISSUE,
    crew::RESULT_SUBMIT,
    crew::ORCHESTRATE_STEP,
    crew::BUDGET_SET,
    crew::BUDGET_SETTLE,
    crew::APPROVAL_REQUEST,
    crew::APPROVAL_DECIDE,
    crew::WORKLOG_APPEND,
    crew::HANDOFF_IMPORT,
];

#[test]
fn no_verb_that_writes_is_left_out() {
    // Leaving has no second request that differs: it is tested with claims. Importing reads a file of another
    // program: it is tested with the command. The host of these tests has one clone to discard, and not two: that a
    // repeated discard is answered alike is tested with all verbs.
    let elsewhere = ["agent.leave", "store.import_vybe", "worktree.discard"];
    let others = registry::VERBS.iter().filter(|verb| !elsewhere.contains(&verb.name));
    for known in others.filter(|verb| verb.effect == Effect::Once) {
        assert!(VERBS.iter().any(|verb| verb.name == known.name), "{} is not tested here", known.name);
    }
    assert!(registry::find("task.create").is_some());
}

#[test]
fn the_same_request_again_gives_the_same_answer_and_writes_nothing() {
    for verb in VERBS {
        let mut world = World::new();
        let call = (verb.prepare)(&mut world);
        let key = key("a", "r-1");
        let before = world.state();
        let first = call(&mut world.cx, &key, Which::Good).unwrap();
        assert!(!first.replayed, "{}", verb.name);
        let after = world.state();
        assert_ne!(after, before, "{}", verb.name);
        for _ in 0..2 {
            world.clock().advance(limits::CLAIM_LEASE);
            let again = call(&mut world.cx, &key, Which::Good).unwrap();
            assert_eq!(again, Reply { answer: first.answer.clone(), replayed: true }, "{}", verb.name);
            assert_eq!(world.state(), after, "{}", verb.name);
        }
    }
}

#[test]
fn another_request_under_the_same_id_is_refused_and_writes_nothing() {
    for verb in VERBS {
        let mut world = World::new();
        let call = (verb.prepare)(&mut world);
        let key = key("a", "r-1");
        call(&mut world.cx, &key, Which::Good).unwrap();
        let after = world.state();
        let error = call(&mut world.cx, &key, Which::Other).expect_err("the id is taken");
        assert_eq!(error.code, ErrorCode::IdempotencyKeyReused, "{}: {error}", verb.name);
        assert!(error.hint.is_some(), "{}", verb.name);
        assert_eq!(world.state(), after, "{}", verb.name);
    }
}

#[test]
fn an_id_belongs_to_its_verb_too() {
    let mut world = World::new();
    let (first, key) = (world.task("first"), key("a", "r-1"));
    task::begin::begin(&mut world.cx, &key, &begin(&first)).unwrap();
    let after = world.state();
    // The same words for two verbs: a begin and a cancel both say just an id.
    let error = run::cancel::cancel(&mut world.cx, &key, &cancel(&first)).expect_err("the id is taken");
    assert_eq!(error.code, ErrorCode::IdempotencyKeyReused);
    assert_eq!(error.details, json!({"operation": "task.begin", "asked": "task.cancel"}));
    assert_eq!(world.state(), after);
}

#[test]
fn a_refused_call_leaves_its_id_usable() {
    for verb in VERBS {
        let mut world = World::new();
        let call = (verb.prepare)(&mut world);
        let key = key("a", "r-1");
        let before = world.state();
        for _ in 0..2 {
            let error = call(&mut world.cx, &key, Which::Refused).expect_err("it is refused");
            assert_ne!(error.code, ErrorCode::IdempotencyKeyReused, "{}: {error}", verb.name);
            assert_ne!(error.code, ErrorCode::Bug, "{}: {error}", verb.name);
            assert_eq!(world.state(), before, "{}", verb.name);
        }
        let given = call(&mut world.cx, &key, Which::Good).unwrap();
        assert!(!given.replayed, "{}", verb.name);
    }
}

#[test]
fn the_same_id_of_another_agent_is_another_request() {
    let mut world = World::new();
    let mut made = |agent: &str| {
        let given = task::create::create(&mut world.cx, &key(agent, "r-1"), &create("one")).unwrap();
        assert!(!given.replayed, "{agent}");
        given.answer.task.id
    };
    assert_ne!(made("a"), made("b"));
    // An agent is the same however it writes its name.
    let again = task::create::create(&mut world.cx, &key(" A ", "r-1"), &create("one")).unwrap();
    assert!(again.replayed);
}

#[test]
fn a_pruned_answer_is_not_given_and_not_worked_again() {
    for verb in VERBS {
        let mut world = World::new();
        let call = (verb.prepare)(&mut world);
        let key = key("a", "r-1");
        call(&mut world.cx, &key, Which::Good).unwrap();
        let now = world.temp.now().at.plus(limits::ANSWER_KEPT);
        let mut store = Store::open(&world.temp.path(), now).unwrap();
        // Some of the verbs halt it.
        store.permit_while_halted(true);
        let tx = store.begin().unwrap();
        tx.forget_answers(now, 1000).unwrap();
        tx.commit().unwrap();
        let after = world.state();
        let error = call(&mut world.cx, &key, Which::Good).expect_err("its answer is gone");
        assert_eq!(error.code, ErrorCode::IdempotencyExpired, "{}: {error}", verb.name);
        let error = call(&mut world.cx, &key, Which::Other).expect_err("its id is not free");
        assert_eq!(error.code, ErrorCode::IdempotencyKeyReused, "{}: {error}", verb.name);
        assert_eq!(world.state(), after, "{}", verb.name);
    }
}

#[test]
fn answers_are_pruned_by_later_calls_when_their_time_is_over() {
    let mut world = World::new();
    let make = |world: &mut World, request: &str| {
        task::create::create(&mut world.cx, &key("a", request), &create(request)).map(|given| given.replayed)
    };
    for request in ["r-1", "r-2", "r-3", "r-4", "r-5"] {
        make(&mut world, request).unwrap();
    }
    world.clock().advance(limits::ANSWER_KEPT);
    assert!(!make(&mut world, "r-6").unwrap());
    assert!(make(&mut world, "r-1").unwrap(), "it was kept as long as was promised, and not a moment less");
    world.clock().advance(std::time::Duration::from_millis(1));
    assert!(!make(&mut world, "r-7").unwrap());
    assert!(make(&mut world, "r-1").unwrap(), "no event before that call was past its time");
    assert!(!make(&mut world, "r-8").unwrap());
    assert!(!make(&mut world, "r-9").unwrap());
    for request in ["r-1", "r-2", "r-3", "r-4", "r-5"] {
        let error = make(&mut world, request).expect_err("its time is over");
        assert_eq!(error.code, ErrorCode::IdempotencyExpired, "{request}");
    }
    for request in ["r-6", "r-7", "r-8", "r-9"] {
        assert!(make(&mut world, request).unwrap(), "{request}");
    }
}

#[test]
fn sixteen_who_ask_at_once_under_one_id_make_one_task() {
    let world = World::new();
    let start = Barrier::new(16);
    let answers: Vec<Reply<task::create::Answer>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|seed| {
                let (world, start) = (&world.temp, &start);
                scope.spawn(move || {
                    let mut cx = context(&world.path(), &world.clock(), seed + 100);
                    start.wait();
                    task::create::create(&mut cx, &key("a", "r-1"), &create("one")).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|given| given.answer == answers[0].answer));
    assert_eq!(answers.iter().filter(|given| !given.replayed).count(), 1);
    assert_eq!(world.state().1.events, 1);
}
