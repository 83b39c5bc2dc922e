//! The checks of an AOP TASK: outputs that must exist, their validations, and checkpoints in the order of their phases.

use crate::aop::task::{
    self, Artifact, Checkpoint as AopCheckpoint, ExpectedOutput, Phase, RecoveryStrategy, Task, Validation,
};
use crate::aop::{effective, needs};
use crate::domain::check::{Check, Expects};
use crate::domain::checkpoint::{Checkpoint, Recovery};
use crate::domain::plan::policy::OnFailure;
use crate::domain::report::CheckpointStatus;
use crate::finding::Findings;

/// The shell that the author of a TASK names.
#[derive(Debug, Clone, Copy)]
struct CheckShell<'s> {
    name: &'s str,
    is_mapped: bool,
}

/// What the author of a TASK wants to be checked.
#[derive(Debug, Default)]
pub(super) struct RequestedChecks {
    pub(super) checks: Vec<Check>,
    pub(super) checkpoints: Vec<Checkpoint>,
}

/// `is_mapped` says that its paths are of another machine.
pub(super) fn read(task: &Task, is_mapped: bool, findings: &mut Findings) -> RequestedChecks {
    let mut checked = RequestedChecks::default();
    let shell = task.task.environment.shell.as_deref();
    let shell = shell.map(|shell| CheckShell { name: shell, is_mapped });
    for (i, output) in task.task.expected_outputs.iter().enumerate() {
        let ExpectedOutput { kind, path, validation, .. } = output;
        checked.file(kind, path.as_deref());
        let at = format!("$.task.expected_outputs[{i}].validation.command");
        checked.validation(validation.as_ref(), shell, &at, findings);
    }
    for (p, phase) in in_order(&task.phases) {
        for (c, point) in phase.checkpoints.iter().enumerate() {
            let first = checked.checks.len();
            let is_skipped = point.status == Some(CheckpointStatus::Skip);
            if !is_skipped {
                let at = format!("$.phases[{p}].checkpoints[{c}]");
                checked.checkpoint(point, shell, &at, findings);
            }
            checked.checkpoints.push(Checkpoint {
                id: point.checkpoint_id.clone(),
                phase: phase.phase_id.clone(),
                first,
                count: checked.checks.len() - first,
                recovery: recovery(task, point),
                is_skipped,
            });
        }
    }
    checked
}

/// The phases by their order, each with its place in the TASK. Phases with the same order stay as they were written.
fn in_order(phases: &[Phase]) -> Vec<(usize, &Phase)> {
    let mut sorted: Vec<(usize, &Phase)> = phases.iter().enumerate().collect();
    sorted.sort_by_key(|(_, phase)| phase.phase_order);
    sorted
}

/// What follows where a checkpoint fails. One that does not say it follows `on_failure`.
fn recovery(task: &Task, point: &AopCheckpoint) -> Recovery {
    match point.recovery_strategy {
        Some(RecoveryStrategy::Retry) => Recovery::Retry,
        Some(RecoveryStrategy::Abort) => Recovery::Abort,
        Some(RecoveryStrategy::Continue | RecoveryStrategy::Skip) => Recovery::Continue,
        None => match effective::on_failure(task) {
            OnFailure::ReportAndContinue => Recovery::Report,
            OnFailure::AbortSession => Recovery::Abort,
            OnFailure::Retry => Recovery::Retry,
        },
    }
}

impl RequestedChecks {
    /// The artifacts first: what validates them needs them.
    fn checkpoint(
        &mut self,
        point: &AopCheckpoint,
        shell: Option<CheckShell<'_>>,
        at: &str,
        findings: &mut Findings,
    ) {
        for Artifact { kind, path, .. } in &point.expected_artifacts {
            self.file(kind, path.as_deref());
        }
        for (a, artifact) in point.expected_artifacts.iter().enumerate() {
            let at = format!("{at}.expected_artifacts[{a}].validation.command");
            self.validation(artifact.validation.as_ref(), shell, &at, findings);
        }
        let at = format!("{at}.validation.command");
        self.validation(point.validation.as_ref(), shell, &at, findings);
    }

    fn file(&mut self, kind: &str, path: Option<&str>) {
        if let Some(path) = path.filter(|_| kind.eq_ignore_ascii_case("FILE")) {
            let command = vec![path.to_owned()];
            self.checks.push(Check { command, shell: false, expects: Expects::FileExists });
        }
    }

    fn validation(
        &mut self,
        validation: Option<&Validation>,
        shell: Option<CheckShell<'_>>,
        at: &str,
        findings: &mut Findings,
    ) {
        let Some(Validation { command, expects, .. }) = validation else { return };
        let expects = match expects {
            task::Expects::ExitCode0 => Expects::ExitCode0,
            task::Expects::MatchFound => Expects::MatchFound,
            task::Expects::NoMatch => Expects::NoMatch,
            task::Expects::FileExists => Expects::FileExists,
        };
        // A shell is used only if the author names one; otherwise the words are the arguments.
        let shell = shell.filter(|_| expects != Expects::FileExists);
        let own = shell.and_then(|shell| needs::shell_command(shell.name, shell.is_mapped, command));
        let is_script = shell.is_some() && own.is_none();
        let words = match own {
            Some(words) => Some(words),
            None if is_script || expects == Expects::FileExists => Some(vec![command.clone()]),
            None => shlex::split(command).filter(|words| !words.is_empty()),
        };
        match words {
            Some(command) => self.checks.push(Check { command, shell: is_script, expects }),
            None => {
                let message = "cannot be split into arguments; name a shell in task.environment.shell";
                findings.push(at, "form", message);
            }
        }
    }
}
