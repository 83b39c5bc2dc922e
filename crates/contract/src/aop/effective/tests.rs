use serde_json::{Value, json};

use super::*;
use crate::aop::parse_task;
use crate::domain::failure_code::FailureCode;

/// A minimal task with these members laid over it.
fn task(over: Value) -> Task {
    let mut task = json!({
        "aop_version": "2.0.2-C", "schema_version": "2.0.2", "protocol_family": "AOP", "message_type": "TASK",
        "session": {
            "session_id": "s", "created_at": "2026-02-26T14:00:00Z", "orchestrator": "o", "origin": "CLI",
        },
        "target": {"agent_name": "a", "role": "EXECUTOR", "provider": "LOCAL", "model": "m"},
        "task": {
            "task_id": "t", "objective": "o", "category": "OTHER", "complexity": "LOW",
            "environment": {"workspace_root": "/ws"},
        },
    });
    lay(&mut task, over);
    parse_task(task.to_string().as_bytes()).unwrap().0
}

fn lay(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                lay(under.entry(name).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over,
    }
}

#[test]
fn guard_rails_override_the_policy() {
    let seconds = |over| timeout(&task(over)).as_secs();
    assert_eq!(seconds(json!({})), 1800);
    assert_eq!(seconds(json!({"execution_policy": {"timeout_seconds": 1200}})), 1200);
    let both =
        json!({"execution_policy": {"timeout_seconds": 1800}, "guard_rails": {"timeout_seconds": 600}});
    assert_eq!(seconds(both), 600);

    let plain = task(json!({"guard_rails": {}}));
    assert!(terminates_on_timeout(&plain) && !aborts_on_critical_error(&plain));
    let policy = json!({"auto_terminate_on_timeout": false, "abort_on_first_critical_error": true});
    let policed = task(json!({"execution_policy": policy, "guard_rails": {}}));
    assert!(!terminates_on_timeout(&policed) && aborts_on_critical_error(&policed));
    let rails = json!({"auto_terminate_on_timeout": true, "abort_on_first_critical_error": false});
    let railed = task(json!({"execution_policy": policy, "guard_rails": rails}));
    assert!(terminates_on_timeout(&railed) && !aborts_on_critical_error(&railed));
}

#[test]
fn waits_repeat_the_last_one() {
    let waits = |over| {
        let retries = retries(&task(over));
        let waits: Vec<u64> = (1..=5).map(|retry| retries.wait(retry).as_secs()).collect();
        (retries.attempts(), waits)
    };
    assert_eq!(waits(json!({})), (1, vec![30, 120, 300, 300, 300]));
    let named = json!({"execution_policy": {"max_retries": 4, "retry_backoff_seconds": [1, 2]}});
    assert_eq!(waits(named), (5, vec![1, 2, 2, 2, 2]));
    assert_eq!(waits(json!({"execution_policy": {"retry_backoff_seconds": []}})), (1, vec![0; 5]));
}

#[test]
fn the_stricter_budget_holds() {
    let found = budget(&task(json!({"task": {
        "constraints": {"max_tokens": 10, "max_cost_usd": 0.5},
        "budgets": {"max_tokens": 20, "max_cost_usd": 0},
    }})));
    assert_eq!(found, EffectiveBudget { cost_max: Some(MicroUsd(0)), tokens_max: Some(10) });
    assert_eq!(budget(&task(json!({}))), EffectiveBudget::default());
}

#[test]
fn access_is_what_both_sides_allow() {
    let shown = |over| {
        let access = access(&task(over));
        format!("r {:?} w {:?} {}", access.read, access.write, access.network)
    };
    insta::assert_snapshot!(shown(json!({})), @r#"r ["/ws"] w ["/ws"] NONE"#);
    insta::assert_snapshot!(shown(json!({"task": {"constraints": {"read_only_mode": true}}})), @r#"r ["/ws"] w [] NONE"#);
    insta::assert_snapshot!(shown(json!({"target": {"capabilities": {"file_system_access": false}}})), @"r [] w [] RESTRICTED");
    let files = json!({"read_paths": ["/ws/../data", "/ws", "/ws/src"], "write_paths": ["src", "/../etc"]});
    let asked = json!({"access": {"filesystem": files, "network": "FULL"}});
    insta::assert_snapshot!(shown(json!({"task": asked})), @r#"r ["/data", "/ws"] w ["/ws/src"] FULL"#);
    let capabilities = json!({"network_access": "FULL"});
    insta::assert_snapshot!(shown(json!({"task": asked, "target": {"capabilities": {}}})), @r#"r ["/data", "/ws"] w ["/ws/src"] RESTRICTED"#);
    let constrained = json!({"access": {"network": "FULL"}, "constraints": {"network_access": "NONE"}});
    insta::assert_snapshot!(shown(json!({"task": constrained, "target": {"capabilities": capabilities}})), @r#"r ["/ws"] w ["/ws"] NONE"#);
}

#[test]
fn a_heartbeat_is_required_only_if_the_task_says_so() {
    let of = |beat: Value| heartbeat(&task(json!({"execution_policy": {"heartbeat": beat}})));
    assert_eq!(of(json!({})), None);
    assert_eq!(of(json!({"enabled": true})).unwrap().silence_max(), Duration::from_secs(360));
    let own = of(json!({"enabled": true, "interval_seconds": 1, "max_missed_beats": 2})).unwrap();
    assert_eq!(own.silence_max(), Duration::from_secs(2));
}

#[test]
fn a_target_that_lists_only_v1_does_not_speak_v2() {
    let speaks = |versions: Value| {
        speaks_v2(&task(json!({"target": {"capabilities": {"aop_versions_supported": versions}}})))
    };
    assert!(speaks(json!(["1.x", "2.0.0"])) && speaks_v2(&task(json!({}))));
    assert!(!speaks(json!(["1.x", "1.0"])) && !speaks(json!([])));
}

#[test]
fn alternatives_are_chosen_by_their_trigger() {
    use crate::domain::plan::policy::FallbackTrigger as Trigger;
    let fits = |trigger, failure| model::is_triggered(trigger, failure, true);
    assert!(
        fits(Trigger::Timeout, FailureCode::Timeout) && fits(Trigger::Timeout, FailureCode::HeartbeatFailure)
    );
    assert!(
        !fits(Trigger::Timeout, FailureCode::ProcessCrash)
            && fits(Trigger::CriticalError, FailureCode::ProcessCrash)
    );
    assert!(fits(Trigger::CostLimitExceeded, FailureCode::CostLimitExceeded));
    assert!(
        fits(Trigger::AllErrors, FailureCode::FileNotFound)
            && !fits(Trigger::CriticalError, FailureCode::FileNotFound)
    );
    assert!(!model::is_triggered(Trigger::AllErrors, FailureCode::Timeout, false), "retries come first");
    assert!(model::is_triggered(Trigger::FirstError, FailureCode::Timeout, false));
}
