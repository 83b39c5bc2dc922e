use super::*;
use crate::aee::vectors;
use candidate::LearningCandidate;
use constraint::Constraint;
use serde_json::Value;

#[test]
fn the_vectors_hold() {
    for file in [
        include_str!("../../vectors/bridge/envelope.json"),
        include_str!("../../vectors/bridge/stage1.json"),
        include_str!("../../vectors/bridge/documents.json"),
    ] {
        vectors::run(file, |case, bytes, strict| {
            validate(case["validator"].as_str().unwrap(), bytes, strict).unwrap()
        });
    }
}

#[test]
fn every_kind_has_a_validator() {
    for kind in KINDS {
        let verdict = validate(kind, b"", false).unwrap();
        assert_eq!((verdict.allow, verdict.details.kind.as_str()), (false, kind));
    }
    assert!(validate("other", b"", false).is_none());
}

#[test]
fn a_harvest_goes_the_whole_way() {
    let file: Value =
        serde_json::from_str(include_str!("../../vectors/bridge/harvest-mapping.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let harvest = harvest::parse(case["harvest"].to_string().as_bytes()).unwrap();
        let candidate = LearningCandidate::from(harvest);
        assert_eq!(serde_json::to_value(&candidate).unwrap(), case["candidate"], "{}", case["name"]);
        assert_eq!(learning::file_name(&candidate.id), case["file_name"].as_str().unwrap());
        assert_eq!(learning::render(&candidate), case["file"].as_str().unwrap());
        let read = learning::parse("x", case["file"].as_str().unwrap().as_bytes()).unwrap().remove(0);
        for made in [Constraint::from_candidate(&candidate), Constraint::from_candidate(&read.into())] {
            assert_eq!(serde_json::to_value(made).unwrap(), case["constraint"]);
        }
    }
}

#[test]
fn the_policy_decides_as_its_vectors_say() {
    let policy = memrl::Policy::standard();
    let file: Value =
        serde_json::from_str(include_str!("../../vectors/bridge/memrl-decisions.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let input: memrl::FailedGate = serde_json::from_value(case["input"].clone()).unwrap();
        let decision = memrl::evaluate(&policy, &input);
        let said = (
            decision.action.as_str(),
            decision.rule_id.as_str(),
            memrl::decide(&policy, &input).action.as_str(),
        );
        let text = |name: &str| case[name].as_str().unwrap();
        assert_eq!(said, (text("action"), text("rule_id"), text("gate")), "{}", case["name"]);
    }
}
