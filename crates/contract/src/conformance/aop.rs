//! The vectors of AOP: messages, version detection, generated payloads, audit records and v1 texts.

mod generated;

use serde_json::{Value, json};

use super::{Case, File, Mismatch};
use crate::aop::{self, Version, audit};
use crate::json::strict;
use crate::verdict::Verdict;

const CONTRACT: &str = "aop";

/// Tells by the members of its cases what a file holds.
pub fn cases(file: &File<'_>) -> Vec<Case> {
    if let Some((folder, _)) = file.path.rsplit_once('/').filter(|(_, name)| name.contains(".md")) {
        let is_v1 = folder == "v1" || folder.ends_with("/v1");
        return is_v1.then(|| v1_text(file)).into_iter().collect();
    }
    let Ok(value) = strict::parse(file.bytes) else { return Vec::new() };
    if value.get("audit_record_id").is_some() {
        return vec![audit_record(file, &value)];
    }
    let listed = value["cases"].as_array().into_iter().flatten();
    listed.filter_map(listed_case).collect()
}

fn listed_case(vector: &Value) -> Option<Case> {
    let text = |name: &str| vector[name].as_str().map(str::to_owned);
    let has_kind = vector["kind"].as_str().is_some_and(is_kind);
    let case = |name, needs, judge| Case { contract: CONTRACT, name, needs, vector: vector.clone(), judge };
    if let (Some(file), true) = (text("file"), has_kind) {
        Some(case(file.clone(), vec![file], message))
    } else if let (Some(base), true) = (text("base"), vector["set"].is_object()) {
        Some(case(text("name")?, vec![base], generated))
    } else if vector["input"].is_string() && vector["expect"]["version"].is_string() {
        Some(case(text("name")?, Vec::new(), detection))
    } else {
        None
    }
}

/// Other contracts list files too, but their kinds are written in lower case.
fn is_kind(kind: &str) -> bool {
    !kind.is_empty() && kind.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c == '/')
}

/// `{file, kind, expect{allow, code?, warnings?}}`: one message in a file.
pub fn message(vector: &Value, files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let bytes = only(files)?;
    let kind = vector["kind"].as_str().unwrap_or_default();
    if kind == "AUDIT" {
        return compare(&vector["expect"], &audit::validate(bytes));
    }
    let verdict = aop::validate(bytes, false);
    compare(&vector["expect"], &verdict)?;
    let more = &verdict.details.more;
    let found = match (&more.get("message_type"), &more.get("event")) {
        (Some(Value::String(message)), Some(Value::String(event))) => format!("{message}/{event}"),
        (Some(Value::String(message)), _) => message.clone(),
        _ => String::new(),
    };
    if verdict.allow && found != kind {
        return Err(Mismatch(format!("expected a {kind}, got a {found}")));
    }
    Ok(())
}

/// `{name, base, set, expect}`: a message too big to store, made from a small one.
pub fn generated(vector: &Value, files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let made = generated::make(only(files)?, &vector["set"])?;
    compare(&vector["expect"], &aop::validate(made.as_bytes(), false))
}

/// `{name, input, expect{version, fallback?, code?}}`: which version a text is.
pub fn detection(vector: &Value, _files: &[Vec<u8>]) -> Result<(), Mismatch> {
    let expect = &vector["expect"];
    let found = aop::detect(vector["input"].as_str().unwrap_or_default().as_bytes());
    let shown = json!({
        "version": found.version.as_str(),
        "fallback": found.fallback.is_some(),
        "code": found.code.map(aop::Code::as_str),
    });
    let fits = expect["version"] == shown["version"]
        && expect["fallback"].as_bool().unwrap_or(false) == found.fallback.is_some()
        && (expect["code"].is_null() || expect["code"] == shown["code"]);
    if fits { Ok(()) } else { Err(Mismatch(format!("expected {expect}, got {shown}"))) }
}

fn audit_record(file: &File<'_>, value: &Value) -> Case {
    let allow = !file.path.contains("invalid/");
    let vector = json!({"record": value, "expect": {"allow": allow}});
    let judge = |vector: &Value, _: &[Vec<u8>]| {
        compare(&vector["expect"], &audit::validate(vector["record"].to_string().as_bytes()))
    };
    Case { contract: CONTRACT, name: file.path.to_owned(), needs: Vec::new(), vector, judge }
}

fn v1_text(file: &File<'_>) -> Case {
    let input = String::from_utf8_lossy(file.bytes);
    let vector = json!({"input": input, "expect": {"version": Version::V1.as_str()}});
    Case { contract: CONTRACT, name: file.path.to_owned(), needs: Vec::new(), vector, judge: detection }
}

/// Holds a verdict against `{allow, code?, warnings?}`. Warnings are compared by their codes.
fn compare(expect: &Value, verdict: &Verdict) -> Result<(), Mismatch> {
    let allow_fits = expect["allow"] == verdict.allow;
    let code_fits = expect["code"].is_null() || expect["code"] == verdict.code.as_str();
    if !allow_fits || !code_fits {
        return Err(Mismatch(format!("expected {expect}, got {}: {}", verdict.code, verdict.reason)));
    }
    let Some(wanted) = expect["warnings"].as_array() else { return Ok(()) };
    let wanted = sorted(wanted.iter().filter_map(Value::as_str));
    let codes = verdict.details.warnings.iter().map(|warning| warning.rule);
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

fn only(files: &[Vec<u8>]) -> Result<&[u8], Mismatch> {
    files.first().map(Vec::as_slice).ok_or_else(|| Mismatch("its file was not given".to_owned()))
}
