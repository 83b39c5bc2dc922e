//! The vectors of AOP: messages, version detection, generated payloads, audit records and v1 texts.

mod generated;

use serde_json::{Value, json};

use super::{Case, Mismatch, VectorFile, aocl, only, parsed, verdicts};
use crate::aop::Version;
use crate::validate::Kind;

const CONTRACT: &str = "aop";

/// Detects the kind of a file by the members of its cases.
pub(super) fn cases(file: &VectorFile<'_>) -> Vec<Case> {
    if let Some((folder, _)) = file.path.rsplit_once('/').filter(|(_, name)| name.contains(".md")) {
        let is_v1 = folder == "v1" || folder.ends_with("/v1");
        return is_v1.then(|| v1_text(file)).into_iter().collect();
    }
    let Some(value) = parsed(file.bytes) else { return Vec::new() };
    if value.get("audit_record_id").is_some() {
        return vec![audit_record(file)];
    }
    let listed = value["cases"].as_array().into_iter().flatten();
    listed.filter_map(listed_case).collect()
}

fn listed_case(vector: &Value) -> Option<Case> {
    let text = |name: &str| vector[name].as_str().map(str::to_owned);
    let has_kind = vector["kind"].as_str().is_some_and(is_kind);
    let case = |name, needs, ask, compare| Case {
        contract: CONTRACT,
        name,
        needs,
        may_lack_files: false,
        vector: vector.clone(),
        ask,
        compare,
    };
    if let (Some(file), true) = (text("file"), has_kind) {
        Some(case(file.clone(), vec![file], ask_message, message))
    } else if let (Some(base), true) = (text("base"), vector["set"].is_object()) {
        Some(case(text("name")?, vec![base], ask_generated, verdict))
    } else if vector["input"].is_string() && vector["expect"]["version"].is_string() {
        Some(case(text("name")?, Vec::new(), ask_version, version))
    } else {
        None
    }
}

/// Other contracts list files too, but their kinds are written in lower case.
fn is_kind(kind: &str) -> bool {
    !kind.is_empty() && kind.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c == '/')
}

/// `{file, kind, expect{allow, code?, warnings?}}`: one message in a file.
fn ask_message(vector: &Value, files: &[Vec<u8>]) -> Result<Value, Mismatch> {
    let kind = if vector["kind"] == "AUDIT" { Kind::AopAudit } else { Kind::Aop };
    Ok(verdicts::ask(kind, only(files)?))
}

fn message(vector: &Value, answer: &Value) -> Result<(), Mismatch> {
    verdict(vector, answer)?;
    let kind = vector["kind"].as_str().unwrap_or_default();
    let details = &answer["details"];
    let found = match (&details["message_type"], &details["event"]) {
        (Value::String(message), Value::String(event)) => format!("{message}/{event}"),
        (Value::String(message), _) => message.clone(),
        _ => return Ok(()),
    };
    if answer["allow"] == true && found != kind {
        return Err(Mismatch(format!("expected a {kind}, got a {found}")));
    }
    Ok(())
}

/// `{name, base, set, expect}`: a large message, generated from a small one.
fn ask_generated(vector: &Value, files: &[Vec<u8>]) -> Result<Value, Mismatch> {
    Ok(verdicts::ask(Kind::Aop, generated::make(only(files)?, &vector["set"])?.as_bytes()))
}

/// `{name, input, expect{version, fallback?, code?}}`: which version a text is.
#[expect(clippy::unnecessary_wraps, reason = "other questions need files, which may be missing")]
fn ask_version(vector: &Value, _: &[Vec<u8>]) -> Result<Value, Mismatch> {
    Ok(json!({"ask": "aop-detect", "input": vector["input"]}))
}

fn version(vector: &Value, answer: &Value) -> Result<(), Mismatch> {
    let expect = &vector["expect"];
    let falls_back = |value: &Value| value["fallback"].as_bool().unwrap_or(false);
    let fits = expect["version"] == answer["version"]
        && falls_back(expect) == falls_back(answer)
        && (expect["code"].is_null() || expect["code"] == answer["code"]);
    if fits { Ok(()) } else { Err(Mismatch(format!("expected {expect}, got {answer}"))) }
}

fn audit_record(file: &VectorFile<'_>) -> Case {
    let allow = !file.path.contains("invalid/");
    aocl::document(CONTRACT, Kind::AopAudit, file, &json!({ "allow": allow }))
}

fn v1_text(file: &VectorFile<'_>) -> Case {
    let input = String::from_utf8_lossy(file.bytes);
    let vector = json!({"input": input, "expect": {"version": Version::V1.as_str()}});
    Case {
        contract: CONTRACT,
        name: file.path.to_owned(),
        needs: Vec::new(),
        may_lack_files: false,
        vector,
        ask: ask_version,
        compare: version,
    }
}

/// Compares a verdict with `{allow, code?, warnings?}`. Warnings are compared by their codes.
fn verdict(vector: &Value, answer: &Value) -> Result<(), Mismatch> {
    let expect = &vector["expect"];
    let code_fits = expect["code"].is_null() || expect["code"] == answer["code"];
    if expect["allow"] != answer["allow"] || !code_fits {
        let said = |name: &str| answer[name].as_str().unwrap_or("nothing").to_owned();
        return Err(Mismatch(format!("expected {expect}, got {}: {}", said("code"), said("reason"))));
    }
    let Some(wanted) = expect["warnings"].as_array() else { return Ok(()) };
    let wanted = sorted(wanted.iter().filter_map(Value::as_str));
    let warnings = answer["details"]["warnings"].as_array().into_iter().flatten();
    let codes = warnings.filter_map(|warning| warning["rule"].as_str());
    let found = sorted(codes.filter(|rule| rule.starts_with("E_")));
    if wanted == found {
        return Ok(());
    }
    Err(Mismatch(format!("expected the warnings {wanted:?}, got {found:?}")))
}

fn sorted<'a>(codes: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut codes: Vec<&str> = codes.collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}
