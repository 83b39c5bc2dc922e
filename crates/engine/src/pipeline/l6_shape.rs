//! L6: decides exactly what the executor is started with: arguments, environment, input, time.

use std::collections::BTreeMap;
use std::time::Duration;

use contract::aop::task::{
    Category, Complexity, Input, Provider, Role, Session, Target, Task as AopTask, Work,
};
use contract::domain::run::NewRun;
use contract::domain::task::{PlanPart, Task};
use contract::domain::time::{Timestamp, human_duration};
use contract::plan::{Executor, PlanTask};

use super::Outcome;
use crate::hidden::Hidden;

/// What the executor is started with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shaped {
    pub(crate) argv: Vec<String>,
    /// On top of what every child gets.
    pub(crate) env: BTreeMap<String, String>,
    /// The parts of it that must not be stored or shown.
    pub(crate) hidden: Hidden,
    pub(crate) stdin: Option<Vec<u8>>,
    pub(crate) timeout: Duration,
    /// The TASK on standard input, where the executor speaks AOP.
    pub(crate) aop: Option<Box<AopTask>>,
}

/// What the runner fetched for one attempt.
pub(crate) struct ShapeFacts<'g> {
    pub(crate) run: &'g NewRun,
    pub(crate) task: &'g Task,
    pub(crate) part: &'g PlanPart,
    pub(crate) attempt_number: i64,
    pub(crate) brief: &'g str,
    pub(crate) timeout_max: Option<Duration>,
    /// Looks up writ's own environment, for `env:NAME`.
    pub(crate) lookup: &'g dyn Fn(&str) -> Option<String>,
    pub(crate) now: Timestamp,
}

pub(crate) fn run(facts: &ShapeFacts<'_>) -> Outcome<Shaped> {
    let spec = &facts.part.spec;
    let timeout = facts.timeout_max.map_or(spec.timeout(), |max| spec.timeout().min(max));
    let mut env = BTreeMap::new();
    let mut hidden = Hidden::default();
    for (name, value) in &spec.env {
        let resolved = match value.strip_prefix("env:") {
            Some(source) => (facts.lookup)(source),
            None => Some(value.clone()),
        };
        let Some(resolved) = resolved else {
            let reason = format!("{value} is not set in writ's environment");
            return Outcome::decided("ENV_MISSING", &reason).refuse(format!("E_PERMISSION_DENIED: {reason}"));
        };
        if value.starts_with("env:") {
            hidden.add(&resolved);
        }
        env.insert(name.clone(), resolved);
    }
    env.insert("WRIT_RUN".to_owned(), facts.run.id.to_string());
    env.insert("WRIT_TASK".to_owned(), facts.task.id.to_string());
    env.insert("WRIT_DEPTH".to_owned(), facts.run.depth.to_string());
    env.insert("WRIT_BRIEF".to_owned(), facts.brief.to_owned());
    let aop = (spec.executor == Executor::AopStdio).then(|| Box::new(aop_task(facts)));
    let stdin = aop.as_ref().and_then(|task| serde_json::to_vec(task).ok()).map(|mut bytes| {
        bytes.push(b'\n');
        bytes
    });
    let reason = format!("{} for {}, at most {}", spec.executor.as_str(), spec.id, human_duration(timeout));
    let key = |field: &str| format!("C2.Task.t{}.{field}", facts.part.number);
    Outcome::decided("SHAPED", reason)
        .set(key("attempt"), facts.attempt_number)
        .set(key("executor"), spec.executor)
        .set(key("timeout_ms"), u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
        .set(key("writes"), &spec.writes)
        .giving(Shaped { argv: argv(spec), env, hidden, stdin, timeout, aop })
}

fn argv(spec: &PlanTask) -> Vec<String> {
    command_line(&spec.command, spec.shell)
}

/// A command as the system runs it: as it is, or as one line for the shell its author asked for.
pub(crate) fn command_line(command: &[String], shell: bool) -> Vec<String> {
    if shell {
        ["sh", "-c"].iter().map(|s| (*s).to_owned()).chain(command.iter().cloned()).collect()
    } else {
        command.to_vec()
    }
}

/// A submitted TASK is passed on as it came, with its attempt; a plan's task is put into the contract's form.
fn aop_task(facts: &ShapeFacts<'_>) -> AopTask {
    let spec = &facts.part.spec;
    let submitted = spec.aop.clone().and_then(|value| serde_json::from_value::<AopTask>(value).ok());
    let mut task = submitted.unwrap_or_else(|| {
        let session = Session {
            session_id: facts.run.id.to_string(),
            created_at: facts.now,
            orchestrator: "writ".to_owned(),
            origin: "CLI".to_owned(),
            workflow_pattern: None,
            extensions: None,
        };
        let target = Target {
            agent_name: spec.command.first().cloned().unwrap_or_default(),
            role: Role::Executor,
            provider: Provider::Other,
            model: "unspecified".to_owned(),
            execution_profile: None,
            capabilities: None,
            extensions: None,
        };
        let prompt = spec.prompt.clone().unwrap_or_else(|| spec.title.clone());
        let id = facts.task.id.to_string();
        let mut work = Work::new(id, prompt, Category::Other, Complexity::Medium, &facts.run.workspace);
        work.priority = Some(spec.priority);
        work.inputs.push(Input {
            kind: "TEXT".to_owned(),
            path: None,
            content: Some(facts.brief.to_owned()),
            read_only: Some(true),
            extensions: None,
        });
        AopTask::new(session, target, work)
    });
    task.task.attempt = u64::try_from(facts.attempt_number).ok();
    task
}

#[cfg(test)]
mod tests;
