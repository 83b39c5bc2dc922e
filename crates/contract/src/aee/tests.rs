use super::*;
use serde_json::json;

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => panic!("not an object"),
    }
}

fn task() -> Envelope {
    let draft = EnvelopeDraft {
        id: "evt_task0001".to_owned(),
        at: Timestamp::parse("2026-03-01T10:00:00Z").unwrap(),
        from: "human.ann".to_owned(),
        to: "agent.orchestrator".to_owned(),
        intent: "code.review.request".to_owned(),
        corr: "corr_0001".to_owned(),
        payload: fields(json!({"path": "src"})),
    };
    Envelope::new(Type::Task, draft).with_priority(Priority::Critical)
}

#[test]
fn all_fourteen_fields_are_printed_in_order_and_unknown_ones_after_them() {
    let mut envelope = task();
    envelope.extra = fields(json!({"a_new_field": [1], "id": "not twice"}));
    insta::assert_snapshot!(
        serde_json::to_string(&envelope).unwrap(),
        @r#"{"v":"1","id":"evt_task0001","ts":"2026-03-01T10:00:00.000Z","type":"task","from":"human.ann","to":"agent.orchestrator","intent":"code.review.request","corr":"corr_0001","reply_to":null,"trace":null,"priority":"urgent","requires":null,"payload":{"path":"src"},"sig":null,"a_new_field":[1]}"#
    );
}

#[test]
fn an_answer_goes_back_to_the_sender_with_the_same_corr() {
    let task = task();
    let at = Timestamp::parse("2026-03-01T10:00:05Z").unwrap();
    let answer = task.answer(Type::Result, "evt_result01".to_owned(), at, Map::new());
    assert_eq!((answer.from.as_str(), answer.to.as_str()), ("agent.orchestrator", "human.ann"));
    assert_eq!(answer.reply_to.as_deref(), Some("evt_task0001"));
    assert_eq!((&answer.corr, &answer.intent, answer.priority), (&task.corr, &task.intent, task.priority));
    let printed = serde_json::to_value(&answer).unwrap();
    assert!(check(&printed).is_empty());
    assert_eq!(serde_json::from_value::<Envelope>(printed).unwrap(), answer);
}

#[test]
fn unset_expectations_require_nothing() {
    assert_eq!(task().expectations(), requires::Requires::default());
    let asked =
        json!({"timeout_ms": 1500.5, "human_approval": true, "decision_evidence": "full", "color": "red"});
    let expected = requires::Requires {
        timeout: Some(std::time::Duration::from_micros(1_500_500)),
        human_approval: true,
        decision_evidence: evidence::Level::Full,
        ..requires::Requires::default()
    };
    assert_eq!(task().with_requires(fields(asked)).expectations(), expected);
}
