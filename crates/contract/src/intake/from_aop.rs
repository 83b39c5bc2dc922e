//! An AOP TASK as a plan of one task.

use super::{Executors, Intake, checks};
use crate::aop::task::{AlternativeModel, Network, RollbackSnapshot, SnapshotStrategy, Task};
use crate::aop::{self, effective};
use crate::domain::confinement::{NetworkUse, SandboxMode};
use crate::domain::limits;
use crate::domain::network::HostRule;
use crate::domain::run::DocumentKind;
use crate::domain::scope::Scope;
use crate::finding::Findings;
use crate::plan::policy::HeartbeatPolicy;
use crate::plan::read::network::rules;
use crate::plan::{Alternative, Budget, ExecutorName, Plan, PlanTask, TaskPolicy};

/// The extension with which a TASK's author names the program to run.
const COMMAND_EXTENSION: &str = "x_command";
/// How strictly the TASK is confined: `enforce`, `prefer` or `off`.
const SANDBOX_EXTENSION: &str = "x_sandbox";
/// The hosts that a TASK with restricted network may reach, each `host:port`.
const ALLOW_EXTENSION: &str = "x_network_allow";

pub(super) fn read(bytes: &[u8], executors: &Executors) -> Result<Intake, Findings> {
    let (task, _) =
        aop::parse_task(bytes).map_err(|verdict| verdict.details.findings.into_iter().collect())?;
    let mut findings = Findings::default();
    let plan_task = plan_task(&task, executors, &mut findings);
    if !findings.is_empty() {
        return Err(findings);
    }
    let workspace = Some(task.task.environment.workspace_root.clone());
    let plan = Plan {
        objective: task.task.objective.clone(),
        workspace: workspace.clone(),
        max_parallel: 1,
        tasks: vec![plan_task],
        ..Plan::default()
    };
    Ok(Intake {
        kind: DocumentKind::AopTask,
        objective: title_of(&task.task.objective),
        workspace,
        plan,
        intent: None,
        corr: None,
        document_digest: String::new(),
    })
}

fn plan_task(task: &Task, executors: &Executors, findings: &mut Findings) -> PlanTask {
    let retries = effective::retries(task);
    let budget = effective::budget(task);
    let timeout = effective::timeout(task).min(limits::TASK_TIMEOUT_MAX);
    let millis = |length: std::time::Duration| u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    let checked = checks::read(task, findings);
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
        rollback: snapshots(task).next().is_some(),
        sandbox: sandbox(task, findings),
        network: network(task),
        network_allow: network_allow(task, findings),
        model: Some(task.target.model.clone()),
        alternatives: alternatives(task, executors),
        policy: policy(task),
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
/// is told the model.
fn alternatives(task: &Task, executors: &Executors) -> Vec<Alternative> {
    let listed = task.execution_policy.iter().flat_map(|policy| &policy.alternative_models);
    let alternative = |model: &AlternativeModel| {
        let configured = executors.commands.get(&model.provider.as_str().to_lowercase());
        // A TASK without a program is refused for that already.
        let own = || command(task, executors, &mut Findings::default());
        let extensions = task.task.extensions.as_ref();
        let has_command = extensions.is_some_and(|extensions| extensions.contains_key(COMMAND_EXTENSION));
        let of_provider = executors.of_provider(model.provider).filter(|_| !has_command);
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

/// What a TASK says about the network. One that says nothing works as it did before there were sandboxes.
fn network(task: &Task) -> NetworkUse {
    let said = task.target.capabilities.as_ref().and_then(|found| found.network_access).is_some()
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

fn scopes(task: &Task, paths: &[String], findings: &mut Findings) -> Vec<Scope> {
    let root = &task.task.environment.workspace_root;
    let mut scopes = Vec::new();
    for path in paths {
        match Scope::parse(path, Some(root)) {
            Ok(scope) => scopes.push(scope),
            Err(fault) => {
                findings.push("$.task.access.filesystem", fault.rule(), format!("`{path}` {fault}"));
            }
        }
    }
    scopes
}

/// A plan's task id allows fewer characters than AOP's; other characters are replaced.
fn name_of(task_id: &str) -> String {
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
