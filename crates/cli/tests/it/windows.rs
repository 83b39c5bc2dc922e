//! Rate limits and usage windows: tasks wait until the provider's reset time, across runs and engines, and go on one by
//! one. The agent is a fake that prints what the real one prints.

use contract::domain::limits::LIMIT_SPACING;
use contract::domain::time::Timestamp;
use serde_json::{Value, json};
use testkit::{Background, Cli, Signal, eventually};

use crate::aop_tasks::response;
use crate::documents::{agent, aop, plan, with, writ};
use crate::executors::{asked, prints, with_program};
use crate::read_back::{Worked, work};
use crate::run_view::{audit_is_clean, run_id};

/// The reset time that is never waited for in a test.
const LATE: &str = "retry after 1h";

/// The boot clock and the wall clock do not tick at the same moments.
const CLOCKS_DIFFER_MS: i64 = 50;

/// A stream of Claude Code that a rate limit ends.
fn refused(words: &str) -> String {
    let event = json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 429,
        "result": format!("slow down, {words}"), "terminal_reason": "api_error", "total_cost_usd": 0.0,
        "usage": {"input_tokens": 0, "output_tokens": 0}});
    prints(&[event], 1)
}

fn answered() -> String {
    prints(
        &[json!({"session_id": "s-1", "subtype": "success", "is_error": false, "result": "Done.",
            "total_cost_usd": 0.1, "usage": {"input_tokens": 1, "output_tokens": 1}, "type": "result"})],
        0,
    )
}

/// A runner whose `claude` is refused in these words at its first call, and answers later ones.
fn refused_once(words: &str) -> Cli {
    with_program("claude", &format!("if [ $n = 0 ]; then\n{}\nfi\n{}", refused(words), answered()))
}

/// Lets a provider refuse work for an hour, whatever is on the path.
pub(crate) fn limited(cli: &Cli) {
    limited_by(cli, LATE);
}

/// The same in these words.
pub(crate) fn limited_by(cli: &Cli, words: &str) {
    let script = cli.scratch().write("refused.sh", format!("cat > /dev/null\n{}\n", refused(words)));
    let config = format!("[executor.claude]\ncommand = {}\n", json!(["sh", script]));
    cli.scratch().write("home/.config/writ/config.toml", config);
    let document = plan([asked("claude")]).to_string();
    cli.call(["run", "-", "--limit-wait", "0s"]).stdin(document).run().fails_with(1);
}

fn task(id: &str, more: Value) -> Value {
    with(with(asked("claude"), json!({"id": id})), more)
}

fn calls(cli: &Cli) -> usize {
    (0..100).take_while(|number| cli.scratch().has(cli.project().join(format!("call.{number}")))).count()
}

fn limits(cli: &Cli) -> Vec<Value> {
    let listed = cli.run(["limits", "list", "--output", "json"]).success().json();
    listed["data"]["limits"].as_array().unwrap().clone()
}

/// Opens a window of an hour: a task that does not wait for it fails.
#[track_caller]
fn limit(cli: &Cli) {
    let document = plan([task("first", json!({}))]).to_string();
    let words = ["run", "-", "--limit-wait", "0s", "--output", "json"];
    let worked = Worked::of(cli, cli.call(words).stdin(document).run()).failed();
    let (reason, start) =
        (worked.reason("first"), "E_MODEL_UNAVAILABLE: rate limit: slow down, retry after 1h; claude");
    assert!(reason.starts_with(start) && reason.ends_with("which exceeds --limit-wait (0s)"), "{reason}");
    assert_eq!(calls(cli), 1);
}

/// Submits a plan, and waits until all of its tasks wait.
#[track_caller]
fn waiting(cli: &Cli, tasks: Vec<Value>) -> Background<'_> {
    let count = tasks.len();
    let writ = waiting_in_order(cli, tasks);
    eventually("its tasks wait", || limits(cli).first().is_some_and(|limit| limit["waiting"] == count));
    writ
}

/// The same without waiting for it; one task at a time.
fn waiting_in_order(cli: &Cli, tasks: Vec<Value>) -> Background<'_> {
    let document = with(plan(tasks), json!({"max_parallel": 1})).to_string();
    cli.call(["run", "-"]).stdin(document).spawn()
}

/// What the only task of a run waits for.
fn waits_for(cli: &Cli, run: &str) -> Value {
    let shown = cli.run(["runs", "show", run, "--output", "json"]).success().json();
    shown["data"]["tasks"][0]["waits_for"].clone()
}

/// An attempt, with times in milliseconds.
#[derive(Debug)]
struct Seen {
    state: String,
    started_at: i64,
    ended_at: i64,
}

fn at(time: &Value) -> i64 {
    Timestamp::parse(time.as_str().unwrap()).unwrap().millis()
}

fn attempts(shown: &Value) -> Vec<Seen> {
    let one = |attempt: &Value| Seen {
        state: attempt["state"].as_str().unwrap().to_owned(),
        started_at: at(&attempt["started_at"]),
        ended_at: at(&attempt["ended_at"]),
    };
    shown["attempts"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn a_task_waits_until_the_reset_time_and_then_goes_on() {
    let cli = refused_once("retry after 2s");
    let worked = work(&cli, &plan([task("a", json!({}))])).succeeded();
    assert_eq!(worked.status("a"), "done claimed");
    let shown = worked.shown("a");
    let [first, second] = &attempts(&shown)[..] else { panic!("{shown}") };
    assert_eq!((first.state.as_str(), second.state.as_str()), ("failed", "succeeded"));
    let until = at(&shown["attempts"][0]["outcome"]["limited"]["until"]);
    assert!(second.started_at >= until - CLOCKS_DIFFER_MS, "{shown}");
    assert!(worked.output.stderr.contains("a: waiting for claude until "), "{}", worked.output);
    let told: Vec<Value> = worked.trace().iter().map(|event| event["intent"].clone()).collect();
    for intent in ["writ.limit_window", "writ.task_waits_for_limit", "writ.task_limit_wait_ended"] {
        assert!(told.iter().any(|said| said == intent), "{intent}: {told:?}");
    }
    audit_is_clean(&cli);
}

#[test]
fn another_run_waits_for_the_same_window_until_it_is_cleared() {
    let cli = refused_once(LATE);
    limit(&cli);
    let writ = waiting(&cli, vec![task("a", json!({}))]);
    let run = run_id(&writ);
    let limits = limits(&cli);
    assert_eq!(
        (&limits[0]["resource"], &limits[0]["basis"], &limits[0]["reason"]),
        (&json!("claude"), &json!("provider"), &json!("rate limit: slow down, retry after 1h"))
    );
    let shown = cli.run(["runs", "show", &run]);
    assert!(shown.success().stdout.contains("    waits for claude until "), "{shown}");
    for words in [&["status", "--output", "text"][..], &["limits", "list"]] {
        let text = cli.run(words);
        assert!(text.success().stdout.contains("  1 task waits  rate limit: "), "{text}");
    }
    assert_eq!(calls(&cli), 1, "nobody asked the provider again");
    let cleared = cli.run(["limits", "clear", "claude"]);
    assert_eq!(cleared.success().stdout, "claude is used again; 1 task waited for it\n");
    writ.wait().success();
    assert_eq!((calls(&cli), self::limits(&cli)), (2, vec![]));
    let nothing = cli.run(["limits", "clear", "claude"]);
    assert!(nothing.fails_with(1).stderr.contains("no limit of this resource is known"), "{nothing}");
    assert_eq!(cli.run(["limits", "list"]).success().stdout, "no limits\n");
    audit_is_clean(&cli);
}

#[test]
fn tasks_of_other_executors_go_on_meanwhile() {
    let cli = refused_once(LATE);
    limit(&cli);
    let free = json!({"id": "free", "command": ["touch", "free-ran"]});
    let document = plan([task("a", json!({})), free]).to_string();
    let writ = cli.call(["run", "-"]).stdin(document).spawn();
    eventually("the free task ran", || cli.scratch().has(cli.project().join("free-ran")));
    eventually("the other waits", || writ.stderr().contains("a: waiting for claude until "));
    // Left with Ctrl-C, it says what it waits for and how it goes on.
    writ.signal(Signal::INT);
    let left = writ.wait();
    assert!(left.stderr.contains("; 1 task waits for claude until "), "{left}");
    assert!(left.stderr.contains("interrupted; continue with `writ run --continue run_"), "{left}");
}

#[test]
fn the_engine_that_follows_a_killed_one_still_waits() {
    let cli = refused_once(LATE);
    let writ = waiting(&cli, vec![task("a", json!({}))]);
    let run = run_id(&writ);
    drop(writ.kill_nine());
    assert_eq!(limits(&cli)[0]["waiting"], 1);
    let since = waits_for(&cli, &run)["since"].clone();
    let next = cli.spawn(["run", "--continue", &run]);
    eventually("it waits again", || next.stderr().contains("a: waiting for claude until "));
    assert_eq!((calls(&cli), &waits_for(&cli, &run)["since"]), (1, &since));
    cli.run(["limits", "clear", "claude"]).success();
    next.wait().success();
    assert_eq!(calls(&cli), 2);
    audit_is_clean(&cli);
}

#[test]
fn after_the_reset_one_task_goes_alone_and_the_others_follow_at_a_distance() {
    let cli = refused_once("retry after 1s");
    let tasks = ["a", "b", "c"].map(|id| task(id, json!({})));
    let worked = work(&cli, &with(plan(tasks), json!({"max_parallel": 1}))).succeeded();
    let mut all: Vec<Seen> = ["a", "b", "c"].iter().flat_map(|id| attempts(&worked.shown(id))).collect();
    all.sort_by_key(|one| one.started_at);
    let states: Vec<&str> = all.iter().map(|one| one.state.as_str()).collect();
    assert_eq!(states, ["failed", "succeeded", "succeeded", "succeeded"]);
    let distance = i64::try_from(LIMIT_SPACING.as_millis()).unwrap() - CLOCKS_DIFFER_MS;
    for pair in all[1..].windows(2) {
        assert!(pair[1].started_at >= pair[0].started_at + distance, "{all:?}");
        assert!(pair[1].started_at >= pair[0].ended_at - CLOCKS_DIFFER_MS, "{all:?}");
    }
}

#[test]
fn a_probe_that_is_refused_again_keeps_the_others_waiting() {
    let again = format!("if [ $n = 1 ]; then\n{}\nfi\n{}", refused(LATE), answered());
    let cli =
        with_program("claude", &format!("if [ $n = 0 ]; then\n{}\nfi\n{again}", refused("retry after 1s")));
    let writ = waiting_in_order(&cli, vec![task("a", json!({})), task("b", json!({}))]);
    eventually("the probe was refused", || limits(&cli).iter().any(|limit| limit["times"] == 2));
    eventually("both wait", || limits(&cli)[0]["waiting"] == 2);
    assert_eq!(calls(&cli), 2);
    cli.run(["limits", "clear", "claude"]).success();
    writ.wait().success();
    assert_eq!(calls(&cli), 4);
}

#[test]
fn an_alternative_takes_the_place_of_what_is_limited() {
    let cli = refused_once(LATE);
    let other = json!({"executor": "aop-stdio", "command": [agent(), "aop-success"]});
    let alternatives = json!({"alternatives": [other]});
    // By its own refusal, and by that of another run, which it does not have to repeat.
    for calls_made in [1, 1] {
        let worked = work(&cli, &plan([task("a", alternatives.clone())])).succeeded();
        assert_eq!(worked.status("a"), "done claimed");
        assert_eq!(calls(&cli), calls_made);
    }
    let last = cli.run(["trace", "--output", "ndjson"]).success().stdout.clone();
    assert!(last.contains("because claude is limited, alternative 1 of 1"), "{last}");
}

#[test]
fn a_reset_time_that_is_too_far_away_ends_the_task() {
    let cli = refused_once("usage limit reached|1900000000");
    let worked = work(&cli, &plan([task("a", json!({}))])).failed();
    assert_eq!(
        worked.reason("a"),
        "E_MODEL_UNAVAILABLE: rate limit: slow down, usage limit reached|1900000000; claude is limited until \
         2030-03-17T17:46:40.000Z, which exceeds --limit-wait (8d)"
    );
    assert_eq!(calls(&cli), 1);
}

#[test]
fn only_the_model_that_the_provider_names_is_limited() {
    let cli = refused_once("weekly limit of opus reached, retry after 1h");
    let words = ["run", "-", "--limit-wait", "0s", "--output", "json"];
    let document = plan([task("a", json!({"model": "opus"}))]).to_string();
    Worked::of(&cli, cli.call(words).stdin(document).run()).failed();
    assert_eq!(limits(&cli)[0]["resource"], "claude/opus");
    let worked = work(&cli, &plan([task("a", json!({"model": "haiku"}))])).succeeded();
    assert_eq!(worked.status("a"), "done claimed");
}

#[test]
fn a_program_that_writ_does_not_know_is_limited_by_what_it_prints() {
    let cli = with_program(
        "painter",
        "if [ $n = 0 ]; then echo 'error: HTTP 429 Too Many Requests, retry after 1s' >&2; exit 3; fi\necho fine",
    );
    let config = "[executor.brush]\nkind = \"template\"\ncommand = [\"painter\", \"{prompt}\"]\n";
    cli.scratch().write("home/.config/writ/config.toml", config);
    let worked = work(&cli, &plan([asked("brush")])).succeeded();
    assert_eq!((worked.status("a"), calls(&cli)), ("done claimed".to_owned(), 2));
    let outcome = &worked.shown("a")["attempts"][0]["outcome"];
    assert_eq!(
        (&outcome["code"], &outcome["limited"]["resource"]),
        (&json!("E_MODEL_UNAVAILABLE"), &json!("brush")),
        "{outcome}"
    );
}

/// A RESPONSE that fails with these words.
fn unavailable(words: &str, extensions: Value) -> Value {
    let details = json!({"error_code": "E_MODEL_UNAVAILABLE", "message": words, "extensions": extensions});
    response(json!({"task_status": {"state": "FAILED", "final_signal": "FAILURE"}, "error_details": details}))
}

#[test]
fn a_response_with_a_rate_limit_and_its_end_limits_the_model_of_its_task() {
    let cli = writ();
    let refused = |words: &str, extensions: Value, model: &str| {
        let said = unavailable(words, extensions).to_string();
        let mut task = aop(&cli, "");
        task["target"]["model"] = json!(model);
        task["execution_policy"] = json!({"max_retries": 0});
        task["task"]["extensions"]["x_command"] = json!([agent(), format!("print {said}")]);
        let words = ["run", "-", "--limit-wait", "0s", "--output", "json"];
        Worked::of(&cli, cli.call(words).stdin(task.to_string()).run()).failed();
        limits(&cli)
    };
    let end = json!({"x_retry_after_ms": 3_600_000});
    assert_eq!(refused("no such model", end.clone(), "m1"), Vec::<Value>::new(), "it is no limit");
    assert_eq!(refused("rate limit reached", json!({}), "m1"), Vec::<Value>::new(), "its end is not known");
    assert_eq!(refused("rate limit reached", end.clone(), "none"), Vec::<Value>::new(), "of no model");
    let limits = refused("rate limit reached", end, "m1");
    assert_eq!(
        (&limits[0]["resource"], &limits[0]["basis"]),
        (&json!("aop-stdio/m1"), &json!("provider")),
        "{limits:?}"
    );
}

#[test]
fn a_first_call_that_was_refused_has_cost_nothing() {
    let words = json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 429,
        "result": "slow down, retry after 1s", "terminal_reason": "api_error"});
    let cli =
        with_program("claude", &format!("if [ $n = 0 ]; then\n{}\nfi\n{}", prints(&[words], 1), answered()));
    let budget = json!({"budget": {"max_cost_usd": 0.5}});
    let worked =
        work(&cli, &with(plan([task("a", budget)]), json!({"budget": {"max_cost_usd": 1}}))).succeeded();
    assert_eq!((worked.status("a"), calls(&cli)), ("done claimed".to_owned(), 2));
}
