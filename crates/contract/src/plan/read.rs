//! Reads a plan and reports all of its faults together.

mod fallback;
mod isolation;
pub(crate) mod network;
mod rest;

use std::time::Duration;

use serde_json::Value;

use super::executor::{self, GivenFields, KnownExecutor};
use super::shapes::{Command, Length, RawBudget, RawCheck, RawPlan, RawTask};
use super::{order, shapes};
use crate::domain::check::{Check, Expects};
use crate::domain::confinement::{Namespace, SandboxMode};
use crate::domain::executor::ExecutorName;
use crate::domain::limits;
use crate::domain::money::MicroUsd;
use crate::domain::plan::{Budget, Directories, FileAccess, Plan, PlanTask};
use crate::domain::scope::Scope;
use crate::domain::time::parse_duration;
use crate::finding::Findings;
use crate::json::strict;
use crate::secrets;
use crate::shape::{Shape, check::check};

/// Turns a plan's value into a checked plan. Executors must be among `known`; an empty list accepts every name.
pub fn from_value(value: &Value, known: &[KnownExecutor]) -> Result<Plan, Findings> {
    let mut findings = check(&Shape::Object(shapes::PLAN), value, true);
    refuse_secrets(value, &mut String::from("$"), ADVICE, &mut findings);
    if !findings.is_empty() {
        rest::add_faults(value, known, &mut findings);
        return Err(findings);
    }
    let raw: RawPlan = serde_json::from_value(value.clone()).map_err(|error| {
        let mut findings = Findings::default();
        findings.push("$", "type", error.to_string());
        findings
    })?;
    let plan = raw.finish(known, &mut findings);
    order::check(&plan, &mut findings);
    if findings.is_empty() { Ok(plan) } else { Err(findings) }
}

/// TOML text as the equivalent JSON value.
pub fn toml_value(text: &str) -> Result<Value, strict::Malformed> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = &text[..at.min(text.len())];
        strict::Malformed {
            message: error.message().replace('\n', " "),
            line: before.matches('\n').count() + 1,
            column: at - before.rfind('\n').map_or(0, |newline| newline + 1) + 1,
        }
    })?;
    serde_json::to_value(table).map_err(|error| strict::Malformed {
        message: error.to_string(),
        line: 0,
        column: 0,
    })
}

const ADVICE: &str = "write `env:NAME` under `env` and keep the value in the environment";

/// Secrets are never stored, so a document must not contain one. The finding names the rule, never the text.
pub(crate) fn refuse_secrets(value: &Value, path: &mut String, advice: &str, findings: &mut Findings) {
    match value {
        Value::String(text) => {
            if let Some(rule) = secrets::find(text) {
                findings.push(path.clone(), "secret", secret_message(rule, advice));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                with_step(path, &format!("[{index}]"), |path| refuse_secrets(item, path, advice, findings));
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                with_step(path, &format!(".{name}"), |path| {
                    // A value may be a secret only together with its name: PASSWORD = "…".
                    if let Value::String(text) = field
                        && secrets::find(text).is_none()
                        && let Some(rule) = secrets::find(&format!("{name}={text}"))
                    {
                        findings.push(path.clone(), "secret", secret_message(rule, advice));
                    }
                    refuse_secrets(field, path, advice, findings);
                });
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn secret_message(rule: &str, advice: &str) -> String {
    format!("looks like a secret ({rule}); {advice}")
}

fn with_step(path: &mut String, step: &str, then: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(step);
    then(path);
    path.truncate(length);
}

impl Length {
    pub(super) fn millis(&self) -> u64 {
        let length = match self {
            Length::Seconds(seconds) => Some(Duration::from_secs(*seconds)),
            Length::Text(text) => parse_duration(text),
        };
        let length = length.unwrap_or(limits::TASK_TIMEOUT_DEFAULT);
        u64::try_from(length.as_millis()).expect("BUG: the shape limits a duration")
    }
}

impl RawPlan {
    fn finish(self, known: &[KnownExecutor], findings: &mut Findings) -> Plan {
        let (namespace, rollback) = (self.namespace, self.rollback);
        let (sandbox, network, git) = (self.sandbox, self.network, self.git);
        let isolation = isolation::IsolationDefaults::of(&self, findings);
        let allowed = network::NetworkDefaults::of(&self, findings);
        let tasks = self.task.into_iter().map(|task| RawTask {
            namespace: task.namespace.or(namespace),
            // A task without a scope has nothing to take back; only one that asks for it itself is at fault.
            rollback: task.rollback.or(rollback.filter(|_| !task.writes.is_empty())),
            sandbox: task.sandbox.or(sandbox),
            network: task.network.or(network),
            git: task.git.or(git),
            ..task
        });
        let tasks = tasks.map(|task| allowed.fill(isolation.fill(task)));
        let tasks: Vec<PlanTask> =
            tasks.enumerate().map(|(i, task)| task.finish(i, known, findings)).collect();
        let budget = RawBudget::finish(self.budget, "$", findings);
        shares(budget, &tasks, findings);
        Plan {
            objective: self.objective,
            workspace: self.workspace,
            max_parallel: self.max_parallel.unwrap_or(limits::PARALLEL_DEFAULT),
            budget,
            tasks,
        }
    }
}

impl RawBudget {
    fn finish(raw: Option<RawBudget>, at: &str, findings: &mut Findings) -> Budget {
        raw.map_or_else(Budget::default, |budget| Budget {
            cost: budget.max_cost_usd.and_then(|usd| amount(usd, at, findings)),
            tokens: budget.max_tokens,
        })
    }
}

/// If the run has a budget, every task needs one: writ reserves it before the task starts.
fn shares(budget: Budget, tasks: &[PlanTask], findings: &mut Findings) {
    for (index, task) in tasks.iter().enumerate() {
        let lacks_cost = budget.cost.is_some() && task.budget.cost.is_none();
        let lacks_tokens = budget.tokens.is_some() && task.budget.tokens.is_none();
        for (lacks, field) in [(lacks_cost, "max_cost_usd"), (lacks_tokens, "max_tokens")] {
            if lacks {
                let message = "the plan has a budget, so every task needs one; use 0 for none";
                findings.push(format!("$.task[{index}].budget.{field}"), "missing", message);
            }
        }
    }
}

impl RawTask {
    fn finish(self, index: usize, known: &[KnownExecutor], findings: &mut Findings) -> PlanTask {
        let at = format!("$.task[{index}]");
        let executor = self.executor.unwrap_or_else(ExecutorName::shell);
        let given = GivenFields {
            prompt: self.prompt.is_some(),
            command: self.command.is_some(),
            model: self.model.is_some(),
        };
        executor::check(&executor, given, known, &at, findings);
        let checks = self.checks.into_iter().enumerate();
        let checks = checks.map(|(i, check)| check.finish(&format!("{at}.checks[{i}]"), findings)).collect();
        let budget = RawBudget::finish(self.budget, &at, findings);
        if self.rollback == Some(true) && self.writes.is_empty() {
            let message = "a rollback needs `writes`: it takes back changes in that scope";
            findings.push(format!("{at}.rollback"), "no_scope", message);
        }
        if self.sandbox == Some(SandboxMode::Enforce) && self.namespace == Some(Namespace::Off) {
            let message = "a sandbox needs the namespace; leave `namespace` on, or do not ask for `enforce`";
            findings.push(format!("{at}.sandbox"), "conflict", message);
        }
        let policy = fallback::policy(
            self.heartbeat.as_ref(),
            self.on_silence,
            self.on_failure,
            (&at, &mut *findings),
        );
        let alternatives = self.alternatives;
        let task = PlanTask {
            command: self
                .command
                .map(|command| command.arguments(self.shell, &format!("{at}.command"), findings))
                .unwrap_or_default(),
            writes: scopes(&self.writes, &format!("{at}.writes"), findings),
            reads: scopes(&self.reads, &format!("{at}.reads"), findings),
            directories: directories(self.writes.iter().chain(&self.scratch)),
            scratch: scopes(&self.scratch, &format!("{at}.scratch"), findings),
            pins: scopes(&self.pins, &format!("{at}.pins"), findings),
            checks_may_change: self.checks_may_change,
            checks_by: None,
            timeout_ms: self.timeout.map_or(PlanTask::minimal("").timeout_ms, |length| length.millis()),
            backoff_ms: self.backoff.iter().map(Length::millis).collect(),
            title: self.title.unwrap_or_else(|| self.id.clone()),
            id: self.id,
            executor,
            shell: self.shell,
            prompt: self.prompt,
            env: self.env,
            depends_on: self.depends_on,
            priority: self.priority,
            retries: self.retries,
            retry_safe: self.retry_safe,
            budget,
            checks,
            checkpoints: Vec::new(),
            namespace: self.namespace.unwrap_or_default(),
            rollback: self.rollback.unwrap_or_default(),
            sandbox: self.sandbox,
            network: self.network.unwrap_or_default(),
            network_allow: network::allowed(self.network, self.network_allow, &at, findings),
            git: self.git.unwrap_or_default(),
            worktree: isolation::spec(self.isolation, (self.setup, self.ports), &at, findings),
            model: self.model,
            alternatives: Vec::new(),
            files: FileAccess::default(),
            is_mapped: false,
            policy,
            aop: None,
        };
        fallback::alternatives(alternatives, task, known, (&at, findings))
    }
}

impl RawCheck {
    pub(super) fn finish(self, at: &str, findings: &mut Findings) -> Check {
        let path = format!("{at}.command");
        let command = match (self.expects, self.command) {
            // The command names a path, so one text is enough.
            (Expects::FileExists, Command::Line(path)) => vec![path],
            (_, command) => command.arguments(self.shell, &path, findings),
        };
        if self.expects == Expects::FileExists && command.len() != 1 {
            findings.push(path, "form", "FILE_EXISTS takes one path");
        }
        Check { command, shell: self.shell, expects: self.expects }
    }
}

impl Command {
    fn arguments(self, shell: bool, path: &str, findings: &mut Findings) -> Vec<String> {
        match self {
            Command::Line(line) if shell => vec![line],
            Command::Line(line) => {
                let message =
                    "must be a list of arguments such as [\"cargo\", \"test\"]; or set `shell = true`";
                findings.push(path, "type", message);
                vec![line]
            }
            Command::Arguments(list) if shell && list.len() != 1 => {
                findings.push(path, "form", "with `shell = true` the command is one line of text");
                list
            }
            Command::Arguments(list) => {
                if list[0].trim().is_empty() {
                    findings.push(format!("{path}[0]"), "min_length", "the program must not be empty");
                }
                if list.iter().any(|argument| argument.contains('\0')) {
                    findings.push(path, "form", "an argument must not contain NUL");
                }
                list
            }
        }
    }
}

fn scopes(texts: &[String], path: &str, findings: &mut Findings) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let place = format!("{path}[{index}]");
        match Scope::parse(text, None) {
            // A shell would put the home directory there, which no workspace has at this name.
            Ok(_) if text.trim() == "~" || text.trim().starts_with("~/") => {
                let message =
                    "`~` is not expanded; name a path in the workspace (./~ is a file of that name)";
                findings.push(place, "home_not_expanded", message);
            }
            Ok(scope) => scopes.push(scope),
            Err(fault) => findings.push(place, fault.rule(), fault.to_string()),
        }
    }
    scopes
}

/// Those that end with a slash.
fn directories<'t>(texts: impl Iterator<Item = &'t String>) -> Option<Box<Directories>> {
    let named = texts.filter(|text| text.trim_end().ends_with('/'));
    let named: Vec<Scope> = named.filter_map(|text| Scope::parse(text, None).ok()).collect();
    (!named.is_empty()).then(|| Box::new(Directories(named)))
}

fn amount(usd: f64, at: &str, findings: &mut Findings) -> Option<MicroUsd> {
    let amount = MicroUsd::from_dollars(usd);
    if amount.is_none() {
        findings.push(format!("{at}.budget.max_cost_usd"), "maximum", "must be at most a billion dollars");
    }
    amount
}

#[cfg(test)]
mod tests;
