//! AOP TASKs as a plan.

use serde_json::Value;

use super::one_task::{self, Submitted};
use super::{Executors, Intake, PathMapping, Reading, Refused, checks, placed, session};
use crate::aop::effective;
use crate::aop::task::{AlternativeModel, Network, Provider, RollbackSnapshot, SnapshotStrategy, Task};
use crate::domain::confinement::{NetworkUse, SandboxMode};
use crate::domain::executor::ExecutorName;
use crate::domain::failure_code::FailureCode;
use crate::domain::limits;
use crate::domain::network::HostRule;
use crate::domain::plan::policy::{HeartbeatPolicy, TaskPolicy};
use crate::domain::plan::{Alternative, Budget, FileAccess, Plan, PlanTask};
use crate::domain::run::{DocumentKind, RunWarning};
use crate::domain::scope::Scope;
use crate::finding::Findings;
use crate::plan::read::network::rules;

/// The extension with which a TASK's author names the program to run.
const COMMAND_EXTENSION: &str = "x_command";
/// How strictly the TASK is confined: `enforce`, `prefer` or `off`.
const SANDBOX_EXTENSION: &str = "x_sandbox";
/// Whether the TASK may run again after it was interrupted: `true` or `false`.
const RETRY_SAFE_EXTENSION: &str = "x_retry_safe";
/// The hosts that a TASK with restricted network may reach, each `host:port`.
const ALLOW_EXTENSION: &str = "x_network_allow";

/// Reads one TASK.
pub(super) fn read(
    bytes: &[u8],
    value: &Value,
    executors: &Executors,
    reading: &Reading,
) -> Result<Intake, Refused> {
    intake(vec![one_task::read(bytes, value, executors, reading)?], executors, reading)
}

/// Reads the TASKs of one session.
pub(super) fn read_all(
    values: &[Value],
    executors: &Executors,
    reading: &Reading,
) -> Result<Intake, Refused> {
    if values.len() > limits::SESSION_TASKS_MAX {
        let mut findings = Findings::default();
        let most = limits::SESSION_TASKS_MAX;
        findings.push("$", "max_items", format!("has {} TASKs; the limit is {most}", values.len()));
        return Err(Refused::aop(Some(FailureCode::ContextOverflow), findings));
    }
    let mut submitted = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let place = format!("$[{index}]");
        let mut one = one_task::read(value.to_string().as_bytes(), value, executors, reading)
            .map_err(|refused| Refused { findings: placed(refused.findings, &place), ..refused })?;
        for warning in &mut one.warnings {
            warning.path = warning.path.replacen('$', &place, 1);
        }
        submitted.push(one);
    }
    intake(submitted, executors, reading)
}

/// The plan of these TASKs.
pub(super) fn intake(
    submitted: Vec<Submitted>,
    executors: &Executors,
    reading: &Reading,
) -> Result<Intake, Refused> {
    let mut findings = Findings::default();
    let mut tasks: Vec<PlanTask> = Vec::new();
    for (index, one) in submitted.iter().enumerate() {
        let mut own = Findings::default();
        tasks.push(planned(one, executors, reading, &mut own));
        let place = if submitted.len() == 1 { "$".to_owned() } else { format!("$[{index}]") };
        for finding in placed(own, &place).sorted() {
            findings.push(finding.path, finding.rule, finding.message);
        }
    }
    if !findings.is_empty() {
        let is_unknown = findings.has_rule("agent_not_found");
        let code = if is_unknown { FailureCode::AgentNotFound } else { FailureCode::SchemaValidation };
        return Err(Refused::aop(Some(code), findings));
    }
    let first = submitted.first().expect("BUG: a document has at least one TASK");
    let objective = title_of(&first.objective);
    let workspace = Some(first.task.task.environment.workspace_root.clone());
    let session_id = Some(first.task.session.session_id.clone());
    let mut plan = Plan {
        objective: first.objective.clone(),
        workspace: workspace.clone(),
        max_parallel: 1,
        tasks,
        ..Plan::default()
    };
    session::arrange(&submitted, &mut plan)?;
    let mut warnings = unused(&submitted, reading);
    let mut fallbacks = Vec::new();
    for (index, one) in submitted.into_iter().enumerate() {
        warnings.extend(one.warnings);
        fallbacks.extend(one.fallback.map(|fallback| (index, fallback)));
    }
    Ok(Intake {
        kind: DocumentKind::AopTask,
        objective,
        workspace,
        plan,
        intent: None,
        corr: None,
        document_digest: String::new(),
        session_id,
        warnings,
        fallbacks,
    })
}

/// The caller's mappings that fit no path.
fn unused(submitted: &[Submitted], reading: &Reading) -> Vec<RunWarning> {
    let is_unused = |index: usize| submitted.iter().all(|one| !one.used.get(index).copied().unwrap_or(false));
    let said = |mapping: &PathMapping| RunWarning {
        code: "NO_EFFECT".to_owned(),
        path: "$".to_owned(),
        message: format!("no path is in `{}`, so its mapping has no effect", mapping.from()),
    };
    reading.map.iter().enumerate().filter(|(index, _)| is_unused(*index)).map(|(_, map)| said(map)).collect()
}

/// The plan's task, for whom the caller names in place of the target.
fn planned(one: &Submitted, executors: &Executors, reading: &Reading, findings: &mut Findings) -> PlanTask {
    let mut addressed = one.task.clone();
    if let Some(name) = &reading.executor {
        addressed.target.provider = Provider::parse(&name.to_uppercase()).unwrap_or(Provider::Other);
        addressed.target.agent_name.clone_from(name);
        addressed.task.extensions.as_mut().map(|extensions| extensions.remove(COMMAND_EXTENSION));
    }
    let is_mapped = one.used.contains(&true);
    let mut planned = plan_task(&addressed, is_mapped, executors, findings);
    planned.title = title_of(&one.objective);
    planned.aop = serde_json::to_value(&one.task).ok();
    if let Some(prompt) = one.fallback.as_ref().and_then(|fallback| fallback.prompt.as_ref()) {
        planned.prompt = Some(prompt.clone());
    }
    planned
}

fn plan_task(task: &Task, is_mapped: bool, executors: &Executors, findings: &mut Findings) -> PlanTask {
    let retries = effective::retries(task);
    let budget = effective::budget(task);
    let timeout = effective::timeout(task).min(limits::TASK_TIMEOUT_MAX);
    let millis = |length: std::time::Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let checked = checks::read(task, is_mapped, findings);
    let files = files(task, findings);
    PlanTask {
        title: title_of(&task.task.objective),
        executor: named(task, executors).unwrap_or_else(ExecutorName::aop_stdio),
        command: command(task, executors, findings),
        prompt: Some(task.task.objective.clone()),
        writes: scopes(task, &effective::access(task).write, findings),
        reads: scopes(task, &effective::access(task).read, findings),
        priority: effective::priority(task),
        timeout_ms: millis(timeout),
        retries: u32::try_from(retries.max).unwrap_or(u32::MAX).min(limits::RETRIES_MAX),
        backoff_ms: (1..=retries.max.min(20)).map(|retry| millis(retries.wait(retry))).collect(),
        budget: Budget {
            cost: budget.cost_max,
            tokens: budget.tokens_max.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX)),
        },
        checks: checked.checks,
        checkpoints: checked.checkpoints,
        retry_safe: retry_safe(task, findings),
        rollback: snapshots(task).next().is_some(),
        sandbox: sandbox(task, findings),
        network: network(task),
        network_allow: network_allow(task, findings),
        model: Some(task.target.model.clone()),
        files,
        alternatives: alternatives(task, executors),
        policy: policy(task),
        is_mapped,
        aop: serde_json::to_value(task).ok(),
        ..PlanTask::minimal(&name_of(&task.task.task_id))
    }
}

fn policy(task: &Task) -> TaskPolicy {
    let heartbeat = effective::heartbeat(task).map(|beat| HeartbeatPolicy {
        interval_ms: u64::try_from(beat.interval.as_millis()).unwrap_or(u64::MAX),
        missed_max: beat.missed_max,
        on_failure: beat.on_failure,
    });
    TaskPolicy {
        heartbeat,
        may_be_late: !effective::terminates_on_timeout(task),
        aborts_on_critical: effective::aborts_on_critical_error(task),
        on_failure: effective::on_failure(task),
    }
}

/// The alternative models, each with the program that is configured for its provider, else with that of the TASK, which
/// is told the model. A command that the TASK names is the program of its own target: another provider's model goes to
/// that provider's executor where the user configured one, but not to a built-in one that nobody configured.
fn alternatives(task: &Task, executors: &Executors) -> Vec<Alternative> {
    let listed = task.execution_policy.iter().flat_map(|policy| &policy.alternative_models);
    let alternative = |model: &AlternativeModel| {
        let configured = executors.commands.get(&model.provider.as_str().to_lowercase());
        // A TASK without a program is refused for that already.
        let own = || command(task, executors, &mut Findings::default());
        let extensions = task.task.extensions.as_ref();
        let has_command = extensions.is_some_and(|extensions| extensions.contains_key(COMMAND_EXTENSION));
        let of_provider = if has_command {
            executors.configured_for(model.provider).filter(|_| model.provider != task.target.provider)
        } else {
            executors.of_provider(model.provider)
        };
        let (executor, command) = match (configured, of_provider) {
            (Some(command), _) => (None, command.clone()),
            (None, Some(executor)) => (Some(executor), Vec::new()),
            (None, None) => (named(task, executors), own()),
        };
        Alternative {
            executor: executor.unwrap_or_else(ExecutorName::aop_stdio),
            command,
            model: Some(model.model.clone()),
            trigger: model.fallback_trigger,
        }
    };
    listed.map(alternative).collect()
}

fn sandbox(task: &Task, findings: &mut Findings) -> Option<SandboxMode> {
    let word = task.task.extensions.as_ref()?.get(SANDBOX_EXTENSION)?;
    let mode = word.as_str().and_then(SandboxMode::parse);
    if mode.is_none() {
        findings.push("$.task.extensions.x_sandbox", "type", "must be enforce, prefer or off");
    }
    mode
}

/// Whether the TASK's author says that it may run again. AOP has no word for it.
fn retry_safe(task: &Task, findings: &mut Findings) -> bool {
    let said = task.task.extensions.as_ref().and_then(|extensions| extensions.get(RETRY_SAFE_EXTENSION));
    match said {
        None => false,
        Some(Value::Bool(is_safe)) => *is_safe,
        Some(_) => {
            findings.push("$.task.extensions.x_retry_safe", "type", "must be true or false");
            false
        }
    }
}

/// What a TASK says about the network. One that says nothing, not even what its target is capable of, is not limited.
fn network(task: &Task) -> NetworkUse {
    let said = task.target.capabilities.is_some()
        || task.task.access.as_ref().and_then(|access| access.network).is_some()
        || task.task.constraints.as_ref().and_then(|constraints| constraints.network_access).is_some();
    match effective::access(task).network {
        _ if !said => NetworkUse::Full,
        Network::None => NetworkUse::None,
        Network::Restricted => NetworkUse::Restricted,
        Network::Full => NetworkUse::Full,
    }
}

fn network_allow(task: &Task, findings: &mut Findings) -> Vec<HostRule> {
    let at = "$.task.extensions.x_network_allow";
    let Some(value) = task.task.extensions.as_ref().and_then(|extensions| extensions.get(ALLOW_EXTENSION))
    else {
        return Vec::new();
    };
    let words: Option<Vec<String>> = serde_json::from_value(value.clone()).ok();
    let Some(words) = words.filter(|words| words.len() <= limits::NETWORK_ALLOW_MAX) else {
        let most = limits::NETWORK_ALLOW_MAX;
        let message = format!("must be a list of up to {most} hosts such as [\"example.org:443\"]");
        findings.push(at, "type", message);
        return Vec::new();
    };
    if network(task) != NetworkUse::Restricted {
        findings.push(at, "not_restricted", "has no effect unless the network is RESTRICTED");
    }
    rules(&words, at, findings)
}

/// The executor with a program of its own that the target is, unless the author names a command.
fn named(task: &Task, executors: &Executors) -> Option<ExecutorName> {
    let extensions = task.task.extensions.as_ref();
    let has_command = extensions.is_some_and(|extensions| extensions.contains_key(COMMAND_EXTENSION));
    if has_command { None } else { executors.of_target(&task.target) }
}

/// The author's command first, then the one configured for this agent or its provider.
fn command(task: &Task, executors: &Executors, findings: &mut Findings) -> Vec<String> {
    let extension = task.task.extensions.as_ref().and_then(|extensions| extensions.get(COMMAND_EXTENSION));
    if let Some(value) = extension {
        let words: Option<Vec<String>> = serde_json::from_value(value.clone()).ok();
        return words
            .filter(|words| words.first().is_some_and(|program| !program.is_empty()))
            .unwrap_or_else(|| {
                let message = "must be a list of arguments such as [\"my-agent\", \"--headless\"]";
                findings.push("$.task.extensions.x_command", "type", message);
                Vec::new()
            });
    }
    if named(task, executors).is_some() {
        return Vec::new();
    }
    let names = [task.target.agent_name.to_lowercase(), task.target.provider.as_str().to_lowercase()];
    names.iter().find_map(|name| executors.commands.get(name)).cloned().unwrap_or_else(|| {
        let message = format!(
            "E_AGENT_NOT_FOUND: no program is configured for `{}`; name one in task.extensions.x_command, or under \
             [executor.{}] in the user's configuration",
            names[0], names[0]
        );
        findings.push("$.target.agent_name", "agent_not_found", message);
        Vec::new()
    })
}

/// The outputs and artifacts of a TASK whose snapshot is asked for, with their paths.
pub fn snapshots(task: &Task) -> impl Iterator<Item = (Option<&str>, &RollbackSnapshot)> {
    let outputs = task.task.expected_outputs.iter();
    let outputs = outputs.map(|output| (output.path.as_deref(), output.rollback_snapshot.as_ref()));
    let points = task.phases.iter().flat_map(|phase| &phase.checkpoints);
    let artifacts = points.flat_map(|point| &point.expected_artifacts);
    let artifacts = artifacts.map(|made| (made.path.as_deref(), made.rollback_snapshot.as_ref()));
    let asked = |wish: &RollbackSnapshot| {
        wish.enabled == Some(true) && wish.snapshot_strategy != Some(SnapshotStrategy::None)
    };
    outputs.chain(artifacts).filter_map(move |(path, wish)| Some((path, wish.filter(|wish| asked(wish))?)))
}

/// What the executor may do with the workspace, where that is less than everything.
fn files(task: &Task, findings: &mut Findings) -> FileAccess {
    let access = effective::access(task);
    let reads = scopes(task, &access.read, findings);
    let is_whole = reads.contains(&Scope::everything());
    // Their faults are those of the TASK's `writes`.
    let writes = scopes(task, &access.write, &mut Findings::default());
    let names_paths = task.task.access.as_ref().is_some_and(|access| access.filesystem.is_some());
    FileAccess {
        writes_nothing: access.write.is_empty(),
        writes_only: names_paths && !writes.is_empty() && !writes.contains(&Scope::everything()),
        reads: (!is_whole).then_some(reads),
    }
}

fn scopes(task: &Task, paths: &[String], findings: &mut Findings) -> Vec<Scope> {
    let root = &task.task.environment.workspace_root;
    // A relative root is that of the document's directory, whatever that is; inside it, it is the root of all.
    let rooted = |path: &str| effective::path::normal("/", path).unwrap_or_else(|| path.to_owned());
    let root = rooted(root);
    let mut scopes = Vec::new();
    for path in paths {
        match Scope::parse(&rooted(path), Some(&root)) {
            Ok(scope) => scopes.push(scope),
            Err(fault) => {
                findings.push("$.task.access.filesystem", fault.rule(), format!("`{path}` {fault}"));
            }
        }
    }
    scopes
}

/// A plan's task id allows fewer characters than AOP's; other characters are replaced.
pub(super) fn name_of(task_id: &str) -> String {
    let name: String = task_id
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect();
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) { name } else { "task".to_owned() }
}

fn title_of(objective: &str) -> String {
    let line = objective.lines().find(|line| !line.trim().is_empty()).unwrap_or("task").trim();
    line.chars().take(limits::TITLE_CHARS_MAX).collect()
}
