//! A budget is for all attempts of a task together, and a cost that nobody knows is not free.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{aop, plan, scripted, speaking, with, writ};
use crate::read_back::work;

fn task(cli: &Cli, script: &str, budget: Value, policy: Value) -> Value {
    let mut task = with(aop(cli, script), json!({"execution_policy": policy}));
    task["task"]["budgets"] = budget;
    task
}

fn retried(times: u64) -> Value {
    json!({"max_retries": times, "retry_backoff_seconds": []})
}

fn prices(cli: &Cli, model: &str) {
    let text = format!(
        "[prices.\"{model}\"]\ninput_usd_per_million = 1000\noutput_usd_per_million = 10000\nas_of = \"2026-11-01\"\n"
    );
    cli.scratch().write("home/.config/writ/config.toml", text);
}

#[test]
fn a_budget_once_exceeded_stays_exceeded() {
    let cli = writ();
    let worked =
        work(&cli, &task(&cli, "aop-cost 5; aop-success", json!({"max_cost_usd": 0.5}), retried(3))).failed();
    assert_eq!(worked.task("T-1")["attempts"], 1, "no retry gets a fresh budget");
    assert_eq!(worked.reason("T-1"), "E_COST_LIMIT_EXCEEDED: it cost $5.00, the budget is $0.50");
    // Nor does a person's retry.
    cli.run(["retry", &worked.task_id("T-1")]).fails_with(1);
    let shown = worked.shown("T-1");
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 1, "{shown}");
}

#[test]
fn what_the_attempts_cost_adds_up() {
    let cli = writ();
    let script = "aop-cost 0.2; aop-failed E_UNKNOWN";
    let worked = work(&cli, &task(&cli, script, json!({"max_cost_usd": 0.5}), retried(9))).failed();
    assert_eq!(worked.task("T-1")["attempts"], 3, "$0.20 and $0.20 leave something, a third one does not");
    let reason = worked.reason("T-1");
    assert!(
        reason.starts_with(
            "E_COST_LIMIT_EXCEEDED: $0.60 of its budget of $0.50 is spent, so it is not tried again"
        ),
        "{reason}"
    );
}

#[test]
fn the_verdict_about_the_last_attempt_counts_the_earlier_ones() {
    let cli = writ();
    let line = "if [ -e once ]; then exec \"$0\" 'aop-cost 0.3; aop-success'; fi; touch once; \
                exec \"$0\" 'aop-cost 0.3; aop-failed E_UNKNOWN'";
    let mut document = task(&cli, "", json!({"max_cost_usd": 0.5}), retried(1));
    document["task"]["extensions"]["x_command"] = json!(["sh", "-c", line, crate::documents::agent()]);
    let worked = work(&cli, &document).failed();
    let expected = "E_COST_LIMIT_EXCEEDED: its attempts together cost $0.60, the budget is $0.50";
    assert_eq!(worked.reason("T-1"), expected);
}

#[test]
fn an_unknown_cost_stops_before_the_next_attempt() {
    let cli = writ();
    let worked =
        work(&cli, &task(&cli, "aop-failed E_UNKNOWN", json!({"max_cost_usd": 0.5}), retried(3))).failed();
    assert_eq!(worked.task("T-1")["attempts"], 1);
    let reason = worked.reason("T-1");
    assert!(reason.starts_with("E_COST_LIMIT_EXCEEDED: nobody knows what attempt 1 cost"), "{reason}");
    assert!(reason.contains("[prices]") && reason.contains("writ budget settle"), "{reason}");
    // Without a budget nobody asks.
    let free = work(&cli, &task(&cli, "aop-failed E_UNKNOWN", json!({}), retried(3))).failed();
    assert_eq!(free.task("T-1")["attempts"], 4);
}

#[test]
fn a_cost_is_computed_from_tokens_by_the_price_table() {
    let cli = writ();
    prices(&cli, "none");
    // 100 tokens in and 10 out cost $0.20.
    let said = json!({"tokens_input": 100, "tokens_output": 10});
    let answer = crate::aop_tasks::response(json!({"cost_tracking": said}));
    let mut document = crate::aop_tasks::answered(&cli, &[answer]);
    document["task"]["budgets"] = json!({"max_cost_usd": 0.2});
    let worked = work(&cli, &document).succeeded();
    let outcome = worked.shown("T-1")["attempts"][0]["outcome"].clone();
    assert_eq!(outcome["cost"], 200_000);
    assert_eq!(outcome["cost_basis"], json!({"from": "computed", "model": "none", "as_of": "2026-11-01"}));
    let decided = worked.decisions("L8");
    let expected = "COST_COMPUTED: from its tokens, at the price of none of 2026-11-01 in the configuration";
    assert!(decided.iter().any(|decision| decision == expected), "{decided:?}");
    document["task"]["budgets"] = json!({"max_cost_usd": 0.1});
    let reason = work(&cli, &document).failed().reason("T-1").to_owned();
    assert_eq!(reason, "E_COST_LIMIT_EXCEEDED: it cost $0.20, the budget is $0.10");
}

#[test]
fn a_success_whose_cost_is_unknown_is_named_in_the_trace() {
    let cli = writ();
    let worked = work(&cli, &task(&cli, "aop-success", json!({"max_cost_usd": 0.5}), json!({}))).succeeded();
    let decided = worked.decisions("L8");
    assert!(decided.iter().any(|decision| decision.starts_with("COST_UNKNOWN: ")), "{decided:?}");
}

#[test]
fn a_command_costs_nothing_and_is_retried() {
    let cli = writ();
    let budget = json!({"retries": 2, "budget": {"max_cost_usd": 0, "max_tokens": 0}});
    let document =
        with(plan([with(scripted("a", "exit 1"), budget)]), json!({"budget": {"max_cost_usd": 1}}));
    let worked = work(&cli, &document).failed();
    assert_eq!((worked.task("a")["attempts"].clone(), worked.reason("a")), (json!(3), "exit 1"));
}

#[test]
fn a_budget_is_conserved_over_retries() {
    let cli = writ();
    let one = with(
        speaking("a", "aop-cost 0.1; aop-failed E_UNKNOWN"),
        json!({"retries": 2, "budget": {"max_cost_usd": 0.5}}),
    );
    let silent = with(speaking("b", "aop-success"), json!({"budget": {"max_cost_usd": 0.25}}));
    let document = with(plan([one, silent]), json!({"budget": {"max_cost_usd": 1}}));
    let worked = work(&cli, &document).failed();
    assert_eq!(worked.task("a")["attempts"], 3);
    let shown = cli.run(["budget", "show", "--run", worked.id(), "--output", "json"]).success().json();
    let part = |name: &str| shown["data"][name]["cost"].as_i64().unwrap();
    assert_eq!(
        [part("limit"), part("free"), part("reserved"), part("spent"), part("withheld")],
        [1_000_000, 450_000, 0, 300_000, 250_000]
    );
}

#[test]
fn prices_of_a_project_have_no_effect_and_are_refused() {
    let cli = writ();
    let price = "[prices.m]\ninput_usd_per_million = 1\noutput_usd_per_million = 1\nas_of = \"2026-11-01\"\n";
    cli.scratch().write("project/.writ/config.toml", price);
    let refused = cli.call(["run", "-"]).stdin(plan([scripted("a", "exit 0")]).to_string()).run();
    assert!(refused.fails_with(1).stderr.contains("$.prices"), "{refused}");
    cli.scratch().write("project/.writ/config.toml", "");
    cli.scratch().write("home/.config/writ/config.toml", price.replace("2026-11-01", "2026-13-01"));
    let refused = cli.call(["run", "-"]).stdin(plan([scripted("a", "exit 0")]).to_string()).run();
    assert!(refused.fails_with(1).stderr.contains("a day such as 2026-11-01"), "{refused}");
}
