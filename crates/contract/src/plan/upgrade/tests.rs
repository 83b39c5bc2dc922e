use serde_json::json;

use super::*;
use crate::domain::attempt::{AttemptOutcome, AttemptState, NewAttempt};
use crate::domain::executor::ExecutorName;
use crate::domain::id::Id;
use crate::domain::plan::Alternative;
use crate::domain::plan::policy::FallbackTrigger;
use crate::domain::run::Owner;
use crate::domain::time::Timestamp;

fn upgrades() -> Upgrades {
    let mut upgrades = Upgrades::default();
    let models = [
        (Priority::High, "claude", "sonnet"),
        (Priority::High, "codex", "gpt"),
        (Priority::Critical, "claude", "opus"),
        (Priority::Critical, "emma", "emmas"),
        (Priority::Critical, "local", "locals"),
        (Priority::Critical, "aop-stdio", "any"),
    ];
    models
        .into_iter()
        .for_each(|(priority, name, model)| upgrades.set(priority, name.to_owned(), model.to_owned()));
    upgrades
}

fn spec(executor: &str, priority: Priority) -> PlanTask {
    PlanTask { executor: ExecutorName::parse(executor).unwrap(), priority, ..PlanTask::minimal("a") }
}

fn failed(model: &str, code: FailureCode) -> Attempt {
    Attempt {
        begun: NewAttempt {
            id: Id::from_bits(1),
            task_id: Id::from_bits(2),
            run_id: Id::from_bits(3),
            number: 1,
            executor: "claude".to_owned(),
            model: Some(model.to_owned()),
            alternative: None,
            agent_session: None,
            owner: Owner {
                pid: 1,
                start_time: 1,
                boot_id: "b".to_owned(),
                within: Vec::new(),
                machine: String::new(),
                store: None,
            },
        },
        state: AttemptState::Failed,
        started_at: Timestamp::from_millis(0),
        ended_at: Some(Timestamp::from_millis(1)),
        outcome: Some(AttemptOutcome { code: Some(code.as_str().to_owned()), ..AttemptOutcome::default() }),
        rollback: None,
    }
}

#[test]
fn only_a_task_that_is_more_urgent_than_its_author_said_gets_another_model() {
    use NotUpgraded::{NotConfigured, NotUrgent};
    use Priority::{Critical, High, Low, Normal};
    let upgrades = upgrades();
    let model = |executor, planned, now| upgrade(&upgrades, (&spec(executor, planned), now), &[]);
    assert_eq!(model("claude", Normal, Normal), Err(NotUrgent));
    assert_eq!(model("claude", Normal, High), Ok("sonnet"));
    assert_eq!(model("claude", Normal, Critical), Ok("opus"));
    assert_eq!(model("codex", Normal, Critical), Ok("gpt"), "high was reached too");
    assert_eq!(model("codex", High, Critical), Err(NotConfigured), "it was high before");
    assert_eq!(model("claude", Critical, Critical), Err(NotUrgent));
    assert_eq!(model("claude", Critical, Low), Err(NotUrgent));
    assert_eq!(model("claude", Low, Normal), Err(NotConfigured));
    assert_eq!(model("gemini", Normal, Critical), Err(NotConfigured));
}

#[test]
fn the_agent_of_a_task_counts_before_its_provider_and_that_before_the_executor() {
    let upgrades = upgrades();
    let model = |agent: &str, provider: &str| {
        let aop = json!({"target": {"agent_name": agent, "provider": provider}});
        let spec = PlanTask { aop: Some(aop), ..spec("aop-stdio", Priority::Normal) };
        upgrade(&upgrades, (&spec, Priority::Critical), &[]).unwrap()
    };
    assert_eq!(model("Emma", "LOCAL"), "emmas");
    assert_eq!(model("Ann", "LOCAL"), "locals");
    assert_eq!(model("Ann", "OTHER"), "any");
}

#[test]
fn an_alternative_keeps_the_model_that_its_author_named() {
    let other = Alternative {
        executor: ExecutorName::parse("claude").unwrap(),
        command: Vec::new(),
        model: Some("haiku".to_owned()),
        trigger: FallbackTrigger::AllErrors,
    };
    let spec = PlanTask { alternatives: vec![other], retries: 1, ..spec("claude", Priority::Normal) };
    let model =
        |attempts: &[Attempt]| upgrade(&upgrades(), (&spec, Priority::Critical), attempts).map(str::to_owned);
    let once = failed("opus", FailureCode::Unknown);
    assert_eq!(model(std::slice::from_ref(&once)), Ok("opus".to_owned()), "a retry keeps it");
    assert_eq!(model(&[once.clone(), once]), Err(NotUpgraded::Alternative(0)));
}

#[test]
fn a_model_that_is_not_available_is_not_used_again() {
    let spec = PlanTask { retries: 3, ..spec("claude", Priority::Normal) };
    let model = |attempt| upgrade(&upgrades(), (&spec, Priority::Critical), &[attempt]).map(str::to_owned);
    assert_eq!(model(failed("haiku", FailureCode::ModelUnavailable)), Ok("opus".to_owned()));
    let unavailable = NotUpgraded::Unavailable("opus".to_owned());
    assert_eq!(model(failed("opus", FailureCode::ModelUnavailable)), Err(unavailable));
}
