//! What the runs cost that a task's program starts is paid out of the task's budget.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{agent, aop, plan, shell, speaking, with, writ};
use crate::read_back::{Worked, work};

/// Writes a plan of one task that may spend `most` and reports that it cost `cost`.
fn inner(cli: &Cli, name: &str, most: f64, cost: &str) {
    let script = format!("aop-cost {cost}; write {name}.txt made; aop-success");
    let task = with(
        speaking(name, &script),
        json!({"budget": {"max_cost_usd": most}, "writes": [format!("{name}.txt")]}),
    );
    cli.scratch().write(format!("project/{name}.json"), plan([task]).to_string());
}

/// A line of shell that runs these plans one after the other and keeps their answers.
fn runs(names: &[&str]) -> String {
    let writ = env!("CARGO_BIN_EXE_writ");
    let one = |name: &&str| format!("{writ} run {name}.json --output json > {name}.answer");
    names.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn answer(cli: &Cli, name: &str) -> Value {
    serde_json::from_str(&cli.scratch().read(format!("project/{name}.answer"))).unwrap()
}

/// Limit, free, reserved, spent and withheld in micro-dollars.
fn books(cli: &Cli, run: &str) -> [i64; 5] {
    let shown = cli.run(["budget", "show", "--run", run, "--output", "json"]).success().json();
    let part = |name: &str| shown["data"][name]["cost"].as_i64().unwrap();
    let books = ["limit", "free", "reserved", "spent", "withheld"].map(part);
    assert_eq!(books[0], books[1..].iter().sum::<i64>(), "{shown}");
    books
}

fn outer(line: &str, more: Value) -> Value {
    let task = with(shell("outer", line), json!({"budget": {"max_cost_usd": 0.5}, "sandbox": "off"}));
    with(plan([with(task, more)]), json!({"budget": {"max_cost_usd": 10}}))
}

#[test]
fn a_second_run_gets_only_what_the_first_one_left_of_its_tasks_budget() {
    let cli = writ();
    inner(&cli, "first", 0.4, "0.3");
    inner(&cli, "second", 0.3, "0.1");
    inner(&cli, "third", 0.2, "0.123456");
    let document = outer(&format!("{}; true", runs(&["first", "second", "third"])), json!({}));
    let worked = work(&cli, &document).succeeded();
    let of = |name: &str| answer(&cli, name)["data"].clone();
    assert_eq!(of("first")["state"], "done", "{}", of("first"));
    // The run has $9.70 left, but the task only $0.20.
    let second = of("second");
    assert_eq!(
        (&second["state"], &second["tasks"][0]["status"]),
        (&json!("stopped"), &json!("blocked")),
        "{second}"
    );
    let reason = "E_COST_LIMIT_EXCEEDED: the task may spend $0.30, but only $0.20 is left";
    assert_eq!(second["tasks"][0]["reason"], reason, "{second}");
    assert_eq!(second["tasks"][0]["code"], "E_COST_LIMIT_EXCEEDED");
    assert_eq!(second["final_signal"], "FAILURE", "no task is done");
    assert!(!cli.project().join("second.txt").exists());
    assert_eq!(of("third")["state"], "done", "{}", of("third"));
    assert_eq!(books(&cli, worked.id()), [10_000_000, 9_576_544, 0, 423_456, 0]);
    let id = |name: &str| of(name)["run_id"].as_str().unwrap().to_owned();
    assert_eq!(books(&cli, &id("first")), [500_000, 200_000, 0, 300_000, 0]);
    assert_eq!(books(&cli, &id("second")), [200_000, 200_000, 0, 0, 0]);
    assert_eq!(books(&cli, &id("third")), [200_000, 76_544, 0, 123_456, 0]);
    cli.run(["audit", "verify", "--replay"]).success();
}

#[test]
fn what_started_runs_spent_leaves_no_money_for_a_retry() {
    let cli = writ();
    inner(&cli, "all", 0.5, "0.5");
    let document = outer(&format!("{}; exit 1", runs(&["all"])), json!({"retries": 3}));
    let worked = work(&cli, &document).failed();
    assert_eq!(worked.task("outer")["attempts"], 1, "{}", worked.output);
    let reason = worked.reason("outer");
    assert!(
        reason.starts_with(
            "E_COST_LIMIT_EXCEEDED: $0.50 of its budget of $0.50 is spent, so it is not tried again"
        ),
        "{reason}"
    );
    assert_eq!(books(&cli, worked.id()), [10_000_000, 9_500_000, 0, 500_000, 0]);
}

#[test]
fn a_started_run_that_exceeds_its_share_makes_its_task_exceed_the_budget() {
    let cli = writ();
    inner(&cli, "dear", 0.5, "0.75");
    let worked = work(&cli, &outer(&format!("{}; true", runs(&["dear"])), json!({}))).failed();
    assert_eq!(
        worked.reason("outer"),
        "E_COST_LIMIT_EXCEEDED: it and the runs that it started together cost $0.75, the budget is $0.50"
    );
    assert_eq!(books(&cli, worked.id()), [10_000_000, 9_250_000, 0, 750_000, 0]);
}

/// Runs a TASK of $0.50 whose program starts the plans and itself costs `own`.
fn task_starting<'c>(cli: &'c Cli, names: &[&str], own: &str) -> Worked<'c> {
    let mut task = aop(cli, "");
    let line = format!("{}; exec \"$0\" 'aop-cost {own}; aop-success'", runs(names));
    task["task"]["extensions"] = json!({"x_command": ["sh", "-c", line, agent()], "x_sandbox": "off"});
    task["task"]["constraints"] = json!({"delegation_allowed": true});
    task["task"]["budgets"] = json!({"max_cost_usd": 0.5});
    work(cli, &task)
}

#[test]
fn the_report_of_a_session_counts_started_runs_once() {
    let cli = writ();
    inner(&cli, "plan", 0.3, "0.125");
    // A TASK of the same session.
    let mut child = aop(&cli, "aop-cost 0.0625; aop-success");
    child["task"]["task_id"] = json!("T-2");
    child["task"]["budgets"] = json!({"max_cost_usd": 0.1});
    cli.scratch().write("project/child.json", child.to_string());
    task_starting(&cli, &["plan", "child"], "0.25").succeeded();
    let report = cli.run(["session", "report", "S-1", "--output", "json"]).success().json()["data"].clone();
    assert_eq!(report["cost_summary"]["actual_cost_usd"], 0.4375, "{report}");
    assert_eq!(report["totals"]["total_cost_usd"], 0.4375);
    let of = |id: &str| {
        let tasks = report["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["task_id"] == id).unwrap()["actual_cost_usd"].clone()
    };
    assert_eq!((of("T-1"), of("T-2")), (json!(0.4375), json!(0.0625)), "{report}");
}

#[test]
fn a_tasks_own_cost_and_that_of_its_runs_are_one_cost() {
    let cli = writ();
    inner(&cli, "plan", 0.4, "0.4");
    let worked = task_starting(&cli, &["plan"], "0.2").failed();
    let together = "it and the runs that it started together cost $0.60, the budget is $0.50";
    assert_eq!(worked.reason("T-1"), format!("E_COST_LIMIT_EXCEEDED: {together}"));
}
