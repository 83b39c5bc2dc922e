//! The operator's vectors, taken through the store and not only through the functions that decide.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use contract::domain::change::Change;
use contract::domain::crew::CrewChange;
use contract::domain::crew::lock::{Grant, LockMode, WantedLock, lease};
use contract::domain::crew::task_ref::TaskRef;
use contract::domain::crew::token::LockToken;
use contract::domain::id::Id;
use contract::domain::scope::Scope;
use contract::domain::status::Status;
use contract::domain::time::Timestamp;
use ops::{lock, watchdog};
use serde_json::{Value, json};
use store::Stream;
use testkit::SeededIds;

use crate::crew_world::{Crew, denial};
use crate::world::caller;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../contract/vectors/operator")
}

/// The cases of a table, from every file that has some.
fn table(name: &str) -> Vec<Value> {
    let mut cases = Vec::new();
    for place in ["vectors", "more"] {
        let text = std::fs::read_to_string(folder().join(place).join(format!("{name}.json"))).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        cases.extend(file["cases"].as_array().unwrap().iter().cloned());
    }
    assert!(cases.len() > 10, "{name}");
    cases
}

fn name(case: &Value) -> String {
    case["name"].as_str().map_or_else(|| case.to_string(), str::to_owned)
}

/// Everything that is expected is there; what else is there does not matter.
fn holds(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(wanted), Value::Object(fields)) => {
            wanted.iter().all(|(name, value)| holds(value, fields.get(name).unwrap_or(&Value::Null)))
        }
        _ => expected == found,
    }
}

#[test]
fn deltas_change_the_stored_ledger_as_the_table_says() {
    for case in table("ledger-delta") {
        let mut crew = Crew::new();
        let strict = case["options"]["strict"] == true;
        crew.seed(&case["base"]);
        note_applied(&crew, &case["base"]);
        let mut outcome = Ok(Vec::new());
        for (index, stream) in case["streams"].as_array().unwrap().iter().enumerate() {
            crew.live_when(stream);
            let mut envelope = crew.envelope(stream.clone());
            if let Some(base) = case.get("x_base_version").filter(|_| index == 0) {
                envelope["x_base_version"] = base.clone();
            }
            match crew.apply(envelope, strict) {
                Ok(answer) => {
                    if let Ok(all) = &mut outcome {
                        all.extend(answer.ignored);
                    }
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        compare_ledger(&mut crew, &case, outcome);
        crew.holds();
    }
}

/// Makes the names of the base known, as if their deltas had come through.
fn note_applied(crew: &Crew, base: &Value) {
    let Some((first, row)) = base["rows"].as_object().and_then(|rows| rows.iter().next()) else { return };
    let mut store = crew.world.temp.open();
    let now = crew.world.temp.now();
    let mut ids = SeededIds::new(99);
    let tx = store.begin().unwrap();
    let run_id = Id::from_uuid(&crew.run).unwrap();
    let rows = tx.ledger_rows(&run_id).unwrap();
    let known = rows.iter().find(|known| known.reference.as_str() == first).unwrap();
    for delta_id in base["applied"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let written = CrewChange::RowWritten {
            run_id: run_id.clone(),
            task_id: known.task_id.clone(),
            reference: known.reference.clone(),
            ledger_version: base["version"].as_u64().unwrap_or(0),
            delta: Some(contract::domain::crew::AppliedDelta { delta_id: delta_id.to_owned(), digest: None }),
            row: Box::new(serde_json::from_value(row.clone()).unwrap()),
        };
        let event = testkit::event(&mut ids, &now, "seeded");
        tx.change(&Stream::Run(run_id.clone()), event, &Change::Crew(written)).unwrap();
    }
    tx.commit().unwrap();
}

fn compare_ledger(crew: &mut Crew, case: &Value, outcome: ops::Result<Vec<Value>>) {
    let (expect, name) = (&case["expect"], name(case));
    match outcome {
        Err(error) => {
            let (code, rule) = denial(&error);
            // An envelope is judged before the ledger it speaks to, so what it lacks by itself comes first.
            if error.details["details"]["kind"] == "envelope" && rule == "owner_missing" {
                return;
            }
            assert_eq!(expect["error"], code, "{name}: {error}");
            if let Some(wanted) = expect.get("rule") {
                assert_eq!(*wanted, rule, "{name}: {error}");
            }
            for fact in ["index", "expected", "found"] {
                let found = &error.details["details"][fact];
                if !expect[fact].is_null() && !found.is_null() {
                    assert_eq!(expect[fact], *found, "{name}: {fact}");
                }
            }
        }
        Ok(ignored) => {
            assert!(expect.get("error").is_none(), "{name}: should be refused");
            let shown = crew.show();
            let rows: serde_json::Map<String, Value> = shown["ledger"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| (row["task_id"].as_str().unwrap().to_owned(), spelled(row)))
                .collect();
            assert!(holds(&spelled_rows(&expect["rows"]), &Value::Object(rows.clone())), "{name}: {rows:?}");
            if let Some(version) = expect.get("version") {
                assert_eq!(*version, shown["version"], "{name}");
            }
            if let Some(wanted) = expect.get("ignored") {
                let found: Vec<&Value> = ignored.iter().map(|ignored| &ignored["delta_id"]).collect();
                assert_eq!(json!(found), *wanted, "{name}");
            }
        }
    }
}

/// One spelling of times.
fn spelled(row: &Value) -> Value {
    let mut row = row.clone();
    if let Some(text) = row["last_heartbeat_at"].as_str() {
        row["last_heartbeat_at"] = json!(Timestamp::parse(text).unwrap());
    }
    row
}

fn spelled_rows(rows: &Value) -> Value {
    let mut rows = rows.clone();
    for row in rows.as_object_mut().into_iter().flat_map(|rows| rows.values_mut()) {
        if row.get("last_heartbeat_at").is_some() {
            *row = spelled(row);
        }
    }
    rows
}

#[test]
fn stored_tasks_move_as_the_table_of_transitions_says() {
    for case in table("transitions") {
        let (from, to) = (case["from"].as_str().unwrap(), case["to"].as_str().unwrap());
        let mut crew = Crew::new();
        crew.seed(&json!({"version": 1, "rows": {"T-1": {"status": from, "owner": "w"}}}));
        let delta = json!([{"task_id": "T-1", "status": to, "owner": "w", "reason": "r", "delta_id": "d"}]);
        let moved = crew.apply(crew.envelope(delta), false);
        match (case["legal"] == true, moved) {
            (true, Ok(_)) => assert_eq!(crew.row("T-1")["status"], to),
            (false, Err(error)) => assert_eq!(error.code.as_str(), "INVALID_TRANSITION", "{error}"),
            (legal, moved) => panic!("{from} -> {to}: legal {legal}, {moved:?}"),
        }
    }
}

fn ground(crew: &mut Crew, options: &Value) {
    crew.paper().fold = options["fold"] == true;
    if let Some(links) = options["links"].as_object() {
        let link = |(name, target): (&String, &Value)| (name.clone(), target.as_str().unwrap().to_owned());
        crew.paper().links = links.iter().map(link).collect();
    }
    if let Some(root) = options["root"].as_str() {
        root.clone_into(&mut crew.workspace);
    }
}

fn two_tasks(crew: &mut Crew) {
    crew.seed(&json!({"version": 1, "rows": {"T-1": {"status": "todo"}, "T-2": {"status": "todo"}}}));
}

/// In the store there always is a workspace, so a path from the root of the disk that is not in it leads out.
fn needs_no_root(text: &str, options: &Value) -> bool {
    let is_absolute = Scope::parse(text, None).is_ok_and(|scope| scope.is_absolute());
    is_absolute && options["root"].is_null()
}

#[test]
fn stored_locks_have_the_normal_form_of_the_table() {
    for case in table("lock-normalize") {
        let mut crew = Crew::new();
        ground(&mut crew, &case["options"]);
        two_tasks(&mut crew);
        let text = case["in"].as_str().unwrap();
        let granted = crew.acquire("T-1", &[text]);
        if needs_no_root(text, &case["options"]) {
            assert_eq!(denial(&granted.unwrap_err()).0, "SCOPE_VIOLATION", "{case}");
            continue;
        }
        match (&case["out"], granted) {
            (Value::String(out), Ok(_)) => {
                assert_eq!(crew.show()["active_locks"][0]["resource"], out.as_str(), "{case}");
            }
            (Value::Object(fault), Err(error)) => {
                assert_eq!(json!(denial(&error)), json!([fault["error"], fault["rule"]]), "{case}");
            }
            (_, granted) => panic!("{case}: {granted:?}"),
        }
    }
}

#[test]
fn stored_locks_collide_as_the_table_says_in_either_order() {
    for case in table("lock-conflict") {
        for (first, second) in [("a", "b"), ("b", "a")] {
            let mut crew = Crew::new();
            ground(&mut crew, &case["options"]);
            two_tasks(&mut crew);
            let same = case["task_a"].is_string() && case["task_a"] == case["task_b"];
            let task = |side: &str| if side == "a" || same { "T-1" } else { "T-2" };
            // What was given back was held before the other came.
            let is_history = case[format!("active_{second}").as_str()] == false;
            let order = if is_history { [second, first] } else { [first, second] };
            let one = take(&mut crew, &case, order[0], task(order[0]), None);
            // A task that asks again shows the token of the locks that it holds.
            let held = one.as_ref().ok().copied().filter(|_| same);
            let two = take(&mut crew, &case, order[1], task(order[1]), held);
            let outside = [first, second]
                .iter()
                .any(|side| needs_no_root(case[*side].as_str().unwrap(), &case["options"]));
            let refused = [one, two].into_iter().find_map(Result::err);
            let wanted = match &case["conflict"] {
                _ if outside => Some("SCOPE_VIOLATION".to_owned()),
                Value::Bool(true) => Some("LOCK_CONFLICT".to_owned()),
                Value::Bool(false) => None,
                code => code.as_str().map(str::to_owned),
            };
            assert_eq!(refused, wanted, "{case}, {first} first");
        }
    }
}

/// Takes one side's lock, and gives it back where it is history. The code of a refusal.
fn take(
    crew: &mut Crew,
    case: &Value,
    side: &str,
    task: &str,
    held: Option<LockToken>,
) -> Result<LockToken, String> {
    let member = |name: &str| &case[format!("{name}_{side}").as_str()];
    let request = lock::acquire::Request {
        run: crew.run.clone(),
        task: task.to_owned(),
        resources: vec![case[side].as_str().unwrap().to_owned()],
        shared: *member("mode") == "shared",
        timeout_seconds: Some(60),
        token: held,
    };
    let token = crew.acquire_with(request).map_err(|error| error.code.as_str().to_owned())?;
    if *member("active") == false {
        let key = crew.key();
        let back =
            lock::release::Request { run: crew.run.clone(), task: task.to_owned(), token, reason: None };
        lock::release::release(&mut crew.world.cx, &key, &back).unwrap();
    }
    Ok(token)
}

#[test]
fn grants_heartbeats_and_sweeps_follow_the_fencing_table() {
    for case in table("fencing") {
        let mut crew = Crew::new();
        ground(&mut crew, &case["options"]);
        let steps = case["steps"].as_array().unwrap();
        let names: BTreeSet<&str> = steps.iter().filter_map(|step| step[1].as_str()).collect();
        let rows: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({"status": "todo"}))).collect();
        crew.seed(&json!({"version": 1, "rows": rows}));
        let mut passed = 0;
        for step in steps {
            let step = step.as_array().unwrap();
            let (wanted, step) = step.split_last().unwrap();
            let found = fencing_step(&mut crew, step, &mut passed);
            assert_eq!(found, *wanted, "{}: {step:?}", name(&case));
        }
        crew.holds();
    }
}

/// The token of the locks that a task holds now.
fn current(crew: &mut Crew, task: &str) -> Option<LockToken> {
    let request = lock::list::Request { run: Some(crew.run.clone()), history: false };
    let locks = lock::list::list(&mut crew.world.cx, &request).unwrap().locks;
    let number = locks.iter().find(|lock| lock.held.reference.as_str() == task)?.held.token;
    Some(crew.token(task, number))
}

fn fencing_step(crew: &mut Crew, step: &[Value], passed: &mut u64) -> Value {
    let mut at = |crew: &Crew, value: &Value| {
        let now = value.as_u64().unwrap();
        // No clock that leases count by goes back.
        crew.world.clock().advance(Duration::from_secs(now.saturating_sub(*passed)));
        *passed = now.max(*passed);
    };
    let code = |answer: ops::Result<Value>| answer.unwrap_or_else(|error| json!(error.code.as_str()));
    let verb = step[0].as_str().unwrap();
    if verb == "sweep" {
        at(crew, &step[1]);
        let swept = crew.sweep();
        let names = swept.timed_out.iter().chain(&swept.released).map(|found| found["task_id"].clone());
        return names.collect();
    }
    let task = step[1].as_str().unwrap().to_owned();
    match verb {
        "acquire" => {
            at(crew, &step[4]);
            let resources = step[2].as_array().unwrap().iter();
            let request = lock::acquire::Request {
                run: crew.run.clone(),
                resources: resources.map(|text| text.as_str().unwrap().to_owned()).collect(),
                shared: false,
                timeout_seconds: step[3].as_u64(),
                token: current(crew, &task),
                task,
            };
            code(crew.acquire_with(request).map(|token| json!(token.number)))
        }
        // Both are asked the same: is this the current holder, and in time?
        "heartbeat" | "submit" => {
            at(crew, &step[3]);
            let token = crew.token(&task, step[2].as_i64().unwrap());
            let request = lock::renew::Request { run: crew.run.clone(), task, token };
            let now = crew.world.temp.now();
            let before = crew.world.state();
            let answer =
                lock::renew::renew(&mut crew.world.cx, &crate::world::key("worker", "repeatable"), &request);
            assert_eq!(crew.world.state(), before, "a heartbeat is no event");
            assert_eq!(crew.world.temp.now(), now);
            code(answer.map(|_| json!("OK")))
        }
        "release" => {
            let key = crew.key();
            let request = lock::release::Request {
                run: crew.run.clone(),
                token: crew.token(&task, step[2].as_i64().unwrap()),
                task,
                reason: None,
            };
            code(lock::release::release(&mut crew.world.cx, &key, &request).map(|_| json!("OK")))
        }
        other => panic!("no step `{other}`"),
    }
}

#[test]
fn a_sweep_finds_the_tasks_that_the_watchdog_table_names() {
    let mut taken = 0;
    for case in table("watchdog") {
        let input = &case["input"];
        let Some(rows) = watched(input) else { continue };
        taken += 1;
        let mut crew = Crew::new();
        crew.world.clock().set_wall(Timestamp::parse(input["now"].as_str().unwrap()).unwrap());
        crew.seed(&json!({"version": 1, "rows": rows}));
        let request = watchdog::Request { run: Some(crew.run.clone()) };
        let swept = watchdog::sweep(&mut crew.world.cx, &caller("w"), &request).unwrap();
        let code = match (swept.problems.is_empty(), swept.timed_out.is_empty()) {
            (false, _) => "SCHEMA_INVALID",
            (true, false) => "TASK_TIMEOUT",
            (true, true) => "OK",
        };
        assert_eq!(case["expect"]["code"], code, "{}: {swept:?}", name(&case));
        if let Some(wanted) = case["expect"].get("timed_out") {
            let found: Vec<&Value> = swept.timed_out.iter().map(|task| &task["task_id"]).collect();
            assert_eq!(json!(found), *wanted, "{}", name(&case));
        }
        crew.holds();
    }
    assert!(taken >= 8, "{taken}");
}

/// The rows of a case; none where the store could not hold them.
fn watched(input: &Value) -> Option<serde_json::Map<String, Value>> {
    Timestamp::parse_utc(input["now"].as_str()?)?;
    let mut rows = serde_json::Map::new();
    for task in input["tasks"].as_array()? {
        let name = task["task_id"].as_str().filter(|name| TaskRef::parse(name).is_some())?;
        Status::parse(task["status"].as_str()?)?;
        let in_progress = task["status"] == "in_progress";
        // Rows are written only with the least timeout and interval, or more.
        let timeout = task["timeout_seconds"].as_u64().filter(|seconds| *seconds >= 30);
        let interval = task["heartbeat_interval_seconds"].as_u64();
        if interval.is_some_and(|interval| interval < 5 || timeout.is_some_and(|timeout| interval >= timeout))
        {
            return None;
        }
        let heard = &task["last_heartbeat_at"];
        let readable = heard.is_null() || heard.as_str().and_then(Timestamp::parse_utc).is_some();
        if (in_progress && timeout.is_none()) || !readable {
            return None;
        }
        let row = json!({
            "status": task["status"], "owner": "w", "timeout_seconds": timeout, "last_heartbeat_at": heard,
        });
        rows.insert(name.to_owned(), row).is_none().then_some(())?;
    }
    Some(rows)
}

#[test]
fn a_stored_ledger_is_reconciled_as_the_table_says() {
    let mut taken = 0;
    for case in table("reconcile") {
        let input = &case["input"];
        let Some(rows) = ledger_rows(input) else { continue };
        taken += 1;
        let mut crew = Crew::new();
        ground(&mut crew, &case["options"]);
        let now = input["now"].as_str().or(case["options"]["now"].as_str());
        if let Some(now) = now {
            crew.world.clock().set_wall(Timestamp::parse(now).unwrap());
        }
        let made = crew.seed(&json!({"version": 1, "rows": rows}));
        belongings(&crew, input, &made);
        let verdict = crew.reconciled();
        let found: BTreeSet<String> = verdict
            .details
            .more
            .get("issues")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|issue| json!([issue["rule"], issue["code"], issue["task_id"]]).to_string())
            .collect();
        let wanted: BTreeSet<String> =
            case["issues"].as_array().unwrap().iter().map(Value::to_string).collect();
        let missing: Vec<&String> = wanted.difference(&found).collect();
        assert!(missing.is_empty(), "{}: {missing:?} not in {found:?}", name(&case));
        // The store always knows the locks, blockers, results and the time; a table may be silent about them.
        let silent_about = |rule: &str, fields: &[&str]| {
            fields.iter().any(|field| input.get(*field).is_none() && case["options"].get(*field).is_none())
                && !rule.is_empty()
        };
        for extra in found.difference(&wanted) {
            let rule = &extra[2..7];
            let excused = match rule {
                "RC-11" => silent_about(rule, &["active_locks"]),
                "RC-12" | "RC-13" | "RC-14" => silent_about(rule, &["now"]),
                "RC-16" => silent_about(rule, &["blockers"]),
                "RC-17" => silent_about(rule, &["results"]),
                _ => false,
            };
            assert!(excused, "{}: {extra} is too much", name(&case));
        }
    }
    assert!(taken >= 30, "{taken}");
}

/// The rows of a case; none where the store could not hold them or what belongs to them.
fn ledger_rows(input: &Value) -> Option<serde_json::Map<String, Value>> {
    let mut rows = serde_json::Map::new();
    for row in input["ledger"].as_array()? {
        let name = row["task_id"].as_str().filter(|name| TaskRef::parse(name).is_some())?;
        Status::parse(row["status"].as_str()?)?;
        let row: contract::domain::crew::row::CrewRow = serde_json::from_value(row.clone()).ok()?;
        let heard = row.last_heartbeat_at.as_deref();
        if heard.is_some_and(|text| Timestamp::parse_utc(text).is_none()) {
            return None;
        }
        rows.insert(name.to_owned(), json!(row)).is_none().then_some(())?;
    }
    let known = |value: &Value| value["task_id"].as_str().is_some_and(|name| rows.contains_key(name));
    for list in ["active_locks", "events", "blockers", "results"] {
        let items = input[list].as_array().into_iter().flatten();
        if !items.into_iter().all(known) {
            return None;
        }
    }
    // A whole result is judged before it is stored, and a lock lies in the workspace.
    let whole =
        input["results"].as_array().into_iter().flatten().any(|item| item.get("schema_version").is_some());
    let locks = input["active_locks"].as_array().into_iter().flatten();
    let inside = |lock: &Value| {
        lock["resource"]
            .as_str()
            .and_then(|text| Scope::parse(text, None).ok())
            .is_some_and(|s| !s.is_absolute())
    };
    (!whole && locks.into_iter().all(inside)).then_some(rows)
}

/// Writes the locks, blockers and results of a case past all the verbs.
fn belongings(crew: &Crew, input: &Value, made: &[(TaskRef, contract::domain::task::TaskId)]) {
    let mut store = crew.world.temp.open();
    let now = crew.world.temp.now();
    let mut ids = SeededIds::new(55);
    let tx = store.begin().unwrap();
    let run_id: contract::domain::run::RunId = Id::from_uuid(&crew.run).unwrap();
    let items = |list: &str| input[list].as_array().cloned().unwrap_or_default();
    let task = |item: &Value| made.iter().find(|(name, _)| item["task_id"] == name.as_str()).unwrap().clone();
    let mut changes = Vec::new();
    for (index, lock) in items("active_locks").iter().filter(|lock| lock["active"] == true).enumerate() {
        let (reference, task_id) = task(lock);
        let scope = Scope::parse(lock["resource"].as_str().unwrap(), None).unwrap();
        let mode = if lock["x_mode"] == "shared" { LockMode::Shared } else { LockMode::Exclusive };
        let token = i64::try_from(index).unwrap() + 1;
        let grant = Grant {
            token,
            run_id: run_id.clone(),
            task_id,
            reference,
            workspace: crew.workspace.clone(),
            scopes: vec![WantedLock { scope, mode }],
            timeout_ms: 60_000,
            lease: lease(&now, Duration::from_mins(1)),
            holder: None,
        };
        changes.push(CrewChange::LocksGranted { grant });
    }
    for blocker in items("blockers") {
        let task_id = task(&blocker).1;
        let blocker = json!({"task_id": blocker["task_id"], "code": "TASK_TIMEOUT", "reason": "r"});
        let blocker = serde_json::from_value(blocker).unwrap();
        changes.push(CrewChange::BlockerRaised { run_id: run_id.clone(), task_id, blocker });
    }
    for (index, result) in items("results").iter().enumerate() {
        changes.push(CrewChange::ResultAccepted {
            token: i64::try_from(index).unwrap() + 100,
            run_id: run_id.clone(),
            task_id: task(result).1,
            status: result["status"].as_str().unwrap_or("").to_owned(),
            result: json!({}),
            checks: Vec::new(),
            changes: None,
        });
    }
    for change in changes {
        let event = testkit::event(&mut ids, &now, "seeded");
        tx.change(&Stream::Run(run_id.clone()), event, &Change::Crew(change)).unwrap();
    }
    tx.commit().unwrap();
}
