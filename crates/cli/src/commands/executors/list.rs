//! `writ executors list`

use std::path::Path;
use std::process::ExitCode;

use contract::domain::executor::ExecutorName;
use engine::{Configured, ExecutorKind};
use ops::Result;
use serde::Serialize;

use crate::config::Config;
use crate::output::Output;
use crate::{config, env, host};

/// One executor.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) command: Vec<String>,
    /// Whether its program is there; `None` where each task names its own.
    found: Option<bool>,
    model: Option<String>,
    /// What goes in and out.
    speaks: &'static str,
    /// The file that configures it; `built in` without one.
    from: String,
}

pub(super) fn run(output: &Output) -> Result<ExitCode> {
    let here = host::absolute(".".into());
    let executors = listed(&config::load(&here)?, &here);
    Ok(output.answer(&executors, || {
        let width =
            |cell: fn(&Listed) -> String| executors.iter().map(|each| cell(each).len()).max().unwrap_or(0);
        let (names, commands) = (width(|each| each.name.clone()), width(told));
        let line = |each: &Listed| {
            let model = each.model.as_ref().map(|model| format!(", model {model}")).unwrap_or_default();
            format!(
                "{:names$}  {:commands$}  {}{model}  ({})\n",
                each.name,
                told(each),
                each.speaks,
                each.from
            )
        };
        executors.iter().map(line).collect()
    }))
}

/// What is started, and whether it is there.
fn told(each: &Listed) -> String {
    match each.found {
        None => "the task's command".to_owned(),
        Some(true) => each.command.join(" "),
        Some(false) => format!("{} (not found)", each.command.join(" ")),
    }
}

pub(super) fn listed(config: &Config, here: &Path) -> Vec<Listed> {
    let built_in = ExecutorKind::built_in().map(Configured::built_in);
    let is_replaced = |name: &ExecutorName| config.configured.iter().any(|other| other.name == *name);
    let all = built_in.filter(|usual| !is_replaced(&usual.name)).chain(config.configured.iter().cloned());
    all.map(|executor| row(executor, config, here)).collect()
}

fn row(executor: Configured, config: &Config, here: &Path) -> Listed {
    let name = executor.name.as_str().to_owned();
    let is_source =
        |place: &str| ["executor", "executors"].iter().any(|section| place == format!("{section}.{name}"));
    let source = config.sources.iter().find(|(place, ..)| is_source(place));
    Listed {
        found: executor.command.first().map(|program| env::can_start(program, here)),
        kind: executor.kind.as_str(),
        model: executor.model.clone(),
        speaks: speaks(&executor),
        from: source.map_or_else(|| "built in".to_owned(), |(_, _, file)| file.display().to_string()),
        command: executor.command,
        name,
    }
}

fn speaks(executor: &Configured) -> &'static str {
    match executor.kind {
        ExecutorKind::Shell => "an exit code",
        ExecutorKind::AopStdio if executor.is_v1_only => "AOP v1",
        ExecutorKind::AopStdio => "AOP v2",
        ExecutorKind::Agent(_) => "its own stream",
        ExecutorKind::Acp => "the Agent Client Protocol",
        ExecutorKind::Template => "text",
    }
}
