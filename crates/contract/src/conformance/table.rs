//! Tables: each row has an input and the expected output.

use serde_json::Value;

use super::{Case, Mismatch};

/// One kind of row, detected by its members.
pub(super) struct VectorTable {
    pub(super) ask: &'static str,
    /// Members of the question; all are required.
    pub(super) given: &'static [&'static str],
    /// Optional members of the question.
    pub(super) may: &'static [&'static str],
    /// Members of the expected answer; all are required. `expect` alone is the answer itself.
    pub(super) wanted: &'static [&'static str],
}

impl VectorTable {
    /// The row as a case, if it is one of this table.
    pub(super) fn case(&'static self, contract: &'static str, vector: &Value) -> Option<Case> {
        let has = |name: &&str| vector.get(name).is_some();
        if !self.given.iter().chain(self.wanted).all(has) {
            return None;
        }
        let mut question = serde_json::Map::new();
        question.insert("ask".to_owned(), self.ask.into());
        for name in self.given.iter().chain(self.may).filter(|name| has(name)) {
            question.insert((*name).to_owned(), vector[*name].clone());
        }
        let member = |name: &&str| ((*name).to_owned(), vector[*name].clone());
        let expect = match self.wanted {
            ["expect"] => vector["expect"].clone(),
            names => Value::Object(names.iter().map(member).collect()),
        };
        let name = match vector["name"].as_str() {
            Some(name) => format!("{}: {name}", self.ask),
            None => format!("{}: {}", self.ask, shown(&question)),
        };
        let vector = serde_json::json!({"question": question, "expect": expect});
        Some(Case {
            contract,
            name,
            needs: Vec::new(),
            may_lack_files: false,
            vector,
            ask: |vector, _| Ok(vector["question"].clone()),
            compare: |vector, answer| holds(&vector["expect"], answer),
        })
    }
}

/// Every expected member must be in the answer, at any depth; other members of the answer do not matter.
pub(super) fn holds(expect: &Value, answer: &Value) -> Result<(), Mismatch> {
    if contains(answer, expect) { Ok(()) } else { Err(Mismatch(format!("expected {expect}, got {answer}"))) }
}

fn contains(answer: &Value, expect: &Value) -> bool {
    match (expect, answer) {
        (Value::Object(expect), Value::Object(answer)) => {
            expect.iter().all(|(name, expect)| contains(answer.get(name).unwrap_or(&Value::Null), expect))
        }
        (expect, answer) => expect == answer,
    }
}

fn shown(question: &serde_json::Map<String, Value>) -> String {
    let values: Vec<String> =
        question.iter().filter(|(name, _)| *name != "ask").map(|(_, value)| value.to_string()).collect();
    values.join(" ").chars().take(80).collect()
}
