use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn input(mode: &str, class: &str, attempt: i64, max_attempts: i64) -> FailedGate {
    FailedGate {
        memrl_mode: mode.to_owned(),
        failure_class: class.to_owned(),
        attempt,
        max_attempts,
        metadata_present: true,
        ..FailedGate::default()
    }
}

fn rule(id: &str, class: &str, bucket: &str, action: Action, priority: i64) -> Rule {
    Rule {
        rule_id: id.to_owned(),
        memrl_mode: Mode::Enforce,
        failure_class: class.to_owned(),
        attempt_bucket: bucket.to_owned(),
        action,
        priority,
    }
}

#[test]
fn the_truth_table_matches_the_published_one() {
    let policy = Policy::standard();
    assert_eq!(policy.rules.len(), 87);
    let escalations = policy.rules.iter().filter(|rule| rule.action == Action::Escalate).count();
    assert_eq!(escalations, 47);
    let mut table = String::new();
    for mode in Mode::ALL {
        for class in FAILURE_CLASSES {
            let row: Vec<&str> = BUCKETS
                .map(|bucket| {
                    let given =
                        FailedGate { attempt_bucket: bucket.to_owned(), ..input(mode.as_str(), class, 0, 0) };
                    let decision = evaluate(&policy, &given);
                    assert_eq!(decision.rule_id, format!("{}.{class}.{bucket}", mode.as_str()));
                    decision.action.as_str()
                })
                .to_vec();
            if (mode, class) == (Mode::Enforce, "crank_blocked") {
                assert_eq!(row, ["escalate"; 4]);
            } else {
                assert_eq!(row, ["retry", "retry", "escalate", "escalate"], "{mode:?} {class}");
            }
            table.push_str(&row.join(" "));
        }
    }
    assert_eq!(table.matches("retry").count(), 40);
}

#[test]
fn input_without_a_rule_gets_the_default() {
    let policy = Policy::standard();
    let said = |input: &FailedGate| {
        let decision = evaluate(&policy, input);
        (decision.rule_id, decision.reason, decision.metadata_present)
    };
    let missing = FailedGate { metadata_present: false, ..input("enforce", "", 1, 3) };
    assert_eq!(said(&missing), ("default.missing_metadata".to_owned(), "missing_metadata", false));
    for class in ["vibe", "*", "VIBE_FAIL"] {
        assert_eq!(said(&input("enforce", class, 1, 3)).1, "unknown_failure_class", "{class}");
    }
    let weird = FailedGate { attempt_bucket: "weird".to_owned(), ..input("observe", "vibe_fail", 1, 3) };
    assert_eq!(said(&weird).0, "observe.fallback");
    let inferred = FailedGate { metadata_present: false, ..input("nonsense", "vibe_fail", 3, 3) };
    assert_eq!(
        said(&inferred),
        ("off.vibe_fail.final".to_owned(), "rule_match_specificity_priority_rule_id", true)
    );
    let empty = Policy { rules: Vec::new(), ..policy.clone() };
    assert_eq!(evaluate(&empty, &input("enforce", "vibe_fail", 1, 3)).rule_id, "default.no_matching_rule");
}

#[test]
fn exactness_then_priority_then_the_name_decides() {
    let pick = |rules: &[Rule]| {
        let policy = Policy { rules: rules.to_vec(), ..Policy::standard() };
        evaluate(&policy, &input("enforce", "vibe_fail", 1, 3)).rule_id
    };
    let wide = rule("wide", "*", "*", Action::Retry, 900);
    let class = rule("class", "vibe_fail", "*", Action::Retry, 10);
    let bucket = rule("bucket", "*", "initial", Action::Escalate, 20);
    let exact = rule("exact", "vibe_fail", "initial", Action::Retry, 0);
    let named = rule("a-name", "*", "initial", Action::Escalate, 20);
    assert_eq!(pick(&[wide.clone(), class.clone(), bucket.clone(), exact]), "exact");
    assert_eq!(pick(&[wide.clone(), class, bucket.clone()]), "bucket");
    assert_eq!(pick(&[bucket.clone(), named.clone()]), "a-name");
    assert_eq!(pick(&[named, bucket]), "a-name");
    assert_eq!(pick(&[wide]), "wide");
}

#[test]
fn only_enforce_follows_the_policy() {
    let policy = Policy::standard();
    let done = |mode: &str, attempt: i64, max: i64| {
        let gate = decide(&policy, &input(mode, "crank_blocked", attempt, max));
        (gate.action, gate.decision.map(|decision| decision.action))
    };
    assert_eq!(done("off", 1, 3), (Action::Retry, None));
    assert_eq!(done("observe", 1, 1), (Action::Escalate, Some(Action::Retry)));
    assert_eq!(done("enforce", 1, 3), (Action::Escalate, Some(Action::Escalate)));
    // With one attempt the old rule and the table differ; off keeps the old rule.
    assert_eq!(done("off", 1, 1), (Action::Escalate, None));
    assert_eq!(done("", 3, 3), (Action::Escalate, None));
}

#[test]
fn classes_and_attempts_are_put_into_buckets() {
    let modes = ["off", " Observe ", "ENFORCE", "", "on"].map(Mode::from_env);
    assert_eq!(modes, [Mode::Off, Mode::Observe, Mode::Enforce, Mode::Off, Mode::Off]);
    let buckets = [(1, 0), (0, 3), (1, 1), (2, 3), (3, 3), (4, 3), (9, -1)].map(|(n, max)| bucket(n, max));
    assert_eq!(buckets, ["overflow", "initial", "initial", "middle", "final", "overflow", "overflow"]);
    let classes = [(1, "fail"), (2, "PARTIAL"), (3, " FAIL "), (4, "timeout"), (1, "Stall"), (2, "FAIL")];
    let classes = classes.map(|(phase, verdict)| classify(phase, verdict));
    assert_eq!(
        classes,
        ["pre_mortem_fail", "crank_partial", "vibe_fail", "phase_timeout", "phase_stall", "fail"]
    );
    assert_eq!(
        [0, 2, 3, 5].map(|n| legacy_action(n, 3)),
        [Action::Retry, Action::Retry, Action::Escalate, Action::Escalate]
    );
}

fn judged(change: impl Fn(&mut Value), strict: bool) -> String {
    let mut document = serde_json::to_value(Policy::standard()).unwrap();
    change(&mut document);
    let verdict = validate(document.to_string().as_bytes(), strict);
    format!("{} {}", verdict.code, verdict.details.path.unwrap_or_default()).trim_end().to_owned()
}

#[test]
fn a_policy_is_validated_before_it_is_used() {
    assert_eq!(judged(|_| {}, true), "OK");
    let read = parse(&serde_json::to_vec(&Policy::standard()).unwrap()).unwrap();
    assert_eq!(read, Policy::standard());
    assert_eq!(judged(|p| p["schema_version"] = json!(0), false), "UNKNOWN_SCHEMA_VERSION $.schema_version");
    assert_eq!(judged(|p| p["default_mode"] = json!("on"), false), "SCHEMA_INVALID $.default_mode");
    assert_eq!(judged(|p| p["rules"] = json!([]), false), "SCHEMA_INVALID $.rules");
    assert_eq!(judged(|p| p["rules"][0]["rule_id"] = json!(""), false), "SCHEMA_INVALID $.rules[0].rule_id");
    assert_eq!(
        judged(|p| p["rules"][0]["failure_class"] = json!("x"), false),
        "SCHEMA_INVALID $.rules[0].failure_class"
    );
    assert_eq!(
        judged(|p| p["rollback_matrix"][0]["min_sample_size"] = json!(0), false),
        "SCHEMA_INVALID $.rollback_matrix[0].min_sample_size"
    );
    assert_eq!(
        judged(|p| drop(p.as_object_mut().unwrap().remove("tie_break_rules")), false),
        "MISSING_REQUIRED_INPUT $.tie_break_rules"
    );
    let twice = |p: &mut Value| p["rules"][1]["rule_id"] = p["rules"][0]["rule_id"].clone();
    assert_eq!(judged(twice, false), "OK");
    assert_eq!(judged(twice, true), "SCHEMA_INVALID $.rules[1].rule_id");
    assert_eq!(judged(|p| p["owner"] = json!("x"), false), "OK");
    assert_eq!(judged(|p| p["owner"] = json!("x"), true), "SCHEMA_INVALID $.owner");
    let other =
        |p: &mut Value| p["rules"] = json!([{"failure_class": "a-b", "match": ["t"], "action": "retry"}]);
    assert_eq!(judged(other, false), "SCHEMA_INVALID $.rules");
    let mut odd = serde_json::to_value(Policy::standard()).unwrap();
    odd["rollback_matrix"][0]["threshold"] = json!("> 0.3");
    odd["rollback_matrix"][1]["lookback_window"] = json!("soon");
    let verdict = validate(odd.to_string().as_bytes(), false);
    let rules: Vec<&str> = verdict.details.warnings.iter().map(|w| w.rule).collect();
    assert_eq!((verdict.allow, rules), (true, vec!["threshold", "window"]));
}

#[test]
fn a_trigger_takes_trust_away_and_never_gives_it() {
    use rollback::{Firing, demote, fires, window};
    let policy = Policy::standard();
    let [rate, ratio, missing] = policy.rollback_matrix.as_slice() else { panic!("three triggers") };
    assert_eq!(fires(rate, 0.36, 10), Firing::Fired);
    assert_eq!(fires(rate, 0.35, 10), Firing::Quiet);
    assert_eq!(fires(rate, 0.9, 9), Firing::Insufficient);
    assert_eq!(fires(missing, 1.0, 1), Firing::Fired);
    let odd = Trigger { threshold: "other > 1".to_owned(), ..rate.clone() };
    assert_eq!(fires(&odd, 2.0, 99), Firing::Unreadable);
    assert_eq!(demote(Mode::Enforce, [rate]), Mode::Observe);
    assert_eq!(demote(Mode::Observe, [rate]), Mode::Off);
    assert_eq!(demote(Mode::Enforce, [rate, ratio]), Mode::Off);
    assert_eq!(demote(Mode::Off, [rate, ratio, missing]), Mode::Off);
    assert_eq!(demote(Mode::Enforce, []), Mode::Enforce);
    let windows =
        ["24h", "2d", "90m", "h", "", "24", "1w", "1é"].map(|text| window(text).map(|w| w.as_secs()));
    assert_eq!(windows, [Some(86_400), Some(172_800), Some(5400), None, None, None, None, None]);
}

proptest! {
    #[test]
    fn judging_never_panics(bytes: Vec<u8>, text in "\\PC{0,12}", strict: bool) {
        validate(&bytes, strict);
        drop(rollback::Threshold::parse(&text));
        rollback::window(&text);
    }

    #[test]
    fn the_same_question_gets_the_same_answer(
        mode in "off|observe|enforce|x", class in "vibe_fail|crank_blocked|y|", attempt in -2..9i64, max in -2..9i64,
    ) {
        let policy = Policy::standard();
        let mut shuffled = policy.clone();
        shuffled.rules.reverse();
        let input = input(&mode, &class, attempt, max);
        prop_assert_eq!(evaluate(&policy, &input), evaluate(&shuffled, &input));
    }
}
