//! The envelope around every answer of the agent contract: `success` with `data`, or `error`.

use serde_json::Value;

use crate::aee::judge;
use crate::domain::text::cut;
use crate::finding::Findings;
use crate::shape::{NON_BLANK, Object, Shape, TEXT, Unknown, optional, required};
use crate::verdict::Verdict;

const KIND: &str = "continuity";
const VERSION: &str = "v1";

/// One answer. The validator also checks that `data` belongs to success and `error` to failure.
pub static ENVELOPE: Object = Object {
    name: "continuity_answer",
    about: "What a command of the agent contract prints.",
    fields: &[
        required("schema_version", Shape::Word(&[VERSION]), ""),
        required("success", Shape::Bool, ""),
        optional("data", Shape::Anything, "The answer; only on success."),
        optional("error", NON_BLANK, "Error message for people; only on failure."),
        optional("error_code", TEXT, "Error code for programs."),
        optional("error_context", Shape::Nullable(&Shape::AnyObject), ""),
        optional("suggested_action", TEXT, ""),
        optional("retry", TEXT, "Whether and how to retry."),
    ],
    unknown: Unknown::KeptUnlessStrict,
};

/// Fields that a successful answer does not have.
pub const ONLY_ON_FAILURE: [&str; 4] = ["error", "error_code", "error_context", "suggested_action"];

/// Validates one answer. Strict: unknown fields are faults.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    let document = match judge::read_object(KIND, bytes) {
        Ok(document) => document,
        Err(refused) => return *refused,
    };
    judge::rule(KIND, "answer valid", faults(&document, strict), Findings::default())
}

fn faults(document: &Value, strict: bool) -> Findings {
    let mut findings = Findings::default();
    if let Some(version) =
        document.get("schema_version").and_then(Value::as_str).filter(|word| *word != VERSION)
    {
        let shown = cut(version, 40);
        findings.push("$.schema_version", "version", format!("only {VERSION} is known; this is `{shown}`"));
        return findings;
    }
    findings = judge::check(&ENVELOPE, document, strict);
    let (own, others): (&str, &[&str]) = match document.get("success") {
        Some(Value::Bool(true)) => ("data", &ONLY_ON_FAILURE),
        Some(Value::Bool(false)) => ("error", &["data"]),
        _ => return findings,
    };
    if document.get(own).is_none() {
        findings.push(format!("$.{own}"), "missing", format!("`{own}` is required here"));
    }
    for name in others.iter().filter(|name| document.get(**name).is_some()) {
        findings.push(format!("$.{name}"), "contradiction", format!("`{name}` is not allowed here"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judged(document: &Value) -> String {
        let verdict = validate(document.to_string().as_bytes(), false);
        format!("{} {}", verdict.code, verdict.details.path.unwrap_or_default()).trim_end().to_owned()
    }

    #[test]
    fn an_answer_has_data_or_an_error() {
        let cases = [
            (json!({"schema_version": "v1", "success": true, "data": {}}), "OK"),
            (json!({"schema_version": "v1", "success": true, "data": null, "hint": 1}), "OK"),
            (json!({"schema_version": "v1", "success": false, "error": "--title is required"}), "OK"),
            (json!({"schema_version": "v1", "success": true}), "MISSING_REQUIRED_INPUT $.data"),
            (json!({"schema_version": "v1", "success": false}), "MISSING_REQUIRED_INPUT $.error"),
            (
                json!({"schema_version": "v1", "success": true, "data": 1, "error": "x"}),
                "SCHEMA_INVALID $.error",
            ),
            (
                json!({"schema_version": "v1", "success": false, "error": {"code": 1}}),
                "SCHEMA_INVALID $.error",
            ),
            (json!({"schema_version": "v1", "success": false, "error": ""}), "SCHEMA_INVALID $.error"),
            (json!({"schema_version": "v2", "success": 1}), "UNKNOWN_SCHEMA_VERSION $.schema_version"),
            (json!({"success": true, "data": 1}), "MISSING_REQUIRED_INPUT $.schema_version"),
            (json!({"schema_version": "v1", "success": "yes"}), "SCHEMA_INVALID $.success"),
        ];
        for (document, expected) in cases {
            assert_eq!(judged(&document), expected, "{document}");
        }
    }

    #[test]
    fn strict_readers_refuse_unknown_fields() {
        let document = json!({"schema_version": "v1", "success": true, "data": 1, "more": 2}).to_string();
        assert_eq!(validate(document.as_bytes(), true).details.rule.as_deref(), Some("unknown_field"));
    }
}
