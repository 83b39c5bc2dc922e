use super::*;
use proptest::prelude::*;
use serde_json::json;

fn delta(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn a_delta_sets_replaces_and_removes() {
    let mut bundle = Bundle::new();
    bundle
        .apply(&delta(&json!({
            "C4.Policy.allowed_tools": ["tool.readonly.*"],
            "C5.Execution.mode": "restricted",
            "C5.Execution.limits.cost": 3,
        })))
        .unwrap();
    assert_eq!(bundle.get("C4.Policy.allowed_tools"), Some(&json!(["tool.readonly.*"])));
    assert_eq!(bundle.get("C5.Execution"), Some(&json!({"mode": "restricted", "limits": {"cost": 3}})));
    bundle
        .apply(&delta(&json!({
            "C5.Execution.mode": null,
            "C5.Execution.limits": 1,
            "C5.Execution.limits.cost.usd": 2,
            "C6.Audit.never.was": null,
        })))
        .unwrap();
    assert_eq!(bundle.get("C5.Execution"), Some(&json!({"limits": {"cost": {"usd": 2}}})));
    assert_eq!(bundle.get("C6.Audit"), Some(&json!({})));
    assert_eq!(bundle.get("C5.Execution.limits.cost.usd.cents"), None);
    assert_eq!(bundle.get(""), None);
}

#[test]
fn a_bad_delta_changes_nothing() {
    let mut bundle = Bundle::new();
    let before = bundle.digest();
    let paths =
        ["C7.Other.a", "C4.Execution.a", "C4.Policy", "C4", "", "C4.Policy.", "C4.Policy..a", "c4.Policy.a"];
    for path in paths {
        let refused = bundle.apply(&delta(&json!({"C0.Event.ok": 1, path: 1})));
        assert!(matches!(refused, Err(InvalidDelta::Path { .. })), "{path}");
    }
    let deep = format!("C4.Policy{}", ".a".repeat(31));
    assert!(!is_context_path(&deep) && is_context_path(&deep[..deep.len() - 2]));
    let large = bundle.apply(&delta(&json!({"C0.Event.n": u64::MAX})));
    assert!(matches!(large, Err(InvalidDelta::NotCanonical(_))));
    assert_eq!(bundle.digest(), before);
}

#[test]
fn the_digest_of_an_empty_bundle_never_changes() {
    assert_eq!(
        Bundle::new().digest(),
        digest::of_bytes(
            br#"{"C0":{"Event":{}},"C1":{"Identity":{}},"C2":{"Task":{}},"C3":{"Memory":{}},"C4":{"Policy":{}},"C5":{"Execution":{}},"C6":{"Audit":{}}}"#
        )
    );
}

#[test]
fn a_stored_bundle_must_have_exactly_the_partitions() {
    let whole = Bundle::new().as_value().clone();
    assert_eq!(Bundle::from_value(whole.clone()), Ok(Bundle::new()));
    let mut other_name = whole.clone();
    other_name["C0"] = json!({"Events": {}});
    let mut more = whole.clone();
    more["C7"] = json!({"More": {}});
    let mut large = whole;
    large["C0"]["Event"]["n"] = json!(u64::MAX);
    for value in [json!(null), json!({}), other_name, more, large] {
        assert_eq!(Bundle::from_value(value.clone()), Err(InvalidBundle), "{value}");
    }
}

#[test]
fn the_vectors_hold() {
    let file: Value = serde_json::from_str(include_str!("../../../vectors/aocl/bundle.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let mut bundle = Bundle::new();
        let mut digests = Vec::new();
        for change in case["deltas"].as_array().unwrap() {
            bundle.apply(&delta(change)).unwrap();
            digests.push(bundle.digest());
        }
        assert_eq!(
            (&json!(digests), bundle.as_value()),
            (&case["digests"], &case["after"]),
            "{}",
            case["name"]
        );
    }
    for case in file["refused"].as_array().unwrap() {
        let mut bundle = Bundle::new();
        assert!(bundle.apply(&delta(&case["delta"])).is_err(), "{}", case["name"]);
        assert_eq!(bundle, Bundle::new());
    }
}

fn any_path() -> impl Strategy<Value = String> {
    let partition = prop::sample::select(PARTITIONS.to_vec());
    (partition, prop::collection::vec("[ab\u{e000}\u{1f600}\\\"]", 1..4))
        .prop_map(|((number, name), inside)| format!("{number}.{name}.{}", inside.join(".")))
}

fn any_delta() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,5}".prop_map(Value::from),
        Just(json!({"a": {"b": []}})),
    ];
    prop::collection::btree_map(any_path(), value, 0..6).prop_map(|fields| fields.into_iter().collect())
}

proptest! {
    #[test]
    fn applying_the_deltas_in_order_reproduces_every_digest(deltas in prop::collection::vec(any_delta(), 0..8)) {
        let mut bundle = Bundle::new();
        let mut digests = Vec::new();
        for delta in &deltas {
            bundle.apply(delta).unwrap();
            digests.push(bundle.digest());
            prop_assert_eq!(bundle.digest(), digest::of_value(bundle.as_value()).unwrap());
        }
        // Every step is read back from its stored form, as after a restart.
        let mut again = serde_json::to_vec(&Bundle::new()).unwrap();
        for (delta, digest) in deltas.iter().zip(digests) {
            let mut read: Bundle = serde_json::from_slice(&again).unwrap();
            let delta: Map<String, Value> = serde_json::from_slice(&serde_json::to_vec(delta).unwrap()).unwrap();
            read.apply(&delta).unwrap();
            prop_assert_eq!(read.digest(), digest);
            again = serde_json::to_vec(&read).unwrap();
        }
    }

    #[test]
    fn a_delta_can_be_taken_back(deltas in prop::collection::vec(any_delta(), 1..8)) {
        let mut bundle = Bundle::new();
        let mut steps = Vec::new();
        for delta in &deltas {
            let before = bundle.clone();
            steps.push((before, bundle.apply(delta).unwrap()));
        }
        for (before, replaced) in steps.into_iter().rev() {
            bundle.undo(replaced);
            prop_assert_eq!((&bundle, bundle.digest()), (&before, before.digest()));
        }
    }

    #[test]
    fn what_the_last_path_of_a_delta_sets_can_be_read(delta in any_delta()) {
        let mut bundle = Bundle::new();
        bundle.apply(&delta).unwrap();
        if let Some((path, value)) = delta.iter().next_back() {
            prop_assert_eq!(bundle.get(path), Some(value).filter(|value| !value.is_null()));
        }
    }

    #[test]
    fn any_path_may_be_asked_for(path in "\\PC{0,20}") {
        let bundle = Bundle::new();
        prop_assert!(bundle.get(&path).is_none() || path.starts_with('C'));
    }
}
