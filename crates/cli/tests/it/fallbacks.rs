//! Retries, alternative models, and what a failure means for other tasks.

use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{agent, aop, plan, scripted, shell, speaking, with, writ};
use crate::read_back::{Worked, work};

/// A TASK with this execution policy, whose first child does these steps.
fn task(cli: &Cli, script: &str, policy: Value) -> Value {
    with(aop(cli, script), json!({"execution_policy": policy}))
}

fn alternative(provider: &str, model: &str, trigger: &str) -> Value {
    json!({"provider": provider, "model": model, "fallback_trigger": trigger})
}

/// Configures a program for each provider.
fn configure(cli: &Cli, programs: &[(&str, &str)]) {
    let text: String = programs
        .iter()
        .map(|(name, script)| format!("[executor.{name}]\ncommand = {}\n", json!([agent(), script])))
        .collect();
    cli.scratch().write("home/.config/writ/config.toml", text);
}

/// The models of the attempts, each with its code.
fn attempts(worked: &Worked<'_>) -> Vec<String> {
    let shown = worked.shown("T-1");
    let attempts = shown["attempts"].as_array().unwrap();
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    attempts.iter().map(|one| format!("{} {}", word(&one["model"]), word(&one["outcome"]["code"]))).collect()
}

#[test]
fn alternatives_are_used_in_order_by_their_triggers() {
    let cli = writ();
    configure(&cli, &[("local", "aop-failed E_UNKNOWN"), ("other", "aop-success")]);
    let models = json!([
        alternative("CODEX", "never", "COST_LIMIT_EXCEEDED"),
        alternative("LOCAL", "gemini-2.5-pro", "CRITICAL_ERROR"),
        alternative("OTHER", "claude-opus", "ALL_ERRORS"),
    ]);
    let policy = json!({"max_retries": 1, "retry_backoff_seconds": [], "alternative_models": models});
    let worked = work(&cli, &task(&cli, "exit 3", policy)).succeeded();
    assert_eq!(
        attempts(&worked),
        [
            "none E_PROCESS_CRASH",
            "none E_PROCESS_CRASH",
            "gemini-2.5-pro E_UNKNOWN",
            "gemini-2.5-pro E_UNKNOWN",
            "claude-opus -",
        ]
    );
    let decided: Vec<String> =
        worked.decisions("L6").into_iter().filter(|decision| decision.starts_with("FALLBACK")).collect();
    assert_eq!(
        decided,
        [
            "FALLBACK: gemini-2.5-pro with aop-stdio after E_PROCESS_CRASH, alternative 2 of 3, for CRITICAL_ERROR",
            "FALLBACK: claude-opus with aop-stdio after E_UNKNOWN, alternative 3 of 3, for ALL_ERRORS",
        ]
    );
    assert!(worked.output.stderr.contains("T-1: uses claude-opus with aop-stdio"), "{}", worked.output);
    let stored: Vec<Value> = worked.shown("T-1")["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["alternative"].clone())
        .collect();
    assert_eq!(stored, [json!(null), json!(null), json!(1), json!(1), json!(2)]);
}

#[test]
fn an_alternative_of_another_provider_goes_to_its_configured_executor_although_the_task_names_a_command() {
    let cli = writ();
    let config =
        "[executor.gemini]\nkind = \"template\"\ncommand = [\"sh\", \"-c\", \"echo {model} > by-gemini\"]\n";
    cli.scratch().write("home/.config/writ/config.toml", config);
    let models = json!([
        // No executor is configured for it, so the command of the TASK is told the model.
        alternative("CLAUDE", "opus", "ALL_ERRORS"),
        alternative("GEMINI", "gemini-2.5-pro", "ALL_ERRORS"),
    ]);
    let worked = work(&cli, &task(&cli, "exit 3", json!({"alternative_models": models}))).succeeded();
    assert_eq!(attempts(&worked), ["none E_PROCESS_CRASH", "opus E_PROCESS_CRASH", "gemini-2.5-pro -"]);
    assert_eq!(cli.scratch().read("project/by-gemini"), "gemini-2.5-pro\n");
    let decided: Vec<String> =
        worked.decisions("L6").into_iter().filter(|decision| decision.starts_with("FALLBACK")).collect();
    assert_eq!(
        decided,
        [
            "FALLBACK: opus with aop-stdio after E_PROCESS_CRASH, alternative 1 of 2, for ALL_ERRORS",
            "FALLBACK: gemini-2.5-pro with gemini after E_PROCESS_CRASH, alternative 2 of 2, for ALL_ERRORS",
        ]
    );
}

#[test]
fn each_trigger_is_reached_by_a_real_failure() {
    let cases = [
        ("hang", json!({"timeout_seconds": 1}), "TIMEOUT"),
        ("aop-failed E_FILE_NOT_FOUND", json!({"max_retries": 3}), "FIRST_ERROR"),
        ("exit 1", json!({}), "CRITICAL_ERROR"),
        ("aop-failed E_FILE_NOT_FOUND", json!({}), "ALL_ERRORS"),
        ("aop-failed E_COST_LIMIT_EXCEEDED", json!({}), "COST_LIMIT_EXCEEDED"),
        ("aop-failed E_MODEL_UNAVAILABLE", json!({}), "CRITICAL_ERROR"),
    ];
    for (script, policy, trigger) in cases {
        let cli = writ();
        configure(&cli, &[("local", "aop-success")]);
        let models = json!({"alternative_models": [alternative("LOCAL", "m-2", trigger)]});
        let worked = work(&cli, &task(&cli, script, with(policy, models))).succeeded();
        assert_eq!(worked.task("T-1")["attempts"], 2, "{trigger}: {:?}", attempts(&worked));
    }
}

#[test]
fn when_all_models_failed_the_task_says_so() {
    let cli = writ();
    let models = json!([alternative("GEMINI", "m-2", "ALL_ERRORS")]);
    let policy = json!({"alternative_models": models});
    let worked = work(&cli, &task(&cli, "aop-failed E_MODEL_UNAVAILABLE", policy)).failed();
    assert_eq!(worked.status("T-1"), "failed");
    let expected = "E_ALL_MODELS_EXHAUSTED: no alternative is left for this failure; the last attempt: \
                    E_MODEL_UNAVAILABLE: FAILURE failed as the script says";
    assert_eq!(worked.reason("T-1"), expected);
    assert_eq!(attempts(&worked), ["none E_MODEL_UNAVAILABLE", "m-2 E_MODEL_UNAVAILABLE"]);
    let alone = work(&cli, &task(&cli, "aop-failed E_MODEL_UNAVAILABLE", json!({}))).failed();
    assert_eq!(alone.reason("T-1"), "E_MODEL_UNAVAILABLE: FAILURE failed as the script says");
}

#[test]
fn the_executor_is_told_which_model_and_which_attempt_it_is() {
    let cli = writ();
    let models = json!([alternative("GEMINI", "m-2", "ALL_ERRORS")]);
    let mut document =
        task(&cli, "", json!({"max_retries": 1, "retry_backoff_seconds": [], "alternative_models": models}));
    document["task"]["attempt"] = json!(3);
    let keep =
        "n=$(ls | grep -c '^told'); cat > told-$n.json; exec \"$0\" \"aop-failed E_UNKNOWN\" < told-$n.json";
    document["task"]["extensions"]["x_command"] = json!(["sh", "-c", keep, agent()]);
    work(&cli, &document).failed();
    let told: Vec<String> = (0..3)
        .map(|number| {
            let text = cli.scratch().read(format!("project/told-{number}.json"));
            let told: Value = serde_json::from_str(&text).unwrap();
            let word = |path: &str| told.pointer(path).unwrap().to_string();
            [word("/task/attempt"), word("/target/provider"), word("/target/model")].join(" ")
        })
        .collect();
    assert_eq!(told, ["3 \"OTHER\" \"none\"", "4 \"OTHER\" \"none\"", "5 \"GEMINI\" \"m-2\""]);
}

#[test]
fn a_critical_error_aborts_a_task_that_says_so() {
    let cli = writ();
    let policy =
        json!({"max_retries": 3, "retry_backoff_seconds": [], "abort_on_first_critical_error": true});
    let mut document = task(&cli, "write src/new.txt x; exit 1", policy.clone());
    document["task"]["access"] = json!({"filesystem": {"read_paths": ["."], "write_paths": ["src"]}});
    document["task"]["expected_outputs"] = json!([{
        "type": "FILE", "path": "src/new.txt", "description": "d", "rollback_snapshot": {"enabled": true},
    }]);
    cli.scratch().write("project/src/old.txt", "old");
    let worked = work(&cli, &document).failed();
    assert_eq!(worked.status("T-1"), "canceled");
    assert!(
        worked.reason("T-1").starts_with("exit 1 without a RESPONSE; aborted at the first critical error"),
        "{}",
        worked.reason("T-1")
    );
    assert_eq!(worked.task("T-1")["attempts"], 1);
    assert!(!cli.scratch().has("project/src/new.txt"), "it was taken back");
    let trace = worked.trace();
    let mut rolled = trace.iter().filter(|event| event["intent"] == "writ.rollback_initiated");
    assert!(rolled.any(|event| event["payload"]["event"]["trigger"] == "TASK_ABORTED"), "{trace:?}");
    // Guard rails come before the policy, and without the rule the retries are used.
    let railed =
        with(task(&cli, "exit 1", policy), json!({"guard_rails": {"abort_on_first_critical_error": false}}));
    assert_eq!(work(&cli, &railed).failed().task("T-1")["attempts"], 4);
}

#[test]
fn a_plan_can_name_alternatives() {
    let cli = writ();
    let alternatives = json!([
        {"command": [agent(), "exit 2"], "on": "timeout"},
        {"command": [agent(), "write done.txt x"], "on": "all_errors"},
    ]);
    let worked = work(&cli, &plan([with(scripted("a", "exit 1"), json!({"alternatives": alternatives}))]));
    assert_eq!(worked.succeeded().status("a"), "done claimed");
    assert!(cli.scratch().has("project/done.txt"));
    let unknown = json!([{"executor": "nobody"}]);
    let refused = plan([with(scripted("a", "exit 1"), json!({"alternatives": unknown}))]);
    let refused = cli.call(["run", "-"]).stdin(refused.to_string()).run();
    assert!(refused.fails_with(1).stderr.contains("$.task[0].alternatives[0].executor"), "{refused}");
}

#[test]
fn a_failure_that_aborts_the_run_cancels_what_runs_and_what_waits() {
    let cli = writ();
    let document = json!({"objective": "o", "max_parallel": 2, "task": [
        with(shell("bad", "until [ -e begun ]; do :; done; exit 1"), json!({"on_failure": "abort"})),
        shell("long", "touch begun; sleep 1000"),
        shell("later", "touch later"),
    ]});
    let worked = work(&cli, &document).failed();
    assert_eq!(worked.status("bad"), "failed");
    let reason = "aborted: `bad` failed, and its on_failure is ABORT_SESSION";
    for name in ["long", "later"] {
        assert_eq!((worked.status(name), worked.reason(name)), ("canceled".to_owned(), reason), "{name}");
    }
    assert!(!cli.scratch().has("project/later"));
    assert_eq!(cli.leftovers(), Vec::<u32>::new());
    let others = json!({"objective": "o", "max_parallel": 1, "task": [scripted("bad", "exit 1"), shell("later", "true")]});
    assert_eq!(work(&cli, &others).failed().status("later"), "done claimed", "others go on by default");
}

#[test]
fn a_rule_without_effect_is_named_in_the_trace() {
    let cli = writ();
    let worked = work(&cli, &task(&cli, "aop-success", json!({"on_failure": "RETRY"}))).succeeded();
    let decided = worked.decisions("L6");
    let expected = "WITHOUT_EFFECT: on_failure RETRY has no effect, because max_retries is 0";
    assert!(decided.iter().any(|decision| decision == expected), "{decided:?}");
    let policy = json!({"on_failure": "RETRY", "max_retries": 1, "retry_backoff_seconds": []});
    let worked = work(&cli, &task(&cli, "exit 1", policy)).failed();
    assert_eq!(worked.task("T-1")["attempts"], 2);
}

#[test]
fn a_plan_of_a_speaking_task_keeps_its_model_with_its_attempt() {
    let cli = writ();
    let alternatives = json!([{"command": [agent(), "aop-success"], "model": "m-9"}]);
    let worked = work(&cli, &plan([with(speaking("T-1", "exit 1"), json!({"alternatives": alternatives}))]))
        .succeeded();
    assert_eq!(attempts(&worked), ["- E_PROCESS_CRASH", "m-9 -"]);
}
