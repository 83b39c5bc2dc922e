//! Looks at what a RESPONSE claims: files, times, checkpoints.

use std::path::Path;

use contract::aop::effective;
use contract::aop::report::KnownOfAttempt;
use contract::aop::task::{Provider, Task as AopTask};
use contract::domain::checkpoint;
use contract::domain::executor::ExecutorName;
use contract::domain::report::{ArtifactReport, ArtifactSeen, ArtifactStatus};
use contract::domain::scope::Scope;

use super::engine_run::EngineRun;
use super::live::{AttemptStart, Live};
use super::task_work::TaskWork;
use crate::claimed_file::{self, ClaimedFile};
use crate::executor::{Claims, ExecutorKind};
use crate::snapshots::{Before, PriorState};

/// Looks at the files that a RESPONSE names, as the executor left them.
pub(super) fn look_at_files(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    start: &AttemptStart,
    claims: &mut Claims,
) {
    let Some(report) = &mut claims.report else { return };
    if let Some(timing) = &mut report.timing {
        timing.seen_started_at = Some(start.started_at);
        timing.seen_ended_at = Some(engine.cx.now().at);
    }
    let before = engine.settings.archive.snapshots.before(&start.attempt.id);
    for made in report.output_artifacts.iter_mut().filter(|made| made.kind.eq_ignore_ascii_case("FILE")) {
        made.seen = Some(look_at_artifact(engine, work, made, before.as_ref()));
    }
}

fn look_at_artifact(
    engine: &EngineRun<'_>,
    work: &TaskWork,
    made: &ArtifactReport,
    before: Option<&Before>,
) -> ArtifactSeen {
    let problem = |problem: String| ArtifactSeen { problem: Some(problem), ..ArtifactSeen::default() };
    let path = match path_inside(engine, work, &made.path) {
        Ok(path) => path,
        Err(why) => return problem(why),
    };
    let was = before.map_or(PriorState::Unknown, |before| before.at(&path));
    match claimed_file::look(work.directory(&engine.run), &path) {
        Ok(ClaimedFile::File { digest, size }) => ArtifactSeen {
            status: match was {
                PriorState::Unknown => None,
                PriorState::Absent => Some(ArtifactStatus::Created),
                PriorState::File(old) if contract::digest::printed(&old) == digest => {
                    Some(ArtifactStatus::Unchanged)
                }
                PriorState::File(_) => Some(ArtifactStatus::Updated),
            },
            digest: Some(digest),
            size_bytes: Some(size),
            problem: None,
        },
        Ok(ClaimedFile::Nothing) => ArtifactSeen {
            status: match was {
                PriorState::File(_) => Some(ArtifactStatus::Deleted),
                PriorState::Unknown | PriorState::Absent => None,
            },
            ..ArtifactSeen::default()
        },
        Err(why) => problem(why),
    }
}

/// A path that a document or an executor names, seen from where the task works.
fn path_inside(engine: &EngineRun<'_>, work: &TaskWork, path: &str) -> Result<String, String> {
    let outside = || format!("`{path}` is outside the workspace");
    let roots = [work.directory(&engine.run), Path::new(&engine.run.asked.workspace)];
    let scope = roots.iter().find_map(|root| Scope::parse(path, root.to_str()).ok());
    let scope = scope.ok_or_else(outside)?;
    if scope.is_absolute() { Err(outside()) } else { Ok(scope.as_str().to_owned()) }
}

/// Finds where the claims differ from what was seen.
pub(super) fn compare(engine: &EngineRun<'_>, work: &TaskWork, live: &mut Live) {
    let attempt = &live.start.attempt;
    let returned = live.phase.returned_mut();
    let own = checkpoint::seen(&work.spec().checkpoints, &returned.seen);
    let asked = work.asked().map(|asked| asked.target.model.as_str());
    let model = attempt.model.as_deref().or(asked).map(str::to_owned);
    // Other executors get their RESPONSE from writ, so they claim nothing about themselves.
    let name = ExecutorName::parse(&attempt.executor).ok();
    let executor = name.and_then(|name| engine.settings.executors.find(&name));
    let speaks_aop = executor.is_some_and(|it| it.configured().kind == ExecutorKind::AopStdio);
    let asked = work.asked().filter(|_| speaks_aop);
    let index = attempt.alternative.and_then(|index| usize::try_from(index).ok());
    let other = asked.and_then(|asked| asked.execution_policy.as_ref()?.alternative_models.get(index?));
    let provider = other.map(|other| other.provider).or(asked.map(|asked| asked.target.provider));
    let earlier = work.attempts.iter().filter(|earlier| earlier.begun.id != attempt.id).count();
    let before = |asked: &AopTask| effective::attempt(asked).saturating_sub(1);
    let known = KnownOfAttempt {
        model: model.as_deref(),
        agent_name: asked.map(|asked| asked.target.agent_name.as_str()),
        provider: provider.map(Provider::as_str),
        retries: asked.map(|asked| before(asked).saturating_add(u64::try_from(earlier).unwrap_or(u64::MAX))),
    };
    if let Some(report) = &mut returned.claims.report {
        contract::aop::report::compare(report, &known, &own);
    }
}
