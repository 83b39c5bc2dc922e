//! A prompt as a TASK: an AOP v1 document, or text without any structure.

use serde_json::Value;

use super::one_task::{Submitted, ids};
use super::{Executors, Intake, Reading, Refused, from_aop};
use crate::aop::kept::MODEL_UNKNOWN;
use crate::aop::task::{Capabilities, Provider, Role, Session, Target};
use crate::aop::{limits, v1};
use crate::domain::failure_code::FailureCode;
use crate::domain::run::RunWarning;
use crate::finding::Findings;
use crate::plan::read;

pub(super) fn read(
    text: &str,
    is_v1: bool,
    executors: &Executors,
    reading: &Reading,
) -> Result<Intake, Refused> {
    let mut findings = Findings::default();
    let advice = "leave it out and keep the value in the environment of the program";
    read::refuse_secrets(&Value::String(text.to_owned()), &mut String::from("$"), advice, &mut findings);
    if !findings.is_empty() {
        return Err(Refused::aop(None, findings));
    }
    if text.len() > limits::TASK_BYTES_MAX {
        let message = format!("has {} bytes; the limit is {}", text.len(), limits::TASK_BYTES_MAX);
        findings.push("$", "max_bytes", message);
        return Err(Refused::aop(Some(FailureCode::ContextOverflow), findings));
    }
    let mut warnings = Vec::new();
    if !is_v1 {
        let message = "the text is neither an AOP message nor a v1 prompt; it is sent as it is";
        warnings.push(warning("UNSTRUCTURED", message.to_owned()));
    }
    warnings.extend(limits::of_objective(text).into_iter().map(|finding| RunWarning {
        code: finding.rule.to_owned(),
        path: "$".to_owned(),
        message: finding.message,
    }));
    let target = target(text, is_v1, executors, reading, &mut warnings)?;
    let (session_id, task_id) = ids(text.as_bytes());
    let session = Session {
        session_id,
        created_at: reading.now,
        orchestrator: said(text, &["from"]).filter(|_| is_v1).unwrap_or("unknown").to_owned(),
        origin: "V1_COMPAT".to_owned(),
        workflow_pattern: None,
        extensions: None,
    };
    let task = v1::lift_task(text, session, target, &task_id, ".");
    let used = vec![false; reading.map.len()];
    let submitted = Submitted { task, objective: text.to_owned(), warnings, fallback: None, used };
    from_aop::intake(vec![submitted], executors, reading)
}

fn warning(code: &str, message: String) -> RunWarning {
    RunWarning { code: code.to_owned(), path: "$".to_owned(), message }
}

/// Who gets the prompt: whom the caller names, else whom it names itself, else whom the configuration names.
fn target(
    text: &str,
    is_v1: bool,
    executors: &Executors,
    reading: &Reading,
    warnings: &mut Vec<RunWarning>,
) -> Result<Target, Refused> {
    let own = said(text, &["to", "agent", "executor"]).filter(|_| is_v1).map(addressee);
    let usual = executors.aop.executor.as_deref();
    let is_known = |name: &str| {
        let name = name.to_lowercase();
        executors.named.iter().any(|named| named.as_str() == name)
            || executors.commands.contains_key(&name)
            || executors.known.iter().any(|known| known.name.as_str() == name)
    };
    let name = match (&reading.executor, own, usual) {
        (Some(named), _, _) => named.clone(),
        (None, Some((name, provider)), usual) => match (provider.filter(|it| is_known(it)), usual) {
            _ if is_known(&name) => name,
            (Some(provider), _) => provider,
            (None, Some(usual)) => {
                let message = format!("nobody is configured as `{name}`; the prompt goes to `{usual}`");
                warnings.push(warning("EXECUTOR_REPLACED", message));
                usual.to_owned()
            }
            (None, None) => name,
        },
        (None, None, Some(usual)) => usual.to_owned(),
        (None, None, None) => return Err(nobody()),
    };
    Ok(Target {
        provider: Provider::parse(&name.to_uppercase()).unwrap_or(Provider::Other),
        agent_name: name,
        role: Role::Executor,
        model: MODEL_UNKNOWN.to_owned(),
        execution_profile: None,
        capabilities: Some(Capabilities {
            aop_versions_supported: Some(vec!["1.x".to_owned()]),
            ..Capabilities::unlimited()
        }),
        extensions: None,
    })
}

fn nobody() -> Refused {
    let message = "E_AGENT_NOT_FOUND: the prompt names no executor; use `writ run --executor NAME FILE`, or set \
                   `executor` under [aop] in the user's configuration";
    let mut findings = Findings::default();
    findings.push("$", "agent_not_found", message);
    Refused::aop(Some(FailureCode::AgentNotFound), findings)
}

/// What the first line with one of these labels says, such as `**TO:** Emma (Codex)`.
fn said<'t>(text: &'t str, labels: &[&str]) -> Option<&'t str> {
    let of_line = |line: &'t str| {
        let (label, rest) = line.split_once(':')?;
        let label = label.trim_matches(|c: char| c.is_whitespace() || "#*-".contains(c));
        let rest = rest.trim_matches(|c: char| c.is_whitespace() || "*`".contains(c));
        let fits = labels.iter().any(|known| label.eq_ignore_ascii_case(known));
        (fits && !rest.is_empty()).then_some(rest)
    };
    text.lines().find_map(of_line)
}

/// A name, and the provider in parentheses after it.
fn addressee(said: &str) -> (String, Option<String>) {
    match said.split_once('(') {
        Some((name, rest)) => {
            let provider = rest.split(')').next().unwrap_or_default().trim();
            (name.trim().to_owned(), Some(provider.to_owned()).filter(|text| !text.is_empty()))
        }
        None => (said.to_owned(), None),
    }
}
