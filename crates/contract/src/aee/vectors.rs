//! Runs the vectors of this folder's contracts: each case says what a validator must answer.

use crate::json::Value;
use crate::verdict::Verdict;

/// Runs every case of a vector file through `judge` and reports all that differ.
pub(crate) fn run(file: &str, judge: impl Fn(&Value, &[u8], bool) -> Verdict) {
    let file: Value = serde_json::from_str(file).unwrap();
    let mut wrong = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        let bytes = match (&case["input_raw"], &case["input"]) {
            (Value::String(raw), _) => raw.clone(),
            (_, input) => input.to_string(),
        };
        let strict = case["options"]["strict"].as_bool().unwrap_or(false);
        let verdict = judge(case, bytes.as_bytes(), strict);
        if let Some(difference) = difference(&case["expect"], &verdict) {
            wrong.push(format!("{}: {difference} ({})", case["name"], verdict.reason));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn difference(expect: &Value, verdict: &Verdict) -> Option<String> {
    assert_eq!(expect["exit"] == 0, expect["allow"] == true, "a case must not contradict itself");
    let mut warnings: Vec<&str> = verdict.details.warnings.iter().map(|warning| warning.rule).collect();
    warnings.sort_unstable();
    let answers = [
        ("allow", Value::from(verdict.allow)),
        ("code", Value::from(verdict.code.as_str())),
        ("rule", verdict.details.rule.as_deref().map_or(Value::Null, Value::from)),
        ("warnings", Value::from(warnings)),
    ];
    let differs = |name: &str, answer: &Value| expect.get(name).is_some_and(|expected| expected != answer);
    let (name, answer) = answers.iter().find(|(name, answer)| differs(name, answer))?;
    Some(format!("{name} is {answer}, not {}", expect[name]))
}
