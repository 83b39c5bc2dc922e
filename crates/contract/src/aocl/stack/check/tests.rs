use super::*;
use proptest::prelude::*;
use serde_json::json;

fn node(id: &str) -> Value {
    let reference = match id {
        "L0" => "builtin:l0.normalize",
        "L1.identity.scope" => "builtin:l1.identity",
        "L3.policy.gate" => "builtin:l3.policy",
        "L7.delegate.execute" => "builtin:l7.delegate",
        "L8.verify.check" => "builtin:l8.verify",
        "BR.restricted_mode" => "builtin:branch.restricted",
        _ => "builtin:l9.respond",
    };
    json!({"id": id, "ref": reference})
}

/// A dag of the nodes named in the edges, written `a>b` or `a>b?condition`.
fn dag(nodes: &[&str], edges: &[&str]) -> Value {
    let edge = |text: &&str| {
        let (from, rest) = text.split_once('>').unwrap();
        match rest.split_once('?') {
            Some((to, when)) => json!({"from": from, "to": to, "when": when}),
            None => json!({"from": from, "to": rest}),
        }
    };
    json!({
        "stack_id": "s", "version": "0.1", "mode": "dag",
        "nodes": nodes.iter().map(|id| node(id)).collect::<Vec<_>>(),
        "edges": edges.iter().map(edge).collect::<Vec<_>>(),
    })
}

fn pipeline(ids: &[&str]) -> Value {
    let layers: Vec<Value> = ids.iter().map(|id| node(id)).collect();
    json!({"stack_id": "s", "version": "0.1", "mode": "pipeline", "layers": layers})
}

fn judged(stack: &Value) -> String {
    let verdict = validate(stack.to_string().as_bytes(), false);
    let list = |list: &[crate::finding::Finding]| {
        list.iter().map(|f| format!("{} {}", f.path, f.rule)).collect::<Vec<_>>().join(", ")
    };
    let (findings, warnings) = (list(&verdict.details.findings), list(&verdict.details.warnings));
    format!("{} [{findings}] [{warnings}]", verdict.code)
}

const L1: &str = "L1.identity.scope";
const L3: &str = "L3.policy.gate";
const L7: &str = "L7.delegate.execute";
const L8: &str = "L8.verify.check";
const BR: &str = "BR.restricted_mode";

#[test]
fn a_pipeline_keeps_its_guards_before_its_work() {
    assert_eq!(judged(&pipeline(&[L1, L3, L7, L8])), "OK [] []");
    assert_eq!(judged(&pipeline(&[L1, L3, L7])), "OK [] [$.layers unverified]");
    assert_eq!(judged(&pipeline(&[L1, L7, L3, L8])), "SCHEMA_INVALID [$.layers guard_skipped] []");
    assert_eq!(judged(&pipeline(&[L3, L7, L8])), "SCHEMA_INVALID [$.layers guard_skipped] []");
    assert_eq!(judged(&pipeline(&[L8])), "OK [] []");
    let mut disabled = pipeline(&[L1, L3, L7, L8]);
    disabled["layers"][1]["enabled"] = json!(false);
    assert_eq!(judged(&disabled), "SCHEMA_INVALID [$.layers guard_skipped] []");
    let mut nothing = pipeline(&[L8]);
    nothing["layers"][0]["enabled"] = json!(false);
    assert_eq!(judged(&nothing), "MISSING_REQUIRED_INPUT [$.layers empty] []");
}

#[test]
fn names_and_refs_belong_together() {
    assert_eq!(judged(&pipeline(&["L9.own.answer"])), "OK [] [$.layers[0].id unknown_layer]");
    assert_eq!(judged(&pipeline(&[L8, L8])), "SCHEMA_INVALID [$.layers[1].id duplicate] []");
    let mut other = pipeline(&[L3]);
    other["layers"][0]["ref"] = json!("builtin:l9.respond");
    assert_eq!(judged(&other), "SCHEMA_INVALID [$.layers[0].ref ref_mismatch] []");
    other["layers"][0]["ref"] = json!("exec:./policy.sh");
    assert_eq!(judged(&other), "SCHEMA_INVALID [$.layers[0].ref form] []");
    let mut branch = pipeline(&[BR]);
    branch["layers"][0]["ref"] = json!("builtin:l9.respond");
    assert_eq!(judged(&branch), "SCHEMA_INVALID [$.layers[0].ref ref_mismatch] []");
}

#[test]
fn a_dag_is_acyclic_single_rooted_and_reachable() {
    let nodes = ["A", L1, L3, L7, L8];
    let chain = [
        "A>L1.identity.scope",
        "L1.identity.scope>L3.policy.gate",
        "L3.policy.gate>L7.delegate.execute",
        "L7.delegate.execute>L8.verify.check",
    ];
    let warned = "[$.nodes[0].id unknown_layer]";
    let with = |more: &[&str], nodes: &[&str]| judged(&dag(nodes, &[chain.as_slice(), more].concat()));
    assert_eq!(with(&[], &nodes), format!("OK [] {warned}"));
    assert_eq!(with(&["L8.verify.check>A"], &nodes), format!("SCHEMA_INVALID [$.edges cycle] {warned}"));
    assert_eq!(
        with(&["A>A"], &nodes),
        "SCHEMA_INVALID [$.edges cycle] [$.edges[4] shadowed, $.nodes[0].id unknown_layer]"
    );
    assert_eq!(
        with(&["A>Z"], &nodes),
        "SCHEMA_INVALID [$.edges[4].to unknown_node] [$.edges[4] shadowed, $.nodes[0].id unknown_layer]"
    );
    let more_nodes = [nodes.as_slice(), &[BR]].concat();
    assert_eq!(with(&[], &more_nodes), "OK [] [$.nodes[0].id unknown_layer, $.nodes[5] unreachable]");
    assert_eq!(
        with(&["L3.policy.gate>BR.restricted_mode?x"], &more_nodes),
        "OK [] [$.edges[4] shadowed, $.nodes[0].id unknown_layer]"
    );
    let two_roots = [nodes.as_slice(), &["L9.assemble.respond"]].concat();
    assert_eq!(with(&[], &two_roots), format!("SCHEMA_INVALID [$.nodes single_root] {warned}"));
    assert_eq!(judged(&dag(&[BR], &[])), "SCHEMA_INVALID [$.nodes single_root] []");
    let behind = dag(&["A", BR, L8], &["BR.restricted_mode>L8.verify.check"]);
    assert_eq!(
        judged(&behind),
        "SCHEMA_INVALID [$.nodes[2] unreachable] [$.nodes[0].id unknown_layer, $.nodes[1] unreachable]"
    );
}

#[test]
fn no_path_through_a_dag_avoids_the_guards() {
    let nodes = [L1, L3, L7, L8];
    let edges = [
        "L1.identity.scope>L3.policy.gate?a",
        "L1.identity.scope>L7.delegate.execute?b",
        "L3.policy.gate>L7.delegate.execute",
        "L7.delegate.execute>L8.verify.check",
    ];
    let verdict = validate(dag(&nodes, &edges).to_string().as_bytes(), false);
    assert_eq!(verdict.reason, "$.edges: L7.delegate.execute can be reached without passing L3.policy.gate");
}

#[test]
fn each_mode_has_its_own_fields() {
    let mut both = pipeline(&[L8]);
    both["edges"] = json!([]);
    assert_eq!(judged(&both), "SCHEMA_INVALID [$.edges mode] []");
    both["mode"] = json!("dag");
    assert_eq!(judged(&both), "MISSING_REQUIRED_INPUT [$.layers mode, $.nodes missing] []");
    both["mode"] = json!("ring");
    assert_eq!(judged(&both), "SCHEMA_INVALID [$.mode enum] []");
    assert_eq!(
        judged(&json!({})),
        "MISSING_REQUIRED_INPUT [$.mode missing, $.stack_id missing, $.version missing] []"
    );
}

#[test]
fn a_cycle_is_named_in_walking_order() {
    let nodes = ["A", "B", "C", "D"];
    let verdict = validate(dag(&nodes, &["A>B", "B>C", "C>D", "D>B"]).to_string().as_bytes(), false);
    assert_eq!(verdict.reason, "$.edges: the edges form a cycle: B -> C -> D -> B");
}

#[test]
fn unknown_fields_are_mistakes_only_when_strict() {
    let mut stack = pipeline(&[L8]);
    stack["owner"] = json!("ann");
    let bytes = stack.to_string();
    assert!(validate(bytes.as_bytes(), false).allow);
    assert!(!validate(bytes.as_bytes(), true).allow);
}

#[test]
fn the_vectors_hold() {
    let file = include_str!("../../../../vectors/aocl/stack.json");
    crate::aee::vectors::run(file, |_, bytes, strict| validate(bytes, strict));
}

proptest! {
    #[test]
    fn judging_never_panics(bytes: Vec<u8>) {
        validate(&bytes, false);
    }

    #[test]
    fn a_sound_dag_can_be_walked_from_its_root(
        edges in prop::collection::vec((0..6usize, 0..6usize), 0..12),
    ) {
        const NAMES: [&str; 6] = [L1, L3, L7, L8, BR, "A"];
        let edges: Vec<String> = edges.iter().map(|(a, b)| format!("{}>{}", NAMES[*a], NAMES[*b])).collect();
        let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
        if let Ok(stack) = parse(dag(&NAMES, &edges).to_string().as_bytes()) {
            let mut place = stack.root();
            let mut steps = 0;
            while let Some(edge) = stack.edges_from(place).first() {
                place = &edge.to;
                steps += 1;
                prop_assert!(steps < NAMES.len());
            }
        }
    }
}
