//! `[aop]`: how TASKs and prompts are read.

use std::path::Path;

use contract::finding::Findings;
use contract::intake::{AuditFiles, PathMapping};
use contract::json::Value;
use contract::shape::{Map, NON_BLANK, Object, Shape, Text, UNBOUNDED, Unknown, optional};
use ops::Result;

use super::{Config, invalid};
use crate::env;

pub(super) static AOP: Object = Object {
    name: "aop",
    about: "How AOP TASKs and prompts are read. A project can only refuse the fallback.",
    fields: &[
        optional(
            "audit",
            NON_BLANK,
            "Where the audit files of sessions are: `off`, or a directory, absolute or in the workspace. Default \
             \"_skills/agent-orchestration-protocol_d/v2/audit_trails/\".",
        ),
        optional("executor", NON_BLANK, "Who gets prompts that name nobody."),
        optional("fallback", Shape::Word(&[V1, REFUSE]), "What happens to a TASK that breaks its schema."),
        optional("map", Shape::Map(&MAP), "Where directories that TASKs name are here."),
    ],
    unknown: Unknown::Refused,
};

static MAP: Map = Map { value: NON_BLANK, key: Text { min: 1, max: UNBOUNDED, form: None } };

/// A TASK that does not match its schema is sent as a v1 prompt.
const V1: &str = "v1";
const REFUSE: &str = "refuse";
/// No audit files are written.
const OFF: &str = "off";

pub(super) fn take_of_user(config: &mut Config, value: &Value, from: &Path) -> Result<()> {
    let Some(aop) = value.get("aop") else { return Ok(()) };
    take_fallback(config, aop, from);
    if let Some(name) = aop.get("executor").and_then(Value::as_str) {
        config.executors.aop.executor = Some(name.to_owned());
        config.sources.push(("aop.executor".to_owned(), name.to_owned(), from.to_owned()));
    }
    let mut findings = Findings::default();
    take_audit(config, aop, from, &mut findings);
    for (path, directory) in aop.get("map").and_then(Value::as_object).into_iter().flatten() {
        let directory = directory.as_str().unwrap_or_default();
        let home = env::directory("HOME").zip(directory.strip_prefix("~/"));
        let here = home.map(|(home, rest)| home.join(rest).to_string_lossy().into_owned());
        let here = here.unwrap_or_else(|| directory.to_owned());
        match PathMapping::new(path, &here).filter(|_| Path::new(&here).is_absolute()) {
            Some(mapping) => {
                config.sources.push((format!("aop.map.{path}"), here, from.to_owned()));
                config.executors.aop.map.push(mapping);
            }
            None => {
                let message = "must be an absolute path such as \"C:/workspace\" = \"/srv/work\"";
                findings.push(format!("$.aop.map.{path}"), "form", message);
            }
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(invalid(from, findings)) }
}

fn take_audit(config: &mut Config, aop: &Value, from: &Path, findings: &mut Findings) {
    let Some(path) = aop.get("audit").and_then(Value::as_str) else { return };
    let is_path = |path: &str| path.trim_matches('/').split('/').all(|step| !matches!(step, "" | "." | ".."));
    config.executors.aop.audit = match path {
        OFF => AuditFiles::Off,
        path if is_path(path) => AuditFiles::In(path.to_owned()),
        _ => {
            let message = "must be `off` or a directory without `.` and `..`, absolute or in the workspace";
            findings.push("$.aop.audit", "form", message);
            return;
        }
    };
    config.sources.push(("aop.audit".to_owned(), path.to_owned(), from.to_owned()));
}

/// Takes what a project may set.
pub(super) fn take_of_project(config: &mut Config, value: &Value, from: &Path) {
    if let Some(aop) = value.get("aop") {
        take_fallback(config, aop, from);
    }
}

fn take_fallback(config: &mut Config, aop: &Value, from: &Path) {
    let Some(word) = aop.get("fallback").and_then(Value::as_str) else { return };
    config.executors.aop.refuses_fallback |= word == REFUSE;
    config.sources.push(("aop.fallback".to_owned(), word.to_owned(), from.to_owned()));
}
