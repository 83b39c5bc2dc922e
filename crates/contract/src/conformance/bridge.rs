//! The vectors of the bridge: tables, and documents as people really write them.

mod documents;

use serde_json::{Value, json};

use super::table::{VectorTable, holds};
use super::{Case, VectorFile, listed, only, parsed};

const CONTRACT: &str = "bridge";

/// Detected by their members alone.
static TABLES: &[VectorTable] = &[
    VectorTable { ask: "memrl-bucket", given: &["attempt", "max_attempts"], may: &[], wanted: &["want"] },
    VectorTable {
        ask: "memrl-legacy-action",
        given: &["attempt", "max_retries"],
        may: &[],
        wanted: &["want"],
    },
    VectorTable { ask: "memrl-classify", given: &["phase", "verdict"], may: &[], wanted: &["want_contract"] },
    VectorTable {
        ask: "memrl-cell",
        given: &["memrl_mode", "failure_class", "attempt_bucket"],
        may: &[],
        wanted: &["action", "rule_id"],
    },
    VectorTable { ask: "memrl-decide", given: &["input"], may: &[], wanted: &["action", "rule_id", "gate"] },
    VectorTable { ask: "council-verdict", given: &["content"], may: &[], wanted: &["want"] },
    VectorTable { ask: "promise-of-children", given: &["bd_children"], may: &[], wanted: &["want"] },
    VectorTable {
        ask: "harvest",
        given: &["harvest"],
        may: &[],
        wanted: &["candidate", "file_name", "file", "constraint"],
    },
];

static EVALUATE: VectorTable =
    VectorTable { ask: "memrl-evaluate", given: &["input"], may: &["rules_override"], wanted: &["want"] };
static MODE: VectorTable = VectorTable { ask: "memrl-mode", given: &["input"], may: &[], wanted: &["want"] };
static STEP: VectorTable =
    VectorTable { ask: "ratchet-step", given: &["input"], may: &[], wanted: &["want"] };

pub(super) fn cases(file: &VectorFile<'_>) -> Vec<Case> {
    if let Some(case) = documents::case(file) {
        return vec![case];
    }
    let Some(value) = parsed(file.bytes) else { return Vec::new() };
    listed(&value).iter().filter_map(|vector| row(file, vector)).collect()
}

fn row(file: &VectorFile<'_>, vector: &Value) -> Option<Case> {
    let stem = file.path.rsplit('/').next().unwrap_or(file.path);
    let found = TABLES.iter().find_map(|table| table.case(CONTRACT, vector));
    found.or_else(|| filter(vector)).or_else(|| invalid_policy(vector)).or_else(|| report(vector)).or_else(
        || match &vector["input"] {
            Value::Object(_) if vector["want"].is_object() => EVALUATE.case(CONTRACT, vector),
            Value::String(_) if stem.contains("mode") => MODE.case(CONTRACT, vector),
            Value::String(_) if stem.contains("step") => STEP.case(CONTRACT, vector),
            _ => None,
        },
    )
}

/// `{query, count, first}` over the constraints in filter-three.json.
fn filter(vector: &Value) -> Option<Case> {
    let query = vector["query"].as_str()?;
    vector["count"].as_u64()?;
    Some(Case {
        contract: CONTRACT,
        name: format!("constraint-filter: {query}"),
        needs: vec!["filter-three.json".to_owned()],
        may_lack_files: false,
        vector: vector.clone(),
        ask: |vector, files| {
            let constraints = String::from_utf8_lossy(only(files)?);
            Ok(json!({"ask": "constraint-filter", "constraints": constraints, "query": vector["query"]}))
        },
        compare: |vector, answer| holds(&json!({"count": vector["count"], "first": vector["first"]}), answer),
    })
}

/// `{name, override, want: invalid}`: the standard policy with some members replaced.
fn invalid_policy(vector: &Value) -> Option<Case> {
    let replaced = vector["override"].as_object()?;
    let mut policy = serde_json::to_value(crate::bridge::memrl::Policy::standard()).ok()?;
    for (name, value) in replaced {
        policy[name] = value.clone();
    }
    let question = json!({"ask": "validate", "kind": "memrl", "input": policy.to_string()});
    Some(Case {
        contract: CONTRACT,
        name: format!("memrl: {}", vector["name"].as_str()?),
        needs: Vec::new(),
        may_lack_files: false,
        vector: json!({"question": question, "expect": {"allow": vector["want"] != "invalid"}}),
        ask: |vector, _| Ok(vector["question"].clone()),
        compare: |vector, answer| holds(&vector["expect"], answer),
    })
}

/// `{file, upstream_regex}`: the verdict of a council's report.
fn report(vector: &Value) -> Option<Case> {
    let file = vector["file"].as_str()?;
    vector.get("upstream_regex")?;
    Some(Case {
        contract: CONTRACT,
        name: format!("council-verdict: {file}"),
        needs: vec![file.to_owned()],
        may_lack_files: true,
        vector: vector.clone(),
        ask: |_, files| {
            Ok(json!({"ask": "council-verdict", "content": String::from_utf8_lossy(only(files)?)}))
        },
        compare: |vector, answer| match &vector["upstream_regex"] {
            // Other readers find no verdict there; finding one is accepted.
            Value::Null => Ok(()),
            expected => holds(&json!({ "want": expected }), answer),
        },
    })
}
