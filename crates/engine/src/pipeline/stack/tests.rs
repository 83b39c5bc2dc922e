use contract::json::Value;

use super::*;

fn default() -> Value {
    serde_json::from_slice(DEFAULT).unwrap()
}

fn parse(file: &Value) -> Result<LayerStack> {
    LayerStack::parse(file.to_string().as_bytes())
}

#[track_caller]
fn assert_refused(file: &Value, reason: &str) {
    let error = parse(file).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidInput);
    assert!(error.message.contains(reason), "{}", error.message);
}

#[test]
fn the_default_stack_is_the_contracts_standard_one() {
    let verdict = stack::validate(DEFAULT, true);
    assert!(verdict.allow && verdict.details.warnings.is_empty(), "{verdict:?}");
    let file = stack::parse(DEFAULT).unwrap();
    assert_eq!(file.members(), Stack::standard().members());
    let stack = LayerStack::parse(DEFAULT).unwrap();
    assert_eq!((stack.id.as_str(), stack.timeout), ("default", Duration::from_mins(1)));
    let layers: Vec<Layer> = stack.nodes.iter().map(|node| node.spec.layer).collect();
    assert_eq!(layers, Layer::ALL);
    assert_eq!(LAYERS.map(|spec| spec.layer), Layer::ALL);
    assert_eq!(stack.id_of(Layer::Respond), "L9.assemble.respond");
    let repeated: Vec<Layer> = LAYERS.iter().filter(|spec| spec.is_repeated).map(|spec| spec.layer).collect();
    assert_eq!(repeated, [Layer::Policy]);
}

#[test]
fn order_names_and_switches_come_from_the_file() {
    let mut file = default();
    let layers = file["layers"].as_array_mut().unwrap();
    layers.swap(2, 3);
    layers[0]["id"] = json!("X.own.name");
    layers[5]["enabled"] = json!(false);
    file["defaults"]["timeout_ms"] = json!(1000);
    let stack = parse(&file).unwrap();
    let entry: Vec<&str> = stack.of(Stage::Enter).map(|node| node.id.as_str()).collect();
    assert_eq!(
        entry,
        ["X.own.name", "L1.identity.scope", "L3.policy.gate", "L2.route.smart", "L4.plan.decompose"]
    );
    assert!(stack.nodes.iter().all(|node| node.spec.layer != Layer::Context));
    assert_eq!(stack.timeout, Duration::from_secs(1));
}

#[test]
fn a_timeout_has_a_default_and_a_limit() {
    let mut file = default();
    file["defaults"] = json!({});
    assert_eq!(parse(&file).unwrap().timeout, LAYER_TIMEOUT_DEFAULT);
    file["defaults"] = json!({"timeout_ms": 1_000_000_000});
    assert_eq!(parse(&file).unwrap().timeout, LAYER_TIMEOUT_MAX);
}

#[test]
fn a_stack_that_names_an_unknown_layer_is_refused() {
    let mut file = default();
    file["layers"][4] = json!({"id": "L4.own.plan", "ref": "builtin:l4.own"});
    assert_refused(&file, "the stack is not valid");
}

#[test]
fn a_stack_that_cannot_be_walked_is_refused_with_the_reason() {
    let mut late = default();
    late["layers"].as_array_mut().unwrap().swap(4, 5);
    assert_refused(&late, "`L4.plan.decompose` comes too late");
    let mut twice = default();
    let again = json!({"id": "L10.again", "ref": "builtin:l10.audit"});
    twice["layers"].as_array_mut().unwrap().push(again);
    assert_refused(&twice, "`L10.again` runs L10.audit.writeback a second time");
    for (index, id) in [
        (6, "L6.shape.rewrite"),
        (7, "L7.delegate.execute"),
        (8, "L8.verify.check"),
        (9, "L9.assemble.respond"),
    ] {
        let mut without = default();
        without["layers"][index]["enabled"] = json!(false);
        assert_refused(&without, &format!("{id} is missing or not enabled"));
    }
    let mut branch = default();
    let fast = json!({"id": "BR.alert", "ref": "builtin:branch.alert_fast"});
    branch["layers"].as_array_mut().unwrap().push(fast);
    assert_refused(&branch, "the branch `BR.alert` is not supported yet");
    let dag = json!({
        "stack_id": "graph", "version": "0.1", "mode": "dag",
        "nodes": [{"id": "L0.ingress.normalize", "ref": "builtin:l0.normalize"}], "edges": [],
    });
    assert_refused(&dag, "");
}
